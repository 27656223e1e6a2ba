"""Right verdicts for wrong reasons, by the judge that gave them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd

from mrb_lib.stats.accuracy.confusion import cohen_kappa
from mrb_lib.stats.contamination.sides import gap
from mrb_lib.stats.core.panel import Panel, as_panel
from mrb_lib.stats.core.scoring import encode_gold
from mrb_lib.stats.core.table import register_table
from mrb_lib.stats.options import (
    TINY,
    BoolArray,
    FloatArray,
    IntArray,
    by_column,
    divide,
    join_reasons,
    pick_dimensions,
    typed,
    with_ends,
)
from mrb_lib.stats.rationales.reading import ANNOTATORS, MEANINGS, sentence
from mrb_lib.stats.resampling.bounds import reasoned_bounds
from mrb_lib.stats.resampling.resample import (
    Ratios,
    block,
    cluster_codes,
    clusters_counted,
    n_clusters,
    ratios,
    resampled,
)
from mrb_lib.stats.resampling.robust import t_interval
from mrb_lib.stats.subfields import By, groups
from mrb_lib.tables.errors import InputError
from mrb_lib.verdicts.formats.rationales import CATEGORIES, DIMENSION, JUDGE, RIGHT, VERDICTS

SHARES: Final = (
    "share_right", "share_wrong", "share_irrelevant", "right_for_wrong_reason", "wrong_for_right_reason",
)  # fmt: skip
COLUMNS: Final = (
    "judge", "dimension", "marker", "subfield", "by", "n_reasons", "n_marked", "n_unscored", "n_unassigned",
    "n_clusters", *with_ends(*SHARES[:3]), "n_right_verdicts", *with_ends("right_for_wrong_reason"),
    "n_wrong_verdicts", *with_ends("wrong_for_right_reason", "reason_gap"), "n_both", *with_ends("cohen_kappa"),
    "reason",
)  # fmt: skip
UNMARKED = "the marker has marked none of these reasons"
NO_RIGHT = "right_for_wrong_reason is undefined: no marked reason is for a right verdict"
NO_WRONG = "wrong_for_right_reason is undefined: no marked reason is for a wrong verdict"
NO_GAP = "reason_gap is undefined: it takes reasons for right and for wrong verdicts"
FEW_GAP = "no interval: fewer than two clusters have reasons for right verdicts, or for wrong ones"
ALIKE_GAP = "no interval: the reasons for right verdicts do not differ in it, or those for wrong ones"
OF_SECOND = "cohen_kappa is of a second judge with the annotators"
NOT_BOTH = "cohen_kappa is undefined: the annotators marked none of the reasons that the second judge did"
ONE_MARK = "cohen_kappa is undefined: both give one and the same mark throughout"
OWN_MARKS = "the judge marked its own reasons"
_K = len(CATEGORIES)
_RIGHT = CATEGORIES.index(RIGHT)


class _Cell(NamedTuple):
    """The reasons of one judge for its verdicts on one dimension, as one marker marked them; arrays are by case.

    Attributes
    ----------
    given : whether the case is such a reason
    score : 1 for a right verdict, 0 for a wrong one, NaN for neither
    mark : shape (3, n), the marker's shares of `CATEGORIES` over its repeats; NaN without a mark
    people : the same of the annotators
    """

    judge: str
    dimension: str
    marker: str
    given: BoolArray
    score: FloatArray
    mark: FloatArray
    people: FloatArray

    @property
    def marked(self) -> BoolArray:
        """Whether the marker marked the reason."""
        return np.asarray(self.given & np.isfinite(self.mark[0]))

    def scored(self, score: int) -> BoolArray:
        """Whether it is a marked reason for a right verdict (1) or a wrong one (0)."""
        return np.asarray(self.marked & (self.score == score))

    @property
    def both(self) -> BoolArray:
        """Whether a second judge and the annotators marked the reason."""
        return np.asarray(self.marked & np.isfinite(self.people[0]) & (self.marker != ANNOTATORS))

    def shares(self) -> tuple[FloatArray, FloatArray]:
        """What each case adds to the numerators and denominators of `SHARES`, shape (n, 5)."""
        mark = np.nan_to_num(self.mark)
        counted = np.stack([self.marked] * _K + [self.scored(1), self.scored(0)], axis=1).astype(np.float64)
        return np.stack([*mark, 1 - mark[_RIGHT], mark[_RIGHT]], axis=1) * counted, counted

    def pairs(self) -> FloatArray:
        """What each case adds to the table of the annotators' marks by the second judge's, shape (n, 9)."""
        mark, people = np.nan_to_num(self.mark), np.nan_to_num(self.people)
        return (people[:, None] * mark[None] * self.both).reshape(_K * _K, -1).T


@register_table(
    "rationales",
    question="is a judge right for the right reasons, as people or a second judge mark them",
    columns=COLUMNS,
    meanings=MEANINGS,
    headline=("right_for_wrong_reason", "share_right", "reason_gap", "cohen_kappa"),
    sentence=sentence,
    needs_verdicts=False,
    why_no_preferences="it is about reasons; make a benchmark of them with `mrb export rationales`",
)
def rationales(
    verdicts: pd.DataFrame | Panel | None,
    gold: pd.DataFrame,
    cases: pd.DataFrame,
    *,
    categories: Sequence[str],
    by: By = None,
    cluster: str | None = None,
    resamples: int = 2000,
    seed: int = 0,
) -> pd.DataFrame:
    """How often judges are right for a wrong reason, on a benchmark that `mrb export rationales` wrote.

    Parameters
    ----------
    verdicts : the marks of second judges, of one probe, or the panel of them; None where there are none
    gold : the annotators' marks by the rule asked for, `case_id, dimension, choice`
    cases : the cases table, a case a reason, with `source_judge` and `source_verdicts`
    categories : of the benchmark: right, wrong, irrelevant
    by, cluster, resamples, seed : see `mrb_lib.stats.accuracy.table.accuracy`

    Returns
    -------
    DataFrame
        One row a judge that gave reasons, dimension of its verdicts and marker (`annotators`, and each second judge),
        overall and for every subfield. Of the `n_reasons` reasons `n_marked` are marked: `share_right`, `share_wrong`,
        `share_irrelevant`. Of those for verdicts that are the annotators' label, `right_for_wrong_reason` is the share
        marked wrong or irrelevant; of those for other verdicts, `wrong_for_right_reason` the share marked right;
        `reason_gap` is the share of right reasons among right verdicts less that among wrong ones. `n_unscored` marked
        reasons are for neither. `cohen_kappa` compares a second judge with the annotators over `n_both` reasons.

        A reason for verdicts on several dimensions counts on each. A second judge's repeats share a reason's mark out.
        Each value has `_low` and `_high`: of shares the recommended interval of `mrb_lib.stats.resampling.shares`; of
        `reason_gap` Student's t of `mrb_lib.stats.contamination.sides.gap`, null where the reasons for right or for
        wrong verdicts are in fewer than two clusters or do not vary; of `cohen_kappa` the cluster bootstrap's
        (`mrb_lib.stats.resampling.bounds.reasoned_bounds`). `reason` says why a value is null.

    Raises
    ------
    InputError
        The benchmark is not one of reasons, or `by` or `cluster` cannot be used.

    Notes
    -----
    Marks are taken as they are: `--gold` names the rule for the annotators', and a second judge's are no better than
    its `cohen_kappa` with theirs. Validated by tests/stats/rationales/test_table.py (hand counts; planted rates lie in
    their intervals).
    """
    cells = _cells(verdicts, gold, cases, categories)
    parts, codes = groups(cases, by), cluster_codes(cases, cluster)
    shares = [np.stack(each, axis=1).reshape(len(cases), -1) for each in zip(*(c.shares() for c in cells), strict=True)]
    data = [(part.cases, shares[0][part.cases], shares[1][part.cases]) for part in parts]
    found = ratios(data, codes, shares=True, resamples=resamples, seed=seed)
    pairs = np.hstack([cell.pairs() for cell in cells])
    blocks = [block(codes[part.cases], pairs[part.cases], partial(_kappas, n_cells=len(cells))) for part in parts]
    drawn = resampled(blocks, n_clusters(codes), resamples=resamples, seed=seed)
    rows: list[dict[str, object]] = []
    for part, share, each in zip(parts, found, drawn, strict=True):
        unit, both = codes[part.cases], np.stack([cell.both[part.cases] for cell in cells], axis=1)
        kappa = _kappas(each.total, len(cells))[0]
        ends, whys = reasoned_bounds(each.replicates, kappa, both.sum(axis=0), clusters_counted(unit, both))
        for i, cell in enumerate(cells):
            values = dict(zip(with_ends("cohen_kappa"), (kappa[i], *ends[:, i]), strict=True))
            columns, why = _of_shares(share, i)
            of_gap, why_gap = _gap(cell, part.cases, unit)
            why |= {"reason_gap": why_gap, "cohen_kappa": whys[i]}
            rows.append(_counts(cell, part.cases, codes) | columns | of_gap | values | part.label() | {"why": why})
    given = [row | {"reason": _reason(row)} for row in rows if row["n_reasons"]]
    return typed(pd.DataFrame(given), COLUMNS, marker="str")


def _cells(
    verdicts: pd.DataFrame | Panel | None, gold: pd.DataFrame, cases: pd.DataFrame, categories: Sequence[str]
) -> list[_Cell]:
    """Every judge, dimension and marker, in the order to show them."""
    if not {JUDGE, VERDICTS} <= set(cases.columns) or set(CATEGORIES) - set(categories):
        raise InputError(
            "table rationales: these cases are not the reasons of judges; make a benchmark of them with "
            "`mrb export rationales BENCH RUNS OUT`."
        )
    scores = _scores(cases)
    people = _people(gold, cases, categories)
    marks = _second_judges(verdicts, cases, categories)
    if np.isfinite(people).any() or not marks:
        marks = {ANNOTATORS: people} | marks
    judges = cases[JUDGE].astype("str")
    return [
        _Cell(str(judge), dimension, marker, given, score, mark, people)
        for dimension, (stated, score) in scores.items()
        for judge in sorted(judges.unique())
        if (given := (judges == judge).to_numpy() & stated).any()
        for marker, mark in marks.items()
    ]


def _scores(cases: pd.DataFrame) -> dict[str, tuple[BoolArray, FloatArray]]:
    """By dimension, which reasons are for a verdict on it, and whether that is right: 1, 0 or NaN."""
    read: list[dict[str, float]] = []
    for case_id, text in zip(cases["case_id"], cases[VERDICTS], strict=True):
        try:
            stated = {str(name): each["score"] for name, each in json.loads(text).items()}
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise _unreadable(case_id) from error
        if any(score not in (0, 1, None) for score in stated.values()):
            raise _unreadable(case_id)
        read.append({name: np.nan if score is None else float(score) for name, score in stated.items()})
    names = pick_dimensions((name for each in read for name in each), None)
    return {
        name: (np.array([name in each for each in read]), np.array([each.get(name, np.nan) for each in read]))
        for name in names
    }


def _unreadable(case_id: object) -> InputError:
    return InputError(
        f"cases, column {VERDICTS} (case {case_id}): is not what `mrb export rationales` writes; export again."
    )


def _people(gold: pd.DataFrame, cases: pd.DataFrame, categories: Sequence[str]) -> FloatArray:
    """The annotators' marks, shape (3, cases); NaN where there is none."""
    label = encode_gold(gold, cases["case_id"], [DIMENSION], categories)[0]
    codes = np.array([list(categories).index(name) for name in CATEGORIES])
    return np.where(label >= 0, codes[:, None] == label, np.nan)


def _second_judges(
    verdicts: pd.DataFrame | Panel | None, cases: pd.DataFrame, categories: Sequence[str]
) -> dict[str, FloatArray]:
    """The marks of each second judge, shape (3, cases), shared out over its repeats; NaN where there is none."""
    if verdicts is None or (isinstance(verdicts, pd.DataFrame) and verdicts.empty):
        return {}
    panel = as_panel(verdicts, cases["case_id"], [DIMENSION], categories)
    codes = [list(panel.categories).index(name) for name in CATEGORIES]
    counts = np.stack([(panel.choice[:, 0] == code).sum(axis=(2, 3)) for code in codes], axis=1).astype(np.float64)
    return dict(zip(panel.judges, divide(counts, counts.sum(axis=1, keepdims=True)), strict=True))


def _kappas(sums: FloatArray, n_cells: int) -> FloatArray:
    """Cohen's kappa of every cell, shape (b, cells), from weighted sums of shape (b, cells * 9)."""
    return cohen_kappa(sums.reshape(len(sums), n_cells, _K, _K))


def _gap(cell: _Cell, cases: IntArray, unit: IntArray) -> tuple[dict[str, object], str]:
    """The columns of `reason_gap` of one cell in a group of cases, and why the interval is null."""
    right, wrong = (cell.scored(score)[cases] for score in (1, 0))
    made = gap(cell.mark[_RIGHT][None, cases], right[None], wrong[None], unit)
    value = made.difference.value[0]
    row: dict[str, object] = {"reason_gap": value}
    if np.isnan(value):
        return row, ""
    if min(len(np.unique(unit[side])) for side in (right, wrong)) < 2:
        return row, FEW_GAP
    if not min(made.first.error[0], made.second.error[0]) > TINY:
        return row, ALIKE_GAP
    low, high = t_interval(made.difference, -1.0, 1.0)
    return {**row, "reason_gap_low": low[0], "reason_gap_high": high[0]}, ""


def _counts(cell: _Cell, cases: np.ndarray, codes: np.ndarray) -> dict[str, object]:
    """The names of a cell, and what is counted of its cases."""
    marked, right, wrong, both = (on[cases] for on in (cell.marked, cell.scored(1), cell.scored(0), cell.both))
    return {
        "judge": cell.judge, "dimension": cell.dimension, "marker": cell.marker,
        "n_reasons": int(cell.given[cases].sum()), "n_marked": int(marked.sum()),
        "n_unscored": int((marked & ~right & ~wrong).sum()),
        "n_clusters": int(clusters_counted(codes[cases], marked[:, None])[0]),
        "n_right_verdicts": int(right.sum()), "n_wrong_verdicts": int(wrong.sum()), "n_both": int(both.sum()),
    }  # fmt: skip


def _of_shares(share: Ratios, cell: int) -> tuple[dict[str, object], dict[str, str]]:
    """The columns of `SHARES` of one cell, and why the interval of each is null."""
    out: dict[str, object] = {}
    why = {}
    for at, name in enumerate(SHARES, start=cell * len(SHARES)):
        out |= dict(zip(with_ends(name), (share.value[at], share.low[at], share.high[at]), strict=True))
        why[name] = share.reason[at]
    return out, why


def _reason(row: Mapping[str, Any]) -> str | None:
    """Why values of a row are null."""
    marked, right, wrong = (bool(row[name]) for name in ("n_marked", "n_right_verdicts", "n_wrong_verdicts"))
    people = row["marker"] == ANNOTATORS
    return join_reasons(
        "" if marked else UNMARKED,
        NO_RIGHT if marked and not right else "",
        NO_WRONG if marked and not wrong else "",
        NO_GAP if marked and not (right and wrong) else "",
        OF_SECOND if people else "",
        NOT_BOTH if not people and not row["n_both"] else "",
        ONE_MARK if row["n_both"] and np.isnan(row["cohen_kappa"]) else "",
        OWN_MARKS if row["marker"] == row["judge"] else "",
        by_column(row["why"]),
    )
