"""Whether the order of judges in one domain is their order in the others, beyond what chance does to it."""

from __future__ import annotations

import numpy as np
import pandas as pd

from mrb_lib.stats.options import BoolArray, FloatArray, IntArray, divide

FEW_JUDGES = "undefined: fewer than two judges are scored in every domain"
FEW_DOMAINS = "undefined: there is one domain"
NO_PERMUTATIONS = "nothing is expected: no resamples were asked for"
ALL_TIED = "undefined: all judges are equal there"
_MOST = 199
_AT_ONCE = 2**22


def kendall(first: FloatArray, second: FloatArray) -> FloatArray:
    """Kendall's tau-b between columns of values, shape (judges, m) both; NaN where all values are equal."""
    i, j = np.triu_indices(len(first), k=1)
    one, two = (np.sign(np.round(values[i] - values[j], 12)).astype(np.int8) for values in (first, second))
    same = (one * two).sum(axis=0, dtype=np.int64).astype(np.float64)
    untied = [(signs != 0).sum(axis=0).astype(np.float64) for signs in (one, two)]
    return divide(same, np.sqrt(untied[0] * untied[1]))


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
    """
    inside = member >= 0
    assigned = shuffled(member[inside], codes[inside], min(resamples, _MOST), seed)
    frames = [
        _dimension_rows(score[:, i, inside], assigned, names).assign(dimension=dimension)
        for i, dimension in enumerate(dimensions)
        if np.isfinite(score[:, i, inside]).any()
    ]
    return pd.concat(frames, ignore_index=True).assign(part="ranking") if frames else pd.DataFrame({"part": []})


def shuffled(member: IntArray, codes: IntArray, permutations: int, seed: int) -> IntArray:
    """The domains of cases as they are, then as permutations would have them, shape (1 + permutations, cases)."""
    _, first, cluster = np.unique(codes, return_index=True, return_inverse=True)
    domain = member[first]
    if (domain[cluster] != member).any():
        cluster, domain = np.arange(len(member)), member
    generator = np.random.default_rng(seed)
    order = generator.permuted(np.tile(np.arange(len(domain)), (permutations, 1)), axis=1)
    return np.vstack([member, domain[order][:, cluster]])


def _dimension_rows(value: FloatArray, assigned: IntArray, names: pd.Index) -> pd.DataFrame:
    k = len(names)
    here, rest = by_domain(value, assigned, k)
    complete: BoolArray = np.asarray(np.isfinite(here[:, 0] + rest[:, 0]).all(axis=1))
    n_judges = int(complete.sum())
    rows = [{"n_judges": n_judges, "n_domains": k}]
    if n_judges < 2:
        return pd.DataFrame(rows).assign(reason=FEW_DOMAINS if k < 2 else FEW_JUDGES)
    flat = (n_judges, len(assigned) * k)
    tau = kendall(here[complete].reshape(flat), rest[complete].reshape(flat)).reshape(len(assigned), k)
    defined = np.isfinite(tau).sum(axis=1)
    tau = np.column_stack([divide(np.nan_to_num(tau).sum(axis=1), defined), tau])
    i, j = np.triu_indices(k, k=1)
    between = kendall(here[complete, 0][:, i], here[complete, 0][:, j])
    versus_rest = pd.DataFrame({"subfield": [None, *names], "kendall_tau": tau[0], **_expected(tau)})
    versus_rest["reason"] = _reasons(tau[0], NO_PERMUTATIONS if len(assigned) == 1 else "")
    pairs = pd.DataFrame({"subfield": names[i], "versus": names[j], "kendall_tau": between})
    pairs["reason"] = _reasons(between, "")
    return pd.concat([versus_rest.astype({"subfield": "str", "reason": "str"}), pairs]).assign(**rows[0])


def _reasons(tau: FloatArray, otherwise: str) -> list[str | None]:
    return [(ALL_TIED if np.isnan(value) else otherwise) or None for value in tau]


def _expected(tau: FloatArray) -> dict[str, FloatArray]:
    """What permutations give beside the taus that were found, which are the first row."""
    drawn = tau[1:]
    names = ("expected_tau", "expected_low", "expected_high", "p_value")
    if not len(drawn):
        return {name: np.full(tau.shape[1], np.nan) for name in names}
    filled = np.where(np.isfinite(drawn), drawn, 1.0)
    as_low = (filled <= tau[0] + 1e-12).sum(axis=0)
    low, high = np.quantile(filled, [0.025, 0.975], axis=0)
    p_value = np.where(np.isfinite(tau[0]), (1 + as_low) / (1 + len(drawn)), np.nan)
    return dict(zip(names, (filled.mean(axis=0), low, high, p_value), strict=True))


def by_domain(value: FloatArray, assigned: IntArray, k: int) -> tuple[FloatArray, FloatArray]:
    """Accuracy in each domain and in all others, shape (judges, assignments, k); NaN where no case is scored."""
    counted = np.isfinite(value).astype(np.float64)
    scored = np.where(counted > 0, value, 0.0)
    here, rest = [], []
    step = max(1, _AT_ONCE // max(1, k * value.shape[1]))
    for start in range(0, len(assigned), step):
        part = assigned[start : start + step]
        belongs = (part.T[:, :, None] == np.arange(k)).astype(np.float64).reshape(value.shape[1], -1)
        right, n = ((x @ belongs).reshape(len(value), len(part), k) for x in (scored, counted))
        here.append(divide(right, n))
        rest.append(divide(scored.sum(axis=1)[:, None, None] - right, counted.sum(axis=1)[:, None, None] - n))
    return np.concatenate(here, axis=1), np.concatenate(rest, axis=1)
