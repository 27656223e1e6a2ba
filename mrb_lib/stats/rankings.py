"""Agreement of the orders of judges in some domains and in others, beside what chance would make of it."""

from __future__ import annotations

import numpy as np

from mrb_lib.stats.estimation import FloatArray, IntArray, divide

MOST_PERMUTATIONS = 199
_DIGITS = 12


def kendall(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return Kendall's tau-b between columns of values, shape (judges, m) both; NaN where all values are equal."""
    i, j = np.triu_indices(len(first), 1)
    one, two = (np.sign(np.round(values[i] - values[j], _DIGITS)) for values in (first, second))
    return divide((one * two).sum(axis=0), np.sqrt((one**2).sum(axis=0) * (two**2).sum(axis=0)))


def straddles(member: IntArray, codes: IntArray) -> bool:
    """Tell whether a cluster lies in several domains."""
    _, first, cluster = np.unique(codes, return_index=True, return_inverse=True)
    return bool((member[first][cluster] != member).any())


def shuffled(member: IntArray, codes: IntArray, permutations: int, seed: int) -> IntArray:
    """Return the domains of cases as they are, then as permutations have them, shape (1 + permutations, cases).

    Parameters
    ----------
    member, codes : shape (cases,), the domain and the cluster of each case. Clusters change domains together, unless
        one lies in several
    """
    _, first, cluster = np.unique(codes, return_index=True, return_inverse=True)
    domain = member[first]
    if straddles(member, codes):
        cluster, domain = np.arange(len(member)), member
    generator = np.random.default_rng(seed)
    order = generator.permuted(np.tile(np.arange(len(domain)), (permutations, 1)), axis=1)
    return np.vstack([member, domain[order][:, cluster]])


def by_domain(values: FloatArray, assigned: IntArray, k: int) -> tuple[FloatArray, FloatArray]:
    """Return means in each domain and in all others, shape (judges, assignments, k) both; NaN without a case.

    Parameters
    ----------
    values : shape (judges, cases), without gaps
    assigned : shape (assignments, cases), domains from 0 to k - 1
    """
    here, rest = np.empty((2, len(values), len(assigned), k))
    for i, domains in enumerate(assigned):
        inside = (domains[:, None] == np.arange(k)).astype(np.float64)
        total, n = values @ inside, inside.sum(axis=0)
        here[:, i] = divide(total, n)
        rest[:, i] = divide(values.sum(axis=1, keepdims=True) - total, len(domains) - n)
    return here, rest


def taus(here: FloatArray, rest: FloatArray) -> FloatArray:
    """Return tau between each domain and the others, and before them their mean over the domains that have one.

    Parameters
    ----------
    here, rest : shape (judges, assignments, domains), see `by_domain`

    Returns
    -------
    float array, shape (assignments, 1 + domains); NaN where all judges are equal on a side
    """
    judges, assignments, k = here.shape
    tau = kendall(here.reshape(judges, -1), rest.reshape(judges, -1)).reshape(assignments, k)
    mean = divide(np.nan_to_num(tau).sum(axis=1), np.isfinite(tau).sum(axis=1))
    return np.column_stack([mean, tau])


def expected(tau: FloatArray) -> dict[str, FloatArray]:
    """Return what permutations give beside the taus that were found, which are the first row.

    Permutations in which a tau is undefined are left out: given that it is defined, the tau found is one of those
    defined, each as likely as the others, so that the p value holds. NaN where no tau was found, and where fewer than
    half of the permutations define one.
    """
    drawn = tau[1:]
    out = np.full((4, tau.shape[1]), np.nan)
    counts = np.isfinite(drawn).sum(axis=0)
    some = np.isfinite(tau[0]) & (counts > 0) & (2 * counts >= len(drawn))
    if some.any():
        kept, n = drawn[:, some], counts[some]
        as_low = (kept <= tau[0, some] + 1e-12).sum(axis=0)
        ends = np.nanquantile(kept, [0.025, 0.975], axis=0)
        out[:, some] = np.nanmean(kept, axis=0), *ends, (1 + as_low) / (1 + n)
    return dict(zip(("expected_tau", "expected_low", "expected_high", "p_value"), out, strict=True))
