"""How units are dealt out to the parts of a split, so that each part is a small picture of the whole."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray


def strata(columns: pd.DataFrame) -> NDArray[np.float64]:
    """What each case counts towards: the whole, each value of each column, and each combination of them.

    Parameters
    ----------
    columns : a row a case; a missing value is a value

    Returns
    -------
    array of 0 and 1 with shape (n_cases, n_strata)
    """
    named = columns.astype("str").fillna("")
    if named.shape[1] > 1:
        named = named.assign(together=named.iloc[:, 0].str.cat(named.iloc[:, 1:], sep="\n"))
    dummies = [pd.get_dummies(named[name]).to_numpy(dtype=float) for name in named.columns]
    return np.hstack([np.ones((len(columns), 1)), *dummies])


def allocate(members: NDArray[np.float64], shares: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.int64]:
    """Give each unit to a part, the largest units first, those of one size in random order.

    Parameters
    ----------
    members : how many cases of each stratum a unit has, with shape (n_units, n_strata)
    shares : of the cases that each part is to have; a part with a share of 0 gets none

    Returns
    -------
    array of int with shape (n_units,)
        The part of each. A part with a share gets a unit at least, where there are as many units as parts.

    Notes
    -----
    A unit goes where it most reduces the sum over parts and strata of (cases there - cases wanted)^2 / cases wanted, as
    in iterative stratification (Sechidis, Tsoumakas and Vlahavas 2011, doi:10.1007/978-3-642-23808-6_10), which knows
    no units; scikit-learn's StratifiedGroupKFold, which does, makes parts of equal size only. The whole weighs as much
    as all strata together, and a stratum of fewer units than parts, which cannot be in all of them, does not count.
    """
    members = members[:, (members > 0).sum(axis=0) >= min((shares > 0).sum(), len(members))]
    wanted = shares[:, None] * members.sum(axis=0)
    weight = np.divide(1.0, wanted, out=np.zeros_like(wanted), where=wanted > 0)
    weight[:, 0] *= members.shape[1]
    missing = wanted.copy()
    order = rng.permutation(len(members))
    order = order[np.argsort(-members[order, 0], kind="stable")]
    part = np.zeros(len(members), dtype=np.int64)
    closed = np.where(shares > 0, 0.0, np.inf)
    for unit in order:
        counts = members[unit]
        part[unit] = np.argmin(((counts - 2 * missing) * counts * weight).sum(axis=1) + closed)
        missing[part[unit]] -= counts
    _fill(part, members[:, 0], np.flatnonzero(shares > 0))
    return part


def _fill(part: NDArray[np.int64], sizes: NDArray[np.float64], wanted: NDArray[np.int64]) -> None:
    """Give a part without a unit the smallest one of the part with the most, where that has another."""
    for empty in wanted:
        counts = np.bincount(part, minlength=int(wanted.max()) + 1)
        largest = int(counts.argmax())
        if counts[empty] == 0 and counts[largest] > 1:
            of_largest = np.flatnonzero(part == largest)
            part[of_largest[sizes[of_largest].argmin()]] = empty
