"""The rows of the table `power`, of one dimension and group of cases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from mrb_lib.stats.options import BoolArray, FloatArray, IntArray
from mrb_lib.stats.power_coverage import RESAMPLES, STUDIES, STUDIES_OF_PART, Coverage, coverage
from mrb_lib.stats.power_formulas import (
    ALPHA,
    POWER,
    Differences,
    cases_needed,
    detectable,
    differences,
    mcnemar_cases,
    mcnemar_detectable,
    mcnemar_power,
    power_at,
)
from mrb_lib.stats.scoring import BINARY_POLICIES
from mrb_lib.stats.subfields import Group

STATED = (0.01, 0.02, 0.03, 0.05, 0.10)
CURVE = tuple(round(0.005 * i, 3) for i in range(31))
SIMULATED = "SIMULATED"
NOMINAL = 0.95
ONE_JUDGE = "undefined: a comparison takes two judges"
FEW_CLUSTERS = "undefined: fewer than two clusters of cases are scored for both"
NEVER_DIFFER = "undefined: the difference is the same on every case, so that its variance is unknown"
NO_VARIATION = "undefined: fewer than two clusters, or scores that do not vary"

Rows = Mapping[str, object]
"""Columns by name: arrays or lists of one length, or a value that all rows have."""


Representative = tuple[str, str | None, FloatArray]
"""A judge, or two, and the score of each case, or its difference."""


class Slice(NamedTuple):
    """One dimension of one group of cases, for the judges that have verdicts on it.

    `value` has shape (judges, cases of the group); `first`, `second` are the positions of the judges of each pair.
    """

    dimension: str
    part: Group
    judges: list[str]
    value: FloatArray
    codes: IntArray
    policy: str
    first: IntArray
    second: IntArray

    def label(self) -> dict[str, object]:
        return {"dimension": self.dimension, **self.part.label(), "policy": self.policy}

    def pair(self, position: int) -> tuple[str, str]:
        return self.judges[self.first[position]], self.judges[self.second[position]]


def compared(piece: Slice) -> Differences:
    """Every two judges."""
    return differences(piece.value[piece.first], piece.value[piece.second], piece.codes)


def alone(piece: Slice) -> Differences:
    """Every judge, against a fixed value."""
    return differences(piece.value, np.zeros_like(piece.value), piece.codes)


def ranked(found: Differences) -> IntArray:
    """The pairs that have a standard error above 0, from the smallest to the largest."""
    usable = np.flatnonzero((found.clusters > 1) & (found.error > 0))
    return usable[np.argsort(found.error[usable], kind="stable")]


def middle(order: IntArray) -> int:
    """The median of what is ordered; the lower of two."""
    return int(order[(len(order) - 1) // 2])


def detectable_rows(piece: Slice, found: Differences, first: Sequence[str], second: Sequence[str | None]) -> Rows:
    """What can be told of each pair, or of each judge alone."""
    known = detectable(found.error, found.clusters)
    plain = piece.policy in BINARY_POLICIES and bool((found.clusters == found.n).all())
    psi = found.discordance if plain else np.full(len(found.n), np.nan)
    reasons = np.where(found.clusters < 2, FEW_CLUSTERS, np.where(np.isnan(known), NEVER_DIFFER, ""))
    return {
        **piece.label(),
        "judge_1": list(first),
        "judge_2": list(second),
        "n": found.n,
        "n_excluded": len(piece.codes) - found.n,
        "n_clusters": found.clusters,
        "difference": found.value,
        "standard_error": np.where(np.isnan(known), np.nan, found.error),
        "minimum_detectable_difference": known,
        "discordance": found.discordance,
        "alpha": ALPHA,
        "power": POWER,
        "mcnemar_minimum_detectable_difference": mcnemar_detectable(found.n, psi),
        "mcnemar_power": mcnemar_power(found.n, psi, known),
        "reason": [str(text) or None for text in reasons],
    }


def summary_row(piece: Slice, found: Differences) -> Rows:
    """The pairs of median and of largest standard error."""
    order = ranked(found)
    if not len(order):
        n = int(found.n.max()) if len(found.n) else int(np.isfinite(piece.value).any(axis=0).sum())
        few = len(found.n) and (found.clusters < 2).all()
        return {
            **piece.label(),
            "n": [n],
            "n_excluded": len(piece.codes) - n,
            "n_pairs": len(found.n),
            "alpha": ALPHA,
            "power": POWER,
            "reason": ONE_JUDGE if not len(found.n) else FEW_CLUSTERS if few else NEVER_DIFFER,
        }
    median, worst = middle(order), int(order[-1])
    first, second = piece.pair(median)
    other = dict(zip(("worst_judge_1", "worst_judge_2"), piece.pair(worst), strict=True))
    one = detectable_rows(piece, found.rows(np.array([median])), [first], [second])
    return {
        **one,
        **other,
        "n_pairs": len(found.n),
        "worst_standard_error": found.error[worst],
        "worst_minimum_detectable_difference": detectable(found.error[[worst]], found.clusters[[worst]]),
    }


def needed_rows(piece: Slice, found: Differences) -> Rows:
    """The cases that stated differences take; there is a pair at least."""
    stated, whose = np.array(STATED), _whose(piece, found)
    median, worst = middle(ranked(found)), int(ranked(found)[-1])
    needed = [cases_needed(stated, found.error[[i]], found.n[[i]], found.clusters[[i]]) for i in (median, worst)]
    plain = piece.policy in BINARY_POLICIES and found.clusters[median] == found.n[median]
    connor = mcnemar_cases(found.discordance[[median]] if plain else np.array([np.nan]), stated)
    return {
        **whose,
        "difference": stated,
        "power": POWER,
        "n_needed": needed[0],
        "worst_n_needed": needed[1],
        "mcnemar_n_needed": np.ceil(connor - 1e-9),
    }


def curve_rows(piece: Slice, found: Differences) -> Rows:
    """The power with the cases at hand, by the difference to be found."""
    grid, order = np.array(CURVE), ranked(found)
    power, worst = (power_at(grid, found.error[[i]], found.clusters[[i]]) for i in (middle(order), int(order[-1])))
    return {**_whose(piece, found), "difference": grid, "power": power, "worst_power": worst}


def _whose(piece: Slice, found: Differences) -> dict[str, object]:
    """The columns that say whose variance it is."""
    median, worst = middle(ranked(found)), int(ranked(found)[-1])
    names = ("judge_1", "judge_2", "worst_judge_1", "worst_judge_2")
    return {
        **piece.label(),
        **dict(zip(names, (*piece.pair(median), *piece.pair(worst)), strict=True)),
        "n": found.n[median],
        "n_excluded": len(piece.codes) - found.n[median],
        "n_clusters": found.clusters[median],
        "standard_error": found.error[median],
        "worst_standard_error": found.error[worst],
        "alpha": ALPHA,
    }


def coverage_rows(pieces: Sequence[tuple[Slice, Differences]], total: int, seed: int) -> list[Rows]:
    """The coverage of the intervals of representative judges, for all dimensions of one group of cases."""
    chosen = [representatives(*piece) for piece in pieces]
    value = np.column_stack([column for found in chosen for _, _, column in found])
    there, (first, _) = np.isfinite(value), pieces[0]
    studies = STUDIES if first.part.subfield is None else STUDIES_OF_PART
    counted = there.astype(np.float64)
    result = coverage(np.where(there, value, 0.0), counted, first.codes, total, studies=studies, seed=seed)
    bounds = np.cumsum([0, *(len(found) for found in chosen)])
    return [
        _covered(piece, found, there[:, i:j], Coverage(*(values[i:j] for values in result)), studies)
        for (piece, _), found, i, j in zip(pieces, chosen, bounds, bounds[1:], strict=False)
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


def representatives(piece: Slice, found: Differences) -> list[Representative]:
    """The judges of median and, overall, of best accuracy, and the median pair: names, and what each case adds."""
    accuracy = alone(piece).value
    order = np.argsort(accuracy, kind="stable")[: max(1, int(np.isfinite(accuracy).sum()))]
    singles = [middle(order)]
    if piece.part.subfield is None and len(order) > 1:
        singles.append(int(order[-1]))
    out: list[Representative] = [(piece.judges[i], None, piece.value[i]) for i in singles]
    if len(ranked(found)):
        pair = middle(ranked(found))
        out.append((*piece.pair(pair), piece.value[piece.first[pair]] - piece.value[piece.second[pair]]))
    return out
