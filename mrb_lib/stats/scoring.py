"""The five scoring policies, the naive baselines that no judge should be below, and the rank of a judge."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from mrb_lib.stats.estimation import BoolArray, FloatArray, IntArray, Quantity, average, divide, mean, ratio
from mrb_lib.stats.options import check_choice
from mrb_lib.stats.panel import as_panel
from mrb_lib.stats.verdicts import REFERENCE, Verdicts, labels_of
from mrb_lib.tables.schema import CHOICES, POLICIES

BINARY: Final = ("official", "strict", "net")
BOTH_ORDERS: Final = ("strict", "net")
MOST_FREQUENT, BEST_CONSTANT = "most frequent label", "best constant"
FEWEST_OF_ALL: Final = 0.5
"""A judge is ranked where it is scored on this share, at least, of the cases that any judge is scored on."""


@dataclass(frozen=True)
class Scores:
    """Scores of verdicts, each array of shape (cases, cells).

    Attributes
    ----------
    score : 0 to 1; NaN where the case is excluded
    answered : share of the verdicts read that have a choice; NaN where the policy cannot be applied
    """

    score: FloatArray
    answered: FloatArray


def read_by(verdicts: Verdicts, policy: str) -> Verdicts:
    """Return the verdicts that a policy reads: `official` those in order AB, repeat 0; the others all."""
    return verdicts.where((verdicts.order == 0) & (verdicts.repeat == 0)) if policy == "official" else verdicts


def score(verdicts: Verdicts, labels: IntArray, policy: str) -> Scores:
    """Score every case in every cell by a policy.

    `official`: the verdict in order AB, repeat 0, is the gold label. `balanced`: the mean of 1 for the gold label, 1/2
    where exactly one of choice and gold is a tie, else 0. `answered`: the same over verdicts with a choice. `strict`:
    every verdict is the gold label, in both orders. `net` (JudgeBench's, arXiv 2410.12784): verdicts for the gold label
    outnumber those against it. A tie is neutral under a gold A or B; under a gold tie every A or B counts against.
    A verdict without a choice is worth 0.

    Parameters
    ----------
    labels : shape (cases, dimensions), codes of gold labels, -1 where there is none

    Returns
    -------
    Scores; a case is excluded where it has no gold label or lacks the verdicts that the policy reads (`official`: order
    AB, repeat 0; `strict` and `net`: both orders), and under `answered` where no verdict has a choice

    Raises
    ------
    InputError
        The policy is unknown.
    """
    check_choice("policy", policy, POLICIES)
    read, tie = read_by(verdicts, policy), verdicts.tie
    gold = read.gold(labels)
    right, chose = read.choice == gold, read.choice >= 0
    worth = right.astype(np.float64)
    if policy == "net":
        worth -= chose & ~right & (read.choice != tie)
    elif policy not in BINARY and tie >= 0:
        worth += 0.5 * (((read.choice == tie) != (gold == tie)) & chose)
    total, rows, answers = read.total(worth), read.total(), read.total(chose)
    applies = (rows > 0) & (labels[:, verdicts.dimension] >= 0)
    if policy in BOTH_ORDERS:
        applies &= (read.total(read.order == 0) > 0) & (read.total(read.order == 1) > 0)
    if policy == "net":
        value = (total > 0).astype(np.float64)
    elif policy in BINARY:
        value = (total == rows).astype(np.float64)
    else:
        value = divide(total, answers if policy == "answered" else rows)
    return Scores(np.where(applies, value, np.nan), np.where(applies, divide(answers, rows), np.nan))


def with_references(
    verdicts: Verdicts, labels: IntArray, cases: pd.DataFrame, offered: Sequence[str], policy: str
) -> Verdicts:
    """Return the verdicts with naive baselines added: constants, the longer response, and the best constant.

    Parameters
    ----------
    offered : the labels that a judge may give; without any there are no baselines

    Notes
    -----
    Of preferences the constants are "always tie" and "always A"; of ratings there is one per category, and no "longer
    response". "most frequent label" is that of gold, "best constant" the one with the highest accuracy under the
    policy, both over all cases of a dimension and so the same in its subfields.
    """
    if not offered:
        return verdicts
    categories, d = verdicts.categories, labels.shape[1]
    every = {n: (np.full(labels.shape, categories.index(n)), [n] * d) for n in categories if n in offered}
    shown = [n for n in ("tie", "A") if n in every] if verdicts.tie >= 0 else list(every)
    picks: dict[str, tuple[IntArray, Sequence[str | None]]] = {f"always {n}": every[n] for n in shown}
    texts = cases.columns.intersection(["response_a", "response_b"])
    if verdicts.tie >= 0 and len(texts) == 2:
        a, b = (cases[name].fillna("").astype(str).str.split().map(len) for name in sorted(texts))
        longer = np.select([a > b, a < b], [0, 1], verdicts.tie if "tie" in offered else -1)
        picks["longer response"] = np.repeat(longer[:, None], d, axis=1), [None] * d
    constants = verdicts.with_constants(every)
    constants = constants.of_cells((constants.cells["kind"] == REFERENCE).to_numpy())
    worth = score(constants, labels, policy).score
    code = np.array([categories.index(name) for name in constants.cells["label"]])
    right = (constants.total() > 0) & (labels[:, constants.dimension] == code)
    measures = {"frequent": right.sum(axis=0), "accuracy": np.nan_to_num(average(worth)), "number": constants.dimension}
    table = constants.cells.assign(**measures)
    for name, measure in ((MOST_FREQUENT, "frequent"), (BEST_CONSTANT, "accuracy")):
        best = table.loc[table.groupby("number")[measure].idxmax()].set_index("number")["label"]
        label = [best.get(number) for number in range(d)]
        pick = np.array([-1 if each is None else categories.index(each) for each in label])
        picks[name] = np.broadcast_to(pick, labels.shape), label
    return verdicts.with_constants(picks)


def decisive_worth(verdicts: Verdicts, labels: IntArray, policy: str) -> tuple[FloatArray, BoolArray]:
    """Return what each case with a clear winner is worth for decisive accuracy, and which side wins it.

    Decisive accuracy is balanced accuracy on the cases whose gold is A or B, with half credit for a tie, so that every
    constant and a coin score 1/2 (Brodersen et al. 2010). It is the same quantity under every policy, over the verdicts
    that the policy reads; under `answered` those without a choice are left out.

    Returns
    -------
    worth : shape (cases, cells), 0 to 1; NaN of ratings, and where gold is no side or the policy excludes the case
    sides : shape (cases, cells, 2), whether gold is A, and whether it is B
    """
    read = read_by(verdicts, policy)
    graded = "answered" if policy == "answered" else "balanced"
    worth = score(read, np.where(labels == verdicts.tie, -1, labels), graded).score
    worth[~np.isfinite(score(verdicts, labels, policy).answered)] = np.nan
    winner = labels[:, verdicts.dimension]
    sides = np.stack([np.isfinite(worth) & (winner == side) & (verdicts.tie >= 0) for side in (0, 1)], axis=2)
    return np.where(sides.any(axis=2), worth, np.nan), sides


def balanced_mean(worth: FloatArray, sides: BoolArray | FloatArray) -> Quantity:
    """Return the mean of the mean where gold is A and the mean where it is B.

    Parameters
    ----------
    worth : shape (cases, cells), or (cases, cells, 2) where it differs by what gold is
    sides : shape (cases, cells, 2), how much a case counts as one whose gold is A, and B
    """
    adds = np.concatenate([np.nan_to_num(worth if worth.ndim == 3 else worth[..., None]) * sides, sides], axis=2)
    return Quantity(adds, lambda sums: (ratio(sums[..., [0, 2]]) + ratio(sums[..., [1, 3]])) / 2)


def places(measure: FloatArray, then: FloatArray | None = None) -> FloatArray:
    """Return the place of each value, 1 the highest; equals go by `then` or share the better place. NaN has none."""
    known, place = np.isfinite(measure), np.full(len(measure), np.nan)
    keys = np.stack([measure, np.zeros(len(measure)) if then is None else then], axis=1)[known]
    number = np.unique(np.round(-keys, 12), axis=0, return_inverse=True)[1]
    place[known] = rankdata(number, method="min")
    return place


@dataclass(frozen=True)
class Ranking:
    """The one ranking of judges, by decisive accuracy, then accuracy (of ratings: accuracy alone).

    It compares judges on the cases that all ranked judges share.

    Attributes
    ----------
    rank : shape (cells,), 1 the best; equals share the better place. NaN for baselines, and for judges not ranked
    measure : shape (cells,), what is ranked by, on the common cases
    n_common : shape (cells,), the common cases of the cell's dimension
    is_partial : shape (cells,), whether a judge is not ranked because it is scored on too few of the cases
    """

    rank: FloatArray
    measure: FloatArray
    n_common: IntArray
    is_partial: BoolArray


def ranking(verdicts: Verdicts, labels: IntArray, policy: str, cases: IntArray | None = None) -> Ranking:
    """Rank the judges of each dimension on the cases that all of them are scored on.

    A judge that is scored on fewer than half of the cases that any judge is scored on is not ranked.

    Parameters
    ----------
    cases : positions of the cases to rank on; None takes all
    """
    kept = slice(None) if cases is None else cases
    accuracy, decisive = mean(score(verdicts, labels, policy).score[kept]), None
    if verdicts.tie >= 0:
        worth, sides = decisive_worth(verdicts, labels, policy)
        decisive = balanced_mean(worth[kept], sides[kept])
    return on_common_cases(verdicts, accuracy, decisive)


def on_common_cases(verdicts: Verdicts, accuracy: Quantity, decisive: Quantity | None) -> Ranking:
    """Rank the judges of each dimension by decisive accuracy, then accuracy, on the cases that all are scored on.

    Parameters
    ----------
    accuracy : the mean score of each cell, of score and weight by case
    decisive : see `balanced_mean`; None of ratings, which are ranked by accuracy alone
    """
    m = len(verdicts.cells)
    rank, measure, partial = np.full(m, np.nan), np.full(m, np.nan), np.zeros(m, dtype=bool)
    common = np.zeros(m, dtype=np.int64)
    competes = (verdicts.cells["kind"] != REFERENCE).to_numpy()
    for dimension in np.unique(verdicts.dimension):
        own = np.flatnonzero(competes & (verdicts.dimension == dimension))
        has = accuracy.adds[:, own, 1] > 0
        n = has.sum(axis=0)
        full = (n > 0) & (n >= FEWEST_OF_ALL * has.any(axis=1).sum())
        partial[own] = ~full & (n > 0)
        together = has[:, full].all(axis=1)
        common[own] = together.sum()
        ranked = own[full]
        then, value = (
            np.asarray(each.statistic(each.adds[together][:, ranked].sum(axis=0)))
            for each in (accuracy, decisive or accuracy)
        )
        measure[ranked] = value
        rank[ranked] = places(value, then)
    return Ranking(rank, measure, common, partial)


def correctness(
    verdicts: pd.DataFrame, gold: pd.DataFrame, policy: str = "balanced", categories: Sequence[str] = CHOICES
) -> pd.DataFrame:
    """Return what each judge's verdicts on each case are worth.

    Parameters
    ----------
    verdicts : the verdicts table, of one probe
    gold : `case_id, dimension, choice`; a case without a row, or with a null, has no label
    categories : what a verdict may choose

    Returns
    -------
    DataFrame
        One row per judge, case and dimension that has a verdict: `judge`, `case_id`, `dimension`, `score` (0 to 1; null
        where the policy excludes the case) and `answered` (see `Scores`).
    """
    case_ids = pd.concat([gold["case_id"], verdicts["case_id"]], ignore_index=True).drop_duplicates(ignore_index=True)
    coded = Verdicts.of(as_panel(verdicts, case_ids, None, categories))
    scores = score(coded, labels_of(gold, case_ids, coded.dimensions, coded.categories), policy)
    cell, case = np.nonzero(coded.total().T)
    names = coded.cells[["judge", "dimension"]].iloc[cell].reset_index(drop=True).astype("str")
    names.insert(1, "case_id", pd.Series(case_ids.to_numpy()[case], dtype="str"))
    return names.assign(score=scores.score[case, cell], answered=scores.answered[case, cell])
