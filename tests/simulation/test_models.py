"""Intervals of the correctness models cover, their tests have the size they claim, planted biases are found.

SIMULATED data of known truth. Each simulated benchmark is a dimension of one call.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from scipy.stats import t as student

from mrb_lib.stats.core.panel import Panel
from mrb_lib.stats.models import gee, mixed
from mrb_lib.stats.models.effects import logistic, logistic_normal
from mrb_lib.stats.models.model_rows import degrees, rows_of
from mrb_lib.stats.models.model_tests import Fits, Row, interactions
from mrb_lib.stats.models.observations import Observations
from mrb_lib.stats.models.table import models
from mrb_lib.stats.models.terms import Covariates, pooled

from .shares import is_near

JUDGES = np.array([-0.5, 0.1, 0.4])
SUBFIELDS = np.array([-0.4, 0.0, 0.4])
FIRST, LONGER, LEVEL, SPREAD, OWN_SPREAD = 0.6, 0.3, 0.5, 1.0, 1.2
BENCHMARKS = {("gee", 100): 400, ("mixed", 100): 250}
# The mixed model at 1,000 cases takes two minutes for 1,000 benchmarks: 95% intervals covered .946 to .964 of the time.
# Over 400 benchmarks a coverage is to be within three standard errors, .033, of 95%, over 250 within .041: errors that
# are a fifth too small cover 88% of each of twelve truths. statsmodels takes eight times as long for exchangeable fits:
# the coverage is that under independence, and a test of its own shows that their intervals are the same.
AT_ONCE = 50


class Benchmarks:
    """Cases that all simulated benchmarks share, and the verdicts of three judges on them."""

    def __init__(self, n: int, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.n = n
        self.kind = np.arange(n) % 3
        lengths = np.exp(self.rng.normal(5, 0.5, (2, n))).astype(int) + 1
        self.cases = pd.DataFrame(
            {
                "case_id": [f"c{i}" for i in range(n)],
                "department": np.array(["Cardiology", "Neurology", "Pulmonology"])[self.kind],
                "response_a": ["x" * k for k in lengths[0]],
                "response_b": ["x" * k for k in lengths[1]],
            }
        )
        ratio = np.log(lengths[0] / lengths[1])
        self.label = self.rng.integers(0, 2, n)
        self.sign = np.where(self.label == 0, 1.0, -1.0)
        self.longer = self.sign * ratio / np.sqrt(np.mean(ratio**2))

    def eta(self) -> np.ndarray:
        """The log odds, shape (judges, 2 orders, cases); order does nothing by itself."""
        first = FIRST * np.array([0.5, -0.5])[:, None] * self.sign
        return LEVEL + JUDGES[:, None, None] + SUBFIELDS[self.kind] + first + LONGER * self.longer

    def tables(self, right: np.ndarray) -> tuple[Panel, pd.DataFrame, pd.DataFrame]:
        """From who is right, shape (benchmarks, judges, 2, cases)."""
        names = [f"d{i:03d}" for i in range(len(right))]
        choice = np.where(right, self.label, 1 - self.label).astype(np.int8)
        choice = np.ascontiguousarray(choice.transpose(1, 0, 3, 2))[..., None]
        panel = Panel(["a", "b", "c"], names, [0], choice, None, pd.DataFrame(columns=["dimension"]))
        gold = pd.DataFrame(
            {
                "case_id": np.tile(self.cases["case_id"], len(names)),
                "dimension": np.repeat(names, self.n),
                "choice": np.tile(np.array(["A", "B"])[self.label], len(names)),
            }
        )
        return panel, gold, self.cases

    def with_intercepts(self, benchmarks: int) -> np.ndarray:
        """The mixed model is true: each judge finds some cases easier than the others do, in either order."""
        easier = SPREAD * self.rng.normal(size=(benchmarks, 1, 1, self.n))
        eta = self.eta() + easier + OWN_SPREAD * self.rng.normal(size=(benchmarks, 3, 1, self.n))
        return self.rng.random(eta.shape) < 1 / (1 + np.exp(-eta))

    def with_copula(self, benchmarks: int) -> np.ndarray:
        """The marginal model is true: verdicts on a case go together, each with its own logistic probability."""
        shape = (benchmarks, *self.eta().shape)
        latent = 0.6 * self.rng.normal(size=(benchmarks, 1, 1, self.n)) + 0.8 * self.rng.normal(size=shape)
        return norm.cdf(latent) < 1 / (1 + np.exp(-self.eta()))

    def known(self) -> Covariates:
        one_hot = (self.kind[:, None] == np.arange(3)).astype(float)
        return Covariates(["Cardiology", "Neurology", "Pulmonology"], one_hot, self.sign, self.longer)


TERMS = {
    ("judge", "a"): JUDGES[0],
    ("judge", "c"): JUDGES[2],
    ("subfield", "Cardiology"): SUBFIELDS[0],
    ("subfield", "Pulmonology"): SUBFIELDS[2],
    ("order", "BA"): 0.0,
    ("gold_first", "yes"): FIRST,
    ("length_difference", None): LONGER,
}


@lru_cache(maxsize=2)
def fitted(n: int, model: str) -> tuple[pd.DataFrame, Benchmarks]:
    """The rows of many benchmarks at once; their covariates are the same, so that one call fits them all."""
    made = Benchmarks(n, seed=n)
    terms = pooled(["a", "b", "c"], made.known())
    count = BENCHMARKS[model, n]
    right = (made.with_copula(count) if model == "gee" else made.with_intercepts(count)).astype(float)
    every: list[Row] = []
    for begin in range(0, count, AT_ONCE):
        some = right[begin : begin + AT_ONCE].reshape(-1, 6, n)
        data = Observations(some, np.ones_like(some), np.arange(n))
        found = gee.fit(terms.design, data, "independence")
        df = degrees(terms, found.kept, data)
        if model == "gee":
            flaws = [""] * len(some)
            table = rows_of(Fits(terms, data, found.beta, found.kept, found.robust, flaws, df, logistic), {})
            every += [row for rows in table for row in rows]
            continue
        for i in range(len(some)):
            one = Observations(data.n_correct[i : i + 1], data.n_trials[i : i + 1], data.cluster)
            fit = mixed.fit(terms.design, one, 3, nodes=5, start=np.append(found.beta[i] * 1.15, 1.0))
            flaw, curve = ["" if fit.converged else "failed"], logistic_normal(fit.spread)
            fits = Fits(
                terms, one, fit.beta[None], fit.kept[None, :-2], fit.robust_with_spread[None], flaw, df[:1], curve
            )
            every += rows_of(fits, {})[0]
    return pd.DataFrame(every), made


def rows(frame: pd.DataFrame, term: str, level: str | None) -> pd.DataFrame:
    found = frame[(frame["term"] == term) & (frame["level"].isna() if level is None else frame["level"] == level)]
    assert len(found) in BENCHMARKS.values()
    return found


def effects(made: Benchmarks, spread: float) -> dict[tuple[str, str | None], float]:
    """The true average marginal effects, by averaging over cases, judges, orders and random intercepts."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(41)

    def chance(eta: np.ndarray) -> float:
        return float((1 / (1 + np.exp(-(eta[..., None] + spread * nodes))) @ weights / weights.sum()).mean())

    eta = made.eta()
    first = FIRST * np.array([0.5, -0.5])[:, None] * made.sign
    by_judge = [chance(eta - JUDGES[:, None, None] + value) for value in JUDGES]
    by_kind = [chance(eta - SUBFIELDS[made.kind] + value) for value in SUBFIELDS]
    return {
        ("judge", "a"): by_judge[0] - np.mean(by_judge),
        ("subfield", "Pulmonology"): by_kind[2] - np.mean(by_kind),
        ("order", "BA"): 0.0,
        ("gold_first", "yes"): chance(eta - first + FIRST / 2) - chance(eta - first - FIRST / 2),
        ("length_difference", None): (chance(eta + 1e-4 * LONGER) - chance(eta - 1e-4 * LONGER)) / 2e-4,
    }


@pytest.mark.slow
@pytest.mark.parametrize(("model", "n"), list(BENCHMARKS))
def test_coverage(model: str, n: int) -> None:
    """Log odds and marginal effects; the gee's where the marginal model is true, the mixed model's where that is."""
    frame, made = fitted(n, model)
    wrong = {}
    for (term, level), truth in TERMS.items():
        found = rows(frame, term, level)
        covered = ((found["low"] <= truth) & (truth <= found["high"])).mean()
        if not is_near(covered, 0.95, len(found), least=0.02):
            wrong[term, level] = covered
    for (term, level), truth in effects(made, np.hypot(SPREAD, OWN_SPREAD) if model == "mixed" else 0.0).items():
        found = rows(frame, term, level)
        covered = ((found["marginal_effect_low"] <= truth) & (truth <= found["marginal_effect_high"])).mean()
        if not is_near(covered, 0.95, len(found), least=0.02):
            wrong["marginal", term, level] = covered
    assert not wrong


@pytest.mark.slow
def test_exchangeable_fits_have_the_intervals_of_independent_ones() -> None:
    """Over 40 benchmarks, whose coverage under independence is tested above: centres and widths hardly differ."""
    made = Benchmarks(100, seed=5)
    terms = pooled(["a", "b", "c"], made.known())
    right = made.with_copula(40).astype(float).reshape(-1, 6, 100)
    data = Observations(right, np.ones_like(right), np.arange(100))
    plain, found = (gee.fit(terms.design, data, name) for name in ("independence", "exchangeable"))
    assert (plain.kept == found.kept).all()
    assert (found.alpha > 0.1).all()
    error, width = (
        np.sqrt(np.diagonal(fits.robust, axis1=1, axis2=2))[:, fits.kept.all(axis=0)] for fits in (plain, found)
    )
    moved = np.abs(found.beta - plain.beta)[:, found.kept.all(axis=0)] / error
    assert width.shape[1] == 8
    assert moved.mean(axis=0).max() < 0.1
    assert (width / error).mean(axis=0) == pytest.approx(1, abs=0.01)


@pytest.mark.slow
def test_size_of_the_tests_of_terms_that_do_nothing() -> None:
    """Each of five terms without effect by itself, in 500 benchmarks: 2.1 to 7.9% of them are to be rejected."""
    n, benchmarks = 100, 500
    made = Benchmarks(n, seed=3)
    made.eta = lambda: np.full((3, 2, n), LEVEL)
    right = made.with_copula(benchmarks).astype(float).reshape(benchmarks, 6, n)
    terms = pooled(["a", "b", "c"], made.known())
    contrasts = np.zeros((5, terms.design.cells.shape[1]))
    contrasts[0, [0, 2]] = contrasts[1, [4, 5]] = [1, -1]
    contrasts[[2, 3, 4], list(terms.numbers.values())] = 1
    p_values = []
    for begin in range(0, benchmarks, 10 * AT_ONCE):
        some = right[begin : begin + 10 * AT_ONCE]
        data = Observations(some, np.ones_like(some), np.arange(n))
        found = gee.fit(terms.design, data, "independence")
        se = np.sqrt(np.einsum("tp,fpq,tq->ft", contrasts, found.robust, contrasts))
        df = degrees(terms, found.kept, data)[:, None]
        p_values.append(2 * student.sf(np.abs(found.beta @ contrasts.T / se), df))
    rejected = (np.concatenate(p_values) < 0.05).mean(axis=0)
    assert is_near(rejected, 0.05, benchmarks, least=0.01), rejected


def interaction_sizes(judges: int, kind: np.ndarray, benchmarks: int, seed: int) -> dict[str, float]:
    """How often the test of each interaction rejects where judges differ in nothing but how they err on a case."""
    rng = np.random.default_rng(seed)
    n, levels = len(kind), int(kind.max()) + 1
    one_hot = (kind[:, None] == np.arange(levels)).astype(float)
    p_values: dict[str, list[float]] = {}
    for _ in range(benchmarks):
        known = Covariates([f"k{i}" for i in range(levels)], one_hot, rng.choice([-1.0, 1.0], n), rng.normal(size=n))
        # Judges err together on hard cases, and each in both orders alike on some.
        own = np.where(rng.random((judges, 1, n)) < 0.5, rng.random((judges, 1, n)), rng.random((judges, 2, n)))
        right = (np.where(rng.random((1, 1, n)) < 0.4, rng.random((1, 1, n)), own) < 0.65).astype(float)
        near = np.zeros((judges, levels + 3))
        for row in interactions(known, Observations(right, np.ones_like(right), np.arange(n)), near):
            p_values.setdefault(str(row["term"]), []).append(float(str(row["p_value"])))
    return {term: float((np.array(values) < 0.05).mean()) for term, values in p_values.items()}


@pytest.mark.slow
@pytest.mark.parametrize(("judges", "n", "rare", "benchmarks"), [(3, 100, 0, 350), (8, 300, 5, 250), (32, 400, 35, 60)])
def test_size_of_the_tests_of_interactions(judges: int, n: int, rare: int, benchmarks: int) -> None:
    """Also where one level has few cases, for which a Wald test rejects nearly always; three standard errors."""
    kind = 1 + np.arange(n) % 3
    kind[:rare] = 0
    found = interaction_sizes(judges, kind if rare else kind - 1, benchmarks, judges + n + rare)
    slack = max(0.01, 3 * np.sqrt(0.05 * 0.95 / benchmarks))
    assert all(abs(size - 0.05) <= slack for size in found.values()), found
    assert 0.04 <= np.mean(list(found.values())) <= 0.06, found


@pytest.mark.slow
def test_the_whole_table_recovers_planted_biases_and_tests_what_differs_between_judges() -> None:
    """Judge c alone prefers what it is shown first and what is longer: the interactions say so, the others do not."""
    made = Benchmarks(200, seed=4)
    eta = np.full((3, 2, 200), LEVEL) + SUBFIELDS[made.kind]
    eta[2] += 1.5 * np.array([0.5, -0.5])[:, None] * made.sign + 0.8 * made.longer
    made.eta = lambda: eta
    frame = models(*made.tables(made.with_copula(20)))
    assert len(frame["dimension"].unique()) == 20
    test = frame[frame["part"] == "interaction"].pivot(index="dimension", columns="term", values="p_value")
    rejected = (test < 0.05).mean()
    assert rejected["judge:gold_first"] > 0.9
    assert rejected["judge:length_difference"] > 0.9
    assert rejected["judge:order"] < 0.15
    assert rejected["judge:subfield"] < 0.15
    one = frame[frame["part"] == "one judge"].groupby(["judge", "term"])["estimate"].mean()
    assert one["c", "gold_first"] == pytest.approx(1.5, abs=0.1)
    assert one["c", "length_difference"] == pytest.approx(0.8, abs=0.06)
    assert one["a", "gold_first"] == pytest.approx(0.0, abs=0.08)
