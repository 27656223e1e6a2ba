"""What the page asks: which of two answers is better, how one rates, how several rank, how an item rates on a scale."""

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Final, NamedTuple

import pandas as pd

from mrb_lib.benchmarks.meta import BenchmarkMeta
from mrb_lib.review.case.markdown import read_markdown
from mrb_lib.review.case.view import STYLES as CASE_STYLES
from mrb_lib.review.case.view import answer_html, before_of, image_html
from mrb_lib.review.pages import template, visible
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.schema import CHOICES, NO_LABEL
from mrb_lib.verdicts.orders import choice_to_shown, to_case_frame, to_shown_frame

STYLES: Final = (*CASE_STYLES, "annotate/annotate")
_PICKS: Final = {"first": ("A", "First"), "second": ("B", "Second"), "tie": ("T", "Tie")}
_UNFIT: Final = ("the image is missing or cannot be read", "the question is unclear", "outside my field")
FREE_LETTERS: Final = "ABCDEFHILMOQRSTVYZ"
"""The keys that do nothing else on the page."""


class Box(NamedTuple):
    """An answer in its box.

    Attributes
    ----------
    title, place : what it is called, for people and for scripts
    text : any text, which may have Markdown
    key : chooses it; empty for none
    before : what it continues, which stands above it
    """

    title: str
    place: str
    text: str
    key: str = ""
    before: str = ""


class Form:
    """How a case is shown, what may be picked, and what stands for a pick in the store: here a preference.

    Attributes
    ----------
    asks : names the words of the page, see the template `annotate_door`
    title, signed : of the page, and what stands before the name of who is there
    reasons : to skip a case, the last of them free
    heading : what stands above the picks; the first and the last category may stand in it
    listed : whether picks stand below each other, with what they mean
    """

    asks = "preference"
    heading = "Which answer is better?"
    title = "Annotation"
    signed = "Annotating as"
    reasons: tuple[str, ...] = (*_UNFIT, "I know this case or who answered it", "something else")
    listed = False

    def check(self, meta: BenchmarkMeta) -> None:
        """Refuse a benchmark whose labels the form cannot ask for, by an `InputError`."""
        if not meta.is_preference or not {"A", "B"} <= set(meta.categories):
            raise InputError(
                f"{meta.name}: its labels are {', '.join(meta.categories)}; only preferences between two responses "
                f'({", ".join(CHOICES)}) can be annotated so; ratings of one response need task = "rating".'
            )

    def picks(self, meta: BenchmarkMeta) -> list[dict[str, str]]:
        """Everything that may be picked, in its sequence: `pick`, `key`, `name`, and perhaps `hint`, what it means, and
        `said`, the name in a sentence.
        """
        return [
            {"pick": pick, "key": key, "name": name, "said": name.lower()}
            for pick, (key, name) in _PICKS.items()
            if self.choice("AB", pick) in meta.categories
        ]

    def labels(self, meta: BenchmarkMeta) -> dict[str, list[dict[str, str]]]:
        """For each dimension of several labels these labels, like `picks`, and last that none applies."""
        return {}

    def boxes(self, case: pd.Series, order: str) -> list[Box]:
        """Return what is judged of a case, in the `order` in which it is shown; the order cannot be told from it."""
        shown = to_shown_frame(pd.DataFrame([case]).assign(order=order), planned=False).iloc[0]
        return [Box(f"{_PICKS[at][1]} answer", at, shown[at], _PICKS[at][0]) for at in ("first", "second")]

    def choice(self, order: str, pick: str) -> str:
        """Return what is stored for a pick; empty where there is no such pick."""
        frame = pd.DataFrame({"order": [order], "pick": [pick]})
        return str(to_case_frame(frame)["choice"].iloc[0]) if pick in _PICKS else ""

    def pick(self, order: str, choice: str) -> str:
        """Return what was picked where this is stored."""
        return str(choice_to_shown(pd.Series([order]), pd.Series([choice])).iloc[0])


class Rating(Form):
    """How one response rates, by the benchmark's own categories, each with a key of its own; see `keys_of`."""

    asks = "rating"
    heading = "How does the response rate?"
    listed = True

    def check(self, meta: BenchmarkMeta) -> None:
        """See `Form.check`."""
        if not meta.is_rating:
            raise InputError(f"{meta.name}: its labels are not ratings of one response a case.")

    def picks(self, meta: BenchmarkMeta) -> list[dict[str, str]]:
        """See `Form.picks`."""
        return _options(meta, meta.categories, keys_of(meta.categories))

    def labels(self, meta: BenchmarkMeta) -> dict[str, list[dict[str, str]]]:
        """See `Form.labels`; keys are none of the categories', and labels beyond the last free key have none."""
        taken = keys_of(meta.categories)
        none, *free = [key for key in ("0", *FREE_LETTERS, *"987654321") if key not in taken]
        no_label = {"pick": NO_LABEL, "key": none, "name": "None of these", "said": "none of these", "hint": ""}
        return {name: [*_options(meta, own, free[: len(own)]), no_label] for name, own in meta.labels.items()}

    def boxes(self, case: pd.Series, order: str) -> list[Box]:
        """See `Form.boxes`: one response, below what it continues."""
        return [Box("Response", "response", case["response_a"], before=before_of(case))]

    def choice(self, order: str, pick: str) -> str:
        """See `Form.choice`."""
        return pick

    def pick(self, order: str, choice: str) -> str:
        """See `Form.pick`."""
        return choice


class Screening(Rating):
    """How an item rates on some criteria, all on one scale."""

    asks = "screening"
    heading = "{0} is lowest, {1} highest"
    title = "Screening"
    signed = "Screening as"
    reasons = (*_UNFIT, "I know this patient", "something else")
    listed = False

    def check(self, meta: BenchmarkMeta) -> None:
        """See `Form.check`."""
        if meta.is_preference or len(meta.categories) > 9:
            raise InputError(f"{meta.name}: a scale of 2 to 9 labels is needed, not {', '.join(meta.categories)}.")

    def boxes(self, case: pd.Series, order: str) -> list[Box]:
        """See `Form.boxes`: the reference answer, `response_a`, where there is one."""
        reference = case["response_a"]
        return [Box("Reference answer", "reference", reference)] if reference else []


PREFERENCE: Final = Form()
RATING: Final = Rating()
SCREENING: Final = Screening()


def form_of(meta: BenchmarkMeta) -> Form:
    """The form that asks for the labels of a benchmark."""
    return RATING if meta.is_rating else PREFERENCE


def sheet_html(case: pd.Series, boxes: Sequence[Box], *, images: Mapping[str, bytes], number: int, total: int) -> str:
    """The case without anything that could sway: no responder, judge, vote, gold, source, or reference in no box.

    Parameters
    ----------
    case : one row of the cases table
    boxes : see `Form.boxes`
    images : the bytes of the images by name, which is not shown: a file's name may hold the diagnosis
    number, total : of the case among those of the annotator, who knows it by this number: an id may give it away

    Returns
    -------
    str
        A `<section>` of the class `mrb-case`, without a style sheet.
        Validated by tests/review/annotate/test_annotate.py.
    """
    names = [str(name) for name in case["images"]]
    called = [f"Image {at} of {len(names)}" if len(names) > 1 else "Image" for at in range(1, len(names) + 1)]
    pictures = [
        (alias, image_html(alias, {alias: images[name]}, index=at) if name in images else "")
        for at, (name, alias) in enumerate(zip(names, called, strict=True))
    ]
    texts = [visible(box.text) for box in boxes]
    read = [read_markdown(text) for text in texts]
    return template("annotate_case").render(
        question=str(case["question"]), boxes=list(zip(boxes, map(answer_html, texts, read), strict=True)),
        pictures=pictures, number=number, total=total, case=case.drop(labels="dataset", errors="ignore"),
        has_markdown=any(read),
    )  # fmt: skip


def keys_of(labels: Sequence[str]) -> list[str]:
    """A key for each label: a digit has its own; others take 1 to 9, 0 and then free letters, in their order.

    Where all labels are numbers, one that is no digit takes 0 or a letter, so that no digit stands for another number.
    """
    pool = [*"1234567890", *FREE_LETTERS]
    own = [label for label in labels if len(label) == 1 and label in "0123456789"]
    if len(labels) > len(pool):
        raise InputError(f"{len(labels)} categories: are more than there are keys; use at most {len(pool)}.")
    numbers = pd.to_numeric(pd.Series(labels), errors="coerce").notna().all()
    left = iter([key for key in pool if key not in own and not (numbers and key in "123456789")])
    return [label if label in own else next(left) for label in labels]


def _options(meta: BenchmarkMeta, labels: Sequence[str], keys: Sequence[str]) -> list[dict[str, str]]:
    """Labels as `Form.picks` gives them; without a key where the keys do not suffice."""
    return [
        {"pick": label, "key": key, "name": visible(label), "hint": visible(meta.definitions.get(label, ""))}
        for label, key in zip_longest(labels, keys, fillvalue="")
    ]
