"""Items with several responses, compared in pairs: their orders, the choice of the best, and violations of order."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations
from math import comb, prod
from typing import Final, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import kendalltau

from mrb_lib.benchmarks.items import item_keys
from mrb_lib.stats.comparisons import shares
from mrb_lib.stats.estimation import BoolArray, FloatArray, IntArray, divide
from mrb_lib.stats.verdicts import TIE, Verdicts

MOST_RESPONSES: Final = 8
MOST_SUBSETS: Final = 1000
_MOST_VIOLATIONS: Final = {3: (3.0, 2.0), 4: (7.0, 6.0)}
_DIGITS, _ROUNDING = 9, 1e-9


class ItemResponses(NamedTuple):
    """The different responses of each item, and which two of them a case compares.

    Attributes
    ----------
    item : shape (cases,), the item of each case, 0 to the number of items - 1
    a, b : shape (cases,), the two responses of each case, among those of all items
    of_response : shape (responses,), the item of each; ascending
    """

    item: IntArray
    a: IntArray
    b: IntArray
    of_response: IntArray

    @property
    def size(self) -> IntArray:
        """The number of different responses of each item, shape (items,)."""
        return np.bincount(self.of_response).astype(np.int64)


def item_responses(cases: pd.DataFrame) -> ItemResponses:
    """Return the items of a cases table, see `items.item_keys`, and their responses, told apart by their text."""
    item = pd.factorize(item_keys(cases))[0].astype(np.int64)
    texts = pd.factorize(pd.concat([cases["response_a"], cases["response_b"]]).astype("str"))[0]
    distinct, code = np.unique(np.stack([np.tile(item, 2), texts]), axis=1, return_inverse=True)
    a, b = code.reshape(2, -1).astype(np.int64)
    return ItemResponses(item, a, b, distinct[0])


def compare_orders(items: ItemResponses, first: FloatArray, second: FloatArray) -> FloatArray:
    """Compare two orders of the responses of every item, each by the share of its pairs that a response wins.

    Parameters
    ----------
    first, second : comparisons, shape (cases, 3). Pairs that either does not decide count for neither

    Returns
    -------
    Array of shape (3, items): Kendall's tau-b; `edit_distance`, the mean of two, in which equal responses of one side
        stand as the other has them, and the other way round, so that a tie is half a swap; and the share of the
        responses that the second puts first that the first puts first, too. NaN where an item has a response in no pair
        that both decide, and where a side puts all on one place
    """
    used = first.any(axis=1) & second.any(axis=1) & (items.a != items.b)
    x, y = (_win_shares(items, each, used) for each in (first, second))
    size = items.size
    ends = np.cumsum(size)
    complete = (size > 1) & (np.bincount(items.of_response, np.isnan(x)) == 0)
    out = np.full((3, len(size)), np.nan)
    for item in np.flatnonzero(complete):
        own = slice(ends[item] - size[item], ends[item])
        out[:, item] = _compare(tuple(x[own].tolist()), tuple(y[own].tolist()))
    return out


def _win_shares(items: ItemResponses, outcomes: FloatArray, used: BoolArray) -> FloatArray:
    """Return the share of its pairs that each response wins, a tie being half a win; NaN without a pair."""
    a, b, won, n = items.a[used], items.b[used], shares(outcomes[used]), len(items.of_response)
    wins = np.bincount(a, won[:, 0], n) + np.bincount(b, won[:, 1], n)
    return divide(wins, np.bincount(a, minlength=n) + np.bincount(b, minlength=n)).round(_DIGITS)


@lru_cache(maxsize=100_000)  # most items have few responses, and so few different orders
def _compare(x: tuple[float, ...], y: tuple[float, ...]) -> tuple[float, float, float]:
    """Compare the shares that the responses to one item win by two sides, as `compare_orders` does."""
    if min(x) == max(x) or min(y) == max(y):
        return np.nan, np.nan, np.nan
    distance = 0.0
    for sign in (1, -1):  # equals of one side as the other has them, then the other way round
        one = sorted(range(len(x)), key=lambda i: (-x[i], -sign * y[i]))
        other = sorted(range(len(x)), key=lambda i: (-y[i], -sign * x[i]))
        distance += edit_distance(one, other) / 2
    best, chosen = ({i for i, share in enumerate(side) if share == max(side)} for side in (x, y))
    return round(float(kendalltau(x, y).statistic), _DIGITS), distance, len(best & chosen) / len(chosen)


def edit_distance(first: Sequence[object], second: Sequence[object]) -> float:
    """Return the Levenshtein distance of two sequences, divided by the length of the longer one."""
    row = list(range(len(second) + 1))
    for i, one in enumerate(first):
        above, row = row, [i + 1]
        for j, other in enumerate(second):
            row.append(min(above[j + 1] + 1, row[j] + 1, above[j] + (one != other)))
    return row[-1] / max(len(first), len(second))


class CompleteItems(NamedTuple):
    """Items of one size in which every pair of responses is labelled, and every case judged.

    Attributes
    ----------
    size, n_excluded : how many responses each item has, and how many items of that size are not complete
    items, coverage : shape (n,), the items, and the share of the cases of each to which the judge gave a choice
    utility : shape (n, size), the share of its pairs that each response wins by the gold labels
    wins : shape (n, size, size), as in `choose`; 1/2 where a pair is unanswered
    """

    size: int
    n_excluded: int
    items: IntArray
    coverage: FloatArray
    utility: FloatArray
    wins: FloatArray


def complete_items(
    items: ItemResponses, label: FloatArray, said: FloatArray, judged: BoolArray, scores: FloatArray | None
) -> list[CompleteItems]:
    """Return the items that count for a judge, those of one size together, fewer responses first.

    Parameters
    ----------
    label, said : shape (cases, 2), `shares` of the gold labels and of the verdicts
    judged : shape (cases,), whether there is a verdict
    scores : shape (cases, 2), what the judge scored A and B; None takes what the verdicts say
    """
    start, size = np.cumsum(items.size) - items.size, items.size[items.item]
    found = []
    for k in np.unique(size[items.a != items.b]).tolist():
        case = np.flatnonzero((size == k) & (items.a != items.b))
        names, item = np.unique(items.item[case], return_inverse=True)
        a, b = (side[case] - start[items.item[case]] for side in (items.a, items.b))
        pair = np.concatenate([(item * k + a) * k + b, (item * k + b) * k + a])  # A beside B, then B beside A
        shape = len(names), k, k
        labelled = divide(*_totals(pair, label[case], shape))
        won, counted = _totals(pair, (said if scores is None else scores)[case], shape)
        if scores is None:
            wins = np.nan_to_num(divide(won, counted), nan=0.5)
        else:
            wins = np.repeat(divide(won.sum(axis=2), counted.sum(axis=2))[:, :, None], k, axis=2)
        n_cases = np.bincount(item)
        kept = (np.isfinite(labelled).sum(axis=(1, 2)) == k * (k - 1)) & np.isfinite(wins).all(axis=(1, 2))
        kept &= np.bincount(item, judged[case]) == n_cases
        coverage = np.bincount(item, np.isfinite(said[case, 0])) / n_cases
        utility = np.nansum(labelled, axis=2) / (k - 1)
        found.append(CompleteItems(k, int((~kept).sum()), names[kept], coverage[kept], utility[kept], wins[kept]))
    return found


def _totals(pair: IntArray, values: FloatArray, shape: tuple[int, ...]) -> FloatArray:
    """Sum what responses (rows) gain beside others (columns), and count it; of A, then B, of each case."""
    gained, out = values.T.ravel(), np.zeros((2, prod(shape)))
    np.add.at(out[0], pair, np.nan_to_num(gained))
    np.add.at(out[1], pair, np.isfinite(gained))
    return out.reshape(2, *shape)


class Chosen(NamedTuple):
    """Means over the subsets of n responses, each of shape (items,).

    Attributes
    ----------
    utility : of the response chosen, a mean over those level at the top
    random, best : the utilities of a choice at random, and of the best response of the subset
    hit : the probability that the choice is a best response
    """

    utility: FloatArray
    random: FloatArray
    best: FloatArray
    hit: FloatArray


def choose(utility: FloatArray, wins: FloatArray, n: int, *, seed: int) -> Chosen:
    """Choose the response that wins most among the n: exactly over all subsets, or over `MOST_SUBSETS` random ones.

    Parameters
    ----------
    utility : shape (items, k), true worth of each response
    wins : shape (items, k, k), what the response of the row gains from meeting each other one; its score where the
        judge scores responses. The diagonal does not count
    """
    drawn = subsets(utility.shape[1], n, seed)
    sums = np.zeros((4, len(utility)))
    for members in drawn:
        worth, won = utility[:, members], (wins[:, members[:, None], members] * ~np.eye(n, dtype=bool)).sum(axis=2)
        most, best = won.max(axis=1, keepdims=True), worth.max(axis=1, keepdims=True)
        level = won >= most - _ROUNDING * np.maximum(1.0, np.abs(most))
        hit = level & (worth >= best - _ROUNDING)
        sums += [
            (worth * level).sum(axis=1) / level.sum(axis=1),
            worth.mean(axis=1),
            best[:, 0],
            hit.sum(axis=1) / level.sum(axis=1),
        ]
    return Chosen(*(sums / len(drawn)))


def subsets(k: int, n: int, seed: int) -> IntArray:
    """Return the subsets of n of k, shape (subsets, n): all, or `MOST_SUBSETS` of them, drawn."""
    if comb(k, n) <= MOST_SUBSETS:
        return np.array(list(combinations(range(k), n)))
    return np.random.default_rng([seed, k, n]).random((MOST_SUBSETS, k)).argsort(axis=1)[:, :n]


def questions(cases: pd.DataFrame) -> IntArray:
    """Return the question of each case, shape (cases,): cases with the same text and images ask the same."""
    if "question" not in cases:
        return np.arange(len(cases))
    keys = [cases[name].map(str) for name in ("question", "images") if name in cases]
    return pd.MultiIndex.from_arrays(keys).factorize()[0].astype(np.int64)


def tournaments(cases: pd.DataFrame, question: IntArray) -> pd.DataFrame:
    """Find the questions with three to `MOST_RESPONSES` responses, every two of which are a case.

    Responses are the same where their texts are; a case of two equal responses does not count. Of several cases with
    the same two the first counts.

    Returns
    -------
    DataFrame
        One row per case, those of a question together and in the order of `itertools.combinations`: `case`, `first`
        (the first case of its question), `responses` (how many the question has), `turned` (whether the case shows
        the second of its two as A)
    """
    a, b = pd.factorize(cases.reindex(columns=["response_a", "response_b"]).to_numpy().T.ravel())[0].reshape(2, -1)
    low, high, keys = np.minimum(a, b), np.maximum(a, b), ["question", "low", "high"]
    rows = pd.DataFrame({"case": range(len(a)), "question": question, "low": low, "high": high, "turned": a > b})
    rows = rows[(low >= 0) & (low < high)].drop_duplicates(keys).sort_values(keys)
    responses = rows.melt("question", ["low", "high"]).groupby("question")["value"].nunique()
    of_question = rows.groupby("question")["case"]
    rows = rows.assign(responses=rows["question"].map(responses), first=of_question.transform("first"))
    is_complete = of_question.transform("size") == rows["responses"] * (rows["responses"] - 1) / 2
    return rows[is_complete & rows["responses"].between(3, MOST_RESPONSES)]


def violations(verdicts: Verdicts, found: pd.DataFrame) -> tuple[FloatArray, FloatArray]:
    """Return the order violations of each tournament (TOV), and their part that is left once every pair is stable.

    The violations are the fewest verdicts to change until they form a ranking with ties (Feng et al. 2025, arXiv
    2512.16041, equation 3). A tournament counts where every pair has a choice in both orders; of several such repeats
    the mean.

    Parameters
    ----------
    found : see `tournaments`

    Returns
    -------
    Two arrays of shape (cases, cells): a tournament stands at its first case, everywhere else is NaN
    """
    both = verdicts.both_orders()
    both = both[(both["ab"] >= 0) & (both["ba"] >= 0)]
    out = np.full((2, verdicts.n_cases, len(verdicts.cells)), np.nan)
    keys = ["first", "cell", "repeat"]
    for n in found["responses"].unique().tolist():
        members, pairs = found[found["responses"] == n], comb(n, 2)
        rows = members.assign(pair=members.groupby("first").cumcount()).merge(both, on="case")
        rows = rows[rows.groupby(keys)["pair"].transform("size") == pairs].sort_values([*keys, "pair"])
        choice = rows[["ab", "ba"]].to_numpy()
        relation = np.where(choice < TIE, choice ^ rows[["turned"]].to_numpy(), choice).reshape(-1, pairs, 2)
        cost = np.stack([(relation != kind).sum(axis=2).T for kind in range(3)])
        least = fewest_changes(cost, n)
        made = rows.iloc[::pairs].assign(tov=least, intransitive=least - cost.min(axis=0).sum(axis=0))
        means = made.groupby(["first", "cell"])[["tov", "intransitive"]].mean()
        out[:, means.index.get_level_values("first"), means.index.get_level_values("cell")] = means.T
    return out[0], out[1]


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
    out = np.full(values.shape, np.nan)
    out[np.unique(question, return_index=True)[1]] = pd.DataFrame(values).groupby(question).mean()
    return out
