"""Who annotates which case, and in which order the responses are shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mrb_lib.tables.errors import InputError
from mrb_lib.tables.schema import ORDERS

IntArray = NDArray[np.int64]


def assign(
    case_ids: Sequence[str],
    annotators: Sequence[str],
    *,
    overlap: int,
    seed: int,
    assigned: pd.DataFrame | None = None,
    blocks: Mapping[str, int] | None = None,
) -> pd.DataFrame:
    """Deal cases out so that each is annotated by `overlap` people, everyone has as many, and all pairs of people meet.

    Parameters
    ----------
    case_ids, annotators : without repetition
    overlap : annotators a case, at least 1
    seed : of the dealing, of each annotator's sequence of cases and of the orders
    assigned : `case_id, annotator, order` of what was dealt out before, all of which stays: it counts towards the
        overlap and towards what each person has. Only `annotators` get more; people who are not named keep theirs.
    blocks : the block of each case: nobody gets one of a later block before those of an earlier one; cases without one
        come last. None is one block

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
    _check(case_ids, annotators)
    before = pd.DataFrame({"case_id": [], "annotator": [], "order": []}) if assigned is None else assigned
    people = list(dict.fromkeys([*annotators, *before["annotator"]]))
    if not 1 <= overlap <= len(people):
        raise InputError(
            f"an overlap of {overlap} is not possible with {len(people)} annotators; use 1 to {len(people)}."
        )
    rng = np.random.default_rng(seed)
    block = _block_of(case_ids, blocks)
    dealt = _deal(case_ids, people, len(annotators), before, overlap, block, rng)
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
    out = dealt.assign(case_id=dealt["case_id"].map(lambda case: list(together[case]))).explode(
        "case_id", ignore_index=True
    )
    out["position"] = out.groupby("annotator").cumcount()
    return out.astype({"case_id": "str", "position": "int64"})


def steps_in_order(cases: pd.DataFrame) -> dict[str, tuple[str, ...]] | None:
    """The steps of each response in order, by the first; a case that is no step stands alone. None where none is one.

    Raises
    ------
    InputError
        A step has no item, is not a whole number from 1, or occurs twice in its item.
    """
    if "step" not in cases or cases["step"].isna().all():
        return None
    step = pd.to_numeric(cases["step"], errors="coerce")
    is_step = cases["step"].notna()
    item = cases["item"] if "item" in cases else pd.Series(None, index=cases.index, dtype="str")
    for wrong, words in (
        (is_step & ((step < 1) | (step % 1 != 0)), "is not a whole number from 1"),
        (is_step & item.isna(), "has no item, so that nothing says which response it is of"),
        (is_step & pd.DataFrame({"item": item, "step": step}).duplicated(), "occurs twice in its item"),
    ):
        if wrong.any():
            row = int(wrong.to_numpy().argmax())
            raise InputError(f"case {cases['case_id'].iloc[row]}: step {cases['step'].iloc[row]} {words}; correct it.")
    name = item.where(is_step, cases["case_id"]).astype(object)
    frame = pd.DataFrame({"case": cases["case_id"], "group": list(zip(is_step, name, strict=True)), "step": step})
    groups = frame.sort_values("step", kind="stable").groupby("group", sort=False)["case"].agg(tuple)
    return {steps[0]: steps for steps in groups.loc[frame["group"].drop_duplicates()]}


def choose_cases(
    case_ids: Sequence[str],
    n: int,
    *,
    seed: int,
    first: Sequence[str] = (),
    blocks: Mapping[str, int] | None = None,
) -> list[str]:
    """A random choice of `n` cases, of which a larger one by the same seed holds all.

    Parameters
    ----------
    first : cases that are chosen before any other, such as those that somebody has already
    blocks : the block of each case, of which an earlier one is chosen whole before a later one. None is one block
    """
    all_cases = set(case_ids)
    drawn = _shuffled(_block_of(case_ids, blocks), np.random.default_rng(seed))
    chosen = dict.fromkeys([*(case for case in first if case in all_cases), *(case_ids[int(i)] for i in drawn)])
    return list(chosen)[:n]


def _block_of(case_ids: Sequence[str], blocks: Mapping[str, int] | None) -> IntArray:
    known = blocks or {}
    last = max(known.values(), default=0) + 1
    return np.array([known.get(case, last) for case in case_ids], dtype=np.int64)


def _shuffled(block: IntArray, rng: np.random.Generator) -> IntArray:
    """Positions in the order of their blocks, at random within each."""
    drawn = rng.permutation(len(block))
    return drawn[np.argsort(block[drawn], kind="stable")]


def _check(case_ids: Sequence[str], annotators: Sequence[str]) -> None:
    for what, names in (("case", case_ids), ("annotator", annotators)):
        repeated = pd.Index(names)[pd.Index(names).duplicated()]
        if len(repeated):
            raise InputError(f"{what} {repeated[0]!r} occurs twice; name each once.")


def _deal(
    case_ids: Sequence[str],
    people: Sequence[str],
    n_dealt_to: int,
    before: pd.DataFrame,
    overlap: int,
    block: IntArray,
    rng: np.random.Generator,
) -> list[list[int]]:
    """The cases, by index, of each of the first `n_dealt_to` people."""
    numbers = {name: number for number, name in enumerate(people)}
    having: dict[str, list[int]] = {}
    for case, name in zip(before["case_id"], before["annotator"], strict=True):
        having.setdefault(case, []).append(numbers[name])
    dealt: list[list[int]] = [[] for _ in range(n_dealt_to)]
    met = np.zeros((len(people), len(people)))
    load = np.zeros(len(people))
    for numbers_of_case in having.values():
        met[np.ix_(numbers_of_case, numbers_of_case)] += 1
        load[numbers_of_case] += 1
    for case in _shuffled(block, rng):
        chosen = list(having.get(case_ids[case], []))
        old = len(chosen)
        while len(chosen) < overlap and not set(range(n_dealt_to)) <= set(chosen):
            # The least busy; of those, whoever has met the others of this case least; of those, anyone.
            rank = np.lexsort((rng.random(len(people)), met[chosen].sum(axis=0), load))
            chosen.append(next(int(one) for one in rank if one < n_dealt_to and one not in chosen))
        new = chosen[old:]
        met[np.ix_(new, chosen)] += 1
        met[np.ix_(chosen[:old], new)] += 1
        load[new] += 1
        for one in new:
            dealt[one].append(int(case))
    return dealt
