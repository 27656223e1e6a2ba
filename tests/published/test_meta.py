"""Random-effects meta-analysis of the BCG vaccine trials (Colditz et al. 1994), as metafor and others publish it.

The counts are `dat.bcg` of the R package metadat: 13 trials of BCG against tuberculosis. Results: metafor
(Viechtbauer 2010, doi:10.18637/jss.v036.i03) in the tests of its repository, github.com/wviechtb/metafor, files
test_misc_metan_vs_rma.uni_with_dat.bcg.r, test_misc_confint.r and test_analysis_example_vanhouwelingen2002.r (the
odds ratios; the paper, doi:10.1002/sim.1040, has another interval), and, by REML, in its README.
"""

from __future__ import annotations

import numpy as np
import pytest
from statsmodels.stats.meta_analysis import combine_effects

from mrb_lib.stats.transfer.meta import Pooled, pool

TUBERCULOSIS = np.array([4, 6, 3, 62, 33, 180, 8, 505, 29, 17, 186, 5, 27])
HEALTHY = np.array([119, 300, 228, 13536, 5036, 1361, 2537, 87886, 7470, 1699, 50448, 2493, 16886])
TUBERCULOSIS_CONTROL = np.array([11, 29, 11, 248, 47, 372, 10, 499, 45, 65, 141, 3, 29])
HEALTHY_CONTROL = np.array([128, 274, 209, 12619, 5761, 1079, 619, 87892, 7232, 1600, 27197, 2338, 17825])


def risk_ratios() -> tuple[np.ndarray, np.ndarray]:
    treated, control = TUBERCULOSIS + HEALTHY, TUBERCULOSIS_CONTROL + HEALTHY_CONTROL
    effect = np.log(TUBERCULOSIS / treated) - np.log(TUBERCULOSIS_CONTROL / control)
    return effect, 1 / TUBERCULOSIS - 1 / treated + 1 / TUBERCULOSIS_CONTROL - 1 / control


def odds_ratios() -> tuple[np.ndarray, np.ndarray]:
    effect = np.log(TUBERCULOSIS * HEALTHY_CONTROL / (TUBERCULOSIS_CONTROL * HEALTHY))
    return effect, 1 / TUBERCULOSIS + 1 / HEALTHY + 1 / TUBERCULOSIS_CONTROL + 1 / HEALTHY_CONTROL


def of_one(effect: np.ndarray, variance: np.ndarray) -> Pooled:
    return Pooled(*(values[0] for values in pool(effect[None], variance[None])))


def typical(found: Pooled) -> float:
    """The sampling variance that I2 compares `tau2` with."""
    return float(found.tau2 * (1 - found.i2) / found.i2)


def test_the_risk_ratios_by_dersimonian_and_laird() -> None:
    found = of_one(*risk_ratios())
    assert found.q == pytest.approx(152.2330, abs=5e-5)
    assert found.tau2_dl == pytest.approx(0.3088, abs=5e-5)
    assert 100 * found.tau2_dl / (found.tau2_dl + typical(found)) == pytest.approx(92.12, abs=5e-3)


def test_the_risk_ratios_by_reml() -> None:
    found = of_one(*risk_ratios())
    assert found.tau2 == pytest.approx(0.3132, abs=5e-5)
    assert found.estimate == pytest.approx(-0.7145, abs=5e-5)
    assert (found.tau2_low, found.tau2_high) == pytest.approx((0.1197, 1.1115), abs=5e-5)
    assert 100 * found.i2 == pytest.approx(92.2213860750, abs=5e-6)
    # metafor finds these bounds to about 1e-4 in tau2 (`uniroot`'s default), which is .003 in the first of them.
    assert (100 * found.i2_low, 100 * found.i2_high) == pytest.approx((81.9177, 97.6781), abs=0.005)


def test_hartung_and_knapps_interval() -> None:
    found = of_one(*risk_ratios())
    assert (found.low, found.high) == pytest.approx((-1.1084, -0.3206), abs=5e-5)


@pytest.mark.parametrize(
    ("trials", "estimate", "low", "high", "tau2", "i2"),
    [
        ([0, 1, 2, 8], -0.97084136568, -1.95334508698, 0.01166235561, 0.18205533176, 0.4893036800),
        ([0, 1, 2], -1.330234149243, -2.650653745595, -0.009814552891, 0.0, 0.0),
    ],
)
def test_trials_that_happen_to_agree_narrow_no_interval(
    trials: list[int], estimate: float, low: float, high: float, tau2: float, i2: float
) -> None:
    """metafor 3.8-1 in R 4.2.2: rma(yi, vi, data = d[trials, ], method = "REML", test = "adhoc",
    control = list(threshold = 1e-12)).

    Issue 12, point 14: without the bound, test = "knha", the intervals are [-1.8327, -.1090] and [-2.2318, -.4286].
    """
    effect, variance = (values[trials] for values in risk_ratios())
    found = of_one(effect, variance)
    assert (found.estimate, found.low, found.high) == pytest.approx((estimate, low, high), abs=1e-6)
    assert (found.tau2, found.i2) == pytest.approx((tau2, i2), abs=1e-6)


def test_no_interval_is_narrower_than_that_of_a_fixed_effect() -> None:
    generator = np.random.default_rng(0)
    variance = generator.uniform(0.01, 0.1, (2000, 6))
    found = pool(generator.normal(0, np.sqrt(variance)), variance)
    fixed = 2 * 1.959963984540054 / np.sqrt((1 / variance).sum(axis=1))
    assert (found.high - found.low >= fixed).all()


def test_the_odds_ratios_and_their_q_profile() -> None:
    found = of_one(*odds_ratios())
    assert (found.tau2_low, found.tau2_high) == pytest.approx((0.1302, 1.1812), abs=1.2e-4)


def test_statsmodels_agrees() -> None:
    for effect, variance in (risk_ratios(), odds_ratios()):
        expected = combine_effects(effect, variance, method_re="dl", use_t=True)
        found = of_one(effect, variance)
        assert found.tau2_dl == pytest.approx(expected.tau2, abs=1e-6)
        assert found.q == pytest.approx(expected.q, abs=1e-6)
        assert found.tau2_dl / (found.tau2_dl + typical(found)) == pytest.approx(expected.i2, abs=1e-6)
