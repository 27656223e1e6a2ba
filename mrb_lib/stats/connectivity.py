"""Whether strengths can be estimated from comparisons: who beat whom must connect all responders.

Every array of wins and of ties has shape (m, r, r), or (r, r) for one set of comparisons: wins of the row over the
column, and ties, which are symmetric.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mrb_lib.stats.options import BoolArray, FloatArray, IntArray

NO_COMPARISON = "no comparison of two responders"
APART = "no finite strengths: {} were never compared with the others"
ONE_SIDED = "no finite strengths: {} {} every comparison with the others"
_NAMED = 4


def compared_at_all(wins: FloatArray, ties: FloatArray) -> BoolArray:
    """The responders of each set that are compared at all, shape (m, r)."""
    return np.asarray((wins + wins.swapaxes(1, 2) + ties).sum(axis=2) > 0)


def connected(wins: FloatArray, ties: FloatArray) -> BoolArray:
    """Whether all responders of each set that are compared are in one strong component, and there are two or more."""
    r = wins.shape[1]
    reached = (wins + ties + np.eye(r)).astype(np.float32)
    for _ in range(max(r - 1, 1).bit_length()):
        reached = (reached > 0).astype(np.float32)
        reached = reached @ reached
    compared = compared_at_all(wins, ties)
    needed = compared[:, :, None] & compared[:, None, :]
    return np.asarray(compared.any(axis=1) & ((reached > 0) | ~needed).all(axis=(1, 2)))


def components(wins: FloatArray, ties: FloatArray) -> tuple[IntArray, IntArray]:
    """The parts of one set of comparisons, shape (r, r): weak and strong components of the graph of wins.

    A tie is a win of both. Bradley-Terry strengths exist if and only if all responders that are compared
    are in one strong component (Ford 1957).

    Returns
    -------
    tuple of int arrays, shape (r,): the weak and the strong component of each responder
    """
    from scipy.sparse.csgraph import connected_components  # only sets without strengths need it

    edge = (wins + ties) > 0
    _, weak = connected_components(edge, directed=True, connection="weak")
    _, strong = connected_components(edge, directed=True, connection="strong")
    return weak.astype(np.int64), strong.astype(np.int64)


def absence(wins: FloatArray, ties: FloatArray, names: Sequence[str]) -> str:
    """Why one set of comparisons, shape (r, r), has no finite strengths, naming the responders; empty if it has.

    Ford's condition: of any two groups of the responders, some member of each beat some member of the other.
    """
    met = np.flatnonzero((wins + wins.T + ties).sum(axis=1) > 0)
    if not len(met):
        return NO_COMPARISON
    weak, strong = (part[met] for part in components(wins, ties))
    if len(np.unique(weak)) > 1:
        return APART.format(_list(met[weak == _smallest(weak)], names))
    reasons = []
    for part in np.unique(strong):
        inside, outside = met[strong == part], met[strong != part]
        won, lost = (wins + ties)[np.ix_(inside, outside)].sum(), (wins + ties)[np.ix_(outside, inside)].sum()
        if len(outside) and (won == 0 or lost == 0):
            reasons.append((len(inside), ONE_SIDED.format(_list(inside, names), "lost" if won == 0 else "won")))
    return min(reasons)[1] if reasons else ""


def _smallest(part: IntArray) -> int:
    values, counts = np.unique(part, return_counts=True)
    return int(values[counts.argmin()])


def _list(places: IntArray, names: Sequence[str]) -> str:
    shown = ", ".join(names[i] for i in places[:_NAMED])
    return shown + (f" and {len(places) - _NAMED} more" if len(places) > _NAMED else "")
