"""What sways a judge besides quality: length, style, and its own hand; and its numbers without length."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from mrb_lib.stats.bias import reading, win_rates
from mrb_lib.stats.bias.measures import (
    SAME_LENGTH,
    BiasMeasure,
    equal_length_accuracy,
    error_asymmetry,
    excess_choice,
    log_odds,
    preferred_share,
)
from mrb_lib.stats.bias.quality import Votes, beyond_quality, votes_of
from mrb_lib.stats.bias.self_preference import NO_FAMILY, NO_RESPONDERS, NOT_A_RESPONDER, kinship
from mrb_lib.stats.bias.style_markers import MARKERS, length_difference, marker_differences, standardised
from mrb_lib.stats.core.panel import Panel, as_panel
from mrb_lib.stats.core.scoring import encode_gold, score
from mrb_lib.stats.core.table import register_table
from mrb_lib.stats.multiplicity import adjust_families
from mrb_lib.stats.options import FloatArray, IntArray, check_policy, typed
from mrb_lib.stats.resampling.resample import cluster_codes
from mrb_lib.stats.subfields import By, Group, groups
from mrb_lib.tables.schema import CHOICES

BIASES = ("length", "verbosity", "self_preference", "family_preference", "style")
NO_TEXTS = "the cases lack the texts of the responses"
NO_GOLD = "no case with a verdict has a gold label"
NO_MARKER = "the responses do not differ in this marker"
PARTS = ("bias", "accuracy", "win_rate")
BIAS, ASSOCIATION = "bias", "association"
_FROM_TEXT = ("log_odds", "beyond_quality", "excess_choice", "length_controlled")
_TEXT = ("part", "bias", "measure", "claim", "marker", "model_1", "model_2")
COLUMNS = [
    "judge",
    "dimension",
    "subfield",
    "by",
    "part",
    "bias",
    "measure",
    "claim",
    "marker",
    "model_1",
    "model_2",
    "policy",
    "n",
    "n_excluded",
    "n_unassigned",
    "estimate",
    "low",
    "high",
    "p_value",
    "p_adjusted",
    "correction",
    "family",
    "uncontrolled",
    "gold_share",
    "reason",
]


@dataclass(frozen=True)
class _Data:
    """What the measures are made of; a row is a judge on a dimension.

    Attributes
    ----------
    judge, dimension : shape (rows,), names
    preferred : shape (rows, cases), the share of verdicts for response A, ties half; NaN without a choice
    gold : shape (rows, cases), 1 for A, -1 for B, 0 for a tie, NaN without a label
    score : shape (rows, cases), the worth of the verdicts by the policy
    longer : shape (cases,), standardised log length difference, above 0 where A is the longer
    markers : shape (markers, cases)
    own, family : shape (rows, cases), see `mrb_lib.stats.bias.self_preference.Kinship`
    votes : the annotators' votes on the row's dimension, each array of shape (rows, seats, cases)
    """

    judge: pd.Index
    dimension: pd.Index
    preferred: FloatArray
    gold: FloatArray
    score: FloatArray
    longer: FloatArray
    markers: FloatArray
    own: FloatArray
    family: FloatArray
    votes: Votes
    responders_are_named: bool
    policy: str


@register_table(
    "bias",
    question="does length, verbosity, style or its own family sway a judge, beyond what quality explains",
    columns=COLUMNS,
    meanings=reading.MEANINGS,
    headline=("estimate", "p_adjusted"),
    sentence=reading.sentence,
)
def bias(
    verdicts: pd.DataFrame | Panel,
    gold: pd.DataFrame,
    cases: pd.DataFrame,
    *,
    annotations: pd.DataFrame | None = None,
    categories: Sequence[str] = CHOICES,
    policy: str = "balanced",
    correction: str = "holm",
    by: By = None,
    dimensions: Sequence[str] | None = None,
    cluster: str | None = None,
) -> pd.DataFrame:
    """How much length, style and authorship sway each judge: what goes with them, and what quality does not explain.

    Parameters
    ----------
    verdicts : the verdicts table of one probe, or its panel
    gold : `case_id, dimension, choice`; a case without a label is excluded, and counted
    annotations, categories : the annotators' votes, as in `mrb_lib.stats.annotators`, and the labels that they
        use, of A, B and tie; without two votes on a case there are associations only
    correction : of the p-values, over all tests of the table (those of the subfields of a column apart), see
        `mrb_lib.stats.multiplicity.adjust`
    cases : with the texts `response_a`, `response_b`, and for preferences and win rates `model_a`, `model_b`
    policy : which verdicts are read (`official`: order AB alone, where a liking for the first shown cannot be
        told from one for A; the others: all, which cancels it), and how accuracy is scored
    by, dimensions, cluster : as in `mrb_lib.stats.accuracy.accuracy`

    Returns
    -------
    DataFrame
        A row a judge, dimension, subfield and measure. `claim` is "bias" for `measure` beyond_quality alone: the
        log-odds of choosing a response for its property beyond what quality explains, by the annotators' spread, see
        `mrb_lib.stats.bias.quality.beyond_quality`. All other rows are an "association": they compare with a fallible
        label, so that a judge without any bias has them where, say, longer responses are better. A row without an
        estimate claims nothing. `part` "bias" comes first:

        - `bias` length, `measure` beyond_quality and log_odds: the log-odds of choosing the longer response for one
          standard deviation of the difference of log length, beyond quality and given the gold label; excess_choice:
          share choosing the longer minus gold's share (`uncontrolled` and `gold_share` are the two shares; cases of
          equal length left out);
        - verbosity, error_asymmetry: share choosing the longer where gold prefers the shorter, minus share
          choosing the shorter where gold prefers the longer;
        - self_preference and family_preference, beyond_quality, log_odds and error_asymmetry: the same for responses of
          the judge itself, and of other models of its family, see `mrb_lib.stats.bias.self_preference.kinship`;
          in the log-odds, given length too; cases with a response of the judge itself say nothing about its family;
        - style, beyond_quality and log_odds: for one standard deviation of the difference of log(1 + count) of
          `marker`, given length.

        Then part "accuracy" (`bias` length, `measure` length_controlled): accuracy where both responses are equally
        long, over decisive gold labels, beside `uncontrolled`, that of the same cases; and part "win_rate": the share
        of verdicts that responder `model_1` would win against `model_2` at equal length, beside `uncontrolled`
        (all cases together only; gold is not used; one row a pair that met).

        `n` cases used, `n_excluded` the other cases of the subfield; `estimate`, `low`, `high` its 95% interval.
        `p_value` of no bias, two-sided, in rows of claim "bias" alone; `p_adjusted` it by `correction` over the
        `family` of all tests in the table, whatever judge, dimension or property: those about all cases together, and
        those about the subfields of each column. A tie, or two verdicts that
        differ between orders, is half a choice of each. `reason` says why an estimate or its interval is null: below
        ten clusters for each predictor there is an estimate, without an interval and a test.

    Raises
    ------
    InputError
        An option is unknown, `by` or `cluster` cannot be used, a category is not a preference, or a verdict speaks of
        an unknown case.

    Notes
    -----
    The log-odds given gold come from a logistic regression of the choice on the gold label (A, tie, B as 1, 0, -1) and
    the difference between the responses (`mrb_lib.stats.bias.logistic.fit`). Where gold is fallible and longer
    responses are better, part of that quality is booked as length: with three annotators, 1,000 cases and a correlation
    of .3 between quality and length their interval leaves out 0 for most judges that look at quality alone.
    Error asymmetry is equal opportunity, which Wataoka, Takahashi and Ri (arXiv 2410.21819) use for self-preference
    and Saito et al. (arXiv 2310.10076) for verbosity: a judge that errs at random has none; excess choice it can have,
    since errors pull its share towards a half. Length-controlled values follow Dubois et al. (arXiv 2404.04475).
    Planted biases are recovered in `tests/simulation/test_bias.py`; libraries agree in `tests/stats/bias/test_bias.py`.
    """
    check_policy(policy)
    panel = as_panel(verdicts, cases["case_id"], dimensions)
    votes = votes_of(annotations, cases, categories, panel.dimensions)
    data = _data(panel, gold, cases, votes, policy)
    codes = cluster_codes(cases, cluster)
    measures = [(part, each) for part in groups(cases, by) for each in _measures(data, part, codes[part.cases])]
    measures.sort(key=lambda pair: PARTS.index(pair[1].part))
    out = pd.concat([_frame(data, measures), _win_rates(data, cases, codes)], ignore_index=True)
    claim = out["measure"].eq("beyond_quality").map({True: BIAS, False: ASSOCIATION})
    together = (pd.factorize(out["by"])[0] + 1).astype(np.int64)
    out["p_adjusted"], out["family"] = adjust_families(out["p_value"].to_numpy(), together, correction)
    out = out.assign(correction=correction, claim=claim.where(out["estimate"].notna()))
    return typed(out, [name for name in COLUMNS if name not in _TEXT]).join(out[list(_TEXT)].astype("str"))[COLUMNS]


def _data(panel: Panel, gold: pd.DataFrame, cases: pd.DataFrame, votes: Votes, policy: str) -> _Data:
    judge, dimension = np.nonzero(panel.takes_part())
    labels = encode_gold(gold, cases["case_id"], panel.dimensions, panel.categories)
    sign = np.array([1.0, -1.0, 0.0, np.nan])[labels][dimension]
    kin = kinship(panel.judges, cases)
    return _Data(
        judge=pd.Index(panel.judges, dtype="str").take(judge),
        dimension=pd.Index(panel.dimensions, dtype="str").take(dimension),
        preferred=preferred_share(panel, policy)[judge, dimension],
        gold=sign,
        score=score(panel, labels, policy).score[judge, dimension],
        longer=standardised(length_difference(cases)),
        markers=standardised(marker_differences(cases)),
        own=kin.own[judge],
        family=kin.family[judge],
        votes=votes._replace(share=votes.share[dimension], others=votes.others[dimension]),
        responders_are_named=kin.are_named,
        policy=policy,
    )


def _measures(data: _Data, part: Group, codes: IntArray) -> list[BiasMeasure]:
    """All measures of one group of cases, in the order of the table."""
    preferred, gold = data.preferred[:, part.cases], data.gold[:, part.cases]
    votes = data.votes._replace(share=data.votes.share[:, :, part.cases], others=data.votes.others[:, :, part.cases])
    longer = np.broadcast_to(data.longer[part.cases], gold.shape)
    y = np.where(np.isfinite(longer), preferred, np.nan)
    constant = np.ones(gold.shape)
    sign, none = np.sign(longer), SAME_LENGTH if np.isfinite(longer).any() else NO_TEXTS

    def pulls(name: str, marker: str | None, y: FloatArray, more: list[FloatArray], why: str) -> list[BiasMeasure]:
        labelled = np.where(np.isfinite(gold), y, np.nan)
        return [
            beyond_quality(name, marker, y, [constant, longer, *more], votes, codes, why),
            log_odds(name, marker, labelled, [constant, gold, longer, *more], codes, why),
        ]

    out = [
        *pulls("length", None, y, [], SAME_LENGTH),
        excess_choice(preferred, gold, sign, codes),
        error_asymmetry("verbosity", preferred, gold, sign, codes, none),
    ]
    own, family = data.own[:, part.cases], data.family[:, part.cases]
    strangers = np.where(own == 0, y, np.nan)
    for name, side, judged, nobody in (
        ("self_preference", own, y, NOT_A_RESPONDER),
        ("family_preference", family, strangers, NO_FAMILY),
    ):
        why = nobody if data.responders_are_named else NO_RESPONDERS
        out += pulls(name, None, judged, [side], why)
        out.append(error_asymmetry(name, preferred, gold, side, codes, why))
    for marker, difference in zip(MARKERS, data.markers[:, part.cases], strict=True):
        out += pulls("style", marker, y, [np.broadcast_to(difference, gold.shape)], NO_MARKER)
    out.append(equal_length_accuracy(data.score[:, part.cases], gold, longer, codes))
    if not np.isfinite(longer).any():
        out = [item._replace(reason=[NO_TEXTS] * len(gold)) if item.measure in _FROM_TEXT else item for item in out]
    no_gold = ~np.isfinite(gold).any(axis=1)
    return [
        item._replace(reason=np.where(no_gold & np.isnan(item.estimate), NO_GOLD, np.array(item.reason, dtype=object)))
        for item in out
    ]


def _frame(data: _Data, measures: Sequence[tuple[Group, BiasMeasure]]) -> pd.DataFrame:
    """The rows of all measures, one after the other."""
    rows, total = len(data.judge), len(data.judge) * len(measures)
    sizes = np.array([len(part.cases) for part, _ in measures])
    numbers = ("n", "estimate", "low", "high", "p_value", "uncontrolled", "gold_share")
    out = {name: np.concatenate([getattr(measure, name) for _, measure in measures]) for name in numbers}
    texts = {
        name: [getattr(measure, name) for _, measure in measures] for name in ("part", "bias", "measure", "marker")
    }
    texts |= {name: [getattr(part, name) for part, _ in measures] for name in ("subfield", "by")}
    texts |= {name: [None] * len(measures) for name in ("model_1", "model_2")}
    each, row = np.repeat(np.arange(len(measures)), rows), np.tile(np.arange(rows), len(measures))
    return pd.DataFrame(
        {
            "judge": data.judge.take(row),
            "dimension": data.dimension.take(row),
            **{name: pd.Series(values, dtype="str").array.take(each) for name, values in texts.items()},
            **out,
            "policy": pd.Index([data.policy], dtype="str").repeat(total),
            "n_excluded": sizes[each] - out["n"],
            "n_unassigned": np.array([part.n_unassigned for part, _ in measures])[each],
            "reason": pd.Series(np.concatenate([measure.reason for _, measure in measures]), dtype="str"),
        }
    )


def _win_rates(data: _Data, cases: pd.DataFrame, codes: IntArray) -> pd.DataFrame:
    """The rows of part "win_rate": one a judge, dimension and pair of responders that met."""
    pairs = win_rates.responder_pairs(cases)
    longer = np.tanh(standardised(length_difference(cases, log=False)))
    kept = np.isfinite(longer[pairs.cases])
    positions, pair, sign = pairs.cases[kept], pairs.pair[kept], pairs.sign[kept]
    preferred = data.preferred[:, positions]
    won = np.where(sign > 0, preferred, 1 - preferred)
    rates = win_rates.win_rates(won, longer[positions] * sign, pair, codes[positions], len(pairs.names))
    met = np.bincount(pair, minlength=len(pairs.names))
    row, which = np.nonzero(rates.n > 0)
    names = pd.DataFrame(pairs.names, columns=["model_1", "model_2"], dtype=object)
    return pd.DataFrame(
        {
            "judge": data.judge.take(row),
            "dimension": data.dimension.take(row),
            "subfield": None,
            "by": None,
            "part": "win_rate",
            "bias": "length",
            "measure": "length_controlled",
            "marker": None,
            "model_1": names["model_1"].to_numpy()[which],
            "model_2": names["model_2"].to_numpy()[which],
            "policy": data.policy,
            "n": rates.n[row, which],
            "n_excluded": met[which] - rates.n[row, which],
            "n_unassigned": 0,
            "estimate": rates.value[row, which],
            "low": rates.low[row, which],
            "high": rates.high[row, which],
            "p_value": np.nan,
            "uncontrolled": rates.raw[row, which],
            "gold_share": np.nan,
            "reason": [rates.reason(i, j) for i, j in zip(row.tolist(), which.tolist(), strict=True)],
        }
    )
