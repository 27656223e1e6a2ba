"""Does what is measured of judges in some domains (institutions, datasets, subfields) hold in others?"""

from typing import Final, NamedTuple

import numpy as np
import pandas as pd
from scipy.optimize import elementwise
from scipy.special import chdtrc, chdtri, ndtr, ndtri, stdtrit

from mrb_lib.stats.analysis import Analysis
from mrb_lib.stats.columns import TESTED, Column, estimated, shared, table
from mrb_lib.stats.contrasts import ALPHA
from mrb_lib.stats.estimation import FloatArray, IntArray, Sampling, divide, estimate, mean, sums_by
from mrb_lib.stats.methods.rank_agreement import kendall
from mrb_lib.stats.multiplicity import adjust_rows
from mrb_lib.stats.phrases import interval, main_dimension, opening
from mrb_lib.stats.scoring import decisive_worth, ranking
from mrb_lib.stats.subfields import columns_of, subfield_values
from mrb_lib.tables.errors import NotApplicable

DOMAIN, SUMMARY, RANKING = "domain", "summary", "ranking"
MEANS: Final = (DOMAIN, SUMMARY)
DOMAINS: Final = ("benchmark", "institution", "dataset", "department")
BINOMIAL: Final = "no domain varies: sampling error is taken as binomial"
SHARED: Final = "clusters lie in several domains, which are taken as independent: the p value may be too small"
NO_ERROR: Final = "every domain is one cluster, or has the same score throughout"
NO_MEAN: Final = f"accuracy is undefined: cases can be scored in one domain only, or {NO_ERROR}"
TWO_DOMAINS: Final = "no prediction interval: it needs three domains"
NOT_RANKED: Final = "not ranked: it judged too few of the cases, or no case has a clear winner"
ONE_ORDER: Final = "kendall_tau is undefined: it takes two judges that are not equal, and two domains"
NOT_EXPECTED: Final = "no range by chance: too few random divisions define kendall_tau"
MOST_PERMUTATIONS: Final = 199
_TAIL, _NODES, _STEPS, _LAST_STEP = 0.975, 24, 200, 1e-8


def default_domain(cases: pd.DataFrame) -> str:
    """Return the first of `DOMAINS` with several values among the cases, or else the first that has any.

    Raises
    ------
    NotApplicable
        There is none.
    """
    filled = [name for name in DOMAINS if name in cases.columns and cases[name].notna().any()]
    if not filled:
        raise NotApplicable(f"transfer: the cases state none of {', '.join(DOMAINS)}; name another column with `by`.")
    return next((name for name in filled if cases[name].nunique() > 1), filled[0])


def in_a_new_domain(rows: pd.DataFrame) -> str:
    """Say what to expect of the judge that ranks first in a new domain, and how many judges differ between domains."""
    dimension, by = main_dimension(rows), rows["by"].iloc[0]
    own = rows[rows["part"].eq(SUMMARY) & rows["dimension"].eq(dimension) & rows["by"].eq(by)].dropna(subset="accuracy")
    ranked = own.dropna(subset="rank").sort_values(["rank", "judge"])
    if ranked.empty:
        return f"{opening(dimension)}, cannot tell what to expect in a new domain: that takes judges ranked in two."
    best, differ, left_out = ranked.iloc[0], int((own["p_adjusted"] <= ALPHA).sum()), len(own) - len(ranked)
    place = "is the only judge ranked"
    if len(ranked) > 1:
        place = f"ranks first of {len(ranked)} judges across domains, on the cases that they share"
    new = "cannot tell what to expect in a new domain"
    if pd.notna(best["prediction_low"]):
        new = f"in a new domain, expect between {best['prediction_low']:.0%} and {best['prediction_high']:.0%}"
    between = "No significant difference between domains."
    if differ:
        between = f"The accuracy of {differ} of {len(own)} judges differs significantly between domains."
    more = f" {left_out} of {len(own)} judges are not ranked: they judged too few of the cases." if left_out else ""
    return (
        f"{opening(dimension)}, {best['judge']} {place}. Its "
        f"mean accuracy over {int(best['n_domains'])} domains ({by}) is {best['accuracy']:.0%}"
        f"{interval(best['low'], best['high'])}; {new}. {between}{more}"
    )


@table(
    "transfer",
    question="does accuracy hold across institutions, datasets or subfields",
    columns=[
        Column("part", "domain, summary (over domains), or ranking (of judges)", "text"),
        shared("judge", "dimension"),
        Column("subfield", "value of the column by, such as an institution", "text"),
        Column("by", "column of the cases that names the domain", "text"),
        shared("n_unassigned", "policy"),
        Column("rank", "place by decisive accuracy on shared cases", "rank", null=NOT_RANKED, parts=(SUMMARY,)),
        shared("n", "n_excluded", "n_seen", "cluster"),
        Column("n_domains", "domains with a scored case", "count"),
        Column(
            "accuracy", "mean score, or mean of domains", "share 0-1", ends=("low", "high"), null=NO_MEAN, parts=MEANS
        ),
        Column("weight", "share of the domain in the summary", "share 0-1"),
        Column("prediction_low", "lower 95% limit for a new domain", "share 0-1", null=TWO_DOMAINS, parts=(SUMMARY,)),
        Column("prediction_high", "upper 95% limit for a new domain", "share 0-1"),
        shared("tests"),
        estimated("i2", "share of the variation between domains beyond chance", source="Higgins and Thompson 2002"),
        Column("kendall_tau", "agreement of judges' orders, tau-b", "coefficient", null=ONE_ORDER, parts=(RANKING,)),
        Column("expected_low", "lower 95% limit of tau by chance", "coefficient", null=NOT_EXPECTED, parts=(RANKING,)),
        Column("expected_high", "upper 95% limit of tau by chance", "coefficient"),
    ],
    sentence=in_a_new_domain,
    headline=("rank", "accuracy", "prediction_low", "prediction_high", "kendall_tau"),
    uses=TESTED,
    why_no_ratings="",
)
def transfer(analysis: Analysis) -> pd.DataFrame:
    """Pool accuracies over domains, say what to expect in a new one, and compare the orders of judges.

    Domains are the values of `by`; without it, of `default_domain`. `p_value` is that of Cochran's Q in summaries; in
    rankings, how often domains drawn at random agree as little. Each is corrected over all judges, or over all domains.

    Notes
    -----
    The methods are those of `pool`; coverage and size are simulated in tests/simulation/test_transfer.py. Rankings set
    the order of judges in a domain beside that in all other domains: by mean score on the cases with a clear winner
    (half credit for a tie) that all ranked judges share; at most 199 permutations are made.
    """
    frames = []
    for column in columns_of(analysis.by) or [default_domain(analysis.cases)]:
        member, names = pd.factorize(subfield_values(analysis.cases, column), sort=True)
        own = pd.concat([*_accuracies(analysis, member, names), *_rankings(analysis, member, names)], ignore_index=True)
        frames.append(own.assign(by=column, n_unassigned=int((member < 0).sum())))
    rows = adjust_rows(pd.concat(frames, ignore_index=True), analysis, ("by", "dimension", "part"))
    return rows.assign(family=rows["family"].where(rows["p_value"].notna()))


def _accuracies(analysis: Analysis, member: IntArray, names: pd.Index) -> list[pd.DataFrame]:
    """Return the accuracy of each judge in each domain, and its mean over domains.

    Parameters
    ----------
    member : shape (cases,), the domain of each case; -1 for none
    """
    cells, k, inside = analysis.verdicts.cells[["judge", "dimension"]], len(names), member >= 0
    found = domain_accuracies(analysis.scores.score, member, k, analysis.sampling)
    pooled = pool(found.effect, found.variance)
    size, n = np.bincount(member[inside], minlength=k), found.n.sum(axis=1)
    reach = ndtri(_TAIL) * np.sqrt(found.variance)
    straddling = (n > 0) & straddles(member[inside], analysis.sampling.codes[inside])
    certain = np.isfinite(pooled.estimate) & ~((found.accuracy > 0) & (found.accuracy < 1)).any(axis=1)
    domains = {
        "n": found.n,
        "n_excluded": size - found.n,
        "n_seen": sums_by(np.where(inside, member, k), analysis.verdicts.seen)[:k].T,
        "accuracy": found.accuracy,
        "low": np.minimum(proportion(found.effect - reach), found.accuracy),
        "high": np.maximum(proportion(found.effect + reach), found.accuracy),
        "weight": pooled.weight,
    }
    of_domain = cells.loc[cells.index.repeat(k)].assign(subfield=np.tile(names.to_numpy(object), len(cells)))
    return [
        of_domain.assign(part=DOMAIN, lacks=NO_ERROR, **{name: each.ravel() for name, each in domains.items()}),
        cells.assign(
            part=SUMMARY,
            lacks="domains are more alike than chance makes them",
            rank=ranking(analysis.verdicts, analysis.labels, analysis.policy).rank,
            n=n,
            n_excluded=size.sum() - n,
            n_seen=analysis.verdicts.seen[inside].sum(axis=0),
            n_domains=pooled.k,
            accuracy=proportion(pooled.estimate),
            reason=np.where(certain, BINOMIAL, np.where(straddling, SHARED, "")),
            **{name: getattr(pooled, name) for name in ("p_value", "i2", "i2_low", "i2_high")},
            **{end: proportion(getattr(pooled, end)) for end in ("low", "high", "prediction_low", "prediction_high")},
        ),
    ]


def _rankings(analysis: Analysis, member: IntArray, names: pd.Index) -> list[pd.DataFrame]:
    """Return tau of each domain against the others, beside what chance makes of it, for each dimension."""
    verdicts, inside = analysis.verdicts, np.flatnonzero(member >= 0)
    member, codes, worth = member[inside], analysis.sampling.codes[inside], analysis.scores.score[inside]
    if verdicts.tie >= 0:
        worth = decisive_worth(verdicts, analysis.labels, analysis.policy)[0][inside]
    partial = ranking(verdicts, analysis.labels, analysis.policy, inside).is_partial
    assigned = shuffled(member, codes, min(analysis.resamples, MOST_PERMUTATIONS), analysis.seed)
    note = SHARED if straddles(member, codes) and analysis.resamples else ""
    frames = []
    for dimension in np.unique(verdicts.dimension):
        own = worth[:, (verdicts.dimension == dimension) & ~partial & np.isfinite(worth).any(axis=0)]
        common = np.isfinite(own).all(axis=1)
        tau = np.stack([taus(own[common], domains[common], len(names)) for domains in assigned])
        columns = {"subfield": names, "n": common.sum() if own.size else 0, "kendall_tau": tau[0], **expected(tau)}
        frames.append(pd.DataFrame(columns).assign(part=RANKING, dimension=verdicts.dimensions[dimension], reason=note))
    return frames


def straddles(member: IntArray, codes: IntArray) -> bool:
    """Tell whether a cluster lies in several domains."""
    return bool(pd.Series(member).groupby(codes).nunique().gt(1).any())


def shuffled(member: IntArray, codes: IntArray, permutations: int, seed: int) -> IntArray:
    """Return the domains of cases as they are, then as permutations have them, shape (1 + permutations, cases).

    Parameters
    ----------
    member, codes : shape (cases,), the domain and the cluster of each case. Clusters change domains together, unless
        one lies in several
    """
    codes = np.arange(len(member)) if straddles(member, codes) else codes
    _, first, cluster = np.unique(codes, return_index=True, return_inverse=True)
    order = np.random.default_rng(seed).permuted(np.tile(np.arange(len(first)), (permutations, 1)), axis=1)
    return np.vstack([member, member[first][order][:, cluster]])


def taus(values: FloatArray, domains: IntArray, k: int) -> FloatArray:
    """Return Kendall's tau-b between means in each domain and in all others; NaN where all judges are equal in one.

    Parameters
    ----------
    values : shape (cases, judges), without gaps
    domains : shape (cases,), from 0 to k - 1
    """
    inside = (domains[:, None] == np.arange(k)).astype(np.float64)
    total, n = values.T @ inside, inside.sum(axis=0)
    return kendall(divide(total, n), divide(values.sum(axis=0)[:, None] - total, len(values) - n))


def expected(tau: FloatArray) -> dict[str, FloatArray]:
    """Return the central 95% of tau by chance, and the p value of the taus found, which are the first row.

    Permutations in which a tau is undefined are left out: given that it is defined, the tau found is one of those
    defined, each as likely as the others, so that the p value holds. NaN where no tau was found, and where fewer than
    half of the permutations define one.
    """
    drawn = pd.DataFrame(tau[1:])
    ends, n = drawn.quantile([1 - _TAIL, _TAIL]).to_numpy(), drawn.count().to_numpy()
    p = (1 + (drawn <= tau[0] + 1e-12).sum().to_numpy()) / (1 + n)
    known = np.isfinite(tau[0]) & (n > 0) & (2 * n >= len(drawn))
    columns = {"expected_low": ends[0], "expected_high": ends[1], "p_value": p}
    return {name: np.where(known, values, np.nan) for name, values in columns.items()}


class Domains(NamedTuple):
    """Accuracies by domain on the scale on which they are pooled, m cells and k domains; shape (m, k) but where noted.

    Attributes
    ----------
    n, accuracy : cases scored, and their mean score
    binomial_ratio : shape (m,), sampling variance over that of as many independent right-or-wrong answers
    effect, variance : arcsine of the root of the accuracy, and its sampling variance
    """

    n: IntArray
    accuracy: FloatArray
    binomial_ratio: FloatArray
    effect: FloatArray
    variance: FloatArray


def domain_accuracies(values: FloatArray, member: IntArray, k: int, sampling: Sampling) -> Domains:
    """Return the accuracy of each cell in each domain, as Anscombe's arcsine with its sampling variance.

    Parameters
    ----------
    values : shape (cases, m), scores from 0 to 1; NaN where excluded
    member : shape (cases,), the domain of each case; -1 for none

    Notes
    -----
    The arcsine is asin sqrt((x + 3/8) / (s + 3/4)) with variance 1 / (4 s + 2), of x = s times the accuracy (Anscombe
    1948, doi:10.1093/biomet/35.3-4.246); s is n over `binomial_ratio`, which is pooled over domains, since small ones
    cannot estimate their own. Its variance does not depend on the accuracy, so that weight and estimate are unrelated.
    """
    n, accuracy, robust, binomial, clusters = np.zeros((5, values.shape[1], k))
    for domain in range(k):
        inside = np.flatnonzero(member == domain)
        e = estimate(mean(values[inside]), sampling.take(inside))
        usable = ~np.isnan(e.error)
        n[:, domain], accuracy[:, domain], clusters[:, domain] = e.n, e.value, e.clusters
        robust[:, domain] = np.where(usable, (e.error * e.n) ** 2, 0.0)
        binomial[:, domain] = np.where(usable, divide(e.n**2 * e.value * (1 - e.value), e.n - 1), 0.0)
    ratio = divide(robust.sum(axis=1), binomial.sum(axis=1))
    ratio[(clusters > 1).any(axis=1) & (binomial.sum(axis=1) == 0)] = 1.0
    size = divide(n, ratio[:, None])
    size[size == 0] = np.nan
    effect = np.arcsin(np.sqrt((size * accuracy + 0.375) / (size + 0.75)))
    return Domains(n.astype(np.int64), accuracy, ratio, effect, 1 / (4 * size + 2))


def proportion(effect: FloatArray) -> FloatArray:
    """Return the accuracy of an arcsine; beyond the scale, that of its end."""
    return np.asarray(np.sin(np.clip(effect, 0.0, np.pi / 2)) ** 2)


class Pooled(NamedTuple):
    """The meta-analysis of each of m sets of up to K estimates, shape (m,) but for `weight`; NaN where undefined.

    Attributes
    ----------
    k : estimates in the set
    q, p_value : Cochran's Q and its chi-squared tail with k - 1 degrees of freedom
    tau2 : variance between by Paule and Mandel
    i2, i2_low, i2_high : share of the variation that is between, by `tau2`, and its Q-profile interval
    estimate, low, high : mean of the random-effects distribution, and its interval by Hartung and Knapp
    prediction_low, prediction_high : the central 95% of a new member's true value; from three estimates on
    weight : shape (m, K), the share of each estimate in `estimate`
    """

    k: IntArray
    q: FloatArray
    p_value: FloatArray
    tau2: FloatArray
    i2: FloatArray
    i2_low: FloatArray
    i2_high: FloatArray
    estimate: FloatArray
    low: FloatArray
    high: FloatArray
    prediction_low: FloatArray
    prediction_high: FloatArray
    weight: FloatArray


def pool(effect: FloatArray, variance: FloatArray) -> Pooled:
    """Summarise sets of estimates that vary between the members of a population of domains.

    Parameters
    ----------
    effect, variance : shape (m, K), the estimates of each set and their sampling variances, above 0; NaN for none

    Notes
    -----
    `statsmodels.stats.meta_analysis.combine_effects` with Paule and Mandel's (1982) variance between, and Hartung and
    Knapp's interval (2001, doi:10.1002/sim.791) with a scale of at least 1 (Knapp and Hartung 2003,
    doi:10.1002/sim.1482), so that estimates that happen to lie close together narrow nothing. I2 is Higgins and
    Thompson's (2002, doi:10.1002/sim.1186, with the typical variance of its equation 9); its Q-profile (Viechtbauer
    2007, doi:10.1002/sim.2514) is empty where estimates lie closer together than chance would have it, and the interval
    is then NaN. A prediction interval is that of `_predict`, and never narrower than the interval of the mean.
    """
    from statsmodels.stats.meta_analysis import combine_effects  # takes a second to import

    used = np.isfinite(effect) & np.isfinite(variance)
    effect, variance = np.where(used, effect, 0.0), np.where(used, variance, np.inf)
    k = used.sum(axis=1)
    df = np.maximum(k - 1, 1)
    q, tau2, centre, error = np.full((4, len(k)), np.nan)
    weight = np.full(effect.shape, np.nan)
    for i in np.flatnonzero(k > 1):
        with np.errstate(divide="ignore", invalid="ignore"):  # of its I2 where Q is 0, which is not read
            found = combine_effects(effect[i, used[i]], variance[i, used[i]], method_re="pm", atol=1e-6, maxiter=_STEPS)
        q[i], tau2[i], centre[i] = max(found.q, 0.0), found.tau2, found.mean_effect_re
        weight[i, used[i]] = found.weights_rel_re
        error[i] = np.sqrt(max(found.var_hksj_re, found.var_eff_w_re))
    half = stdtrit(df, _TAIL) * error
    total = (1 / variance).sum(axis=1)
    typical = divide((k - 1) * total, total**2 - (1 / variance**2).sum(axis=1))
    ends = [np.where(k > 1, _profile(effect, variance, chdtri(df, tail)), np.nan) for tail in (1 - _TAIL, _TAIL)]
    between = (tau2, *(np.where(ends[1] > 0, end, np.nan) for end in ends))
    i2, i2_low, i2_high = (divide(each, each + typical) for each in between)
    below, above = _predict(effect, variance, k)
    return Pooled(
        k=k,
        q=q,
        p_value=np.where(k > 1, chdtrc(df, q), np.nan),
        tau2=tau2,
        i2=i2,
        i2_low=i2_low,
        i2_high=i2_high,
        estimate=centre,
        low=centre - half,
        high=centre + half,
        prediction_low=np.minimum(below, centre - half),
        prediction_high=np.maximum(above, centre + half),
        weight=weight,
    )


def _predict(effect: FloatArray, variance: FloatArray, k: IntArray) -> list[FloatArray]:
    """Return both ends of the central 95% of a new member's true value; NaN for fewer than three estimates.

    Parameters
    ----------
    effect, variance : shape (m, K); 0 and infinity where a set has no estimate
    k : shape (m,), the estimates of each set

    Notes
    -----
    A variance between that is put in as if it were known makes intervals that cover too little: 89% with ten domains
    that differ little (`tests/simulation/test_transfer.py`). Here it has the distribution of the Q-profile: the
    generalised Q at the true variance is chi-squared, so that each quantile of chi-squared gives a variance between,
    and a normal distribution given that (Nagashima, Noma and Furukawa 2019, doi:10.1177/0962280218773520). 24
    quantiles, weighted by Gauss and Legendre's rule, make the mixture.
    """
    node, share = np.polynomial.legendre.leggauss(_NODES)
    centre, spread = np.full((2, len(k), _NODES), np.nan)
    for i, upper in enumerate((node + 1) / 2):
        tau2 = _profile(effect, variance, chdtri(np.maximum(k - 1, 1), upper))
        weight = 1 / (variance + tau2[:, None])
        total = weight.sum(axis=1)
        centre[:, i] = divide((weight * effect).sum(axis=1), total)
        spread[:, i] = tau2 + divide(np.ones(len(k)), total)
    centre[k < 3] = np.nan
    spread = np.sqrt(spread)

    def excess(value: FloatArray, row: FloatArray, tail: FloatArray) -> FloatArray:
        own = row.astype(np.int64)
        return np.asarray(ndtr((value[:, None] - centre[own]) / spread[own]) @ share / 2 - tail)

    ends = []
    for tail in (1 - _TAIL, _TAIL):
        of_parts, slack = centre + ndtri(tail) * spread, 1e-9 * spread.max(axis=1)
        bracket = of_parts.min(axis=1) - slack, of_parts.max(axis=1) + slack
        ends.append(elementwise.find_root(excess, bracket, args=(np.arange(len(spread)), tail)).x)
    return ends


def _profile(effect: FloatArray, variance: FloatArray, target: FloatArray) -> FloatArray:
    """Return the variance between at which the generalised Q is the target; 0 where it is below it throughout.

    The generalised Q falls and is convex, so that Newton's steps from 0 never pass the root.
    """
    tau2 = np.zeros(len(effect))
    for _ in range(_STEPS):
        weight = 1 / (variance + tau2[:, None])
        centre = np.nan_to_num(divide((weight * effect).sum(axis=1), weight.sum(axis=1)))
        squared = weight * (effect - centre[:, None]) ** 2
        step = np.nan_to_num(divide(squared.sum(axis=1) - target, (weight * squared).sum(axis=1)))
        step = np.maximum(step, 0.0)
        tau2 = tau2 + step
        if not (step > _LAST_STEP * (tau2 - step)).any():
            break
    return tau2
