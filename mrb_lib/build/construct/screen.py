"""The step `screen`: clinicians rate the items on some criteria, and a rule says which of them stay.

The form - criteria, scale and rule - is in the table `[screen]` of `construction.toml`, where it may be edited until
the screening is closed. Ratings are answers in the store of reviews, about a benchmark of their own whose cases are the
items; the annotation app shows them without anything that models made of an item, or where it came from.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

from mrb_lib.benchmarks.benchmark import Benchmark, FolderImages, empty_annotations
from mrb_lib.benchmarks.meta import BenchmarkMeta
from mrb_lib.build.construct.answers.answering import asked_questions
from mrb_lib.build.construct.answers.keep_rules import kept_by, rule_table, why_left_out
from mrb_lib.build.construct.layouts.base import text_of
from mrb_lib.build.construct.layouts.table import rows_of
from mrb_lib.build.construct.tables import SCHEMAS
from mrb_lib.build.construct.work import Work, begin
from mrb_lib.review.records.marks import AnnotatorAnswer
from mrb_lib.tables.errors import InputError

CRITERIA: Final[Mapping[str, str]] = {
    "relevance": "the question matters in clinical work, and takes the image to be answered",
    "accuracy": "the reference answer is right, complete, and the only right one",
    "complexity": "the answer takes clinical reasoning, not a glance alone",
    "image_quality": "the image shows what the question is about, clearly enough to decide it",
}
SCALE: Final = ("1", "2", "3", "4", "5")
NOT_RATED, SKIPPED = "nobody rated it", "every clinician skipped it"
_MOST_LABELS = 9  # each is a key


@dataclass(frozen=True)
class ScreeningForm:
    """The questions to clinicians about an item.

    Attributes
    ----------
    criteria : what each is called, a name such as `image_quality`, and what it means
    scale : the labels from the worst to the best, 2 to 9; those that are numbers count as these, others as their places
        from 1
    keep : which items stay, in the language of `stats.where`: of the mean over clinicians of each criterion (by
        its name), the lowest (`relevance_min`), their number (`n_clinicians`), and what is known of the item

    Raises
    ------
    InputError
        A criterion or the scale cannot be used, or the rule cannot be read.
    """

    criteria: Mapping[str, str]
    scale: tuple[str, ...]
    keep: str

    def __post_init__(self) -> None:
        for name in self.criteria:
            if not name.isidentifier() or name.endswith("_min") or name == "n_clinicians":
                raise InputError(f"criterion {name!r}: write a name of letters, digits and _, such as image_quality.")
        if not self.criteria:
            raise InputError("criteria: name at least one, such as relevance.")
        if not 2 <= len(self.scale) <= _MOST_LABELS or len(set(self.scale)) != len(self.scale) or not all(self.scale):
            raise InputError(f"scale {', '.join(self.scale)!r}: needs 2 to {_MOST_LABELS} different labels.")
        no_items: pd.DataFrame = SCHEMAS["items"].empty_table().to_pandas()
        kept_by(self.keep, rule_table(no_items, rated(pd.DataFrame(), self, [])))

    @property
    def values(self) -> dict[str, float]:
        """The number that each label of the scale counts as."""
        try:
            return {label: float(label) for label in self.scale}
        except ValueError:
            return {label: float(place) for place, label in enumerate(self.scale, start=1)}

    def choices(self) -> dict[str, Any]:
        """The form as `construction.toml` holds it."""
        return {"criteria": dict(self.criteria), "scale": list(self.scale), "keep": self.keep}


def screening_form(
    work: Work,
    *,
    criteria: Mapping[str, str] | None = None,
    scale: tuple[str, ...] | None = None,
    keep: str | None = None,
) -> ScreeningForm:
    """The form of a work folder: what is given, else what `construction.toml` says, else the four of the paper.

    Parameters
    ----------
    keep : by default no mean below the middle of the scale
    """
    written = work.choices("screen") or {}
    names = dict(written.get("criteria", CRITERIA) if criteria is None else criteria)
    labels = tuple(map(str, written.get("scale", SCALE) if scale is None else scale))
    rule = keep if keep is not None else written.get("keep") if criteria is None and scale is None else None
    if rule is None:
        values = list(ScreeningForm(names, labels, "n_clinicians >= 1").values.values())
        rule = " and ".join(f"{name} >= {(values[0] + values[-1]) / 2:g}" for name in names)
    return ScreeningForm(names, labels, str(rule))


def open_screening(work: Work, form: ScreeningForm, *, seed: int = 0, again: bool = False) -> None:
    """Write the form into `construction.toml`; the step stays begun until `close_screening`.

    Raises
    ------
    InputError
        The screening has another form already, or `mrb_lib.build.construct.work.begin` refuses.
    """
    written = work.choices("screen")
    if written is not None and not again and {**written, "ratings": None} != {**form.choices(), "ratings": None}:
        raise InputError(f"{work.path}: screen has another form; edit [screen] in construction.toml, or pass --again.")
    if written is not None and not again and work.state("screen") == "finished":
        raise InputError(f"{work.path}: the screening is closed; --again opens it again, and its ratings stay.")
    with begin(work, "screen", form.choices(), seed=seed, again=True, finish=False):
        pass


def screening_benchmark(work: Work, form: ScreeningForm) -> Benchmark:
    """The items as cases to be rated: question with options, images and reference, and nothing that could sway."""
    items, meta = work.entering("screen"), work.meta
    cases = pd.DataFrame({"case_id": items["item_id"].astype("str")})
    cases["question"] = asked_questions(items)
    cases["response_a"] = items["reference"].fillna("").astype("str")
    cases["response_b"] = ""
    for name in ("images", "organ", "department", "modality"):
        cases[name] = items[name]
    about = BenchmarkMeta(
        f"{meta.name} (screening)", meta.kind, tuple(form.criteria), form.scale, "ordinal",
        definitions=dict(form.criteria),
    )  # fmt: skip
    return Benchmark(about, cases, empty_annotations(), FolderImages(work.images), work.path)


def rated(answers: pd.DataFrame, form: ScreeningForm, items: list[str]) -> pd.DataFrame:
    """Return what clinicians said of each item.

    Parameters
    ----------
    answers : those that count, see `Store.answers`; criteria and labels that are not in the
        form any more do not count

    Returns
    -------
    DataFrame
        `item_id`, in the order of `items`; `n_clinicians` who rated it on any criterion; of each criterion the mean
        rating, and `<criterion>_min`; null where nobody rated it
    """
    out = pd.DataFrame({"item_id": pd.Series(items, dtype="str"), "n_clinicians": 0.0})
    for name in form.criteria:
        out[name], out[f"{name}_min"] = np.nan, np.nan
    if answers.empty:
        return out
    counted = answers[answers["dimension"].isin(list(form.criteria)) & answers["choice"].isin(form.scale)]
    counted = counted.assign(value=counted["choice"].map(form.values).astype("float64"))
    out["n_clinicians"] = out["item_id"].map(counted.groupby("case_id")["annotator"].nunique()).fillna(0).astype(float)
    for name in form.criteria:
        each = counted[counted["dimension"] == name].groupby("case_id")["value"]
        out[name], out[f"{name}_min"] = out["item_id"].map(each.mean()), out["item_id"].map(each.min())
    return out


def read_ratings(path: Path, form: ScreeningForm, benchmark: Benchmark) -> list[AnnotatorAnswer]:
    """Return the ratings of a table: a row an item and clinician, with `item_id`, `clinician` and a column a criterion.

    Parameters
    ----------
    path : in any of the forms of `mrb_lib.build.construct.layouts.table.rows_of`; an empty cell is no rating
    benchmark : see `screening_benchmark`

    Raises
    ------
    InputError
        An item is unknown, a clinician is not named, a rating is not on the scale, or there are none.
    """
    answers, items = [], set(benchmark.cases["case_id"])
    for row in rows_of(path):
        item, clinician = text_of(row, "item_id"), text_of(row, "clinician", "annotator")
        if item is None or item not in items:
            raise row.error("item_id", f"{item!r} is no item to screen", "write an id of items.parquet")
        if clinician is None:
            raise row.error("clinician", "is empty", "write who rated the item")
        for criterion in form.criteria:
            rating = text_of(row, criterion)
            if rating is not None and rating not in form.scale:
                raise row.error(criterion, f"{rating!r} is not on the scale", f"use one of {', '.join(form.scale)}")
            if rating is not None:
                answers.append(AnnotatorAnswer(benchmark.meta.name, item, clinician, criterion, rating, "AB"))
    if not answers:
        raise InputError(f"{path}: holds no rating; it needs a column for any of {', '.join(form.criteria)}.")
    return answers


def close_screening(work: Work, form: ScreeningForm, answers: pd.DataFrame) -> pd.DataFrame:
    """Decide which items stay by the form's rule, and finish the step.

    Parameters
    ----------
    answers : see `rated`

    Returns
    -------
    DataFrame
        `rated`, with `kept` and `reason`; also written as `screenings.parquet`. Nothing is done where nothing has
        changed since the screening was closed.

    Raises
    ------
    InputError
        The rule keeps nothing, or `mrb_lib.build.construct.work.begin` refuses.

    Notes
    -----
    Validated in `tests/build/construct/test_screen.py`.
    """
    choices = form.choices() | {"ratings": _digest(answers, form)}
    with begin(work, "screen", choices, seed=work.seed("screen") or 0, again=True) as step:
        items = step.entering
        table = rated(answers, form, items["item_id"].tolist())
        facts = rule_table(items, table)
        kept = kept_by(form.keep, facts) & (table["n_clinicians"] > 0).to_numpy()
        reasons = pd.Series(why_left_out(form.keep, facts, kept), dtype=object)
        skipped = set(answers.loc[answers["choice"].isna(), "case_id"]) if len(answers) else set()
        nobody = table["n_clinicians"] == 0
        reasons[nobody] = table["item_id"].isin(skipped).map({True: SKIPPED, False: NOT_RATED})[nobody]
        if not kept.any():
            raise InputError(f"keep {form.keep!r}: keeps none of {len(items)} items; edit [screen] or rate more items.")
        out = table.assign(kept=kept, reason=reasons.where(~kept, None))
        if not step.is_done:
            step.decide(out)
            step.write("screenings", out)
    return out


def _digest(answers: pd.DataFrame, form: ScreeningForm) -> str:
    """Stands for the ratings and the form they are counted by, so that a later rating or an edited rule is seen."""
    columns = ["case_id", "annotator", "dimension", "choice"]
    rows = answers[columns].sort_values(columns).astype(str).to_numpy().tolist() if len(answers) else []
    return hashlib.sha256(json.dumps([form.choices(), rows]).encode("ascii")).hexdigest()
