"""Win rates by clinicians from few of their labels and many verdicts: prediction-powered inference."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from mrb_lib.stats.comparisons import NO_RESPONDERS, A, Responders, from_verdicts, responders
from mrb_lib.stats.core.panel import TIE, Panel, as_panel
from mrb_lib.stats.core.scoring import encode_gold
from mrb_lib.stats.core.table import register_table
from mrb_lib.stats.options import (
    TINY,
    BoolArray,
    FloatArray,
    IntArray,
    divide,
    encode,
    join_reasons,
    pick_dimensions,
)
from mrb_lib.stats.resampling.resample import NO_VARIATION, ONE_CLUSTER, cluster_codes
from mrb_lib.stats.responders import reading
from mrb_lib.stats.responders.prediction_powered import Estimates, bounds, mean
from mrb_lib.tables.errors import InputError

ESTIMATE, WHAT_IF = "estimate", "what_if"
NO_LABELS = "fewer than two labelled cases have a verdict"
ALL_LABELLED = "no case without a label has a verdict: the estimate is the classical one"
NO_HIDDEN = "no label is hidden"
_TEXT = ("part", "dimension", "judge", "responder", "policy", "reason")
_COUNTS = ("n_labelled", "n_undecided", "n_unlabelled", "n_excluded", "n_unpaired")
_VALUES = [
    "estimate",
    "low",
    "high",
    "classical_estimate",
    "classical_low",
    "classical_high",
    "full_estimate",
    "lambda",
    "effective_n",
    "label_saving",
    "width_ratio",
    "expected_label_saving",
    "expected_width_ratio",
    "correlation",
]
COLUMNS = ["part", "dimension", "judge", "responder", "label_share", "policy", *_COUNTS, *_VALUES, "reason"]


@register_table(
    "ppi",
    question="how many of the annotators' labels do the verdicts save",
    columns=COLUMNS,
    meanings=reading.MEANINGS_OF_PPI,
    headline=("estimate", "expected_label_saving"),
    sentence=reading.sentence_of_ppi,
)
def ppi(
    verdicts: pd.DataFrame | Panel,
    gold: pd.DataFrame,
    cases: pd.DataFrame,
    *,
    policy: str = "balanced",
    dimensions: Sequence[str] | None = None,
    cluster: str | None = None,
    seed: int = 0,
    shares: Sequence[float] = (0.1, 0.2, 0.5),
) -> pd.DataFrame:
    """Win rate of each responder by the gold labels, where the labels are few and a judge's verdicts are many.

    Parameters
    ----------
    verdicts : the verdicts table or panel, of one probe
    gold : `case_id, dimension, choice`, and `n_annotators` where known. A case without a row is unlabelled. One
        with a null choice and `n_annotators` above 0 was seen and is undecided.
    cases : the cases table, with `model_a` and `model_b`
    policy : how a judge's verdicts on a case become one prediction, see `comparisons.from_verdicts`
    dimensions, cluster : as in `mrb_lib.stats.accuracy.accuracy`
    seed : of the random subset of clusters whose annotations the rows "what_if" keep
    shares : the shares of the annotated clusters they keep

    Returns
    -------
    DataFrame
        Rows `part` "estimate": what these data give. Rows `part` "what_if": a what-if, in which only a random share
        `label_share` of the cases seen by annotators is kept and what they said of the others is hidden. Of each, one
        row a dimension, judge and responder, and one with `responder` null for all responders together.
        `n_labelled`, `n_undecided` and `n_unlabelled` cases with the responder and a verdict, which annotators
        decided, saw and did not decide, and did not see; `n_excluded`, its other cases; `n_unpaired`
        cases of the benchmark that do not name two different responders;
        `estimate` of the win rate (a tie is half a win) with the 95% interval `low`, `high`; `classical_estimate`,
        `classical_low`, `classical_high` from the labels alone; in "what_if" `full_estimate`, from all labels;
        `lambda` the weight given to the judge, 0 to 1; `width_ratio` of the two standard errors; `effective_n`
        labels that the classical interval would need for the same standard error; `label_saving` =
        1 - n_labelled / effective_n; `correlation` r of verdicts and labels, over all cases seen, where an undecided
        one has the mean label; `expected_label_saving` = r^2 N / (n + N) and `expected_width_ratio` =
        sqrt(1 - r^2 N / (n + N)) with n cases seen and N not seen, to which the realised ones tend, and which few
        labels do not flatter; `reason` why a value is null.
        With `responder` null there are no estimates, and gain and correlation are of variances summed over responders.

    Raises
    ------
    InputError
        An option is unknown, or a table speaks of an unknown case or choice.

    Notes
    -----
    PPI++: Angelopoulos, Duchi and Zrnic 2023, arXiv 2311.01453: the mean label plus lambda times the difference of the
    judge's mean on cases not seen and on cases seen. The win rate is that among the cases that can be decided, by
    the gold rule at hand: undecided ones have no label but stay in the sample that was seen, since as many are among
    the unlabelled. It is valid however wrong the judge is, and whatever it says of undecided cases, provided that
    the cases seen are a random sample of all; it is no narrower where the judge says nothing about the labels.
    Intervals take Student's quantile with the labelled clusters less one and end at 0 and 1; the paper takes the
    normal one. Validated in `tests/published/test_ppi.py`, `tests/stats/responders/test_ppi.py` and, for coverage, with
    and without undecided cases, `tests/simulation/test_ppi.py`.
    """
    wrong = [share for share in shares if not 0 < share < 1]
    if wrong:
        raise InputError(f"shares: {wrong[0]} is not between 0 and 1; use shares such as 0.1.")
    spoken_of = verdicts.dimensions if isinstance(verdicts, Panel) else verdicts["dimension"].unique()
    names = pick_dimensions([*spoken_of, *gold["dimension"].unique()], dimensions)
    panel = as_panel(verdicts, cases["case_id"], names)
    who, codes = responders(cases), cluster_codes(cases, cluster)
    labels = encode_gold(gold, cases["case_id"], names)
    undecided = _undecided(gold, cases["case_id"], names)
    chosen = from_verdicts(panel, policy)
    predicted = np.where(chosen.sum(axis=3) > 0, chosen[..., A] + chosen[..., TIE] / 2, np.nan)
    score = np.where(labels < 0, np.nan, np.array([1.0, 0.0, 0.5])[labels])
    order = np.random.default_rng(seed).permutation(int(codes.max(initial=-1)) + 1)
    judged: BoolArray = np.asarray(panel.judged().any(axis=2))
    every: list[list[pd.DataFrame]] = []
    for i, name in enumerate(names):
        kept = np.flatnonzero(judged[:, i])
        data = _Data(score[i], predicted[kept, i].T, undecided[i], codes)
        frames = _rows(data, who, [panel.judges[j] for j in kept], (None, *shares), order)
        every.append([frame.assign(dimension=name) for frame in frames])
    frames = [frame for of_share in zip(*every, strict=True) for frame in of_share]
    frame = pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=COLUMNS)
    types = dict.fromkeys(COLUMNS, "float64") | dict.fromkeys(_TEXT, "str") | dict.fromkeys(_COUNTS, "int64")
    frame = frame.assign(policy=policy, n_unpaired=int((~who.paired).sum()))
    return frame.reindex(columns=COLUMNS).astype(types)


class _Data(NamedTuple):
    """Labels and predictions of one dimension.

    Attributes
    ----------
    score : shape (cases,), 1 where A is better by the label, 1/2 for a tie, 0 for B; NaN without a label
    predicted : shape (cases, j), the same by each judge; NaN without a verdict
    undecided : shape (cases,), annotators saw the case and did not decide it
    codes : shape (cases,), its cluster
    """

    score: FloatArray
    predicted: FloatArray
    undecided: BoolArray
    codes: IntArray


class _Side(NamedTuple):
    """The cases of one responder: their positions, and scores and predictions from its side of each."""

    at: IntArray
    score: FloatArray
    predicted: FloatArray
    has_verdict: BoolArray


def _sides(data: _Data, who: Responders) -> list[_Side]:
    out = []
    for responder in range(len(who.names)):
        sign = np.where(who.paired, (who.a == responder) * 1.0 - (who.b == responder), 0.0)
        cases = np.flatnonzero(sign)
        score = 0.5 + sign[cases] * (np.nan_to_num(data.score[cases]) - 0.5)
        predicted = data.predicted[cases]
        turned = 0.5 + sign[cases, None] * (np.nan_to_num(predicted) - 0.5)
        out.append(_Side(cases, score, turned, np.isfinite(predicted)))
    return out


def _means(data: _Data, sides: Sequence[_Side], seen: BoolArray, hidden: BoolArray) -> Estimates:
    """The estimates of every responder and judge, shape (responders, judges), from the cases seen by annotators."""
    decided = np.isfinite(data.score)
    made = []
    for at, score, predicted, has_verdict in sides:
        labelled, undecided, unlabelled = (
            mask[at, None] & has_verdict for mask in (seen & decided, seen & ~decided, hidden)
        )
        made.append(mean(score, predicted, labelled, unlabelled, data.codes[at], undecided))
    return Estimates(*(np.array(column) for column in zip(*made, strict=True)))


def _rows(
    data: _Data, who: Responders, judges: Sequence[str], shares: Sequence[float | None], order: IntArray
) -> list[pd.DataFrame]:
    """The rows of one dimension, a frame a share: by judge, then responder, then all responders together."""
    if not who.names:
        nothing = {"judge": judges, "reason": NO_RESPONDERS, **dict.fromkeys(_COUNTS, 0)}
        return [
            pd.DataFrame({"part": WHAT_IF if share else ESTIMATE, **nothing}).assign(label_share=share or np.nan)
            for share in shares
        ]
    seen = np.isfinite(data.score) | data.undecided
    sides = _sides(data, who)
    full = _means(data, sides, seen, np.zeros_like(seen))
    size = np.array([[len(side.at)] for side in sides])
    own = order[np.isin(order, np.unique(data.codes[seen & who.paired]))]
    by_judge = np.arange((len(who.names) + 1) * len(judges)).reshape(-1, len(judges)).T.ravel()
    out = []
    for share in shares:
        if share is None:
            keep, hidden = seen, ~seen
        else:
            keep = seen & np.isin(data.codes, own[: max(1, round(share * len(own)))])
            hidden = seen & ~keep
        estimates = _means(data, sides, keep, hidden)
        left_out = (size - estimates.n_labelled - estimates.n_undecided - estimates.n_unlabelled).astype(np.int64)
        single = _columns(estimates, full, left_out, who.names, judges, share is None)
        frame = pd.concat([single, _together(estimates, full, left_out, judges)], ignore_index=True).take(by_judge)
        part = ESTIMATE if share is None else WHAT_IF
        out.append(frame.assign(part=part, label_share=np.nan if share is None else share))
    return out


def _columns(
    estimates: Estimates, full: Estimates, excluded: IntArray, names: Sequence[str], judges: Sequence[str], real: bool
) -> pd.DataFrame:
    """One row a responder and judge, responders in the outer order."""
    defined = (estimates.n_labelled >= 2) & (estimates.clusters >= 2)
    ends = dict(zip(("low", "high"), bounds(estimates), strict=True))
    ends |= dict(zip(("classical_low", "classical_high"), bounds(estimates, classical=True), strict=True))
    correlation = _correlation(full)
    values = {
        "n_labelled": estimates.n_labelled,
        "n_undecided": estimates.n_undecided,
        "n_unlabelled": estimates.n_unlabelled,
        "n_excluded": excluded,
        "estimate": estimates.estimate,
        "classical_estimate": estimates.classical,
        "full_estimate": np.full_like(full.classical, np.nan) if real else full.classical,
        **ends,
        "lambda": estimates.power,
        **_gain(estimates, correlation, np.where(defined, estimates.variance, np.nan), estimates.classical_variance),
        "correlation": correlation,
    }
    flat = (estimates.n_labelled, estimates.n_unlabelled, estimates.clusters, estimates.classical_variance)
    rows = zip(*(column.ravel().tolist() for column in flat), strict=True)
    return pd.DataFrame(
        {
            **{name: np.asarray(column).ravel() for name, column in values.items()},
            "responder": [name for name in names for _ in judges],
            "judge": [*judges] * len(names),
            "reason": [_reason(n, more, clusters, variance, real) for n, more, clusters, variance in rows],
        }
    )


def _reason(n: float, more: float, clusters: float, variance: float, real: bool) -> str | None:
    if n < 2:
        return NO_LABELS
    if clusters < 2:
        return ONE_CLUSTER
    missing = (ALL_LABELLED if real else NO_HIDDEN) if more == 0 else ""
    return join_reasons(missing, NO_VARIATION if variance < TINY else "")


def _correlation(estimates: Estimates) -> FloatArray:
    return divide(estimates.cross, np.sqrt(estimates.spread * estimates.predicted_spread))


def _gain(
    estimates: Estimates, correlation: FloatArray, variance: FloatArray, classical: FloatArray
) -> dict[str, FloatArray]:
    ratio = divide(variance, classical)
    share = divide(estimates.n_unlabelled, estimates.n_labelled + estimates.n_undecided + estimates.n_unlabelled)
    saving = np.maximum(correlation, 0.0) ** 2 * share
    return {
        "effective_n": divide(estimates.n_labelled, ratio),
        "label_saving": 1 - ratio,
        "width_ratio": np.sqrt(ratio),
        "expected_label_saving": saving,
        "expected_width_ratio": np.sqrt(1 - saving),
    }


def _together(estimates: Estimates, full: Estimates, excluded: IntArray, judges: Sequence[str]) -> pd.DataFrame:
    """One row a judge: all responders, whose variances are added."""
    usable: BoolArray = np.asarray((estimates.n_labelled >= 2) & (estimates.clusters >= 2))
    sums, whole = (
        Estimates(*(np.where(usable, np.nan_to_num(column), 0.0).sum(axis=0) for column in item))
        for item in (estimates, full)
    )
    correlation = _correlation(whole)
    counts = {name: getattr(estimates, name).sum(axis=0) / 2 for name in ("n_labelled", "n_undecided", "n_unlabelled")}
    gain = _gain(sums._replace(**counts), correlation, sums.variance, sums.classical_variance)
    counts["n_excluded"] = excluded.sum(axis=0) / 2
    reason = [None if column.any() else NO_LABELS for column in usable.T]
    return pd.DataFrame({"judge": judges, **counts, **gain, "correlation": correlation, "reason": reason})


def _undecided(gold: pd.DataFrame, case_ids: pd.Series, dimensions: Sequence[str]) -> BoolArray:
    """The cases that annotators saw and did not decide, shape (dimensions, cases)."""
    out = np.zeros((len(dimensions), len(case_ids)), dtype=bool)
    if "n_annotators" in gold.columns:
        rows = gold[gold["choice"].isna() & (gold["n_annotators"] > 0) & gold["dimension"].isin(list(dimensions))]
        out[encode(rows["dimension"], dimensions, "dimension"), encode(rows["case_id"], list(case_ids), "case_id")] = (
            True
        )
    return out
