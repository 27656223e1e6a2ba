"""Do the verdicts rank the responders, and the responses to an item, as the annotators do?"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Final, NamedTuple

import numpy as np
import pandas as pd

from mrb_lib.stats import comparisons as compared
from mrb_lib.stats import intervals
from mrb_lib.stats.analysis import Analysis
from mrb_lib.stats.bradley_terry import Fitted, absence, fit
from mrb_lib.stats.clusters import clusters_of
from mrb_lib.stats.columns import Column, estimated, shared, table
from mrb_lib.stats.comparisons import ANNOTATIONS, GOLD, NO_RESPONDERS, Responders
from mrb_lib.stats.comparisons import JUDGE as BY_JUDGE
from mrb_lib.stats.estimation import BoolArray, Estimate, FloatArray, Sampling, divide, estimate, mean
from mrb_lib.stats.item_orders import ItemResponses, OrderAgreement, compare_orders, item_responses
from mrb_lib.stats.panel import BATCH, COST_COLUMNS, COUNTS, Panel
from mrb_lib.stats.phrases import interval, main_dimension, main_rows, opening
from mrb_lib.stats.rank_agreement import FEWEST_RANKED, LEAST_ERROR, RankAgreement, agreement, rank_interval, ranks

STRENGTH, AGREEMENT, ITEMS, TOKENS = "strength", "agreement", "items", "tokens"
TOP: Final = 3
"""The number of first responders whose overlap is measured."""
GENERATIVE: Final = "+generative"
NEVER_COMPARED: Final = "never compared"
FEW_CLUSTERS: Final = "not more clusters than responders"
NO_SPREAD: Final = "differences without a standard error, because all clusters say the same, leave ranks open"
NO_STRENGTHS: Final = "{} has no strengths"
FEW_SHARED: Final = "fewer than two responders are ranked by both"
EQUAL_STRENGTHS: Final = "all strengths of one side are equal"
FEW_RANKED: Final = f"fewer than {FEWEST_RANKED} responders are ranked by both"
NO_SPREAD_BETWEEN: Final = "all clusters say the same, so that a difference has no error"
NO_ERROR: Final = "a standard error is unknown"
NO_PAIRS: Final = "no item whose responses are all in pairs that gold and judge both decide"
EQUAL_RESPONSES: Final = "gold or judge puts all responses of every item on one place"
NO_PAIRWISE: Final = "no run of the same model that compares pairs"
OTHER_VERDICTS: Final = "the run of pairs does not hold the same verdicts"
NO_TOKENS: Final = "tokens are not counted"
_CLINICIANS = 2


class Source(NamedTuple):
    """Choices that compare responders: the gold labels, all annotations, or those of one judge (named)."""

    kind: str
    judge: str | None


def sentence(rows: pd.DataFrame) -> str:
    """Say which responder annotators prefer, and whether a judge ranks responders or responses as they do."""
    said = [f"{opening(main_dimension(rows))}, {_first(rows)}"]
    said += [most_alike(main_rows(rows, part=AGREEMENT, source=GOLD), "the models")]
    saved = rows[rows["part"] == TOKENS].dropna(subset="token_ratio")
    if len(saved):
        said += [most_alike(main_rows(rows, part=ITEMS), "the responses to an item")]
        least = saved.nsmallest(1, "token_ratio").iloc[0]
        said += [f"{least['judge']} uses {least['token_ratio']:.0%} of the tokens of {least['versus']}."]
    return " ".join(filter(None, said))


def _first(rows: pd.DataFrame) -> str:
    strong = main_rows(rows, part=STRENGTH, source=GOLD).dropna(subset="rank")
    if strong.empty:
        return "the models that wrote the responses cannot be ranked."
    first = strong.nsmallest(1, "rank").iloc[0]
    said = (
        f"by the annotators' labels {first['responder']} is first of {len(strong)} models, "
        f"winning {first['win_rate']:.0%} of its comparisons"
    )
    if pd.isna(first["rank_low"]) or pd.isna(first["rank_high"]):
        return f"{said}."
    low, high = int(first["rank_low"]), int(first["rank_high"])
    return f"{said}; at 95% confidence its place is {low if low == high else f'from {low} to {high}'}."


def most_alike(rows: pd.DataFrame, what: str) -> str:
    """Name the judge that ranks most like the annotators, where its interval lies above those of all others."""
    known = rows.dropna(subset="kendall")
    if known.empty:
        return ""
    best = known.nlargest(1, "kendall").iloc[0]
    tau = f"{best['kendall']:.2f}{interval(best['kendall_low'], best['kendall_high'], scale=1, digits=2)}"
    if len(known) == 1:
        return f"{best['judge']} ranks {what} with a Kendall's tau of {tau} to the annotators (1: the same order)."
    others = known.drop(index=best.name)
    if (others["kendall_high"] < best["kendall_low"]).all():
        return (
            f"Of {len(known)} judges, {best['judge']} ranks {what} most like the annotators: Kendall's tau {tau} "
            "(1: the same order)."
        )
    low, high = known["kendall"].min(), known["kendall"].max()
    return (
        f"Cannot tell which of {len(known)} judges ranks {what} most like the annotators: Kendall's tau is "
        f"{low:.2f} to {high:.2f} (1: the same order), and the intervals of the highest overlap."
    )


_BRADLEY = "Bradley and Terry 1952"
_MOGSTAD = "Mogstad et al. 2024, doi:10.1093/restud/rdad006"


@table(
    "ranking",
    question="would the verdicts rank the responders, and the responses to an item, as the annotators do",
    columns=[
        Column("part", "strength of a responder, agreement of rankings, items, or tokens", "text"),
        shared("dimension"),
        Column("source", "origin of the choices: gold, annotations or judge", "text"),
        shared("judge"),
        Column("responder", "model that wrote responses", "text"),
        shared("policy"),
        Column("n", "comparisons of the responder", "count"),
        Column("n_excluded", "cases with the responder that the source did not decide", "cases"),
        Column("n_unpaired", "cases that do not name two different responders", "cases"),
        Column("wins", "comparisons won"),
        Column("losses", "comparisons lost"),
        Column("ties", "comparisons tied"),
        Column("win_rate", "share of comparisons won; a tie is half a win", "share 0-1"),
        Column(
            "strength", "odds of winning; the strengths of a source sum to 1", "share 0-1", _BRADLEY, ("low", "high")
        ),
        Column("log_strength", "logarithm of strength, with mean 0 in a source", "log odds", _BRADLEY),
        Column("standard_error", "standard error of log_strength, robust to clusters", "log odds"),
        Column("rank", "place by strength, 1 the strongest; equals share the better place", "rank"),
        Column("rank_low", "best possible place at 95% confidence", "rank", _MOGSTAD),
        Column("rank_high", "worst possible place at 95% confidence", "rank", _MOGSTAD),
        Column("n_responders", "responders ranked by both", "count"),
        estimated("kendall", "tau-b of two rankings; in rows items its mean", "coefficient", "Kendall 1945"),
        estimated("spearman", "correlation of the ranks of two rankings", "coefficient", "Spearman 1904"),
        Column("pearson_of_ranks", "correlation of competition ranks", "coefficient"),
        estimated("top_k_overlap", "share of the first k of one among the first k of the other"),
        Column("k", "number of first responders in top_k_overlap", "count"),
        Column("n_pairs", "pairs of responders", "count"),
        Column("n_told_apart", "pairs that both sources tell apart", "count"),
        Column("n_items", "items that the row rests on", "count"),
        Column("n_undecided", "items with a response in no pair that both decide", "count"),
        Column("n_all_equal", "items whose responses one side puts on one place", "count"),
        shared("clusters"),
        Column("n_responses", "mean number of different responses to an item"),
        estimated(
            "edit_distance",
            "mean steps from one order to the other over their length; 0: the same",
            source="Chen et al. 2024, arXiv 2402.04788",
        ),
        estimated("top_1", "mean share of the responses put first that gold puts first"),
        Column("versus", "judge of the same model that compares pairs", "text"),
        Column("n_verdicts", "verdicts, including cases the judge was trained on", "count"),
        Column("n_counted", "verdicts with tokens; a reply to several counts once", "count"),
        Column("tokens", "tokens of prompts and replies per item", "tokens"),
        Column("tokens_versus", "tokens per item of versus", "tokens"),
        Column("token_ratio", "tokens over tokens_versus"),
    ],
    sentence=sentence,
    uses=("policy", "dimension", "gold", "cluster", "resamples", "seed"),
    reads=COST_COLUMNS,
    needs_verdicts=False,
    headline=("win_rate", "strength", "rank", "kendall", "edit_distance", "top_1", "token_ratio"),
)
def ranking(analysis: Analysis) -> pd.DataFrame:
    """Estimate the strengths of the responders by clinicians and by each judge, and how far their rankings agree.

    Rows "strength": one per dimension, source and responder. "gold": a label is one comparison; "annotations": each
    annotation is one; "judge": a case with a verdict is one, see `comparisons.from_verdicts`. Each interval of a rank
    alone holds the true rank with at least 95%, not all of them together. Rows "agreement": one per dimension, source
    of clinicians and judge; intervals are of the agreement of the *true* strengths. Rows "items" and "tokens": the
    order of the responses to an item, and the tokens that a ranking in one prompt saves.

    Notes
    -----
    Strengths exist only where the graph of wins is strongly connected (Ford 1957). A rank correlation of estimates is
    too low on average, since both rankings hold noise, and too high where a judge errs as the gold does on the same
    cases; its interval allows for both and need not be centred on the estimate (`mrb_lib.stats.rank_posterior`).
    Coverage: tests/simulation/test_ranking.py; published values: tests/published/test_ranking.py.
    """
    panel, cases, names = analysis.panel, analysis.cases, analysis.names
    who = compared.responders(cases)
    sources = [Source(GOLD, None), Source(ANNOTATIONS, None)]
    outcomes = [
        compared.from_labels(analysis.labels.T)[None],
        compared.from_annotations(analysis.annotations, cases, names)[None],
    ]
    shown = np.ones((_CLINICIANS, len(names)), dtype=bool)
    if panel is not None:
        sources += [Source(BY_JUDGE, judge) for judge in panel.judges]
        outcomes.append(compared.from_verdicts(panel, analysis.policy))
        shown = np.concatenate([shown, panel.judged().any(axis=2)])
    choices = np.concatenate(outcomes)
    kept = [[source for source, is_shown in zip(sources, of, strict=True) if is_shown] for of in shown.T]
    rows: list[dict[str, object]] = []
    if who.names:
        fits = [fit(choices[shown[:, d], d], who, analysis.sampling, _CLINICIANS) for d in range(len(names))]
        for d, (name, item) in enumerate(zip(names, fits, strict=True)):
            rows += [{"dimension": name, **row} for row in _strengths(item, choices[shown[:, d], d], kept[d], who)]
        for d, (name, item) in enumerate(zip(names, fits, strict=True)):
            rows += [{"dimension": name, **row} for row in _agreements(item, kept[d], analysis.seed)]
    else:
        nothing = {"part": STRENGTH, "n": 0, "reason": NO_RESPONDERS}
        rows += [
            {**nothing, "dimension": name, **each._asdict(), "source": each.kind}
            for name, of in zip(names, kept, strict=True)
            for each in of
        ]
    if panel is not None:
        rows += _orders(analysis, panel, choices[_CLINICIANS:], choices[0])
    return pd.DataFrame(rows).assign(n_unpaired=int((~who.paired).sum()))


def _strengths(
    item: Fitted, outcomes: FloatArray, sources: list[Source], who: Responders
) -> Iterator[dict[str, object]]:
    wins, losses, ties = item.wins.sum(axis=2), item.wins.sum(axis=1), item.ties.sum(axis=2)
    n = wins + losses + ties
    variance = np.diagonal(item.covariance, axis1=1, axis2=2)
    low, high = item.bounds
    columns = {
        "n": n.round(),
        "n_excluded": _undecided(outcomes, who),
        "wins": wins,
        "losses": losses,
        "ties": ties,
        "win_rate": divide(wins + ties / 2, n),
        "strength": item.strength,
        "low": low,
        "high": high,
        "log_strength": item.log_strength,
        "standard_error": np.sqrt(np.where(variance > LEAST_ERROR**2, variance, np.nan)),
        "rank": ranks(item.log_strength),
    }
    for i, source in enumerate(sources):
        missing = absence(item.wins[i], item.ties[i], who.names)
        vague = NO_SPREAD if item.of(i).lacks_errors else ""
        lacks = FEW_CLUSTERS if item.clusters[i] >= 2 and np.isnan(item.covariance[i]).all() else None
        best, worst = _rank_bounds(item, i)
        for j, responder in enumerate(who.names):
            lone = NEVER_COMPARED if n[i, j] == 0 and n[i].any() else ""
            yield {
                "part": STRENGTH,
                "source": source.kind,
                "judge": source.judge,
                "responder": responder,
                **{name: values[i, j] for name, values in columns.items()},
                "rank_low": best[j],
                "rank_high": worst[j],
                "n_clusters": item.clusters[i],
                "lacks": lacks,
                "reason": "; ".join(filter(None, (lone, missing, vague))),
            }


def _undecided(outcomes: FloatArray, who: Responders) -> FloatArray:
    """The cases with each responder that each source did not decide, shape (sources, responders)."""
    undecided = ((outcomes.sum(axis=2) == 0) & who.paired).astype(np.float64)
    takes_part = np.zeros((len(who.a), len(who.names)))
    case = np.arange(len(who.a))
    takes_part[case, who.a] = takes_part[case, who.b] = 1.0
    return np.asarray(undecided @ takes_part)


def _rank_bounds(item: Fitted, source: int) -> FloatArray:
    strengths = item.of(source)
    has_error = np.isfinite(strengths.value) & np.isfinite(strengths.covariance.diagonal())
    out = np.full((2, len(has_error)), np.nan)
    if has_error.any():
        out[:, has_error] = rank_interval(strengths.of(has_error))
    return out


def _agreements(item: Fitted, sources: list[Source], seed: int) -> Iterator[dict[str, object]]:
    for i, j in product(range(_CLINICIANS), range(_CLINICIANS, len(sources))):
        first, second = item.of(i), item.of(j)
        agreed = agreement(first, second, item.shared[i, j], TOP, seed=seed)
        row: dict[str, object] = {"part": AGREEMENT, "source": sources[i].kind, "judge": sources[j].judge}
        row |= _with_ends("kendall", agreed.kendall) | _with_ends("spearman", agreed.spearman)
        row |= _with_ends("top_k_overlap", agreed.overlap)
        lacks_spread = first.lacks_errors or second.lacks_errors
        yield row | {
            "pearson_of_ranks": agreed.pearson_of_ranks,
            "n_responders": agreed.n,
            "k": agreed.k,
            "n_pairs": agreed.n_pairs,
            "n_told_apart": agreed.n_told_apart,
            "lacks": NO_SPREAD_BETWEEN if lacks_spread else FEW_RANKED if agreed.n < FEWEST_RANKED else NO_ERROR,
            "reason": _no_agreement(agreed, {sources[i].kind: first.value, BY_JUDGE: second.value}),
        }


def _with_ends(name: str, values: tuple[float, float, float]) -> dict[str, object]:
    return dict(zip((name, f"{name}_low", f"{name}_high"), values, strict=True))


def _no_agreement(agreed: RankAgreement, sides: dict[str, FloatArray]) -> str:
    if agreed.n < 2:
        missing = [name for name, value in sides.items() if np.isnan(value).all()]
        return "; ".join(map(NO_STRENGTHS.format, missing)) or FEW_SHARED
    return EQUAL_STRENGTHS if np.isnan(agreed.kendall[0]) else ""


def _orders(analysis: Analysis, panel: Panel, outcomes: FloatArray, labels: FloatArray) -> Iterator[dict[str, object]]:
    """Make the rows of items, whose orders follow from the verdicts on their pairs, and the rows of tokens.

    Parameters
    ----------
    outcomes : shape (judges, dimensions, cases, 3), see `mrb_lib.stats.comparisons`
    labels : shape (dimensions, cases, 3)
    """
    items = item_responses(analysis.cases)
    cells = np.argwhere(panel.takes_part())
    agreed = [compare_orders(items, labels[d], outcomes[j, d]) for j, d in cells]
    codes = clusters_of(items.item, analysis.sampling.codes)
    units = pd.DataFrame({"unit": codes.astype(str)}, index=range(len(codes)))
    sampling = Sampling.of(units, "unit", analysis.resamples, analysis.seed)
    made: dict[str, tuple[Estimate, intervals.Interval]] = {}
    rules = {"kendall": intervals.difference, "edit_distance": intervals.share, "top_1": intervals.share}
    for name, rule in rules.items():
        values = [getattr(one, name) for one in agreed]
        e = estimate(mean(np.stack(values, axis=1) if values else np.zeros((len(codes), 0))), sampling)
        made[name] = e, rule(e)
    for i, (j, d) in enumerate(cells):
        row: dict[str, object] = {"part": ITEMS, "source": BY_JUDGE}
        row |= {"judge": panel.judges[j], "dimension": panel.dimensions[d]}
        for name, (e, ends) in made.items():
            unknown = np.isnan(e.value[i]) | np.isnan(e.error[i])
            low, high = (np.nan if unknown else float(end[i]) for end in (ends.low, ends.high))
            row |= _with_ends(name, (float(e.value[i]), low, high))
        yield row | {"n_clusters": made["kendall"][0].clusters[i], **_counts(items, agreed[i])}
    yield from _tokens(panel, items)


def _counts(items: ItemResponses, one: OrderAgreement) -> dict[str, object]:
    counted = np.isfinite(one.kendall)
    n_all_equal = int((one.is_compared & ~counted).sum())
    return {
        "n_items": int(counted.sum()),
        "n_undecided": int(((items.size >= 2) & ~one.is_compared).sum()),
        "n_all_equal": n_all_equal,
        "n_responses": float(items.size[counted].mean()) if counted.any() else np.nan,
        "reason": "" if counted.any() else EQUAL_RESPONSES if n_all_equal else NO_PAIRS,
    }


def _tokens(panel: Panel, items: ItemResponses) -> Iterator[dict[str, object]]:
    """Compare the tokens per item of each judge with those of the same model that compares pairs.

    Tokens are of all verdicts, including those on cases that the judge was trained on.
    """
    totals = _totals(panel)
    present = panel.with_seen().present
    n_items = [len(np.unique(items.item[each])) for each in np.asarray(present.any(axis=(1, 3, 4)))]
    tokens = divide(totals["tokens"].to_numpy(), np.array(n_items, dtype=np.float64))
    for i, judge in enumerate(panel.judges):
        if np.isnan(tokens[i]):
            continue
        row: dict[str, object] = {"part": TOKENS, "source": BY_JUDGE, "judge": judge, "tokens": tokens[i]}
        row |= {"n_items": n_items[i], "n_verdicts": int(present[i].sum()), "n_counted": totals["n"].iloc[i]}
        yield row | (_beside(panel.judges, present, i, tokens) if judge.endswith(BATCH) else {})


def _beside(judges: list[str], present: BoolArray, batch: int, tokens: FloatArray) -> dict[str, object]:
    """Compare a judge that ranks in one prompt with the run of the same model on pairs of the same verdicts."""
    model = judges[batch].removesuffix(BATCH)
    other = next((judges.index(name) for name in (model, model + GENERATIVE) if name in judges), None)
    if other is None:
        return {"reason": NO_PAIRWISE}
    is_same = np.array_equal(present[batch], present[other])
    missing = (not is_same, OTHER_VERDICTS), (np.isnan(tokens[other]), NO_TOKENS)
    return {
        "versus": judges[other],
        "tokens_versus": tokens[other],
        "token_ratio": tokens[batch] / tokens[other] if is_same else np.nan,
        "reason": "; ".join(why for is_missing, why in missing if is_missing),
    }


def _totals(panel: Panel) -> pd.DataFrame:
    """The tokens of all prompts and replies of each judge, NaN where none are counted, and the verdicts that count."""
    names = ["prompt_tokens", "completion_tokens"]
    if panel.costs.empty:
        return pd.DataFrame(np.nan, panel.judges, ["tokens", "n"])
    counted = panel.costs[[COUNTS[name] for name in names]].to_numpy(dtype=np.float64)
    totals = (panel.costs[names] * counted).sum(axis=1, min_count=1)
    made = pd.DataFrame({"tokens": totals, "n": counted.max(axis=1)}).groupby(panel.costs["judge"]).sum(min_count=1)
    return made.reindex(panel.judges).astype("float64")
