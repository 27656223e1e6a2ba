"""The rows of the table `power`, of one dimension and group of cases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from mrb_lib.stats.multiplicity import single_level
from mrb_lib.stats.options import BoolArray, FloatArray, IntArray, join_reasons
from mrb_lib.stats.power.coverage import RESAMPLES, STUDIES, STUDIES_OF_PART, Coverage, coverage
from mrb_lib.stats.power.formulas import (
    ALPHA,
    POWER,
    T_TEST,
    MeanDifferences,
    cases_needed,
    detectable,
    differences,
    power_at,
)
from mrb_lib.stats.significance.paired import row_test
from mrb_lib.stats.subfields import Group

STATED = (0.01, 0.02, 0.03, 0.05, 0.10)
CURVE = tuple(round(0.005 * i, 3) for i in range(31))
SIMULATED = "SIMULATED"
NOMINAL = 0.95
_ROUNDING = 1e-12
ONE_JUDGE = "undefined: a comparison takes two judges"
FEW_CLUSTERS = "undefined: fewer than two clusters of cases are scored for both"
NEVER_DIFFER = (
    "undefined: the difference is the same on every case (or in every cluster), so that its variance is unknown"
)
TOO_LARGE = "the smallest difference exceeds the share of cases scored differently: at this variance none is as large"
IMPOSSIBLE = "undefined: the judges of the median pair differ on too few cases for this difference"
IMPOSSIBLE_OF_WORST = "undefined: those of the worst pair differ on too few cases for this difference"
NEVER_FOUND = (
    "none is known to be found with this power: clusters, or cases scored differently, are too few for the level"
)
NO_VARIATION = "undefined: fewer than two clusters, or scores that do not vary"

Rows = Mapping[str, object]
"""Columns by name: arrays or lists of one length, or a value that all rows have."""


Representative = tuple[str, str | None, FloatArray]
"""A judge, or two, and the score of each case, or its difference."""


class Slice(NamedTuple):
    """One dimension of one group of cases, for the judges that have verdicts on it.

    `value` has shape (judges, cases of the group); `first`, `second` are the positions of the judges of each pair. The
    test of a pair is one of `family` that are corrected by `correction` over the `scope`; see `single_level`.
    """

    dimension: str
    subset: Group
    judges: list[str]
    value: FloatArray
    codes: IntArray
    policy: str
    first: IntArray
    second: IntArray
    correction: str
    scope: str
    family: int = 0

    @property
    def test(self) -> str:
        """The test that the table `significance` makes of a pair."""
        return row_test(self.policy, len(np.unique(self.codes)) == len(self.codes))

    @property
    def level(self) -> float:
        """What the p of a pair must not exceed, if no other of its family is rejected."""
        return single_level(self.family, self.correction, ALPHA)

    def label(self) -> dict[str, object]:
        return {"dimension": self.dimension, **self.subset.label(), "policy": self.policy}

    def tested(self) -> dict[str, object]:
        """The columns of a row about a pair: what is tested, by which test, at which level."""
        return {
            **self.label(),
            "quantity": "difference",
            "test": self.test,
            "alpha": ALPHA,
            "correction": self.correction,
            "family": self.family,
            "family_scope": self.scope,
            "alpha_adjusted": self.level,
        }

    def pair(self, position: int) -> tuple[str, str]:
        return self.judges[self.first[position]], self.judges[self.second[position]]


def compared(piece: Slice) -> MeanDifferences:
    """Every two judges."""
    return differences(piece.value[piece.first], piece.value[piece.second], piece.codes)


def alone(piece: Slice) -> MeanDifferences:
    """Every judge, against a fixed value."""
    return differences(piece.value, np.zeros_like(piece.value), piece.codes)


def ranked(pairs: MeanDifferences) -> IntArray:
    """The pairs that have a standard error above 0, from the smallest to the largest."""
    usable = np.flatnonzero((pairs.clusters > 1) & (pairs.error > 0))
    return usable[np.argsort(pairs.error[usable], kind="stable")]


def middle(order: IntArray) -> int:
    """The median of what is ordered; the lower of two."""
    return int(order[(len(order) - 1) // 2])


def judge_rows(piece: Slice) -> Rows:
    """What can be told of each judge alone, against a fixed accuracy, by a t test at the level of a single test."""
    judges = alone(piece)
    label = {**piece.label(), "quantity": "accuracy", "test": T_TEST, "alpha": ALPHA, "alpha_adjusted": ALPHA}
    nobody = [None] * len(piece.judges)
    return {**label, **_detectable(piece, judges, piece.judges, nobody, detectable(judges, T_TEST, ALPHA))}


def _detectable(
    piece: Slice, pairs: MeanDifferences, first: Sequence[str], second: Sequence[str | None], smallest: FloatArray
) -> Rows:
    return {
        "judge_1": list(first),
        "judge_2": list(second),
        "n": pairs.n,
        "n_excluded": len(piece.codes) - pairs.n,
        "n_clusters": pairs.clusters,
        "difference": pairs.value,
        "standard_error": np.where(pairs.error > 0, pairs.error, np.nan),
        "minimum_detectable_difference": smallest,
        "power": POWER,
        "reason": [text or None for text in _unknown(pairs, smallest)],
    }


def _unknown(pairs: MeanDifferences, smallest: FloatArray) -> list[str]:
    """Why no difference is detectable; empty if there is one."""
    lost = np.where(np.isnan(smallest), NEVER_FOUND, "")
    reasons = np.where(pairs.clusters < 2, FEW_CLUSTERS, np.where(pairs.error > 0, lost, NEVER_DIFFER))
    return [str(text) for text in reasons]


def pair_rows(piece: Slice, pairs: MeanDifferences, first: Sequence[str], second: Sequence[str]) -> Rows:
    """What can be told of each pair."""
    smallest = detectable(pairs, piece.test, piece.level)
    too_large = smallest > pairs.discordance + _ROUNDING
    reasons = [
        said or (TOO_LARGE if large else None) for said, large in zip(_unknown(pairs, smallest), too_large, strict=True)
    ]
    rows = _detectable(piece, pairs, first, second, smallest)
    return {**piece.tested(), **rows, "discordance": pairs.discordance, "reason": reasons}


def summary_row(piece: Slice, pairs: MeanDifferences) -> Rows:
    """The pairs of median and of largest standard error."""
    order = ranked(pairs)
    if not len(order):
        n = int(pairs.n.max()) if len(pairs.n) else int(np.isfinite(piece.value).any(axis=0).sum())
        few = len(pairs.n) and (pairs.clusters < 2).all()
        return {
            **piece.tested(),
            "n": [n],
            "n_excluded": len(piece.codes) - n,
            "n_pairs": len(pairs.n),
            "power": POWER,
            "reason": ONE_JUDGE if not len(pairs.n) else FEW_CLUSTERS if few else NEVER_DIFFER,
        }
    median, worst = middle(order), int(order[-1])
    first, second = piece.pair(median)
    other = dict(zip(("worst_judge_1", "worst_judge_2"), piece.pair(worst), strict=True))
    one = pair_rows(piece, pairs.rows(np.array([median])), [first], [second])
    return {
        **one,
        **other,
        "n_pairs": len(pairs.n),
        "worst_standard_error": pairs.error[worst],
        "worst_minimum_detectable_difference": detectable(pairs.rows(np.array([worst])), piece.test, piece.level),
    }


def needed_rows(piece: Slice, pairs: MeanDifferences) -> Rows:
    """The cases that stated differences take; there is a pair at least."""
    stated, two = np.array(STATED), pairs.rows(_median_and_worst(pairs))
    needed = cases_needed(stated, two, piece.test, piece.level)
    return {
        **_whose(piece, pairs),
        "difference": stated,
        "power": POWER,
        "n_needed": needed[0],
        "worst_n_needed": needed[1],
        "reason": [reason or None for reason in _impossible(stated, two)],
    }


def curve_rows(piece: Slice, pairs: MeanDifferences) -> Rows:
    """The power with the cases at hand, by the difference to be found."""
    grid, two = np.array(CURVE), pairs.rows(_median_and_worst(pairs))
    power = power_at(grid, two, piece.test, piece.level)
    power[grid > two.discordance[:, None] + _ROUNDING] = np.nan
    reasons = [reason or None for reason in _impossible(grid, two)]
    return {
        **_whose(piece, pairs),
        "difference": grid,
        "power": power[0],
        "worst_power": power[1],
        "reason": reasons,
    }


def _median_and_worst(pairs: MeanDifferences) -> IntArray:
    order = ranked(pairs)
    return np.array([middle(order), int(order[-1])])


def _impossible(difference: FloatArray, two: MeanDifferences) -> list[str]:
    """Why the median or the worst pair cannot have each difference; empty if both can."""
    beyond = difference > two.discordance[:, None] + _ROUNDING
    return [
        join_reasons(IMPOSSIBLE if median else "", IMPOSSIBLE_OF_WORST if worst else "") or ""
        for median, worst in beyond.T
    ]


def _whose(piece: Slice, pairs: MeanDifferences) -> dict[str, object]:
    """The columns that say whose variance it is."""
    median, worst = (int(i) for i in _median_and_worst(pairs))
    names = ("judge_1", "judge_2", "worst_judge_1", "worst_judge_2")
    return {
        **piece.tested(),
        **dict(zip(names, (*piece.pair(median), *piece.pair(worst)), strict=True)),
        "n": pairs.n[median],
        "n_excluded": len(piece.codes) - pairs.n[median],
        "n_clusters": pairs.clusters[median],
        "standard_error": pairs.error[median],
        "worst_standard_error": pairs.error[worst],
    }


def coverage_rows(pieces: Sequence[tuple[Slice, MeanDifferences]], total: int, seed: int) -> list[Rows]:
    """The coverage of the intervals of representative judges, for all dimensions of one group of cases."""
    chosen = [representatives(*piece) for piece in pieces]
    value = np.column_stack([column for several in chosen for _, _, column in several])
    there, (first, _) = np.isfinite(value), pieces[0]
    studies = STUDIES if first.subset.subfield is None else STUDIES_OF_PART
    is_share = np.array([second is None for several in chosen for _, second, _ in several])
    result = coverage(value, is_share, first.codes, total, studies=studies, seed=seed)
    bounds = np.cumsum([0, *(len(several) for several in chosen)])
    return [
        _covered(piece, several, there[:, i:j], Coverage(*(values[i:j] for values in result)), studies)
        for (piece, _), several, i, j in zip(pieces, chosen, bounds, bounds[1:], strict=False)
    ]


def _covered(piece: Slice, chosen: Sequence[Representative], there: BoolArray, result: Coverage, studies: int) -> Rows:
    n = there.sum(axis=0).astype(np.int64)
    return {
        **piece.label(),
        "judge_1": [first for first, _, _ in chosen],
        "judge_2": [second for _, second, _ in chosen],
        "n": n,
        "n_excluded": len(piece.codes) - n,
        "n_clusters": [len(np.unique(piece.codes[kept])) for kept in there.T],
        "quantity": ["accuracy" if second is None else "difference" for _, second, _ in chosen],
        "estimate": result.truth,
        "nominal": NOMINAL,
        "coverage": result.covered,
        "monte_carlo_error": np.sqrt(result.covered * (1 - result.covered) / studies),
        "too_low": result.too_low,
        "too_high": result.too_high,
        "n_studies": studies,
        "n_resamples": RESAMPLES,
        "data_kind": SIMULATED,
        "reason": [NO_VARIATION if np.isnan(share) else None for share in result.covered],
    }


def representatives(piece: Slice, pairs: MeanDifferences) -> list[Representative]:
    """The judges of median and, overall, of best accuracy, and the median pair: names, and what each case adds."""
    accuracy = alone(piece).value
    order = np.argsort(accuracy, kind="stable")[: max(1, int(np.isfinite(accuracy).sum()))]
    singles = [middle(order)]
    if piece.subset.subfield is None and len(order) > 1:
        singles.append(int(order[-1]))
    out: list[Representative] = [(piece.judges[i], None, piece.value[i]) for i in singles]
    if len(ranked(pairs)):
        pair = middle(ranked(pairs))
        out.append((*piece.pair(pair), piece.value[piece.first[pair]] - piece.value[piece.second[pair]]))
    return out
