"""Questions with several responses, every two of which are judged: whether the verdicts form a ranking (Sage)."""

from __future__ import annotations

from itertools import combinations
from typing import Final, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mrb_lib.stats.estimation import FloatArray, IntArray, divide, sums_by
from mrb_lib.stats.verdicts import TIE, Verdicts

MOST_RESPONSES: Final = 8
_MOST_VIOLATIONS: Final = {3: (3.0, 2.0), 4: (7.0, 6.0)}


class Tournament(NamedTuple):
    """A question with three to `MOST_RESPONSES` responses, every two of which are a case.

    Attributes
    ----------
    responses : how many there are
    cases : shape (pairs,), the case of each two responses, in the order of `itertools.combinations`
    turned : shape (pairs,), whether the case shows the second of the two as A
    """

    responses: int
    cases: IntArray
    turned: NDArray[np.bool_]


def questions(cases: pd.DataFrame) -> IntArray:
    """Return the question of each case, shape (cases,): cases with the same text and images ask the same."""
    if "question" not in cases:
        return np.arange(len(cases), dtype=np.int64)
    keys = [cases[name].map(str) for name in ("question", "images") if name in cases]
    return np.asarray(pd.MultiIndex.from_arrays(keys).factorize()[0], dtype=np.int64)


def tournaments(cases: pd.DataFrame, question: IntArray) -> list[Tournament]:
    """Find the questions of which every two responses are a case; of several cases with the same two, take the first.

    Responses are the same where their texts are; a case of two equal responses does not count.
    """
    if not {"response_a", "response_b"} <= set(cases):
        return []
    a, b = pd.factorize(pd.concat([cases["response_a"], cases["response_b"]]))[0].reshape(2, -1)
    rows = pd.DataFrame({"question": question, "low": np.minimum(a, b), "high": np.maximum(a, b), "turned": a > b})
    rows = rows[(rows["low"] >= 0) & (rows["low"] < rows["high"])]
    rows = rows.drop_duplicates(["question", "low", "high"]).sort_values(["question", "low", "high"])
    found = []
    for _, own in rows.groupby("question"):
        n = len({*own["low"], *own["high"]})
        if 3 <= n <= MOST_RESPONSES and len(own) == n * (n - 1) // 2:
            found.append(Tournament(n, own.index.to_numpy(), own["turned"].to_numpy()))
    return found


def violations(verdicts: Verdicts, found: list[Tournament]) -> tuple[FloatArray, FloatArray]:
    """Return the order violations of each tournament (TOV), and their part that is left once every pair is stable.

    The violations are the fewest verdicts to change until they form a ranking with ties (Feng et al. 2025, arXiv
    2512.16041, equation 3). A tournament counts where every pair has a choice in both orders; of several such repeats
    the mean.

    Returns
    -------
    Two arrays of shape (cases, cells): a tournament stands at its first case, everywhere else is NaN
    """
    both = verdicts.both_orders()
    both = both[(both["ab"] >= 0) & (both["ba"] >= 0)]
    shape = (verdicts.n_cases, len(verdicts.cells))
    total, stable, count = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    for n in sorted({each.responses for each in found}):
        own = [each for each in found if each.responses == n]
        members = pd.DataFrame({name: np.concatenate([getattr(e, name) for e in own]) for name in ("cases", "turned")})
        pairs = n * (n - 1) // 2
        members["first"] = np.repeat([each.cases[0] for each in own], pairs)
        members["pair"] = np.tile(np.arange(pairs), len(own))
        rows = members.merge(both, left_on="cases", right_on="case")
        keys = ["first", "cell", "repeat"]
        rows = rows[rows.groupby(keys)["pair"].transform("size") == pairs].sort_values([*keys, "pair"])
        choice = rows[["ab", "ba"]].to_numpy()
        relation = np.where(choice < TIE, choice ^ rows[["turned"]].to_numpy(), choice).reshape(-1, pairs, 2)
        cost = np.stack([(relation != kind).sum(axis=2).T for kind in range(3)])
        least = fewest_changes(cost, n)
        place = tuple(rows[["first", "cell"]].to_numpy()[::pairs].T)
        np.add.at(total, place, least)
        np.add.at(stable, place, least - cost.min(axis=0).sum(axis=0))
        np.add.at(count, place, 1.0)
    return divide(total, count), divide(stable, count)


def fewest_changes(cost: NDArray[np.integer], n: int) -> NDArray[np.integer]:
    """Return the smallest cost of a ranking of n items with ties, exactly, by sets of the items ranked last.

    Parameters
    ----------
    cost : shape (3, pairs, m): of ranking the first of a pair above the second, below it, or level with it, for pairs
        in the order of `itertools.combinations`

    Returns
    -------
    shape (m,)
    """
    place = {pair: number for number, pair in enumerate(combinations(range(n), 2))}
    least = {0: np.zeros(cost.shape[2], dtype=cost.dtype)}
    for items in range(1, 2**n):
        two = [pair for pair in place if items >> pair[0] & items >> pair[1] & 1]
        tops = [top for top in range(1, items + 1) if not top & ~items]
        for top in tops:  # the items that share the first place among these
            way = least[items & ~top].copy()
            for i, j in two:
                if (top >> i | top >> j) & 1:
                    way += cost[2 if top >> i & top >> j & 1 else 0 if top >> i & 1 else 1, place[i, j]]
            least[items] = np.minimum(least[items], way) if items in least else way
    return least[2**n - 1]


def most_violations(responses: int) -> tuple[float, float]:
    """Return the most violations that so many responses can have, and the most of them beyond unstable pairs.

    Found by enumeration for three and four. For more it is 4/3 per pair: the mean cost of a ranking or its reverse in
    which a third of the pairs are level.
    """
    bound = 4 * (responses * (responses - 1) // 2) / 3
    return _MOST_VIOLATIONS.get(responses, (bound, bound))


def by_question(values: FloatArray, question: IntArray) -> FloatArray:
    """Return the means over the cases of each question, at its first case; both of shape (cases, m), NaN elsewhere."""
    _, first, codes = np.unique(question, return_index=True, return_inverse=True)
    out = np.full(values.shape, np.nan)
    out[first] = divide(sums_by(codes, np.nan_to_num(values)), sums_by(codes, np.isfinite(values)))
    return out
