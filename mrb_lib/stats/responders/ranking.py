"""Which responder gives the better answers, by clinicians and by each judge; and whether they agree on it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Final

import numpy as np
import pandas as pd

from mrb_lib.stats.core.panel import COST_COLUMNS, Panel, as_panel
from mrb_lib.stats.core.scoring import encode_gold
from mrb_lib.stats.core.table import ABOUT_PAIRS, register_table
from mrb_lib.stats.options import FloatArray, divide, join_reasons, pick_dimensions
from mrb_lib.stats.resampling.resample import cluster_codes
from mrb_lib.stats.responders import bradley_terry as models
from mrb_lib.stats.responders import comparisons as compared
from mrb_lib.stats.responders import reading
from mrb_lib.stats.responders.comparisons import ANNOTATIONS, GOLD, JUDGE, NO_RESPONDERS, Responders, Source
from mrb_lib.stats.responders.item_ranking import COLUMNS as OF_ITEMS
from mrb_lib.stats.responders.item_ranking import item_ranking
from mrb_lib.stats.responders.rank_agreement import (
    FEWEST_RANKED,
    LEAST_ERROR,
    RankAgreement,
    Strengths,
    agreement,
    rank_interval,
    ranks,
)
from mrb_lib.stats.responders.strengths import MODELS, Fitted, fit
from mrb_lib.tables.errors import InputError

TIE_MODELS: Final[dict[models.Model, tuple[str, str, str]]] = {
    "davidson": ("davidson_strength", "davidson_tie", "Davidson's"),
    "rao_kupper": ("rao_kupper_strength", "rao_kupper_threshold", "Rao and Kupper's"),
}
NEVER_COMPARED = "never compared"
NO_TIE_MODEL = "{} ties have no finite maximum"
NO_STRENGTHS = "{} has no strengths"
FEW_SHARED = "fewer than two responders are ranked by both"
ALL_EQUAL = "all strengths of one side are equal"
NO_ERROR = "no interval: a standard error is unknown"
FEW_RANKED = f"no interval of a correlation: fewer than {FEWEST_RANKED} responders are ranked by both"
NO_SPREAD = "differences without a standard error, because all clusters say the same, leave ranks open"
NO_SPREAD_BETWEEN = "no interval of a correlation: all clusters say the same, so that a difference has no error"
CLINICIANS = 2
_TEXT = ("part", "dimension", "source", "judge", "responder", "policy", "versus", "reason")
_COUNTS = (
    "n",
    "n_excluded",
    "n_unpaired",
    "rank",
    "rank_low",
    "rank_high",
    "n_responders",
    "k",
    "n_pairs",
    "n_told_apart",
    "n_items",
    "n_undecided",
    "n_all_equal",
    "n_clusters",
    "n_verdicts",
    "n_counted",
)
COLUMNS = [
    "part", "dimension", "source", "judge", "responder", "policy", "n", "n_excluded", "n_unpaired", "wins", "losses",
    "ties", "win_rate", "strength", "low", "high", "log_strength", "standard_error", "rank", "rank_low", "rank_high",
    "n_responders", "kendall", "kendall_low", "kendall_high", "spearman", "spearman_low", "spearman_high",
    "pearson_of_ranks", "top_k_overlap", "top_k_overlap_low", "top_k_overlap_high", "k", "n_pairs", "n_told_apart",
    "n_items", "n_undecided", "n_all_equal", "n_clusters", "n_responses", "edit_distance", "edit_distance_low",
    "edit_distance_high", "top_1", "top_1_low", "top_1_high", "versus", "n_verdicts", "n_counted", "tokens",
    "tokens_versus", "token_ratio", "reason",
]  # fmt: skip
OF_TIES = [
    "davidson_strength", "davidson_strength_low", "davidson_strength_high", "davidson_tie", "davidson_tie_low",
    "davidson_tie_high", "rao_kupper_strength", "rao_kupper_strength_low", "rao_kupper_strength_high",
    "rao_kupper_threshold", "rao_kupper_threshold_low", "rao_kupper_threshold_high",
]  # fmt: skip


@register_table(
    "ranking",
    question="would the verdicts rank the responders, and the responses to an item, as the annotators do",
    columns=COLUMNS,
    more=OF_TIES,
    reads=COST_COLUMNS,
    needs_verdicts=False,
    meanings=reading.MEANINGS,
    headline=("win_rate", "strength", "rank", "kendall", "edit_distance", "top_1", "token_ratio"),
    sentence=reading.sentence,
    why_no_ratings=ABOUT_PAIRS,
)
def ranking(
    verdicts: pd.DataFrame | Panel | None,
    gold: pd.DataFrame,
    annotations: pd.DataFrame,
    cases: pd.DataFrame,
    *,
    policy: str = "balanced",
    dimensions: Sequence[str] | None = None,
    cluster: str | None = None,
    resamples: int = 2000,
    seed: int = 0,
    intervals: str = "all",
    top: int = 3,
) -> pd.DataFrame:
    """Bradley-Terry strengths of the responders by clinicians and by each judge, and how far the rankings agree.

    Parameters
    ----------
    verdicts : the verdicts table or panel, of one probe; None where there is none
    gold : `case_id, dimension, choice`; a case without a row, or with a null, has no label
    annotations : `case_id, annotator, dimension, choice`; rows of the annotator `consensus` are left out
    cases : the cases table; a case without `model_a` and `model_b`, or with one responder twice, compares nothing
    policy : how a judge's verdicts on a case become one comparison, see `comparisons.from_verdicts`
    dimensions, cluster, resamples, seed : as in `mrb_lib.stats.accuracy.accuracy`
    intervals : "all" adds the two models of ties, "recommended" leaves their columns null
    top : k of the overlap of the best; at most the number of responders less one

    Returns
    -------
    DataFrame
        Rows `part` "strength", one a dimension, source and responder. `source` is "gold" (a label is one
        comparison), "annotations" (every annotation is one) or "judge" (a case with a verdict is one, shared by
        its orders and repeats; `judge` names it). `n` comparisons; `n_excluded` cases with the responder that the
        source did not decide; `n_unpaired`, in all rows, cases of the benchmark that do not name two different
        responders; `wins`, `losses`, `ties`; `win_rate` (a tie is half a win); `strength` by
        Bradley-Terry (a tie is half a win of either; the strengths of a source sum to 1) with the 95% interval
        `low`, `high` of the cluster bootstrap; `log_strength` (of mean 0 in a source) with its cluster-robust
        `standard_error`; `rank` (1 strongest; equals share the better rank) with `rank_low`, `rank_high`, the best
        and the worst rank it may have: each interval alone holds the true rank with at least 95%, not all of
        them together; `davidson_strength` with `davidson_tie` (nu) and `rao_kupper_strength` with
        `rao_kupper_threshold` (theta), models in which a tie has its own probability, each with its interval `_low`,
        `_high` of the same bootstrap.
        Rows `part` "agreement", one a dimension, source of clinicians and judge: `n_responders` ranked by both,
        `kendall` (tau-b), `spearman`, `pearson_of_ranks` (competition ranks), `top_k_overlap` with `k`, all of the
        estimated strengths, which hold noise; their intervals `_low`, `_high` are of the same of the *true* strengths,
        which a larger benchmark would show (Spearman's serves `pearson_of_ranks` too); `n_pairs` of responders and
        `n_told_apart`, those that both sources tell apart, null where a standard error is unknown, see
        `rank_agreement`.
        Rows `part` "items" and "tokens": each judge's order of the responses to an item against that of the gold
        labels, and what ranking them in one prompt saves, see `item_ranking`; there are none without verdicts.
        `kendall` is then the mean over items, with the interval of that mean.
        `reason` says why a value is null.

    Raises
    ------
    InputError
        An option is unknown, `top` is below 1, or a table speaks of an unknown case or choice.

    Notes
    -----
    Strengths exist only where the graph of wins is strongly connected (Ford 1957). How they are bootstrapped:
    `mrb_lib.stats.responders.strengths.fit`. Intervals of ranks and of their correlations are no bootstrap, which would
    be wrong near ties: `mrb_lib.stats.responders.rank_agreement`. A rank correlation of estimates is too low on
    average, since both rankings hold noise, and too high where a judge errs as the gold does, on the same cases; the
    interval, from the posterior of strengths that are jointly normal among responders
    (`mrb_lib.stats.responders.rank_posterior`), allows for both and need not be centred on the
    estimate. Coverage: `tests/simulation/test_ranking.py`; published values: `tests/published/test_ranking.py`.
    """
    if top < 1:
        raise InputError(f"top {top}: must be at least 1, the number of first responders that are compared.")
    names = _dimensions(verdicts, gold, annotations, dimensions)
    panel = None if verdicts is None else as_panel(verdicts, cases["case_id"], names)
    who = compared.responders(cases)
    sources = [Source(GOLD, None), Source(ANNOTATIONS, None)]
    tables = [
        compared.from_labels(encode_gold(gold, cases["case_id"], names))[None],
        compared.from_annotations(annotations, cases, names)[None],
    ]
    shown = np.ones((CLINICIANS, len(names)), dtype=bool)
    if panel is not None:
        sources += [Source(JUDGE, judge) for judge in panel.judges]
        tables.append(compared.from_verdicts(panel, policy))
        shown = np.concatenate([shown, panel.judged().any(axis=2)])
    outcomes = np.concatenate(tables)
    picked = [outcomes[shown[:, i], i] for i in range(len(names))]
    codes = cluster_codes(cases, cluster)
    chosen = tuple(MODELS) if intervals == "all" else tuple(MODELS)[:1]
    options = {"references": CLINICIANS, "resamples": resamples, "seed": seed}
    fits = [fit(table, who, codes, names=chosen, **options) for table in picked if who.names]
    who_is = [[source for source, kept in zip(sources, shown[:, i], strict=True) if kept] for i in range(len(names))]
    rows: list[dict[str, object]] = []
    for name, table, item, kept in zip(names, picked, fits, who_is, strict=bool(fits)):
        rows += [{"dimension": name, **row} for row in _strengths(item, table, kept, who)]
    for name, item, kept in zip(names, fits, who_is, strict=bool(fits)):
        rows += [{"dimension": name, **row} for row in _agreements(item, kept, top, seed)]
    if not fits:
        rows = [
            {"part": "strength", "dimension": name, **_source(source), "n": 0, "reason": NO_RESPONDERS}
            for name, kept in zip(names, who_is, strict=True)
            for source in kept
        ]
    if panel is not None:
        of_items = item_ranking(panel, gold, cases, policy=policy, cluster=cluster, resamples=resamples, seed=seed)
        values = of_items.astype("object")
        rows += [{"source": JUDGE, **dict(zip(OF_ITEMS, row, strict=True))} for row in values.to_numpy()]
    frame = pd.DataFrame(rows, columns=[*COLUMNS, *OF_TIES]).assign(policy=policy, n_unpaired=int((~who.paired).sum()))
    types = dict.fromkeys(frame.columns, "float64") | dict.fromkeys(_TEXT, "str") | dict.fromkeys(_COUNTS, "Int64")
    return frame.astype(types)


def _dimensions(
    verdicts: pd.DataFrame | Panel | None, gold: pd.DataFrame, annotations: pd.DataFrame, wanted: Sequence[str] | None
) -> list[str]:
    judged: Sequence[str] = []
    if isinstance(verdicts, Panel):
        judged = verdicts.dimensions
    elif verdicts is not None:
        judged = verdicts["dimension"].unique().tolist()
    return pick_dimensions([*gold["dimension"].unique(), *annotations["dimension"].unique(), *judged], wanted)


def _source(source: Source) -> dict[str, object]:
    return {"source": source.kind, "judge": source.judge}


def _strengths(
    item: Fitted, outcomes: FloatArray, sources: Sequence[Source], who: Responders
) -> Iterator[dict[str, object]]:
    wins, losses, ties = item.wins.sum(axis=2), item.wins.sum(axis=1), item.ties.sum(axis=2)
    n = wins + losses + ties
    excluded = _undecided(outcomes, who)
    variance = np.diagonal(item.covariance, axis1=1, axis2=2)
    error = np.sqrt(np.where(variance > LEAST_ERROR**2, variance, np.nan))
    plain = item.models["bradley_terry"]
    rank = ranks(plain.fit.log_strength)
    columns = {
        "n": n.round(),
        "n_excluded": excluded,
        "wins": wins,
        "losses": losses,
        "ties": ties,
        "win_rate": divide(wins + ties / 2, n),
        "strength": plain.fit.strength,
        "low": plain.bounds.low,
        "high": plain.bounds.high,
        "log_strength": plain.fit.log_strength,
        "standard_error": error,
        "rank": rank,
    }
    tie_columns: dict[str, FloatArray] = {}
    of_ties = {name: item.models[name] for name in TIE_MODELS if name in item.models}
    for name, model in of_ties.items():
        strength, parameter, _ = TIE_MODELS[name]
        columns |= _interval(strength, model.fit.strength, model.bounds[:2])
        tie_columns |= _interval(parameter, model.fit.tie, model.bounds[2:])
    for i, source in enumerate(sources):
        best, worst = _rank_bounds(item, i)
        vague = NO_SPREAD if item.of(i).lacks_errors else ""
        failed = [
            NO_TIE_MODEL.format(TIE_MODELS[name][2])
            for name, model in of_ties.items()
            if np.isnan(model.fit.tie[i]) and np.isfinite(rank[i]).any()
        ]
        for j, responder in enumerate(who.names):
            lone = NEVER_COMPARED if n[i, j] == 0 and n[i].any() else ""
            yield {
                "part": "strength",
                **_source(source),
                "responder": responder,
                **{name: values[i, j] for name, values in columns.items()},
                "rank_low": best[j],
                "rank_high": worst[j],
                **{name: values[i] for name, values in tie_columns.items()},
                "reason": join_reasons(lone, item.reasons[i] or "", *failed, vague),
            }


def _interval(name: str, value: FloatArray, ends: Sequence[FloatArray]) -> dict[str, FloatArray]:
    return dict(zip((name, f"{name}_low", f"{name}_high"), (value, *ends), strict=True))


def _undecided(outcomes: FloatArray, who: Responders) -> FloatArray:
    """The cases with each responder that each source did not decide, shape (sources, responders)."""
    open_cases = ((outcomes.sum(axis=2) == 0) & who.paired).astype(np.float64)
    takes_part = np.zeros((len(who.a), len(who.names)))
    case = np.arange(len(who.a))
    takes_part[case, who.a] = takes_part[case, who.b] = 1.0
    return np.asarray(open_cases @ takes_part, dtype=np.float64)


def _rank_bounds(item: Fitted, source: int) -> tuple[FloatArray, FloatArray]:
    strengths = item.of(source)
    has_strength = np.isfinite(strengths.value) & np.isfinite(strengths.covariance.diagonal())
    out = np.full((2, len(has_strength)), np.nan)
    if has_strength.any():
        out[:, has_strength] = rank_interval(strengths.of(has_strength))
    return out[0], out[1]


def _agreements(item: Fitted, sources: Sequence[Source], top: int, seed: int) -> Iterator[dict[str, object]]:
    strengths = [item.of(i) for i in range(len(sources))]
    for i, j in product(range(CLINICIANS), range(CLINICIANS, len(sources))):
        agreed = agreement(strengths[i], strengths[j], item.shared[i, j], top, seed=seed)
        row: dict[str, object] = {"part": "agreement", "source": sources[i].kind, "judge": sources[j].judge}
        for name, values in (
            ("kendall", agreed.kendall),
            ("spearman", agreed.spearman),
            ("top_k_overlap", agreed.overlap),
        ):
            row |= dict(zip((name, f"{name}_low", f"{name}_high"), values, strict=True))
        yield row | {
            "pearson_of_ranks": agreed.pearson_of_ranks,
            "n_responders": agreed.n,
            "k": agreed.k,
            "n_pairs": agreed.n_pairs,
            "n_told_apart": agreed.n_told_apart,
            "reason": _no_agreement(agreed, {sources[i].kind: strengths[i], JUDGE: strengths[j]}),
        }


def _no_agreement(agreed: RankAgreement, sides: dict[str, Strengths]) -> str | None:
    if agreed.n < 2:
        missing = [name for name, side in sides.items() if np.isnan(side.value).all()]
        return "; ".join(map(NO_STRENGTHS.format, missing)) or FEW_SHARED
    if np.isnan(agreed.kendall[0]):
        return ALL_EQUAL
    if any(side.lacks_errors for side in sides.values()):
        return NO_SPREAD_BETWEEN
    if np.isnan(agreed.kendall[1]):
        return FEW_RANKED if agreed.n < FEWEST_RANKED else NO_ERROR
    return None
