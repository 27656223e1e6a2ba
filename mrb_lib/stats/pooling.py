"""Random-effects meta-analysis of accuracies by domain, and what it predicts for a new domain."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import elementwise
from scipy.special import chdtrc, chdtri, ndtr, ndtri, stdtrit

from mrb_lib.stats.estimation import FloatArray, IntArray, Sampling, divide, estimate, mean
from mrb_lib.tables.errors import InputError

_TAIL, _NODES, _STEPS, _LAST_STEP = 0.975, 24, 200, 1e-8
_PAULE_MANDEL = {"method_re": "pm", "atol": 1e-6, "maxiter": _STEPS}


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
    new : the distribution of a new member's true value
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
    new: Predictive


def pool(effect: FloatArray, variance: FloatArray) -> Pooled:
    """Summarise sets of estimates that vary between the members of a population of domains.

    Parameters
    ----------
    effect, variance : shape (m, K), the estimates of each set and their sampling variances, above 0; NaN for none

    Raises
    ------
    InputError
        A variance is not above 0.

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
    if (variance[used] <= 0).any():
        raise InputError("variance: an estimate has a sampling variance of 0; give one above 0, or leave it out.")
    effect, variance = np.where(used, effect, 0.0), np.where(used, variance, np.inf)
    k = used.sum(axis=1)
    df = np.maximum(k - 1, 1)
    q, tau2, centre, error = np.full((4, len(k)), np.nan)
    weight = np.full(effect.shape, np.nan)
    for i in np.flatnonzero(k > 1):
        with np.errstate(divide="ignore", invalid="ignore"):  # of its I2 where Q is 0, which is not read
            found = combine_effects(effect[i, used[i]], variance[i, used[i]], **_PAULE_MANDEL)
        q[i], tau2[i], centre[i] = max(found.q, 0.0), found.tau2, found.mean_effect_re
        weight[i, used[i]] = found.weights_rel_re
        error[i] = np.sqrt(max(found.var_hksj_re, found.var_eff_w_re))
    half = stdtrit(df, _TAIL) * error
    total = (1 / variance).sum(axis=1)
    typical = divide((k - 1) * total, total**2 - (1 / variance**2).sum(axis=1))
    ends = [np.where(k > 1, _profile(effect, variance, chdtri(df, tail)), np.nan) for tail in (1 - _TAIL, _TAIL)]
    between = (tau2, *(np.where(ends[1] > 0, end, np.nan) for end in ends))
    i2, i2_low, i2_high = (divide(each, each + typical) for each in between)
    new = _predict(effect, variance, k)
    below, above = new.interval()
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
        new=new,
    )


class Predictive(NamedTuple):
    """Predict a new member of each of m populations: a mixture of b normal distributions.

    Attributes
    ----------
    mean, variance : shape (m, b), of each component
    share : shape (b,), the weight of each component
    """

    mean: FloatArray
    variance: FloatArray
    share: FloatArray

    def below(self, value: FloatArray, variance: FloatArray) -> FloatArray:
        """Return the probability of an estimate below `value`, if its sampling variance is `variance`; shape (m,)."""
        spread = np.sqrt(self.variance + variance[:, None])
        return np.asarray(ndtr((value[:, None] - self.mean) / spread) @ self.share)

    def interval(self) -> tuple[FloatArray, FloatArray]:
        """Return the central 95% of a new member's true value."""
        return self._quantile(1 - _TAIL), self._quantile(_TAIL)

    def _quantile(self, tail: float) -> FloatArray:
        """Return the quantile of each mixture, which lies among those of its components."""
        spread = np.sqrt(self.variance)
        ends = self.mean + ndtri(tail) * spread

        def excess(value: FloatArray, row: IntArray) -> FloatArray:
            own = row.astype(np.int64)
            return np.asarray(ndtr((value[:, None] - self.mean[own]) / spread[own]) @ self.share - tail)

        slack = 1e-9 * spread.max(axis=1)
        bracket = ends.min(axis=1) - slack, ends.max(axis=1) + slack
        return np.asarray(elementwise.find_root(excess, bracket, args=(np.arange(len(ends)),)).x)


def _predict(effect: FloatArray, variance: FloatArray, k: IntArray) -> Predictive:
    """Return the confidence distribution of a new member's true value; NaN for a set of fewer than three estimates.

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
    tau2, (centre, spread) = np.zeros(len(k)), np.full((2, len(k), _NODES), np.nan)
    for i, upper in enumerate((node + 1) / 2):
        tau2 = _profile(effect, variance, chdtri(np.maximum(k - 1, 1), upper), tau2)
        weight = 1 / (variance + tau2[:, None])
        total = weight.sum(axis=1)
        centre[:, i] = divide((weight * effect).sum(axis=1), total)
        spread[:, i] = tau2 + divide(np.ones(len(k)), total)
    centre[k < 3] = np.nan
    return Predictive(centre, spread, share / 2)


def _profile(
    effect: FloatArray, variance: FloatArray, target: FloatArray, start: FloatArray | float = 0.0
) -> FloatArray:
    """Return the variance between at which the generalised Q is the target; 0 where it is below it throughout.

    The generalised Q falls and is convex, so that Newton's steps from a start below the root never pass it.
    """
    tau2 = np.zeros(len(effect)) + start
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
