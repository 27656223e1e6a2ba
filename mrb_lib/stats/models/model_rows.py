"""From fitted models of correctness to the rows of a table: contrasts, intervals, marginal effects, tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import special

from mrb_lib.stats.models import gee, mixed
from mrb_lib.stats.models.effects import Average, logistic, logistic_normal
from mrb_lib.stats.models.model_tests import Fits, Row, clusters_seen, interactions
from mrb_lib.stats.models.observations import Observations
from mrb_lib.stats.models.terms import (
    Covariates,
    Terms,
    deviations,
    level_averages,
    numeric_terms,
    pooled,
    single,
)
from mrb_lib.stats.options import BoolArray, FloatArray, IntArray, divide, join_reasons
from mrb_lib.stats.resampling.resample import CONFIDENCE

ALL, ONE = "all judges", "one judge"
FEWEST_CLUSTERS = 5
SEPARATED = "no finite estimate: a combination of the covariates tells right from wrong without error"
NOT_CONVERGED = "no estimate: the fit did not converge"
ALWAYS_RIGHT = "always right: the log odds are infinite"
ALWAYS_WRONG = "always wrong: the log odds are infinite"
UNSEEN = "no verdict"
ALIASED = "not identified: a linear combination of the other terms"
ONE_LEVEL = "nothing to compare: no other level has clusters enough"
FEW_CLUSTERS = f"no interval: fewer than {FEWEST_CLUSTERS} clusters"
FEW_FOR_MODEL = "no interval: no more clusters than covariates of cases"
NO_EFFECT = "no marginal effect: the intercept is a level, not a change"
NUISANCE = "a part of the model, without an interval"
NO_SPREAD = "at its boundary: they differ no more than chance makes them; no interval"
NO_VARIATION = "no interval: clusters do not differ in it"
FLAT = "no interval: the verdicts say too little of it"
ALIKE = "no finite estimate: the verdicts on a case never differ"
NO_PAIRS = "no estimate: too few cases have several verdicts"
ALONE = "not in the model: one judge's effect on a case is that of the case"
NO_REPEATS = "not in the model: no judge has two verdicts on a case"
NOT_IN_MODEL = "not in the model: judges contradict themselves too seldom to fit it"
SPREADS = ("case_sd", "judge_case_sd")
_MOST_LOG_ODDS, _NO_SPREAD = 15.0, 1e-9


class _Line(NamedTuple):
    """A term and level in all F fits: `contrast` (F, p), `effect`, `n`, `n_clusters` (F,) and F reasons.

    `few` tells where it rests on too few clusters for an interval.
    """

    term: str
    level: str | None
    contrast: FloatArray
    effect: Average | None
    n: FloatArray
    n_clusters: IntArray
    few: BoolArray
    reason: list[str]


def all_judges(judges: Sequence[str], each: Observations, covariates: Covariates) -> list[Row]:
    """The rows of the two models of all judges.

    Parameters
    ----------
    each : the observations of each judge, as a fit with a cell an order
    """
    terms, cluster = pooled(judges, covariates), each.cluster
    shape = (1, -1, len(cluster))
    data, pure = _without_pure(
        terms, Observations(each.n_correct.reshape(shape), each.n_trials.reshape(shape), cluster)
    )
    if not data.n_trials.any():
        return []
    marginal = gee.fit(terms.design, data)
    df = degrees(terms, marginal.kept, data)
    flaw = _flaws(marginal.beta, marginal.converged)
    fits = Fits(terms, data, marginal.beta, marginal.kept, marginal.robust, flaw, df, logistic)
    rows = [{"part": ALL, "model": "gee", **row} for row in rows_of(fits, pure)[0]]
    n, m = float(data.n_trials.sum()), int(clusters_seen(data.n_trials.sum(axis=1) > 0, cluster)[0])
    rest = {"part": ALL, "level": None, "n": n, "n_clusters": m}
    alpha = marginal.alpha[0]
    reason = NUISANCE if np.isfinite(alpha) else flaw[0] or NO_PAIRS
    rows.append({**rest, "model": "gee", "term": "working_correlation", "estimate": alpha, "reason": reason})
    within = mixed.fit(terms.design, data, len(judges), start=_start(marginal))
    n_correct, n_trials = (each[0].sum(axis=0) for each in (data.n_correct, data.n_trials))
    flaw = _flaws(within.beta[None], np.array([within.converged]))
    if not (n_trials > 1).any():
        flaw = [NO_PAIRS]
    elif flaw[0] and not ((n_correct > 0) & (n_correct < n_trials)).any():
        flaw = [ALIKE]
    curve = logistic_normal(0.0 if flaw[0] else within.spread)
    cov = within.robust_with_spread[None]
    fits = Fits(terms, data, within.beta[None], within.kept[None, :-2], cov, flaw, df, curve)
    rows += [{"part": ALL, "model": "mixed", **row} for row in rows_of(fits, pure)[0]]
    few = m < FEWEST_CLUSTERS
    errors = np.sqrt(np.diag(within.robust)[-2:]).tolist()
    for term, sd, se in zip(SPREADS, (within.case_sd, within.judge_case_sd), errors, strict=True):
        reason = flaw[0] or (_not_in_model(data.n_trials, len(judges)) if np.isnan(sd) else "")
        rows.append({**rest, "model": "mixed", "term": term, **_spread(sd, se, reason, float(df[0]), few=few)})
    return rows


def _not_in_model(n_trials: FloatArray, n_judges: int) -> str:
    """Why the mixed model has no random intercept of judges on a case."""
    judged = n_trials.reshape(n_judges, -1, n_trials.shape[2]).sum(axis=1)
    if judged.any(axis=1).sum() < 2:
        return ALONE
    return NOT_IN_MODEL if (judged > 1).any() else NO_REPEATS


def _flaws(beta: FloatArray, converged: BoolArray) -> list[str]:
    """Why each of F fits has no estimate; nothing where it has."""
    infinite = np.abs(beta).max(axis=1, initial=0.0) >= _MOST_LOG_ODDS
    return [SEPARATED if far else "" if fine else NOT_CONVERGED for far, fine in zip(infinite, converged, strict=True)]


def _start(marginal: gee.Gee) -> FloatArray:
    """Where the mixed model may begin: marginal log odds are nearer to 0 by what cases differ in."""
    correlation = float(np.clip(np.nan_to_num(marginal.alpha[0]), 0.01, 0.9))
    variance = np.pi**2 / 3 * correlation / (1 - correlation)
    return np.append(marginal.beta[0] * np.sqrt(1 + 0.346 * variance), np.sqrt(variance))


def _spread(sd: float, se: float, reason: str, df: float, *, few: bool) -> Row:
    """The standard deviation of a random intercept, its interval symmetric on the logarithmic scale."""
    if reason:
        return {"reason": reason}
    if sd == 0:
        return {"estimate": 0.0, "reason": NO_SPREAD}
    if few or not df > 0:
        return {"estimate": sd, "reason": FEW_CLUSTERS if few else FEW_FOR_MODEL}
    width = float(special.stdtrit(df, (1 + CONFIDENCE) / 2) * se / sd)
    if width > _MOST_LOG_ODDS:
        return {"estimate": sd, "reason": FLAT}
    return {"estimate": sd, "se": se, "low": sd / np.exp(width), "high": sd * np.exp(width)}


def each_judge(judges: Sequence[str], each: Observations, covariates: Covariates) -> list[Row]:
    """The rows of the models of one judge, and of the tests of what differs between judges; see `all_judges`."""
    terms = single(covariates)
    data, pure = _without_pure(terms, each)
    marginal = gee.fit(terms.design, data, "independence")
    df = degrees(terms, marginal.kept, data)
    flaw = _flaws(marginal.beta, marginal.converged)
    fits = Fits(terms, data, marginal.beta, marginal.kept, marginal.robust, flaw, df, logistic)
    rows: list[Row] = []
    for judge, verdicts, lines in zip(judges, each.n_trials.sum(axis=(1, 2)), rows_of(fits, pure), strict=True):
        if verdicts > 0:
            rows.extend({"part": ONE, "model": "gee", "judge": judge, **row} for row in lines)
    return [*rows, *interactions(covariates, each, marginal.beta)]


def _without_pure(terms: Terms, data: Observations) -> tuple[Observations, dict[tuple[str, int, int], str]]:
    """Leave out the levels of factors that are always right or always wrong, whose log odds are infinite.

    Returns
    -------
    The observations without them, and why, by factor, fit and level.
    """
    n_correct, n_trials = data.n_correct.copy(), data.n_trials.copy()
    pure: dict[tuple[str, int, int], str] = {}
    while True:
        before = len(pure)
        for name, (columns, _) in terms.levels.items():
            cells, cases = terms.design.cells[:, columns], terms.design.cases[:, columns]
            hits, all_of = (((values @ cases) * cells).sum(axis=1) for values in (n_correct, n_trials))
            for fit, level in np.argwhere((all_of > 0) & ((hits == 0) | (hits == all_of))):
                pure[name, int(fit), int(level)] = ALWAYS_WRONG if hits[fit, level] == 0 else ALWAYS_RIGHT
                gone = cells[:, level, None] * cases[:, level] > 0
                n_correct[fit][gone], n_trials[fit][gone] = 0.0, 0.0
        if len(pure) == before:
            return Observations(n_correct, n_trials, data.cluster), pure


def degrees(terms: Terms, kept: BoolArray, data: Observations) -> FloatArray:
    """Degrees of freedom: clusters less the covariates that only cases have; NaN where none is left."""
    of_cases = ~(np.ptp(terms.design.cells, axis=0) > 0)
    clusters = clusters_seen(data.n_trials.sum(axis=1) > 0, data.cluster)
    df = (clusters - (kept & of_cases).sum(axis=1)).astype(np.float64)
    return np.where(df >= 1, df, np.nan)


def rows_of(fits: Fits, pure: dict[tuple[str, int, int], str]) -> list[list[Row]]:
    """The rows of each of F fits."""
    levels = {name: _levels(fits, name) for name in fits.terms.levels}
    factors = [line for name, seen_levels in levels.items() for line in _factor(fits, name, seen_levels, pure)]
    lines = [*_intercept(fits, levels), *factors, *_numbers(fits)]
    out: list[list[Row]] = [[] for _ in fits.beta]
    quantile = np.asarray(special.stdtrit(fits.df, (1 + CONFIDENCE) / 2))
    for line in lines:
        contrast = _padded(line.contrast, fits.cov.shape[1])
        estimate = (line.contrast * fits.beta).sum(axis=1)
        se = _width(contrast, fits.cov)
        p_value = 2 * special.stdtr(fits.df, -np.abs(divide(estimate, se)))
        effect = None if line.effect is None else line.effect.value
        effect_se = None if line.effect is None else _width(line.effect.gradient, fits.cov)
        for f, rows in enumerate(out):
            row: Row = {"term": line.term, "level": line.level, "n": line.n[f], "n_clusters": line.n_clusters[f]}
            reason = line.reason[f] or fits.flaw[f]
            if not reason:
                few = FEW_CLUSTERS if line.few[f] else "" if fits.df[f] > 0 else FEW_FOR_MODEL
                few = few or (NO_VARIATION if se[f] < _NO_SPREAD else "")
                row |= {"estimate": estimate[f]} | ({} if effect is None else {"marginal_effect": effect[f]})
                if not few:
                    row |= {"se": se[f], **_ends("", estimate[f], quantile[f] * se[f])}
                    row |= {} if effect is None else {"p_value": p_value[f]}  # an intercept is a level, no hypothesis
                    if effect is not None and effect_se is not None:
                        row |= _ends("marginal_effect_", effect[f], quantile[f] * effect_se[f])
                reason = join_reasons(few, NO_EFFECT if effect is None else "") or ""
            rows.append({**row, "reason": reason or None})
    return out


def _ends(prefix: str, value: float, half: float) -> Row:
    return {f"{prefix}low": value - half, f"{prefix}high": value + half}


def _width(contrast: FloatArray, cov: FloatArray) -> FloatArray:
    variance = (np.matmul(contrast[:, None, :], cov)[:, 0] * contrast).sum(axis=1)
    out: FloatArray = np.sqrt(np.maximum(variance, 0.0))
    return out


def _padded(contrast: FloatArray, width: int) -> FloatArray:
    """A contrast of the coefficients, with a zero for the standard deviation of the random intercepts."""
    rest = width - contrast.shape[1]
    return np.hstack([contrast, np.zeros((len(contrast), rest))]) if rest else contrast


class _Levels(NamedTuple):
    """The levels of a factor in F fits, each array of shape (F, L).

    `usable` have an observation, and `reference` are those that the others are compared with: all that have clusters
    enough for an interval. A level of fewer has a variance that is far too small, and no other level may rest on it.
    """

    usable: BoolArray
    reference: BoolArray
    n: FloatArray
    n_clusters: IntArray


def _levels(fits: Fits, name: str) -> _Levels:
    columns, levels = fits.terms.levels[name]
    cells, cases = fits.terms.design.cells[:, columns], fits.terms.design.cases[:, columns]
    seen = np.einsum("fcn,cl->fln", fits.data.n_trials, cells, optimize=True) * cases.T
    n_clusters = np.stack([clusters_seen(seen[:, i] > 0, fits.data.cluster) for i in range(len(levels))], axis=1)
    usable: BoolArray = n_clusters > 0
    enough: BoolArray = n_clusters >= FEWEST_CLUSTERS
    return _Levels(usable, np.where(enough.any(axis=1, keepdims=True), enough, usable), seen.sum(axis=2), n_clusters)


def _intercept(fits: Fits, levels: dict[str, _Levels]) -> list[_Line]:
    """The mean over the levels of all factors that others are compared with."""
    contrast = np.zeros(fits.beta.shape)
    seen = fits.data.n_trials.sum(axis=1)
    n_clusters = clusters_seen(seen > 0, fits.data.cluster)
    few = n_clusters < FEWEST_CLUSTERS
    for name, seen_levels in levels.items():
        columns, _ = fits.terms.levels[name]
        contrast[:, columns] = divide(
            seen_levels.reference.astype(np.float64), seen_levels.reference.sum(axis=1)[:, None]
        )
        few |= (seen_levels.reference & (seen_levels.n_clusters < FEWEST_CLUSTERS)).any(axis=1)
    reason = ["" if fine else UNSEEN for fine in seen.any(axis=1)]
    return [_Line("intercept", None, np.nan_to_num(contrast), None, seen.sum(axis=1), n_clusters, few, reason)]


def _factor(fits: Fits, name: str, seen_levels: _Levels, pure: dict[tuple[str, int, int], str]) -> list[_Line]:
    """The rows of a factor: each level against the mean of all that have clusters enough."""
    columns, levels = fits.terms.levels[name]
    if name == "intercept":
        return []
    # A factor after the first one has one level too many, which is no harm; two too many are.
    spare = 0 if name == next(iter(fits.terms.levels)) else 1
    unclear = (seen_levels.usable & ~fits.kept[:, columns]).sum(axis=1) > spare
    averages = level_averages(fits.terms, name, fits.beta, fits.data.n_trials, fits.response)
    compare = deviations(seen_levels.usable, seen_levels.reference)
    value, gradient = (np.einsum("flk,fk...->fl...", compare, np.nan_to_num(array)) for array in averages)
    alone = ~(np.abs(compare).sum(axis=2) > 0)
    lines = []
    for level, text in enumerate(levels):
        contrast = np.zeros(fits.beta.shape)
        contrast[:, columns] = compare[:, level]
        reason = [
            pure.get((name, f, level), "")
            or (UNSEEN if not seen_levels.usable[f, level] else "")
            or (ONE_LEVEL if alone[f, level] else "")
            or (ALIASED if unclear[f] else "")
            for f in range(len(contrast))
        ]
        effect = Average(value[:, level], gradient[:, level])
        counts = (
            seen_levels.n[:, level],
            seen_levels.n_clusters[:, level],
            seen_levels.n_clusters[:, level] < FEWEST_CLUSTERS,
        )
        lines.append(_Line(name, text, contrast, effect, *counts, reason))
    return lines


def _numbers(fits: Fits) -> list[_Line]:
    seen = fits.data.n_trials.sum(axis=1)
    n_clusters = clusters_seen(seen > 0, fits.data.cluster)
    lines = []
    for term in numeric_terms(fits.terms, fits.beta, fits.data.n_trials, fits.response):
        kept = fits.kept[:, fits.terms.numbers[term.term]]
        reason = [
            UNSEEN if not any_seen else "" if fine else ALIASED
            for any_seen, fine in zip(seen.any(axis=1), kept, strict=True)
        ]
        contrast = np.broadcast_to(term.contrast, fits.beta.shape)
        few = n_clusters < FEWEST_CLUSTERS
        lines.append(_Line(term.term, term.level, contrast, term.effect, seen.sum(axis=1), n_clusters, few, reason))
    return lines
