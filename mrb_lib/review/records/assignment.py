"""Who annotates which case, and in which order the responses are shown."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from mrb_lib.stats.options import IntArray
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.schema import ORDERS

Blocks = Mapping[str, int]
"""The block of each case: one of a later block comes after those of all earlier ones, and one without a block last."""


def assign(
    case_ids: Sequence[str],
    annotators: Sequence[str],
    *,
    overlap: int,
    seed: int,
    assigned: pd.DataFrame | None = None,
    blocks: Blocks | None = None,
) -> pd.DataFrame:
    """Deal cases out so that each is annotated by `overlap` people, everyone has as many, and all pairs of people meet.

    Parameters
    ----------
    case_ids, annotators : without repetition
    overlap : annotators a case, at least 1
    seed : of the dealing, of each annotator's sequence of cases and of the orders
    assigned : `case_id, annotator, order` of what was dealt out before, all of which stays: it counts towards the
        overlap and towards what each person has. Only `annotators` get more; people who are not named keep theirs.
    blocks : nobody gets a case of a later block before those of an earlier one; None is one block

    Returns
    -------
    DataFrame
        `case_id`, `annotator`, `position` (0.. in each annotator's own sequence, random within a block), `order` ("AB"
        or "BA": which response is shown first; half of each annotator's cases each). Sorted by annotator, as given, and
        position. Of what is dealt at once, numbers of cases differ by one at most between annotators. With `assigned`
        only what is new; a case that has its overlap already goes to nobody else.

    Raises
    ------
    InputError
        A name or a case occurs twice, or there are fewer annotators than `overlap`.

    Notes
    -----
    Validated in `tests/review/records/test_assignment.py`.
    """
    for what, names in (("case", case_ids), ("annotator", annotators)):
        repeated = pd.Index(names)[pd.Index(names).duplicated()]
        if len(repeated):
            raise InputError(f"{what} {repeated[0]!r} occurs twice; name each once.")
    before = pd.DataFrame(columns=["case_id", "annotator", "order"]) if assigned is None else assigned
    people = list(dict.fromkeys([*annotators, *before["annotator"]]))
    n = len(people)
    if not 1 <= overlap <= n:
        known = "1 annotator" if n == 1 else f"{n} annotators"
        raise InputError(f"an overlap of {overlap} is not possible with {known}; use 1 to {n}.")
    rng, block = np.random.default_rng(seed), _block_of(case_ids, blocks)
    number = {name: place for place, name in enumerate(people)}
    having = {case: own.map(number).tolist() for case, own in before.groupby("case_id", sort=False)["annotator"]}
    met, load = np.zeros((n, n)), np.zeros(n)
    for old in having.values():
        met[np.ix_(old, old)] += 1
        load[old] += 1
    dealt: list[list[int]] = [[] for _ in annotators]
    for case in _shuffled(block, rng):
        old = having.get(case_ids[case], [])
        chosen = list(old)
        while len(chosen) < overlap and not set(range(len(dealt))) <= set(chosen):
            # The least busy; of those, whoever has met the others of this case least; of those, anyone.
            rank = np.lexsort((rng.random(n), met[chosen].sum(axis=0), load))
            chosen.append(next(int(one) for one in rank if one < len(dealt) and one not in chosen))
        new = chosen[len(old) :]
        met[np.ix_(new, chosen)] += 1
        met[np.ix_(old, new)] += 1
        load[new] += 1
        for one in new:
            dealt[one].append(int(case))
    rows = []
    for name, cases in zip(annotators, dealt, strict=True):
        earlier = before.loc[before["annotator"] == name, "order"]
        more = int((earlier == ORDERS[0]).sum() - (earlier == ORDERS[1]).sum())
        either = int(rng.integers(2))
        orders = rng.permutation((np.arange(len(cases)) + (either if more == 0 else int(more > 0))) % 2)
        for position, i in enumerate(_shuffled(block[cases], rng)):
            rows.append((case_ids[cases[i]], name, position, ORDERS[orders[position]]))
    frame = pd.DataFrame(rows, columns=["case_id", "annotator", "position", "order"])
    return frame.astype({"case_id": "str", "annotator": "str", "position": "int64", "order": "str"})


def whole_groups(dealt: pd.DataFrame, together: Mapping[str, Sequence[str]] | None) -> pd.DataFrame:
    """Assignments of groups as those of their cases, which follow each other; None leaves them as they are.

    Parameters
    ----------
    dealt : see `assign`, of the first case of each group
    together : by its first case, the cases of each group, in their sequence
    """
    if together is None:
        return dealt
    cases = dealt["case_id"].map(lambda case: list(together[case]))
    out = dealt.assign(case_id=cases).explode("case_id", ignore_index=True).astype({"case_id": "str"})
    return out.assign(position=out.groupby("annotator").cumcount())


def choose_cases(
    case_ids: Sequence[str], n: int, *, seed: int, first: Sequence[str] = (), blocks: Blocks | None = None
) -> list[str]:
    """A random choice of `n` cases, of which a larger one by the same seed holds all.

    Parameters
    ----------
    first : cases that are chosen before any other, such as those that somebody has already
    blocks : an earlier one is chosen whole before a later one; None is one block
    """
    all_cases = set(case_ids)
    drawn = _shuffled(_block_of(case_ids, blocks), np.random.default_rng(seed))
    chosen = dict.fromkeys([*(case for case in first if case in all_cases), *(case_ids[int(i)] for i in drawn)])
    return list(chosen)[:n]


def _block_of(case_ids: Sequence[str], blocks: Blocks | None) -> IntArray:
    known = blocks or {}
    last = max(known.values(), default=0) + 1
    return np.array([known.get(case, last) for case in case_ids], dtype=np.int64)


def _shuffled(block: IntArray, rng: np.random.Generator) -> IntArray:
    """Positions in the order of their blocks, at random within each."""
    drawn = rng.permutation(len(block))
    return drawn[np.argsort(block[drawn], kind="stable")]
