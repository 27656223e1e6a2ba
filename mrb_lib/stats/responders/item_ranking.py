"""Does a judge order the responses to an item as the annotators do; and what does ranking them in one prompt save?

Rows of the table `ranking` beside those of responders over all items: an item's responses need no names.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from mrb_lib.stats.clusters import clusters_of
from mrb_lib.stats.core.panel import BATCH, COUNTS, Panel, as_panel
from mrb_lib.stats.core.scoring import encode_gold
from mrb_lib.stats.options import BoolArray, FloatArray, IntArray, join_reasons, typed, with_ends
from mrb_lib.stats.resampling.resample import Ratios, cluster_codes, ratios
from mrb_lib.stats.responders.comparisons import from_labels, from_verdicts
from mrb_lib.stats.responders.item_orders import ItemResponses, OrderAgreement, compare_orders, item_responses

GENERATIVE = "+generative"
NO_PAIRS = "no item whose responses are all in pairs that gold and judge both decide"
ALL_EQUAL = "gold or judge puts all responses of every item on one place"
NO_PAIRWISE = "no run of the same model that compares pairs"
OTHER_VERDICTS = "the run of pairs does not hold the same verdicts"
NO_TOKENS = "tokens are not counted"
QUANTITIES = ("kendall", "edit_distance", "top_1")
COLUMNS = [
    "part", "judge", "dimension", "policy", "n_items", "n_undecided", "n_all_equal", "n_clusters",
    "n_responses",
    *with_ends(*QUANTITIES), "versus", "n_verdicts", "n_counted", "tokens", "tokens_versus",
    "token_ratio", "reason",
]  # fmt: skip


def item_ranking(
    verdicts: pd.DataFrame | Panel,
    gold: pd.DataFrame,
    cases: pd.DataFrame,
    *,
    policy: str = "balanced",
    dimensions: Sequence[str] | None = None,
    cluster: str | None = None,
    resamples: int = 2000,
    seed: int = 0,
) -> pd.DataFrame:
    """Each judge's order of the responses to an item against that of the gold labels, from the item's pairs.

    Whether a judge ranked the responses in one prompt (`+batch`) or compared them pair by pair makes no difference:
    an order is made from its verdicts on the pairs.

    Parameters
    ----------
    verdicts : the verdicts table or panel, of one probe
    gold : `case_id, dimension, choice`; a case without a row, or with a null, has no label
    cases : the cases table; cases of one item share `item`, or else question and images, see
        `mrb_lib.benchmarks.items.item_keys`, and responses are told apart by their text
    policy : how a judge's verdicts on a case become one comparison, see `comparisons.from_verdicts`
    dimensions, cluster, resamples, seed : as in `mrb_lib.stats.accuracy.accuracy`

    Returns
    -------
    DataFrame
        Rows `part` "items", one a judge and dimension. An order is by the share of its pairs that a response wins, a
        tie being half a win, and equal shares are equal places; both orders are made from the pairs that gold and judge
        both decide. `n_items` that count; `n_undecided` items with two responses at least of which one is in no such
        pair; `n_all_equal` items of which either side puts all responses on one place, so that there is no order;
        `n_responses` of an item on average. Means over items with 95% intervals of the cluster bootstrap, over the
        `n_clusters` of the items that count; clusters that share an item are one, and fewer than two give no interval:
        `kendall` (tau-b); `edit_distance`, the Levenshtein distance of the two orders, written as strings, divided by
        their length (0 the same, 1 nothing in place; a tie of one side is half a swap, without ties it is that of
        MLLM-as-a-Judge); `top_1`, the share of the responses that the judge puts first that gold puts first, too.
        Rows `part` "tokens", one a judge whose tokens are counted: `tokens` of prompts and replies an item, over all
        its `n_verdicts`, also those on cases that it was trained on, and `n_items` with one. Tokens are counted in
        `n_counted` of them: a reply that answers several is counted in one, and what is not counted adds nothing. Of a
        judge `NAME+batch` beside `tokens_versus` of `versus`, which is NAME or NAME+generative, and
        `token_ratio`, the one over the other, where both hold verdicts on the same cases, dimensions, orders and
        repeats. `reason` says why a value is null.

    Raises
    ------
    InputError
        An option is unknown, or a table speaks of an unknown case or choice.

    Notes
    -----
    Chen et al. (2024), MLLM-as-a-Judge, arXiv 2402.04788, score batch rankings by the edit distance. Validated by
    tests/stats/responders/test_item_ranking.py against loops; a judge that favours places in the list is simulated in
    tests/simulation/test_batch_ranking.py.
    """
    panel = as_panel(verdicts, cases["case_id"], dimensions)
    items = item_responses(cases)
    labels = from_labels(encode_gold(gold, cases["case_id"], panel.dimensions))
    outcomes = from_verdicts(panel, policy)
    takes_part = panel.takes_part()
    cells = [(i, j) for i in range(len(panel.judges)) for j in range(len(panel.dimensions)) if takes_part[i, j]]
    agreed = [compare_orders(items, labels[j], outcomes[i, j]) for i, j in cells]
    codes = clusters_of(items.item, cluster_codes(cases, cluster))
    estimates = _means(agreed, codes, resamples=resamples, seed=seed)
    rows = [
        {"judge": panel.judges[i], "dimension": panel.dimensions[j], **_order_row(items, one, means, codes)}
        for (i, j), one, means in zip(cells, agreed, estimates, strict=True)
    ]
    rows += list(_token_rows(panel, items))
    frame = pd.DataFrame(rows, columns=COLUMNS).assign(policy=policy)
    return typed(frame, COLUMNS, counts="Int64", n_responses="float64")


def _means(agreed: Sequence[OrderAgreement], codes: IntArray, *, resamples: int, seed: int) -> list[Ratios]:
    """The means over items of each of `QUANTITIES`."""
    every = np.arange(len(codes))
    is_share = np.array([name != "kendall" for name in QUANTITIES])
    parts = []
    for one in agreed:
        values = np.stack([one.kendall, one.edit_distance, one.top_1], axis=1)
        parts.append((every, np.nan_to_num(values), np.isfinite(values).astype(np.float64)))
    return ratios(parts, codes, shares=[is_share] * len(parts), resamples=resamples, seed=seed) if parts else []


def _order_row(items: ItemResponses, one: OrderAgreement, means: Ratios, codes: IntArray) -> dict[str, object]:
    counted = np.isfinite(one.kendall)
    n_all_equal = int((one.is_compared & ~counted).sum())
    ends = {
        f"{name}{end}": values[i]
        for i, name in enumerate(QUANTITIES)
        for end, values in (("", means.value), ("_low", means.low), ("_high", means.high))
    }
    why = "" if counted.any() else ALL_EQUAL if n_all_equal else NO_PAIRS
    return {
        "part": "items",
        "n_items": int(counted.sum()),
        "n_undecided": int(((items.size >= 2) & ~one.is_compared).sum()),
        "n_all_equal": n_all_equal,
        "n_clusters": len(np.unique(codes[counted])),
        "n_responses": float(items.size[counted].mean()) if counted.any() else np.nan,
        **ends,
        "reason": join_reasons(why, *dict.fromkeys(means.reason)),
    }


def _token_rows(panel: Panel, items: ItemResponses) -> Iterator[dict[str, object]]:
    """What an item takes of each judge, and beside that what it takes of the same model by pairs."""
    tokens, n_counted = _tokens(panel)
    present = panel.with_seen().present
    judged = np.asarray(present.any(axis=(1, 3, 4)))
    n_items = np.array([len(np.unique(items.item[each])) for each in judged])
    for i, judge in enumerate(panel.judges):
        if np.isnan(tokens[i]) or not n_items[i]:
            continue
        row: dict[str, object] = {
            "part": "tokens", "judge": judge, "n_items": n_items[i], "n_verdicts": int(present[i].sum()),
            "n_counted": int(n_counted[i]), "tokens": tokens[i] / n_items[i],
        }  # fmt: skip
        if judge.endswith(BATCH):
            row |= _beside(panel.judges, present, i, tokens / np.maximum(n_items, 1))
        yield row


def _beside(judges: list[str], present: BoolArray, batch: int, tokens: FloatArray) -> dict[str, object]:
    """The tokens an item of the run of pairs that a batch judge is compared with, and their ratio."""
    model = judges[batch].removesuffix(BATCH)
    other = next((judges.index(name) for name in (model, model + GENERATIVE) if name in judges), None)
    if other is None:
        return {"reason": NO_PAIRWISE}
    is_same = np.array_equal(present[batch], present[other])
    why = "" if is_same else OTHER_VERDICTS
    return {
        "versus": judges[other],
        "tokens_versus": tokens[other],
        "token_ratio": tokens[batch] / tokens[other] if is_same else np.nan,
        "reason": join_reasons(why, NO_TOKENS if np.isnan(tokens[other]) else ""),
    }


def _tokens(panel: Panel) -> tuple[FloatArray, FloatArray]:
    """The tokens of all prompts and replies of each judge and the verdicts that count them, each of shape (judges,).

    NaN where none are counted.
    """
    names = ["prompt_tokens", "completion_tokens"]
    if panel.costs.empty:
        return np.full(len(panel.judges), np.nan), np.full(len(panel.judges), np.nan)
    counted = panel.costs[[COUNTS[name] for name in names]].to_numpy(dtype=np.float64)
    totals = (panel.costs[names] * counted).sum(axis=1, min_count=1)
    made = pd.DataFrame({"total": totals, "n": counted.max(axis=1)}).groupby(panel.costs["judge"]).sum(min_count=1)
    total, n = made.reindex(panel.judges).to_numpy(dtype=np.float64).T
    return total, n
