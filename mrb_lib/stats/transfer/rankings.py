"""Whether the order of judges in one domain is their order in the others, beyond what chance does to it."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mrb_lib.stats.options import BoolArray, FloatArray, IntArray, divide, join_reasons
from mrb_lib.stats.resampling.quantiles import quantiles

FEW_JUDGES = "undefined: fewer than two judges are scored in every domain"
FEW_DOMAINS = "undefined: there is one domain"
NO_PERMUTATIONS = "nothing is expected: no resamples were asked for"
ALL_TIED = "undefined: all judges are equal there"
FEW_DEFINED = "nothing is expected: all judges are equal in most permutations"
STRADDLING = "clusters lie in several domains: cases change domains one by one, so that the p-value may be too small"
_MOST = 199
_AT_ONCE = 2**22
_ROUNDING = 5e-13


def kendall(first: FloatArray, second: FloatArray) -> FloatArray:
    """Kendall's tau-b between columns of values, shape (judges, m) both; NaN where all values are equal."""
    same, untied_1, untied_2 = np.zeros((3, first.shape[1]), dtype=np.int64)
    for i in range(len(first) - 1):
        one, two = (_order(values[i], values[i + 1 :]) for values in (first, second))
        same += (one * two).sum(axis=0, dtype=np.int16)
        untied_1 += (one * one).sum(axis=0, dtype=np.int16)
        untied_2 += (two * two).sum(axis=0, dtype=np.int16)
    return divide(same.astype(np.float64), np.sqrt(untied_1.astype(np.float64) * untied_2))


def _order(value: FloatArray, others: FloatArray) -> NDArray[np.int8]:
    """1 where a value is above another, -1 where below, 0 where only rounding could tell them apart."""
    difference = value - others
    return (difference > _ROUNDING).view(np.int8) - (difference < -_ROUNDING).view(np.int8)


def ranking_rows(
    score: FloatArray,
    member: IntArray,
    names: pd.Index,
    codes: IntArray,
    dimensions: list[str],
    *,
    resamples: int,
    seed: int,
) -> pd.DataFrame:
    """The rows `ranking` of `mrb_lib.stats.transfer.transfer`.

    Parameters
    ----------
    score : shape (judges, dimensions, cases), NaN where excluded
    member, names : the domain of each case, -1 for none, and what they are called
    codes : the cluster of each case; clusters change domains together, unless one lies in several
    resamples : of which at most 199 permutations are made
    """
    inside = member >= 0
    assigned = shuffled(member[inside], codes[inside], min(resamples, _MOST), seed)
    straddling = STRADDLING if _straddles(member[inside], codes[inside]) and resamples else ""
    kept = np.flatnonzero((np.isfinite(score).any(axis=0) & inside).any(axis=1))
    flat = score[:, kept][:, :, inside].reshape(len(score) * len(kept), assigned.shape[1])
    here, rest = (
        shares.reshape(len(score), len(kept), *shares.shape[1:]) for shares in by_domain(flat, assigned, len(names))
    )
    frames = [
        _dimension_rows(here[:, position], rest[:, position], names, straddling).assign(dimension=dimensions[i])
        for position, i in enumerate(kept)
    ]
    return pd.concat(frames, ignore_index=True).assign(part="ranking") if frames else pd.DataFrame({"part": []})


def shuffled(member: IntArray, codes: IntArray, permutations: int, seed: int) -> IntArray:
    """The domains of cases as they are, then as permutations would have them, shape (1 + permutations, cases)."""
    _, first, cluster = np.unique(codes, return_index=True, return_inverse=True)
    domain = member[first]
    if _straddles(member, codes):
        cluster, domain = np.arange(len(member)), member
    generator = np.random.default_rng(seed)
    order = generator.permuted(np.tile(np.arange(len(domain)), (permutations, 1)), axis=1)
    return np.vstack([member, domain[order][:, cluster]])


def _straddles(member: IntArray, codes: IntArray) -> bool:
    """Whether a cluster lies in several domains."""
    _, first, cluster = np.unique(codes, return_index=True, return_inverse=True)
    return bool((member[first][cluster] != member).any())


def _dimension_rows(here: FloatArray, rest: FloatArray, names: pd.Index, straddling: str) -> pd.DataFrame:
    k = len(names)
    complete: BoolArray = np.asarray(np.isfinite(here[:, 0] + rest[:, 0]).all(axis=1))
    n_judges = int(complete.sum())
    counts = {"n_judges": n_judges, "n_domains": k}
    if n_judges < 2:
        return pd.DataFrame([{**counts, "reason": FEW_DOMAINS if k < 2 else FEW_JUDGES}])
    tau = taus(here[complete], rest[complete])
    i, j = np.triu_indices(k, k=1)
    between = kendall(here[complete, 0][:, i], here[complete, 0][:, j])
    expectation = expected(tau)
    lacks = np.isnan(expectation["p_value"])
    reasons = [
        join_reasons(_no_tau(value) or _no_expectation(value, here.shape[1] - 1, lacking), straddling)
        for value, lacking in zip(tau[0], lacks, strict=True)
    ]
    return pd.DataFrame(
        {
            "subfield": [None, *names, *names[i]],
            "versus": [*[None] * (1 + k), *names[j]],
            "kendall_tau": np.concatenate([tau[0], between]),
            **{name: np.append(values, np.full(len(between), np.nan)) for name, values in expectation.items()},
            "reason": [*reasons, *(_no_tau(value) or None for value in between)],
            **counts,
        }
    )


def taus(here: FloatArray, rest: FloatArray) -> FloatArray:
    """Tau between each domain and the others, and before them their mean over the domains where there is one.

    Parameters
    ----------
    here, rest : shape (judges, assignments, domains), see `by_domain`

    Returns
    -------
    float array, shape (assignments, 1 + domains); NaN where all judges are equal on a side
    """
    judges, assignments, k = here.shape
    flat = (judges, assignments * k)
    tau = kendall(here.reshape(flat), rest.reshape(flat)).reshape(assignments, k)
    mean = divide(np.nan_to_num(tau).sum(axis=1), np.isfinite(tau).sum(axis=1))
    return np.column_stack([mean, tau])


def _no_tau(tau: float) -> str:
    return ALL_TIED if np.isnan(tau) else ""


def _no_expectation(tau: float, permutations: int, lacking: bool) -> str:
    if not lacking or np.isnan(tau):
        return ""
    return FEW_DEFINED if permutations else NO_PERMUTATIONS


def expected(tau: FloatArray) -> dict[str, FloatArray]:
    """What permutations give beside the taus that were found, which are the first row.

    Permutations in which a tau is undefined say nothing of what to expect of a defined one and are left out. Given
    that it is defined, the tau found is one of those defined, each as likely as the others, so that the p-value holds.
    Null where no tau was found, and where fewer than half of the permutations define one.
    """
    drawn = tau[1:]
    names = ("expected_tau", "expected_low", "expected_high", "p_value")
    out = np.full((4, tau.shape[1]), np.nan)
    counts = np.isfinite(drawn).sum(axis=0)
    shown = np.isfinite(tau[0]) & (counts > 0) & (2 * counts >= len(drawn))
    if shown.any():
        kept, n = drawn[:, shown], counts[shown]
        as_low = (kept <= tau[0, shown] + 1e-12).sum(axis=0)
        low, high = quantiles(kept, [0.025, 0.975])
        out[:, shown] = divide(np.nan_to_num(kept).sum(axis=0), n), low, high, (1 + as_low) / (1 + n)
    return dict(zip(names, out, strict=True))


def by_domain(value: FloatArray, assigned: IntArray, k: int) -> tuple[FloatArray, FloatArray]:
    """Accuracy in each domain and in all others, shape (judges, assignments, k); NaN where no case is scored."""
    counted = np.isfinite(value)
    scored = np.where(counted, value, 0.0)
    different, pattern = np.unique(counted, axis=0, return_inverse=True)  # few: judges mostly lack the same cases
    different = different.astype(np.float64)
    here, rest = [], []
    step = max(1, _AT_ONCE // max(1, k * value.shape[1]))
    for start in range(0, len(assigned), step):
        part = assigned[start : start + step]
        belongs = (part.T[:, :, None] == np.arange(k)).astype(np.float64).reshape(value.shape[1], -1)
        right, n = ((x @ belongs).reshape(len(x), len(part), k) for x in (scored, different))
        n = n[pattern.ravel()]
        here.append(divide(right, n))
        rest.append(divide(scored.sum(axis=1)[:, None, None] - right, counted.sum(axis=1)[:, None, None] - n))
    return np.concatenate(here, axis=1), np.concatenate(rest, axis=1)
