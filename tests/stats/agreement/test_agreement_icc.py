"""Intraclass correlations are pingouin's where annotations are complete, and unbiased where they are not."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pingouin
import pytest

from mrb_lib.stats.agreement import icc


def sums_of(scores: np.ndarray) -> np.ndarray:
    """Sums of a table of cases by annotators; NaN where there is no score."""
    case, annotator = np.nonzero(~np.isnan(scores))
    found = icc.case_sums(case, annotator, scores[case, annotator], len(scores))
    return np.asarray(found.sum(axis=0), dtype=float)[None]


def simulated(n: int, annotators: int, generator: np.random.Generator) -> np.ndarray:
    """Variances: 1 of cases, .36 of annotators, 1 of the rest."""
    noise = generator.normal(size=(n, annotators))
    return generator.normal(size=(n, 1)) + 0.6 * generator.normal(size=(1, annotators)) + noise


@pytest.mark.filterwarnings("ignore:The inplace keyword")  # pingouin with pandas 3.1
@pytest.mark.parametrize(("n", "annotators"), [(6, 2), (40, 3), (25, 7)])
def test_complete_scores_as_in_pingouin(n: int, annotators: int) -> None:
    scores = simulated(n, annotators, np.random.default_rng(n))
    long = pd.DataFrame(scores).reset_index().melt("index")
    expected = pingouin.intraclass_corr(long, "index", "variable", "value").set_index("Type")
    sums = sums_of(scores)
    assert icc.coefficients(sums)[0] == pytest.approx(expected.loc[["ICC(A,1)", "ICC(A,k)"], "ICC"].tolist(), abs=1e-9)
    squares = icc.Squares.of(sums)
    single = icc.f_intervals(squares)
    several = [icc.stepped_up(bound, squares.per_case) for bound in single]
    for name, bounds in (("ICC(A,1)", single), ("ICC(A,k)", several)):
        assert np.round([bound[0] for bound in bounds], 2).tolist() == pytest.approx(
            np.asarray(expected.loc[name, "CI95"], dtype=float).tolist()
        )


def test_a_weight_is_a_repetition() -> None:
    generator = np.random.default_rng(1)
    scores = simulated(20, 4, generator)
    scores[generator.random(scores.shape) < 0.3] = np.nan
    weight = generator.integers(0, 4, 20)
    case, annotator = np.nonzero(~np.isnan(scores))
    table = icc.case_sums(case, annotator, scores[case, annotator], 20)
    repeated = sums_of(np.repeat(scores, weight, axis=0))
    assert icc.coefficients((weight @ table)[None]) == pytest.approx(icc.coefficients(repeated), abs=1e-12)


def test_missing_scores_leave_the_components_unbiased() -> None:
    """300 tables of which a third to a half is missing; truth 1 / 2.36."""
    generator = np.random.default_rng(2)
    found = []
    for _ in range(300):
        scores = simulated(120, 8, generator)
        scores[generator.random(scores.shape) < generator.uniform(0.3, 0.5)] = np.nan
        found.append(icc.coefficients(sums_of(scores))[0])
    single, several = np.mean(found, axis=0)
    error = np.std(found, axis=0) / np.sqrt(len(found))
    # The ratio of unbiased components leans by about a sampling variance; that of eight annotators is not small.
    assert single == pytest.approx(1 / 2.36, abs=0.01 + 3 * error[0])
    assert several > single


def test_scores_that_do_not_vary_have_no_icc() -> None:
    assert np.isnan(icc.coefficients(sums_of(np.full((5, 3), 1 / 3)))).all()
    assert np.isnan(icc.f_intervals(icc.Squares.of(sums_of(np.full((5, 3), 1 / 3))))[0]).all()
    perfect = np.tile(np.arange(5.0)[:, None], (1, 3))
    assert icc.coefficients(sums_of(perfect))[0] == pytest.approx([1, 1])
    assert np.isnan(icc.f_intervals(icc.Squares.of(sums_of(perfect)))[0]).all()


def test_cases_with_one_score_do_not_count() -> None:
    scores = simulated(30, 3, np.random.default_rng(3))
    more = np.vstack([scores, [[5.0, np.nan, np.nan]]])
    assert icc.coefficients(sums_of(more)) == pytest.approx(icc.coefficients(sums_of(scores)))
