"""PPI++ on PandaLM's labels and verdicts, against the formulas of its paper written out (arXiv 2311.01453).

Section 6 of the paper, for a mean: theta = mean(Y) + lambda (mean(F_unlabelled) - mean(F)); its variance is
lambda^2 Var(F) / N + Var(Y - lambda F) / n; lambda is Cov(Y, F) / ((1 + n / N) Var(F)). The authors' package ppi_py
has the same, with variances over n; the workbench multiplies that of the n labels by n / (n - 1) and takes Student's
quantile.
"""

import numpy as np
import pytest
from scipy import stats

from mrb_lib.benchmarks.formats import Imported
from mrb_lib.benchmarks.votes import gold
from tests.stats.small_tables import rows_of

SCORE = {"A": 1.0, "tie": 0.5, "B": 0.0}


def by_the_paper(y: np.ndarray, f: np.ndarray, f_more: np.ndarray) -> tuple[float, float, float]:
    """The estimate, its variance (that of the labels times n / (n - 1)), and lambda."""
    n, more = len(y), len(f_more)
    power = np.cov(y, f, ddof=0)[0, 1] / ((1 + n / more) * np.var([*f, *f_more], ddof=1))
    power = min(max(power, 0.0), 1.0)
    estimate = y.mean() + power * (f_more.mean() - f.mean())
    return estimate, power**2 * f_more.var() / more + (y - power * f).var(ddof=1) / n, power


@pytest.mark.parametrize("responder", ["llama-7b", "opt-7b"])
@pytest.mark.parametrize("judge", ["gpt-3.5-turbo", "pandalm-7b"])
def test_win_rates_of_pandalm_from_three_hundred_labels(pandalm_as_tie: Imported, judge: str, responder: str) -> None:
    cases, labels = pandalm_as_tie.benchmark.cases, gold(pandalm_as_tie.benchmark)
    kept = np.random.default_rng(5).permutation(cases["case_id"])[:300]
    few = labels[labels["case_id"].isin(kept)]
    frame = rows_of("ppi", cases, pandalm_as_tie.verdicts, few, cluster="case_id")
    row = frame[(frame["part"] == "estimate") & (frame["judge"] == judge) & (frame["responder"] == responder)].iloc[0]

    said = pandalm_as_tie.verdicts[pandalm_as_tie.verdicts["judge"] == judge].set_index("case_id")["choice"].map(SCORE)
    truth = labels.set_index("case_id")["choice"].map(SCORE)
    own = cases[(cases["model_a"] == responder) | (cases["model_b"] == responder)].set_index("case_id")
    turned = own["model_b"] == responder
    y, f = (values.reindex(own.index).where(~turned, 1 - values.reindex(own.index)) for values in (truth, said))
    known = own.index.isin(kept)
    estimate, variance, power = by_the_paper(y[known].to_numpy(), f[known].to_numpy(), f[~known].to_numpy())
    n = int(known.sum())
    assert (row["n_labelled"], row["n_unlabelled"]) == (n, len(own) - n)
    assert row["estimate"] == pytest.approx(estimate, abs=1e-12)
    assert row["lambda"] == pytest.approx(power, abs=1e-12)
    half = stats.t.ppf(0.975, n - 1) * np.sqrt(variance)
    assert (row["low"], row["high"]) == pytest.approx((estimate - half, estimate + half), abs=1e-12)
    assert row["classical_estimate"] == pytest.approx(y[known].mean(), abs=1e-12)
    classical = stats.t.interval(0.95, n - 1, y[known].mean(), stats.sem(y[known]))
    assert (row["classical_low"], row["classical_high"]) == pytest.approx(classical, abs=1e-12)
    assert row["correlation"] == pytest.approx(np.corrcoef(y[known], f[known])[0, 1], abs=1e-12)
