"""What the page asks: which of two answers is better, how one rates, how several rank, how an item rates on a scale."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Final

import pandas as pd

from mrb_lib.benchmarks.meta import BenchmarkMeta
from mrb_lib.review.annotate.blinded import NAMES, as_shown, blinded_html, in_case_frame, item_html, rated_html
from mrb_lib.review.text import visible
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.schema import CHOICES, NO_LABEL

_KEYS: Final = {"first": "A", "second": "B", "tie": "T"}
_UNFIT: Final = ("the image is missing or cannot be read", "the question is unclear", "outside my field")
_KNOWN: Final = "I know this case or who answered it"
FREE_LETTERS: Final = "ABCDEFHILMOQRSTVYZ"
"""The keys that do nothing else on the page."""
_SAVED: Final = "is saved at once; stop whenever you like."


class Form(ABC):
    """How a case is shown, what may be picked, and what stands for a pick in the store."""

    @abstractmethod
    def check(self, meta: BenchmarkMeta) -> None:
        """Refuse a benchmark whose labels the form cannot ask for, by an `InputError`."""

    @abstractmethod
    def picks(self, meta: BenchmarkMeta) -> list[dict[str, str]]:
        """Everything that may be picked, in its sequence: `pick`, `key`, `name`, and perhaps `hint`, what it means, and
        `said`, the name in a sentence.
        """

    def labels(self, meta: BenchmarkMeta) -> dict[str, list[dict[str, str]]]:
        """For each dimension of several labels these labels, like `picks`, and last that none applies."""
        return {}

    @abstractmethod
    def words(self, meta: BenchmarkMeta) -> dict[str, object]:
        """The texts of the page: `title`, `lead`, `nobody`, `signed` (before the name of who is there), `heading`,
        `reasons` to skip, the last of them free; perhaps `listed`, whether picks stand below each other with what they
        mean.
        """

    @abstractmethod
    def html(
        self, case: pd.Series, order: str, *, images: Mapping[str, bytes], number: int, total: int, side: int
    ) -> str:
        """The case as it is shown; see `mrb_lib.review.annotate.blinded`."""

    def choice(self, order: str, pick: str) -> str:
        """What is stored for a pick; empty where there is no such pick."""
        return pick

    def pick(self, order: str, choice: str) -> str:
        """What was picked where this is stored."""
        return choice


class Preference(Form):
    """Which of two answers is better, without a sign of who wrote them."""

    def check(self, meta: BenchmarkMeta) -> None:
        """See `Form.check`."""
        if not meta.is_preference or not {"A", "B"} <= set(meta.categories):
            raise InputError(
                f"{meta.name}: its labels are {', '.join(meta.categories)}; only preferences between two responses "
                f'({", ".join(CHOICES)}) can be annotated so; ratings of one response need task = "rating".'
            )

    def picks(self, meta: BenchmarkMeta) -> list[dict[str, str]]:
        """See `Form.picks`."""
        return [
            {"pick": pick, "key": _KEYS[pick], "name": name}
            for pick, name in NAMES.items()
            if in_case_frame("AB", pick) in meta.categories
        ]

    def words(self, meta: BenchmarkMeta) -> dict[str, object]:
        """See `Form.words`."""
        return {
            "title": "Annotation",
            "signed": "Annotating as",
            "heading": "Which answer is better?",
            "lead": "For each case you will see a question with its images and two answers, and say on "
            f"{_plural(len(meta.dimensions), 'dimension')} which answer is better. Who wrote them is not shown. Every "
            f"choice {_SAVED}",
            "nobody": "No cases have been assigned yet. Whoever coordinates the annotation does so with: mrb annotate "
            "BENCH --annotators NAME,NAME",
            "reasons": [*_UNFIT, _KNOWN, "something else"],
        }

    html = staticmethod(blinded_html)

    def choice(self, order: str, pick: str) -> str:
        """See `Form.choice`."""
        return in_case_frame(order, pick) if pick in NAMES else ""

    def pick(self, order: str, choice: str) -> str:
        """See `Form.pick`."""
        return as_shown(order, choice)


class Rating(Form):
    """How one response rates, by the benchmark's own categories, each with a key of its own; see `keys_of`."""

    def check(self, meta: BenchmarkMeta) -> None:
        """See `Form.check`."""
        if not meta.is_rating:
            raise InputError(f"{meta.name}: its labels are not ratings of one response a case.")

    def picks(self, meta: BenchmarkMeta) -> list[dict[str, str]]:
        """See `Form.picks`."""
        return [
            {"pick": label, "key": key, "name": visible(label), "said": visible(label),
             "hint": visible(meta.definitions.get(label, ""))}
            for label, key in zip(meta.categories, keys_of(meta.categories), strict=True)
        ]  # fmt: skip

    def labels(self, meta: BenchmarkMeta) -> dict[str, list[dict[str, str]]]:
        """See `Form.labels`; keys are none of the categories', and labels beyond the last free key have none."""
        taken = keys_of(meta.categories)
        none, *free = [key for key in ("0", *FREE_LETTERS, *"987654321") if key not in taken]
        return {
            dimension: [
                *({"pick": label, "key": key, "name": visible(label), "said": visible(label),
                   "hint": visible(meta.definitions.get(label, ""))}
                  for label, key in zip_longest(own, free[: len(own)], fillvalue="")),
                {"pick": NO_LABEL, "key": none, "name": "None of these", "said": "none of these", "hint": ""},
            ]
            for dimension, own in meta.labels.items()
        }  # fmt: skip

    def words(self, meta: BenchmarkMeta) -> dict[str, object]:
        """See `Form.words`."""
        return {
            "title": "Annotation",
            "signed": "Annotating as",
            "heading": "How does the response rate?",
            "lead": "For each case you will see a question with its images and one response, or one step of it, and "
            f"rate it on {_plural(len(meta.dimensions), 'dimension')}. Who wrote it, and what others say, is not "
            f"shown. Every rating {_SAVED}",
            "nobody": Preference().words(meta)["nobody"],
            "reasons": [*_UNFIT, _KNOWN, "something else"],
            "listed": True,
        }

    html = staticmethod(rated_html)


class Screening(Rating):
    """How an item rates on some criteria, all on one scale."""

    def check(self, meta: BenchmarkMeta) -> None:
        """See `Form.check`."""
        if meta.is_preference or len(meta.categories) > 9:
            raise InputError(f"{meta.name}: a scale of 2 to 9 labels is needed, not {', '.join(meta.categories)}.")

    def words(self, meta: BenchmarkMeta) -> dict[str, object]:
        """See `Form.words`."""
        lowest, highest = visible(meta.categories[0]), visible(meta.categories[-1])
        return {
            "title": "Screening",
            "signed": "Screening as",
            "heading": f"{lowest} is lowest, {highest} highest",
            "lead": "For each case you will see a question with its images and the answer it is held to have, and rate "
            f"it on {_plural(len(meta.dimensions), 'criterion', 'criteria')}, from {lowest} to {highest}. What models "
            f"made of it, and what others say, is not shown. Every rating {_SAVED}",
            "nobody": "No items have been assigned yet. Whoever coordinates the screening does so with: mrb construct "
            "screen WORK --clinicians NAME,NAME",
            "reasons": [*_UNFIT, "I know this patient", "something else"],
        }

    html = staticmethod(item_html)


PREFERENCE: Final[Form] = Preference()
RATING: Final[Form] = Rating()
SCREENING: Final[Form] = Screening()


def form_of(meta: BenchmarkMeta) -> Form:
    """The form that asks for the labels of a benchmark."""
    return RATING if meta.is_rating else PREFERENCE


def keys_of(labels: Sequence[str]) -> list[str]:
    """A key for each label: a digit has its own; others take 1 to 9, 0 and then free letters, in their order.

    Where all labels are numbers, one that is no digit takes 0 or a letter, so that no digit stands for another number.
    """
    pool = [*"1234567890", *FREE_LETTERS]
    own = [label for label in labels if len(label) == 1 and label in "0123456789"]
    if len(labels) > len(pool):
        raise InputError(f"{len(labels)} categories: are more than there are keys; use at most {len(pool)}.")
    numbers = all(map(_is_number, labels))
    left = iter([key for key in pool if key not in own and not (numbers and key in "123456789")])
    return [label if label in own else next(left) for label in labels]


def _is_number(label: str) -> bool:
    try:
        float(label)
    except ValueError:
        return False
    return True


def _plural(n: int, one: str, many: str = "") -> str:
    return f"{n} {one if n == 1 else many or f'{one}s'}"
