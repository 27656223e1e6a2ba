"""Whether what is found of judges in some domains holds in others: institutions, datasets or subfields."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy import special

from mrb_lib.stats.core.panel import Panel, as_panel
from mrb_lib.stats.core.scoring import Scores, encode_gold, score
from mrb_lib.stats.core.table import register_table
from mrb_lib.stats.options import FloatArray, IntArray, divide, join_reasons, typed
from mrb_lib.stats.resampling.resample import cluster_codes
from mrb_lib.stats.significance.paired import PairOptions
from mrb_lib.stats.subfields import By, columns_of, subfield_values
from mrb_lib.stats.transfer import reading, trained
from mrb_lib.stats.transfer.domains import (
    NO_CASES,
    Domains,
    default_domain,
    domain_accuracies,
    proportion,
    variance_reasons,
)
from mrb_lib.stats.transfer.meta import Pooled, Predictive, pool, predict
from mrb_lib.stats.transfer.rankings import ranking_rows

ONE_DOMAIN = "undefined: cases can be scored in one domain only"
TWO_DOMAINS = "no prediction interval: it takes three domains"
NONE_LEFT_OUT = "no case of this domain can be scored"
LEFT_ONE = "undefined: without this domain there are fewer than two"
COLUMNS = [
    "part", "judge", "dimension", "by", "subfield", "versus", "policy", "n", "n_excluded", "n_unassigned",
    "n_domains", "n_judges", "accuracy", "low", "high", "standard_error", "binomial_ratio", "weight",
    "prediction_low", "prediction_high", "q", "df", "p_value", "i2", "i2_low", "i2_high", "tau2", "tau2_low",
    "tau2_high", "tau2_dl", "all_cases_accuracy", "domain_accuracy", "domain_inside", "kendall_tau",
    "expected_tau", "expected_low", "expected_high", *trained.COLUMNS, "reason",
]  # fmt: skip
MORE = ["tau2_low", "tau2_high", "tau2_dl"]
_Z = float(special.ndtri(0.975))


@register_table(
    "transfer",
    question="does accuracy hold across institutions, datasets or subfields",
    columns=[name for name in COLUMNS if name not in MORE],
    more=MORE,
    meanings=reading.MEANINGS,
    headline=("accuracy", "prediction_low", "prediction_high", "kendall_tau"),
    sentence=reading.sentence,
    why_no_ratings="",
)
def transfer(
    verdicts: pd.DataFrame | Panel,
    gold: pd.DataFrame,
    cases: pd.DataFrame,
    *,
    records: pd.DataFrame | None = None,
    training: pd.DataFrame | None = None,
    benchmark_name: str = "",
    policy: str = "balanced",
    by: By = None,
    dimensions: Sequence[str] | None = None,
    cluster: str | None = None,
    resamples: int = 2000,
    seed: int = 0,
) -> pd.DataFrame:
    """Accuracy by domain, how much it varies between domains, and what to expect of a new one.

    Parameters
    ----------
    verdicts : the verdicts table, of one probe, or its panel
    gold : `case_id, dimension, choice`; a case without a row, or with a null, has no label
    cases : the cases table
    records : how judges were trained, see `mrb_lib.verdicts.training.training_records`; None where nobody knows
    training : `judge`, `case_id`: the cases that judges were trained on, which are left out
    benchmark_name : of the benchmark that is judged here, for rows of judges that were trained on it or on another
    policy : a scoring policy, see `mrb_lib.stats.core.scoring.score`
    by : the cases column that names the domain; None takes the first of institution, dataset and department with
        several values, or else the first that has any; of several columns each has a summary of its own, and its rows
        follow those of the column before
    dimensions : the dimensions to report, in order; None reports all that were judged
    cluster : the cases column whose values are sampled together, see
        `mrb_lib.stats.clusters.resampling_unit`
    resamples, seed : of the permutations behind `expected_tau` (at most 199 are made); 0 makes none

    Returns
    -------
    DataFrame
        `part` says of what kind a row is; columns that do not belong to it are null.
        `domain`, one row a judge, dimension and domain (`subfield`): `n` cases scored, `n_excluded` that are not,
        `n_unassigned` cases of the benchmark in no domain, `accuracy` with its 95% interval `low`, `high`,
        `standard_error`, and its `weight` in the summary.
        `summary`, one row a judge and dimension: over `n_domains` domains, `accuracy` is the random-effects mean with
        Hartung and Knapp's interval `low`, `high` (never narrower than if domains did not differ), and
        `prediction_low`, `prediction_high` holds the accuracy in a new domain; heterogeneity is `q` with `df` and
        `p_value`, `tau2` and its share of the variation `i2` (both REML; `tau2_dl`: DerSimonian and Laird's) with
        Q-profile intervals. `tau2` is on the arcsine scale. `binomial_ratio` is the sampling
        variance over that of as many independent right-or-wrong answers. `all_cases_accuracy` weights the `n` cases
        alike.
        `leave_one_out`, one row a judge, dimension and domain left out (`subfield`): the summary of the others, and
        `domain_accuracy`, which is `domain_inside` (1) or not (0) the prediction interval with the domain's own
        sampling error added.
        `ranking`, one row a dimension and domain, and one for every two domains: `kendall_tau` (tau-b) between the
        order of `n_judges` judges there and in all other domains (`versus` null), or in the domain `versus`. Against
        the others, `expected_tau` with `expected_low`, `expected_high` (its central 95%) is what domains drawn at
        random would give, `p_value` how often theirs is as low, both where a tau is defined; the row without
        `subfield` is the mean of all.
        Of judges with a record of their training: `trained`, one row a judge that was trained without a value of a
        column (`trained_on` "all but ...") or of the same base and recipe on all, dimension and value of that column:
        the matrix of trained-on and tested-on, `accuracy` with Wilson's interval robust to clusters over the cases that
        the judge was not trained on (`n_seen` were), and whether the value was `in_training`. `benchmark`, one row a
        judge with a record and dimension: its accuracy on this benchmark (`tested_on`), by what it was `trained_on`.
        `out_of_domain`, one row a dimension and value that a judge was trained without, and one of all: `accuracy` of
        that judge there less `in_domain_accuracy`, the mean over the judges that were trained with it, is `difference`,
        paired by case, with interval and `p_value` as the table `significance` has them.
        `reason` says why something is null.

    Raises
    ------
    InputError
        An option is unknown, `by` or `cluster` cannot be used, the cases state no domain, or a verdict is about
        an unknown case.

    Notes
    -----
    Accuracies are pooled as Anscombe's arcsine (1948, doi:10.1093/biomet/35.3-4.246), asin sqrt((x + 3/8) / (m + 3/4))
    with variance 1 / (4 m + 2), of x = m times the accuracy; m is `n` over `binomial_ratio`. Its variance does not
    depend on the accuracy, so that weight and estimate are not related, and it is defined where a small domain is all
    right or all wrong. That ratio is cluster-robust, and pooled over domains since small ones cannot
    estimate their own. Intervals are taken back by the squared sine. The summary is that of
    `mrb_lib.stats.transfer.meta.pool`, the prediction that of `predict`; published values in
    `tests/published/test_meta.py`. `tests/simulation/test_transfer.py` has the size of Q and of the permutation tests
    and the coverage of all intervals, from 100 cases a domain and 100 in all: 93 to 97%, but more for the prediction
    where domains do not differ and, up to 99% with four domains, for the mean where they differ little, and 91% for a
    domain of 50 cases of which 95% are right. With few judges tau has few values, so that its test has a size below
    .05. The loss out of domain: `tests/simulation/test_trained_transfer.py`. P-values are not adjusted for the number
    of judges. With fewer than five domains every one of these intervals is rightly wide.
    """
    panel = as_panel(verdicts, cases["case_id"], dimensions).without_seen(training, cases["case_id"])
    scores = score(panel, encode_gold(gold, cases["case_id"], panel.dimensions, panel.categories), policy)
    codes = cluster_codes(cases, cluster)
    frames = [
        _of_column(panel, scores, column, subfield_values(cases, column), codes, resamples, seed)
        for column in columns_of(by) or [default_domain(cases)]
    ]
    if records is not None:
        options = PairOptions("balanced", "none", "dimension", None, resamples, seed)  # of graded means
        frames += trained.trained_rows(panel, scores.score, cases, records, codes, options)
        frames += trained.benchmark_rows(panel, scores.score, records, codes, benchmark_name) if benchmark_name else []
    out = pd.concat(frames, ignore_index=True).assign(policy=policy)
    texts = dict.fromkeys(("trained_on", "tested_on", "method"), "str")
    return typed(out, COLUMNS, counts="Int64", **texts, in_training="boolean")


def _of_column(
    panel: Panel, scores: Scores, by: str, domain: pd.Series, codes: IntArray, resamples: int, seed: int
) -> pd.DataFrame:
    """All rows of one column, from the domain of each case; missing where it has none."""
    member, names = pd.factorize(domain, sort=True)
    judge, dimension = np.nonzero(panel.takes_part())
    value = scores.score[judge, dimension]
    domains = domain_accuracies(value, member, len(names), codes)
    labels = panel.names(judge * len(panel.dimensions) + dimension)
    pooled = pool(domains.effect, domains.variance)
    frames = [
        _domain_rows(domains, pooled, labels, names, member),
        _summary_rows(domains, pooled, labels, value, member, codes),
        _leave_one_out_rows(domains, labels, names),
        ranking_rows(scores.score, member, names, codes, panel.dimensions, resamples=resamples, seed=seed),
    ]
    return pd.concat(frames, ignore_index=True).assign(by=by, n_unassigned=int((member < 0).sum()))


def _domain_rows(
    domains: Domains, pooled: Pooled, labels: dict[str, pd.Index], names: pd.Index, member: IntArray
) -> pd.DataFrame:
    k = len(names)
    size = np.bincount(member[member >= 0], minlength=k)
    reach = _Z * np.sqrt(domains.variance)
    low, high = proportion(domains.effect - reach), proportion(domains.effect + reach)
    slope = np.sin(2 * domains.effect)
    reasons = np.repeat(np.array(variance_reasons(domains), dtype=object), k)
    reasons = np.where(domains.n.ravel() == 0, NO_CASES, reasons)
    return pd.DataFrame(
        {
            "part": "domain",
            **{name: np.repeat(values, k) for name, values in labels.items()},
            "subfield": np.tile(np.asarray(names, dtype=object), len(domains.n)),
            "n": domains.n.ravel(),
            "n_excluded": (size - domains.n).ravel(),
            "accuracy": domains.accuracy.ravel(),
            "low": np.fmin(low, domains.accuracy).ravel(),
            "high": np.fmax(high, domains.accuracy).ravel(),
            "standard_error": (slope * np.sqrt(domains.variance)).ravel(),
            "weight": pooled.weight.ravel(),
            "reason": [join_reasons(text) for text in reasons],
        }
    )


def _pooled_columns(pooled: Pooled, new: Predictive) -> dict[str, FloatArray | IntArray]:
    """The columns that a summary and a summary without a domain share."""
    prediction_low, prediction_high = new.interval()
    return {
        "n_domains": pooled.k,
        "accuracy": proportion(pooled.estimate),
        "low": proportion(pooled.low),
        "high": proportion(pooled.high),
        "prediction_low": proportion(prediction_low),
        "prediction_high": proportion(prediction_high),
        "q": pooled.q,
        "df": np.where(pooled.k > 1, pooled.k - 1.0, np.nan),
        "p_value": pooled.p_value,
        "i2": pooled.i2,
        "tau2": pooled.tau2,
        "tau2_dl": pooled.tau2_dl,
    }


def _too_few(k: int) -> str:
    return ONE_DOMAIN if k == 1 else TWO_DOMAINS if k == 2 else ""


def _summary_rows(
    domains: Domains,
    pooled: Pooled,
    labels: dict[str, pd.Index],
    value: FloatArray,
    member: IntArray,
    codes: IntArray,
) -> pd.DataFrame:
    inside = member >= 0
    scored = np.isfinite(value) & inside
    pairs = np.unique(np.column_stack([codes[inside], member[inside]]), axis=0)
    shared = int((np.bincount(pairs[:, 0]) > 1).sum())
    straddling = f"{shared} clusters lie in several domains, which are taken as independent" if shared else ""
    return pd.DataFrame(
        {
            "part": "summary",
            **labels,
            "n": domains.n.sum(axis=1),
            "n_excluded": inside.sum() - domains.n.sum(axis=1),
            "binomial_ratio": domains.binomial_ratio,
            **_pooled_columns(pooled, predict(domains.effect, domains.variance)),
            "i2_low": pooled.i2_low,
            "i2_high": pooled.i2_high,
            "tau2_low": pooled.tau2_low,
            "tau2_high": pooled.tau2_high,
            "all_cases_accuracy": divide(np.where(scored, value, 0.0).sum(axis=1), scored.sum(axis=1)),
            "reason": [
                join_reasons(reason, _too_few(int(k)), straddling)
                for reason, k in zip(variance_reasons(domains), pooled.k, strict=True)
            ],
        }
    )


def _leave_one_out_rows(domains: Domains, labels: dict[str, pd.Index], names: pd.Index) -> pd.DataFrame:
    rows, k = domains.n.shape
    effect = np.repeat(domains.effect, k, axis=0).reshape(rows, k, k)
    effect[:, np.arange(k), np.arange(k)] = np.nan
    others = effect.reshape(-1, k), np.repeat(domains.variance, k, axis=0)
    pooled, new = pool(*others), predict(*others)
    below = new.below(domains.effect.ravel(), domains.variance.ravel())
    inside = ((below >= 0.025) & (below <= 0.975)).astype(np.float64)
    total = domains.n.sum(axis=1, keepdims=True) - domains.n
    reasons = np.repeat(np.array(variance_reasons(domains), dtype=object), k)
    return pd.DataFrame(
        {
            "part": "leave_one_out",
            **{name: np.repeat(values, k) for name, values in labels.items()},
            "subfield": np.tile(np.asarray(names, dtype=object), rows),
            "n": total.ravel(),
            "n_excluded": domains.n.ravel(),
            **_pooled_columns(pooled, new),
            "domain_accuracy": domains.accuracy.ravel(),
            "domain_inside": np.where(np.isfinite(below), inside, np.nan),
            "reason": [
                join_reasons(
                    reason,
                    LEFT_ONE if count < 2 and not reason else "",
                    TWO_DOMAINS if count == 2 else "",
                    NONE_LEFT_OUT if size == 0 and reason != NO_CASES else "",
                )
                for reason, count, size in zip(reasons, pooled.k, domains.n.ravel(), strict=True)
            ],
        }
    )
