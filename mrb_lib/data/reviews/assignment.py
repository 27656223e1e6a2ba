"""Who annotates which case, and in which order the responses are shown."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from mrb_lib.errors import InputError
from mrb_lib.schema import ORDERS


def assign(case_ids: Sequence[str], annotators: Sequence[str], *, overlap: int, seed: int) -> pd.DataFrame:
    """Deal cases out so that each is annotated by `overlap` people, everyone has as many, and all pairs of people meet.

    Parameters
    ----------
    case_ids, annotators : without repetition
    overlap : annotators a case, at least 1
    seed : of the dealing, of each annotator's sequence of cases and of the orders

    Returns
    -------
    DataFrame
        `case_id`, `annotator`, `position` (0.. in each annotator's own random sequence), `order` ("AB" or "BA": which
        response is shown first; half of each annotator's cases each). Sorted by annotator, as given, and position.
        Numbers of cases differ by one at most between annotators.

    Raises
    ------
    InputError
        A name or a case occurs twice, or there are fewer annotators than `overlap`.

    Notes
    -----
    Validated in `tests/data/reviews/test_assignment.py`.
    """
    for what, names in (("case", case_ids), ("annotator", annotators)):
        again = pd.Index(names)[pd.Index(names).duplicated()]
        if len(again):
            raise InputError(f"{what} {again[0]!r} occurs twice; name each once.")
    if not 1 <= overlap <= len(annotators):
        raise InputError(
            f"an overlap of {overlap} cannot be had with {len(annotators)} annotators; use 1 to {len(annotators)}."
        )
    rng = np.random.default_rng(seed)
    dealt: list[list[int]] = [[] for _ in annotators]
    met = np.zeros((len(annotators), len(annotators)))
    load = np.zeros(len(annotators))
    for case in rng.permutation(len(case_ids)):
        chosen: list[int] = []
        for _ in range(overlap):
            # The least busy; of those, whoever has met the others of this case least; of those, anyone.
            rank = np.lexsort((rng.random(len(annotators)), met[chosen].sum(axis=0), load))
            chosen.append(next(int(one) for one in rank if one not in chosen))
        met[np.ix_(chosen, chosen)] += 1
        load[chosen] += 1
        for one in chosen:
            dealt[one].append(int(case))
    rows = []
    for name, mine in zip(annotators, dealt, strict=True):
        orders = rng.permutation((np.arange(len(mine)) + rng.integers(2)) % 2)
        for position, place in enumerate(rng.permutation(len(mine))):
            rows.append((case_ids[mine[place]], name, position, ORDERS[orders[position]]))
    frame = pd.DataFrame(rows, columns=["case_id", "annotator", "position", "order"])
    return frame.astype({"case_id": "str", "annotator": "str", "position": "int64", "order": "str"})
