"""Do the verdicts rank the responders, and the responses to an item, as the annotators do?"""

from itertools import product
from typing import Any, Final

import numpy as np
import pandas as pd

from mrb_lib.stats import intervals
from mrb_lib.stats.analysis import Analysis
from mrb_lib.stats.annotators import encode_annotations
from mrb_lib.stats.clusters import clusters_of
from mrb_lib.stats.columns import Column, estimated, shared, table
from mrb_lib.stats.estimation import FloatArray, Sampling, divide, estimate, mean
from mrb_lib.stats.methods import comparisons as compared
from mrb_lib.stats.methods.comparisons import NO_RESPONDERS, Fitted, Responders, fit
from mrb_lib.stats.methods.item_orders import compare_orders, item_responses
from mrb_lib.stats.methods.rank_agreement import FEWEST_RANKED, LEAST_ERROR, agreement, rank_interval, ranks
from mrb_lib.stats.options import with_ends
from mrb_lib.stats.phrases import interval, main_dimension, main_rows, opening
from mrb_lib.tables.schema import CHOICES

STRENGTH, AGREEMENT, ITEMS = "strength", "agreement", "items"
GOLD, ANNOTATIONS, JUDGE = "gold", "annotations", "judge"
NO_STRENGTHS: Final = "no finite strengths: some responders won or lost every comparison with the others, or had none"
FEW_CLUSTERS: Final = "not more clusters than responders"
NO_AGREEMENT: Final = "fewer than two responders are ranked by both, or all strengths of a side are equal"
NO_ERRORS: Final = f"fewer than {FEWEST_RANKED} responders are ranked by both, or a difference has no standard error"
NO_ORDERS: Final = "no item whose responses gold and judge both put in an order"
_CLINICIANS = 2


def sentence(rows: pd.DataFrame) -> str:
    """Say which responder annotators prefer, and whether a judge ranks responders or responses as they do."""
    strong = main_rows(rows, part=STRENGTH, source=GOLD).dropna(subset="rank")
    alike = most_alike(main_rows(rows, part=AGREEMENT, source=GOLD), "the models")
    alike = alike or most_alike(main_rows(rows, part=ITEMS), "the responses to an item")
    said = "the models that wrote the responses cannot be ranked"
    if len(strong):
        first = strong.nsmallest(1, "rank").iloc[0]
        said = (
            f"by the annotators' labels {first['responder']} is first of {len(strong)} models, "
            f"winning {first['win_rate']:.0%} of its comparisons"
        )
        if pd.notna(first["rank_high"]):
            low, high = int(first["rank_low"]), int(first["rank_high"])
            said += f"; at 95% confidence its rank is {low if low == high else f'between {low} and {high}'}"
    return f"{opening(main_dimension(rows))}, {said}. {alike}".strip()


def most_alike(rows: pd.DataFrame, what: str) -> str:
    """Name the judge that ranks most like the annotators, where its interval lies above those of all others."""
    known = rows.dropna(subset="kendall").sort_values("kendall", ascending=False, kind="stable")
    if known.empty:
        return ""
    best, others, n = known.iloc[0], known.iloc[1:], len(known)
    if (others["kendall_high"] < best["kendall_low"]).all():
        tau = f"{best['kendall']:.2f}{interval(best['kendall_low'], best['kendall_high'], scale=1, digits=2)}"
        most = f", the highest of {n} judges" if n > 1 else ""
        return f"{best.judge} ranks {what} with a Kendall's tau of {tau} to the annotators{most} (1: the same order)."
    return (
        f"Cannot tell which of {n} judges ranks {what} most like the annotators (Kendall's tau "
        f"{others['kendall'].min():.2f} to {best['kendall']:.2f}; 1: the same order): the highest intervals overlap."
    )


@table(
    "ranking",
    question="would the verdicts rank the responders, and the responses to an item, as the annotators do",
    columns=[
        Column("part", "strength of a responder, agreement of rankings, or items", "text"),
        shared("dimension"),
        Column("source", "origin of the choices: gold, annotations or judge", "text"),
        shared("judge"),
        Column("responder", "model that wrote responses", "text"),
        shared("policy"),
        Column("n", "comparisons of the responder", "count"),
        Column("n_excluded", "undecided cases with the responder, or items without two orders", "count"),
        Column("n_unpaired", "cases that do not name two different responders", "cases"),
        Column("win_rate", "share of comparisons won; a tie is half a win", "share 0-1"),
        Column(
            "strength", "odds of winning; the strengths of a source sum to 1", "share 0-1", "Bradley and Terry 1952",
            ("low", "high"), NO_STRENGTHS, (STRENGTH,),
        ),
        Column("log_strength", "logarithm of strength, with mean 0 in a source", "log odds"),
        Column("standard_error", "standard error of log_strength, robust to clusters", "log odds"),
        Column("rank", "place by strength, 1 the strongest; equals share the better place", "rank"),
        Column("rank_low", "best possible place at 95% confidence", "rank", "Mogstad et al. 2024"),
        Column("rank_high", "worst possible place at 95% confidence", "rank", "Mogstad et al. 2024"),
        Column("n_responders", "responders ranked by both", "count"),
        estimated("kendall", "tau-b of two rankings; in rows items its mean", "coefficient", "Kendall 1945"),
        estimated("spearman", "correlation of the ranks of two rankings", "coefficient", "Spearman 1904"),
        Column("pearson_of_ranks", "correlation of competition ranks", "coefficient", null=NO_AGREEMENT,
               parts=(AGREEMENT,)),
        Column("n_items", "items that the row rests on", "count"),
        shared("clusters"),
    ],
    sentence=sentence,
    uses=("policy", "dimension", "gold", "cluster", "resamples", "seed", "probe"),
    needs_verdicts=False,
    headline=("win_rate", "strength", "rank", "kendall"),
)  # fmt: skip
def ranking(analysis: Analysis) -> pd.DataFrame:
    """Estimate the strengths of the responders by clinicians and by each judge, and how far their rankings agree.

    Rows "strength": one per dimension, source and responder. "gold": a label is one comparison; "annotations": each
    annotation is one; "judge": a case with a verdict is one, see `comparisons.from_verdicts`. Each interval of a rank
    alone holds the true rank with at least 95%, not all of them together. Rows "agreement": one per dimension, source
    of clinicians and judge; intervals are of the agreement of the *true* strengths. Rows "items": how far gold and
    judge order the responses to an item alike.

    Notes
    -----
    Strengths exist only where the graph of wins is strongly connected (Ford 1957). A rank correlation of estimates is
    too low on average, since both rankings hold noise, and too high where a judge errs as the gold does on the same
    cases; its interval allows for both and need not be centred on the estimate (`stats.methods.rank_agreement`).
    Coverage: tests/simulation/test_ranking.py; published values: tests/published/test_ranking.py.
    """
    cells, judged, names = analysis.verdicts.cells, (analysis.verdicts.total() > 0).any(axis=0), analysis.names
    who = compared.responders(analysis.cases)
    labels, said = compared.from_labels(analysis.labels.T), compared.from_verdicts(analysis.verdicts, analysis.policy)
    people = encode_annotations(analysis.annotations, analysis.cases, CHOICES, names)
    annotated = people.votes.swapaxes(0, 1)
    strengths, agreements = list[pd.DataFrame](), list[pd.DataFrame]()
    for d, name in enumerate(names if who.paired.any() else []):
        own = np.flatnonzero(judged & (analysis.verdicts.dimension == d))
        sources = pd.DataFrame({"source": JUDGE, "judge": [None, None, *cells["judge"][own]]})
        sources.loc[:1, "source"] = [GOLD, ANNOTATIONS]
        choices = np.stack([labels[d], annotated[d], *said[own]])
        fitted = fit(choices, who, analysis.sampling, _CLINICIANS)
        strengths.append(_strengths(fitted, choices, who, sources).assign(dimension=name))
        agreements.append(_agreements(fitted, sources, analysis.seed).assign(dimension=name))
    if not strengths:
        strengths.append(pd.DataFrame({"part": [STRENGTH], "n": 0, "reason": NO_RESPONDERS}))
    if len(cells):
        agreements.append(_items(analysis, said, labels))
    return pd.concat([*strengths, *agreements], ignore_index=True).assign(n_unpaired=int((~who.paired).sum()))


def _strengths(fitted: Fitted, outcomes: FloatArray, who: Responders, sources: pd.DataFrame) -> pd.DataFrame:
    """Return a row per source and responder of one dimension."""
    m, r = fitted.log_strength.shape
    won = fitted.wins.sum(axis=2) + fitted.ties.sum(axis=2) / 2
    n = won + fitted.wins.sum(axis=1) + fitted.ties.sum(axis=2) / 2
    undecided = ~outcomes.any(axis=2) & who.paired
    variance = np.diagonal(fitted.covariance, axis1=1, axis2=2)
    places = np.full((2, m, r), np.nan)
    for i in range(m):
        known = np.isfinite(fitted.log_strength[i] + variance[i])
        places[:, i, known] = rank_interval(fitted.of(i).of(known))
    columns = {
        "n": n.round(),
        "n_excluded": undecided @ (np.eye(r)[who.a] + np.eye(r)[who.b]),
        "win_rate": divide(won, n),
        "strength": fitted.strength,
        "low": fitted.bounds[0],
        "high": fitted.bounds[1],
        "log_strength": fitted.log_strength,
        "standard_error": np.sqrt(np.where(variance > LEAST_ERROR**2, variance, np.nan)),
        "rank": ranks(fitted.log_strength),
        "rank_low": places[0],
        "rank_high": places[1],
    }
    few = (fitted.clusters >= 2) & np.isnan(variance).all(axis=1)
    lacks = pd.Series(FEW_CLUSTERS, sources.index).where(few)
    rows = sources.assign(part=STRENGTH, n_clusters=fitted.clusters, lacks=lacks)
    rows = rows.loc[rows.index.repeat(r)].assign(responder=who.names * m)
    return rows.assign(**{name: values.ravel() for name, values in columns.items()})


def _agreements(fitted: Fitted, sources: pd.DataFrame, seed: int) -> pd.DataFrame:
    """Return a row per source of clinicians and judge of one dimension."""
    rows = list[list[Any]]()
    for i, j in product(range(_CLINICIANS), range(_CLINICIANS, len(sources))):
        found = agreement(fitted.of(i), fitted.of(j), fitted.shared[i, j], seed=seed)
        names = sources["source"][i], sources["judge"][j]
        rows.append([*names, found.n, *found.kendall, *found.spearman, found.pearson_of_ranks])
    columns = ["source", "judge", "n_responders", *with_ends("kendall", "spearman"), "pearson_of_ranks"]
    return pd.DataFrame(rows, columns=columns).assign(part=AGREEMENT, lacks=NO_ERRORS)


def _items(analysis: Analysis, said: FloatArray, labels: FloatArray) -> pd.DataFrame:
    """Return a row per judge and dimension: the mean over items of how far gold and judge order the responses alike.

    Parameters
    ----------
    said, labels : shapes (cells, cases, 3) and (dimensions, cases, 3), see `comparisons`
    """
    verdicts, items = analysis.verdicts, item_responses(analysis.cases)
    tau = np.full((len(items.size), len(said)), np.nan)
    for d in np.unique(verdicts.dimension):
        own = verdicts.dimension == d
        tau[:, own] = compare_orders(items, compared.shares(labels[d]), compared.shares(said[own]))
    units = pd.DataFrame({"unit": clusters_of(items.item, analysis.sampling.codes)})
    e = estimate(mean(tau), Sampling.of(units, "unit", analysis.resamples, analysis.seed))
    unknown, ends = np.isnan(e.value) | np.isnan(e.error), intervals.difference(e)
    low, high = (np.where(unknown, np.nan, end) for end in (ends.low, ends.high))
    columns = dict(zip(with_ends("kendall"), (e.value, low, high), strict=True))
    columns |= {"n_items": e.n, "n_excluded": (items.size > 1).sum() - e.n, "n_clusters": e.clusters}
    columns["reason"] = np.where(e.n == 0, NO_ORDERS, "")
    return verdicts.cells[["judge", "dimension"]].assign(part=ITEMS, source=JUDGE, **columns)
