"""Random-effects meta-analysis of the BCG vaccine trials (Colditz et al. 1994), as metafor and others publish it.

The counts are `dat.bcg` of the R package metadat: 13 trials of BCG against tuberculosis. Results: metafor
(Viechtbauer 2010, doi:10.18637/jss.v036.i03) in the tests of its repository, github.com/wviechtb/metafor, files
test_misc_metan_vs_rma.uni_with_dat.bcg.r, test_misc_confint.r and test_analysis_example_vanhouwelingen2002.r (the
odds ratios; the paper, doi:10.1002/sim.1040, has another interval). What depends on the variance between by REML there
is not compared, since it is Paule and Mandel's here.
"""

import numpy as np
import pytest
from statsmodels.stats.meta_analysis import combine_effects

from mrb_lib.stats.tables.transfer import Pooled, pool

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


def as_tau2(i2: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """The variance between that is this share of the variation (Higgins and Thompson 2002, equation 9)."""
    weight = 1 / variance
    typical = (len(weight) - 1) * weight.sum() / (weight.sum() ** 2 - (weight**2).sum())
    return np.asarray(typical * i2 / (1 - i2))


@pytest.mark.parametrize(
    ("ratios", "q", "i2", "tau2"),
    [
        (risk_ratios, 152.2330, (81.9177, 97.6781), (0.1197, 1.1115)),
        (odds_ratios, None, None, (0.1302, 1.1812)),
    ],
)
def test_the_heterogeneity_and_its_q_profile(ratios, q, i2, tau2: tuple[float, float]) -> None:
    """metafor finds these bounds to about 1e-4 in tau2 (`uniroot`'s default), which is .003 in the first of them."""
    effect, variance = ratios()
    found = of_one(effect, variance)
    assert q is None or found.q == pytest.approx(q, abs=5e-5)
    assert i2 is None or (100 * found.i2_low, 100 * found.i2_high) == pytest.approx(i2, abs=0.005)
    assert as_tau2(np.array([found.i2_low, found.i2_high]), variance) == pytest.approx(tau2, abs=1.2e-4)
    assert as_tau2(found.i2, variance) == pytest.approx(found.tau2)


def test_trials_that_happen_to_agree_narrow_no_interval() -> None:
    """metafor 3.8-1 in R 4.2.2: rma(yi, vi, data = d[1:3, ], method = "REML", test = "adhoc",
    control = list(threshold = 1e-12)). Of these three, Paule and Mandel's variance between is 0 as well.

    Issue 12, point 14: without the bound, test = "knha", the interval is [-1.8327, -.1090].
    """
    found = of_one(*(values[:3] for values in risk_ratios()))
    expected = (-1.330234149243, -2.650653745595, -0.009814552891)
    assert (found.estimate, found.low, found.high) == pytest.approx(expected, abs=1e-6)
    assert (found.tau2, found.i2) == pytest.approx((0, 0), abs=1e-6)


def test_hartung_and_knapps_interval_is_that_of_statsmodels() -> None:
    for effect, variance in (risk_ratios(), odds_ratios()):
        expected = combine_effects(effect, variance, method_re="pm", use_t=True)
        found = of_one(effect, variance)
        assert found.q == pytest.approx(expected.q, abs=1e-6)
        assert found.tau2 == pytest.approx(expected.tau2, abs=1e-5)
        half = expected.conf_int()[3][1] - expected.conf_int()[3][0]
        assert found.high - found.low == pytest.approx(half, abs=1e-5)
