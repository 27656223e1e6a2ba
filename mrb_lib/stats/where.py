"""Filters of cases by more than their own columns: by gold labels, verdicts, reviewers and tags."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.benchmarks.where import Mask, case_lookup, matching
from mrb_lib.stats.analysis import GivenVerdicts, labels, read_panels
from mrb_lib.stats.options import IntArray, check_choice
from mrb_lib.stats.panel import ABSENT, NULL, Panel, as_panel
from mrb_lib.stats.scoring import score
from mrb_lib.stats.verdicts import Verdicts, labels_of
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.schema import CHOICES, NO_PROBE

OVERALL, TAG, MIXED = "overall", "tag", "mixed"
OUTCOMES: Final = ("right", "half right", "wrong", "not scored", "no gold label", "not judged", "trained on")
RIGHT, HALF, WRONG, UNSCORED, NO_LABEL, NOT_JUDGED, SEEN = OUTCOMES
MIXED_CODE: Final = int(np.iinfo(np.int8).max)
CELL: Final = ["judge", "dimension", "case_id"]
_NO_STORE = "there is no store of reviews; `mrb review BENCH` makes one there, and MRB_STORE names another"
_BESIDE = (
    "gold",
    "outcome['a judge']",
    "says['a judge']",
    "reviewers",
    "reviewed_by['a name']",
    "tags",
    "tagged['a tag']",
)
ByCase = Mapping[str, Sequence[str]]


def outcome_codes(panel: Panel, labels: IntArray, policy: str) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
    """Return the outcome and the choice of every judge on every case.

    Parameters
    ----------
    labels : the gold labels, shape (dimensions, cases), -1 where there is none

    Returns
    -------
    two int8 arrays, shape (judges, dimensions, cases)
        The position in `OUTCOMES` ("right" is a score above 1/2, "half right" 1/2), and the position in the panel's
        categories of the most frequent choice: `MIXED_CODE` where two are, `NULL` where no verdict has a choice,
        `ABSENT` without a verdict.

    Raises
    ------
    InputError
        The policy is unknown.
    """
    worth = np.full(panel.shape, np.nan)
    for i, judge in enumerate(panel.judges):
        own = Verdicts.of(panel.of_judges([judge]))
        worth[i, own.dimension] = np.round(score(own, labels.T, policy).score.T, 12)
    is_so = {SEEN: panel.saw(), NOT_JUDGED: ~panel.judged(), NO_LABEL: np.broadcast_to(labels < 0, panel.shape)}
    is_so |= {RIGHT: worth > 0.5, HALF: worth == 0.5, WRONG: worth < 0.5}
    outcome = np.select(list(is_so.values()), [OUTCOMES.index(name) for name in is_so], OUTCOMES.index(UNSCORED))
    every = panel.with_seen()
    counts = np.stack([(every.choice == code).sum(axis=4).sum(axis=3) for code in range(len(panel.categories))])
    most = counts.max(axis=0)
    unclear = [~every.judged(), most == 0, (counts == most).sum(axis=0) > 1]
    said = np.select(unclear, [ABSENT, NULL, MIXED_CODE], counts.argmax(axis=0))
    return outcome.astype(np.int8), said.astype(np.int8)


def outcome_rows(
    outcome: NDArray[np.int8], said: NDArray[np.int8], judges: Sequence[str], dimensions: Sequence[str],
    case_ids: Sequence[str], categories: Sequence[str],
) -> pd.DataFrame:  # fmt: skip
    """Return the table of `outcomes` from the codes of `outcome_codes`."""
    at = np.nonzero(said != ABSENT)
    names = zip(CELL, at, (judges, dimensions, case_ids), strict=True)
    cells = {name: pd.Categorical.from_codes(codes, pd.Index(list(own), dtype="str")) for name, codes, own in names}
    texts = np.array([*categories, MIXED, ""], dtype=object)
    code = np.where(said[at] == MIXED_CODE, len(categories), said[at])  # -1, no choice, is the last text
    return pd.DataFrame({**cells, "outcome": np.array(OUTCOMES, dtype=object)[outcome[at]], "said": texts[code]})


def outcomes(
    verdicts: pd.DataFrame | Panel,
    gold: pd.DataFrame,
    cases: pd.DataFrame,
    *,
    dimensions: Sequence[str] | None = None,
    policy: str = "balanced",
    categories: Sequence[str] = CHOICES,
) -> pd.DataFrame:
    """Return what became of each judge's verdicts on each case.

    Parameters
    ----------
    verdicts : of one probe; where a column `seen` is true, the judge was trained on the case
    gold : `case_id, dimension, choice`
    dimensions : the dimensions to keep; None for all that are judged
    policy, categories : as in `mrb_lib.stats.scoring.correctness`

    Returns
    -------
    DataFrame
        One row per judge, dimension and case with a verdict, as categories in the order of the judges' names, of the
        dimensions and of the cases: `outcome`, one of `OUTCOMES`, and `said`, the most frequent choice, "mixed" where
        several are, empty where no verdict has a choice.

    Raises
    ------
    InputError
        The policy is unknown, or a verdict is about an unknown case.
    """
    panel = as_panel(verdicts, cases["case_id"], dimensions, categories)
    labels = labels_of(gold, cases["case_id"], panel.dimensions, panel.categories).T
    codes = outcome_codes(panel, labels, policy)
    return outcome_rows(*codes, panel.judges, panel.dimensions, cases["case_id"].tolist(), panel.categories)


def cases_where(
    text: str, cases: pd.DataFrame, *, gold: pd.DataFrame, outcomes: Callable[[], pd.DataFrame],
    reviewers: Callable[[], ByCase], dimensions: Sequence[str], tags: Callable[[], ByCase] = dict,
) -> Mask:  # fmt: skip
    """Return the cases that a filter leaves, see `mrb_lib.benchmarks.where.matching`.

    Beside the columns of the cases and their lengths: `gold` (the label on "overall", or on the last dimension where
    there is none) and `gold['accuracy']`; `outcome['a judge']` and `outcome['a judge', 'accuracy']`, one of `OUTCOMES`;
    `says['a judge']`, A, B, tie or mixed, of ratings a category or mixed; `reviewers`, how many reviewed the case, and
    `reviewed_by['a name']`; `tags`, how many they gave it, and `tagged['artefact']`.

    Parameters
    ----------
    gold : the gold labels
    outcomes : returns the table of `outcomes`; called only if the filter asks for it, as the next ones are
    reviewers : returns who reviewed each case
    dimensions : of the benchmark
    tags : returns the tags of each case
    """
    ids, of_columns = cases["case_id"].reset_index(drop=True), case_lookup(cases, _BESIDE)

    def on_dimension(rows: pd.DataFrame, keys: tuple[str, ...]) -> pd.DataFrame:
        if len(keys) > 1:
            raise InputError("where: name a judge and a dimension at most.")
        name = keys[0] if keys else OVERALL if OVERALL in dimensions else dimensions[-1]
        check_choice("dimension", name, dimensions)
        return rows[rows["dimension"] == name].set_index("case_id")

    def look(name: str, keys: tuple[str, ...]) -> pd.Series:
        if name == "gold" and "gold" not in cases:
            return ids.map(on_dimension(gold, keys)["choice"])
        if name in ("outcome", "says") and keys:
            found = outcomes()
            check_choice("judge", keys[0], [*found["judge"].cat.categories])
            found = on_dimension(found[found["judge"] == keys[0]], keys[1:])
            if name == "says":
                return ids.map(found["said"]).replace("", None)
            return ids.map(found["outcome"]).fillna(NOT_JUDGED)
        if name == "reviewers" and not keys:
            return ids.map({case: len(names) for case, names in reviewers().items()}).fillna(0).astype("int64")
        if name == "tags" and not keys and name not in cases:
            return ids.map({case: len(names) for case, names in tags().items()}).fillna(0).astype("int64")
        if name == "tagged" and len(keys) == 1:
            return ids.isin({case for case, names in tags().items() if keys[0] in names})
        if name == "reviewed_by" and len(keys) == 1:
            return ids.isin({case for case, names in reviewers().items() if keys[0] in names})
        return of_columns(name, keys)

    return matching(text, look)


def restricted(
    benchmark: Benchmark, verdicts: GivenVerdicts, where: str, *, policy: str = "balanced",
    adjudications: pd.DataFrame | None = None, tags: pd.DataFrame | None = None,
) -> tuple[Benchmark, GivenVerdicts]:  # fmt: skip
    """Return a benchmark and its verdicts without the cases that a filter drops; see `cases_where`.

    Parameters
    ----------
    adjudications, tags : the reviewers' adjudications and tags, see `store.Store`; None without a store

    Raises
    ------
    InputError
        The filter cannot be read, or leaves no case.
    """
    cases, gold = benchmark.cases, labels(benchmark)

    def of_judges() -> pd.DataFrame:
        by_probe = read_panels(benchmark, [verdicts]) if isinstance(verdicts, pd.DataFrame) else verdicts or {}
        if NO_PROBE not in by_probe:
            raise InputError(f"where {where!r}: asks what judges say, and there are no verdicts.")
        return outcomes(by_probe[NO_PROBE], gold, cases, policy=policy)

    def of_reviewers(rows: pd.DataFrame | None, column: str, asked: str) -> ByCase:
        if rows is None:
            raise InputError(f"where {where!r}: asks {asked}, and {_NO_STORE}.")
        return values_by_case(rows, column)

    kept = cases_where(
        where, cases, gold=gold, outcomes=of_judges, dimensions=benchmark.meta.dimensions,
        reviewers=lambda: of_reviewers(adjudications, "reviewer", "who reviewed"),
        tags=lambda: of_reviewers(tags, TAG, "for tags"),
    )  # fmt: skip
    if not kept.any():
        raise InputError(f"where {where!r}: leaves none of {len(cases)} cases.")
    ids = cases.loc[kept, "case_id"]
    annotations = benchmark.annotations[benchmark.annotations["case_id"].isin(ids)].reset_index(drop=True)
    smaller = replace(benchmark, cases=cases[kept].reset_index(drop=True), annotations=annotations)
    if isinstance(verdicts, Mapping):
        return smaller, {name: panel.of_cases(kept) for name, panel in verdicts.items()}
    return smaller, None if verdicts is None else verdicts[verdicts["case_id"].isin(ids)].reset_index(drop=True)


def asks_for_tags(text: str) -> bool:
    """Return whether a filter may ask for tags; wrong only where a text contains the word."""
    return re.search(r"\b(tags|tagged)\b", text) is not None


def asks_for_reviews(text: str) -> bool:
    """Return whether a filter may ask what reviewers did: for tags, or who reviewed."""
    return asks_for_tags(text) or re.search(r"\b(reviewers|reviewed_by)\b", text) is not None


def values_by_case(rows: pd.DataFrame, column: str) -> dict[str, list[str]]:
    """Return, by case, the different values of a column in alphabetical order."""
    return {str(case): sorted(set(values)) for case, values in rows.groupby("case_id")[column]}
