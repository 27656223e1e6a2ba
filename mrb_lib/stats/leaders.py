"""The judges that no corrected test puts below the best of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mrb_lib.stats.analysis import Analysis
from mrb_lib.stats.contrasts import ALPHA, t_test
from mrb_lib.stats.estimation import IntArray, Quantity, estimate
from mrb_lib.stats.phrases import number


def with_best(
    analysis: Analysis, quantity: Quantity | Callable[[IntArray], Quantity], rivals: Iterable[IntArray]
) -> pd.Series:
    """Return whether each cell does not differ significantly from the highest of its rivals, group of cases by group.

    Two cells are compared by t on the cases that both have. A p value counts as many times as there are other rivals,
    so that a cell above all others is significantly so in at most 5% of samples.

    Parameters
    ----------
    quantity : of all cells, or made from the positions of cases
    rivals : the cells that are compared with each other, such as the judges of one dimension

    Returns
    -------
    boolean Series, one entry per group of cases and cell; null where the quantity is undefined
    """
    found, sets = [], list(rivals)
    for part in analysis.parts:
        made = quantity.take(part.cases) if isinstance(quantity, Quantity) else quantity(part.cases)
        value = np.asarray(made.statistic(made.adds.sum(axis=0)), dtype=np.float64)
        best, others = np.arange(len(value)), np.ones(len(value))
        for cells in sets:
            if np.isfinite(value[cells]).any():
                best[cells] = cells[np.nanargmax(value[cells])]
                others[cells] = np.isfinite(value[cells]).sum() - 1
        first, second, k = made.adds[:, best], made.adds, made.adds.shape[2]
        shared = first.any(axis=2, keepdims=True) & second.any(axis=2, keepdims=True)

        def apart(sums: NDArray[np.generic], made: Quantity = made, k: int = k) -> NDArray[np.generic]:
            return made.statistic(sums[..., :k]) - made.statistic(sums[..., k:])

        e = estimate(
            Quantity(np.concatenate([first, second], axis=2) * shared, apart), analysis.sampling.take(part.cases)
        )
        below = (e.value > 0) & (t_test(e) * others <= ALPHA)
        found.append(pd.Series(~below, dtype="boolean").mask(np.isnan(value)))
    return pd.concat(found, ignore_index=True)


def best_of(rows: pd.DataFrame, name: str, does: str, what: str) -> str:
    """Say which judge is the best in one column, or that nobody can tell; rows are of one part and dimension.

    Parameters
    ----------
    does : what the best judge does, such as "finds erroneous steps best"
    what : the quantity, such as "weighted kappa"
    """
    known = rows.dropna(subset=name)
    best = known.nlargest(1, name).iloc[0]
    if len(known) == 1:
        return f"{best['judge']} is the only judge. Its {what} is {number(best, name)}"
    if known["with_best"].fillna(True).sum() == 1:
        return f"{best['judge']} {does} of {len(known)} judges, with a {what} of {number(best, name)}"
    return (
        f"cannot tell which of {len(known)} judges {does}: {best['judge']} has the highest {what}, "
        f"{number(best, name)}, and at least one other does not differ significantly from it"
    )
