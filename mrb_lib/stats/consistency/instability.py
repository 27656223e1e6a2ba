"""Sage's two measures of a judge that contradicts itself: unstable pairs, and preferences that do not form an order."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from mrb_lib.stats.clusters import clusters_of
from mrb_lib.stats.core.panel import TIE
from mrb_lib.stats.options import FloatArray, IntArray
from mrb_lib.stats.resampling.robust import Layout, layout
from mrb_lib.stats.subfields import Group

MOST_RESPONSES = 8
_MOST_VIOLATIONS = {3: (3, 2), 4: (7, 6)}
_AT_ONCE = 4096
_QUESTION = ("question", "images")


class RoundRobin(NamedTuple):
    """Questions with the same number of responses, each pair of which is a case.

    Attributes
    ----------
    responses : their number, three at least
    question : shape (q,), codes of `Questions.of_case`
    cases : shape (q, pairs), the case of each pair of responses, in the order of `itertools.combinations`
    turned : shape (q, pairs), the case shows the pair's second response as A
    """

    responses: int
    question: IntArray
    cases: IntArray
    turned: NDArray[np.bool_]


class Questions(NamedTuple):
    """The questions of a benchmark: cases that ask the same of the same images.

    Attributes
    ----------
    n : their number
    of_case : shape (cases,), the question of each case
    clusters : shape (n,), the cluster of each question; clusters that share a question are one
    tournaments : the questions of which every pair of three or more responses is a case
    """

    n: int
    of_case: IntArray
    clusters: IntArray
    tournaments: list[RoundRobin]


def questions(cases: pd.DataFrame, codes: IntArray) -> Questions:
    """Find the cases that put the same question.

    Parameters
    ----------
    cases : with `question`, and `images` where there are any; without a question each case is its own
    codes : shape (cases,), the cluster of each case

    Notes
    -----
    Responses are the same where their texts are. Of several cases with one pair a tournament has the first only, while
    instability is a mean over all of them; a response that meets itself is in no tournament. Questions of more
    than `MOST_RESPONSES` responses are not a tournament.
    """
    n = len(cases)
    if "question" not in cases.columns:
        of_case = np.arange(n, dtype=np.int64)
    else:
        keys = [cases[name].map(str) for name in _QUESTION if name in cases.columns]
        of_case = pd.factorize(pd.MultiIndex.from_arrays(keys))[0].astype(np.int64)
    count = int(of_case.max(initial=-1)) + 1
    return Questions(count, of_case, clusters_of(of_case, codes), _tournaments(cases, of_case))


def _tournaments(cases: pd.DataFrame, of_case: IntArray) -> list[RoundRobin]:
    if not {"response_a", "response_b"} <= set(cases.columns):
        return []
    texts, _ = pd.factorize(pd.concat([cases["response_a"], cases["response_b"]], ignore_index=True))
    sides = texts.reshape(2, len(cases))
    several = np.flatnonzero((np.bincount(of_case)[of_case] >= 3) & (sides[0] != sides[1]) & (sides >= 0).all(axis=0))
    complete: dict[int, list[tuple[int, list[int], list[bool]]]] = {}
    order = several[np.argsort(of_case[several], kind="stable")]
    for members in np.split(order, np.flatnonzero(np.diff(of_case[order])) + 1) if len(order) else []:
        first: dict[tuple[int, int], int] = {}
        for case in members.tolist():
            low, high = sorted(sides[:, case].tolist())
            first.setdefault((low, high), case)
        names = sorted({name for pair in first for name in pair})
        pairs = list(combinations(names, 2))
        if 3 <= len(names) <= MOST_RESPONSES and len(first) == len(pairs):
            ordered = [first[pair] for pair in pairs]
            turned = [bool(sides[0, case] != pair[0]) for case, pair in zip(ordered, pairs, strict=True)]
            complete.setdefault(len(names), []).append((int(of_case[members[0]]), ordered, turned))
    return [
        RoundRobin(size, *(np.array(column) for column in zip(*rows, strict=True)))
        for size, rows in sorted(complete.items())
    ]


class Units(NamedTuple):
    """The questions of each of several disjoint groups of cases; a question of two groups is a unit in each.

    Attributes
    ----------
    of_case : shape (cases,), the unit of each case; -1 in no group
    grouping : the groups and clusters of the units
    tournaments : for each of `Questions.tournaments` the unit of each question; -1 where not all its cases
        are in one group
    """

    of_case: IntArray
    grouping: Layout
    tournaments: list[IntArray]


def units(all_questions: Questions, group: IntArray, groups: int) -> Units:
    """Find the questions of each group of cases.

    Parameters
    ----------
    group : shape (cases,), the group of each case; -1 in none
    groups : their number
    """
    key = np.where(group < 0, -1, group * all_questions.n + all_questions.of_case)
    keys = np.unique(key[key >= 0])
    of_unit, question = np.divmod(keys, all_questions.n)
    parts = [Group(None, None, np.flatnonzero(of_unit == number), 0) for number in range(groups)]
    of_tournaments = []
    for tournament in all_questions.tournaments:
        theirs = group[tournament.cases]
        inside = (theirs == theirs[:, :1]).all(axis=1) & (theirs[:, 0] >= 0)
        of_tournaments.append(
            np.where(inside, np.searchsorted(keys, theirs[:, 0] * all_questions.n + tournament.question), -1)
        )
    of_case = np.where(key < 0, -1, np.searchsorted(keys, key)).astype(np.int64)
    return Units(of_case, layout(parts, all_questions.clusters[question]), of_tournaments)


def unstable_pairs(flipped: FloatArray, answered: FloatArray, of_case: IntArray) -> tuple[FloatArray, FloatArray]:
    """Intra-pair instability (IPI) by question: the share of its pairs whose verdict changes with the order.

    Parameters
    ----------
    flipped : shape (rows, cases), whether the verdicts in the two orders differ; 0 where not answered in both
    answered : shape (rows, cases), 1 where the case was answered in both orders
    of_case : shape (cases,), the question of each case, 0 to q - 1, or -1

    Returns
    -------
    tuple of float arrays
        The share and whether there is one, each of shape (rows, q).

    Notes
    -----
    Feng et al., "Are We on the Right Way to Assessing LLM-as-a-Judge?" (Sage, arXiv 2512.16041), equation 2;
    a judge's IPI is the mean over questions.
    """
    (cases,) = np.nonzero(of_case >= 0)
    shape = (len(of_case), int(of_case.max(initial=-1)) + 1)
    by_question = sparse.csr_array((np.ones(len(cases)), (cases, of_case[cases])), shape)
    pairs = np.asarray(answered @ by_question)
    return np.asarray(flipped @ by_question) / np.maximum(pairs, 1), (pairs > 0).astype(np.float64)


def order_violations(choice: NDArray[np.int8], tournament: RoundRobin) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Weak total order violation (TOV) of each question: the fewest verdicts to change until they form an order.

    Both verdicts on a pair count, one an order of presentation; the order may hold ties. A question
    counts where all were given; with several repeats it has the mean over those repeats.

    Parameters
    ----------
    choice : shape (rows, cases, 2, repeats), as in `mrb_lib.stats.core.panel.Panel.choice`

    Returns
    -------
    tuple of float arrays
        The violations; the part of them that is left when every pair has been made stable; whether the
        question counts. Each of shape (rows, questions).

    Notes
    -----
    Sage (arXiv 2512.16041), equation 3. The minimum is exact: over all weak orders, by dynamic
    programming over the set of the responses that are ranked already. Compared with enumeration
    in `tests/stats/consistency/test_instability.py`.
    """
    choices = choice[:, tournament.cases]
    complete = (choices >= 0).all(axis=(2, 3))
    swap = np.where(tournament.turned, 1, 0)[None, :, :, None, None]
    relation = np.where(choices < TIE, choices ^ swap, choices)
    against = np.stack([(relation != kind).sum(axis=3) for kind in range(3)])  # (3, rows, q, pairs, repeats)
    cost = np.moveaxis(against, 3, 1)[:, :, complete].astype(np.int16)  # (3, pairs, complete ones)
    total, stable = np.zeros(complete.shape), np.zeros(complete.shape)
    total[complete] = np.concatenate(
        [
            fewest_changes(cost[:, :, start : start + _AT_ONCE], tournament.responses)
            for start in range(0, max(1, cost.shape[2]), _AT_ONCE)
        ]
    )
    stable[complete] = total[complete] - cost.min(axis=0).sum(axis=0)
    repeats = complete.sum(axis=2)
    divisor = np.maximum(repeats, 1)
    return total.sum(axis=2) / divisor, stable.sum(axis=2) / divisor, (repeats > 0).astype(np.float64)


def most_violations(responses: int) -> tuple[float, float]:
    """The largest TOV that a question of so many responses can have, and the largest part of it beyond unstable pairs.

    Notes
    -----
    Found by enumeration for three and four. For more it is the bound 4/3 for each pair: what an order costs on average
    that puts a third of the pairs level at random and is otherwise a ranking or its reverse.
    """
    bound = 4 * (responses * (responses - 1) // 2) / 3
    return _MOST_VIOLATIONS.get(responses, (bound, bound))


def fewest_changes(cost: NDArray[np.int16], n: int) -> NDArray[np.int16]:
    """The smallest cost of a weak order of n items.

    Parameters
    ----------
    cost : shape (3, pairs, m): of ranking the first of a pair above the second, below it, or level with
        it, for pairs in the order of `itertools.combinations`

    Returns
    -------
    int array, shape (m,)
    """
    m = cost.shape[2]
    index = {pair: i for i, pair in enumerate(combinations(range(n), 2))}
    above = {(i, j): cost[0 if i < j else 1, index[min(i, j), max(i, j)]] for i in range(n) for j in range(n) if i != j}
    nothing = np.zeros(m, dtype=np.int16)
    level = {0: nothing}
    under: dict[int, dict[int, NDArray[np.int16]]] = {0: dict.fromkeys(range(n), nothing)}
    for items in range(1, 2**n):
        low = (items & -items).bit_length() - 1
        rest = items & (items - 1)
        level[items] = level[rest] + sum((cost[2, index[low, j]] for j in _members(rest)), nothing)
        under[items] = {j: under[rest][j] + above[low, j] for j in range(n) if not items >> j & 1}
    best: dict[int, NDArray[np.int16]] = {0: nothing}
    for ranked in range(2**n - 1):
        between: dict[int, NDArray[np.int16]] = {0: nothing}
        for items in _subsets(2**n - 1 - ranked):
            low = (items & -items).bit_length() - 1
            between[items] = between[items & (items - 1)] + under[ranked][low]
            total = best[ranked] + between[items] + level[items]
            after = ranked | items
            best[after] = np.minimum(best[after], total) if after in best else total
    return best[2**n - 1]


def _members(items: int) -> list[int]:
    return [j for j in range(items.bit_length()) if items >> j & 1]


def _subsets(items: int) -> Sequence[int]:
    """The subsets of a set of bits but the empty one, smaller numbers first."""
    return [subset for subset in range(1, items + 1) if not subset & ~items]
