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


def test_the_risk_ratios_by_dersimonian_and_laird() -> None:
    found = of_one(*risk_ratios())
    assert found.q == pytest.approx(152.2330, abs=5e-5)
    assert found.tau2_dl == pytest.approx(0.3088, abs=5e-5)
    assert 100 * found.i2 == pytest.approx(92.12, abs=5e-3)


def test_the_risk_ratios_by_reml() -> None:
    found = of_one(*risk_ratios())
    assert found.tau2 == pytest.approx(0.3132, abs=5e-5)
    assert found.estimate == pytest.approx(-0.7145, abs=5e-5)
    assert (found.tau2_low, found.tau2_high) == pytest.approx((0.1197, 1.1115), abs=5e-5)
    # metafor's I2 of REML, 92.22 %, is tau2 over tau2 and the typical variance, which I2 by Q implies; more digits
    # by maximising the restricted likelihood with scipy.
    typical = found.tau2_dl * (1 - found.i2) / found.i2
    assert found.tau2 / (found.tau2 + typical) == pytest.approx(0.9222139, abs=5e-7)
    # metafor finds these bounds to about 1e-4 in tau2 (`uniroot`'s default), which is .003 in the first of them.
    assert (100 * found.i2_low, 100 * found.i2_high) == pytest.approx((81.9177, 97.6781), abs=0.005)


def test_hartung_and_knapps_interval() -> None:
    found = of_one(*risk_ratios())
    assert (found.low, found.high) == pytest.approx((-1.1084, -0.3206), abs=5e-5)


def test_the_odds_ratios_and_their_q_profile() -> None:
    found = of_one(*odds_ratios())
    assert (found.tau2_low, found.tau2_high) == pytest.approx((0.1302, 1.1812), abs=1.2e-4)


def test_statsmodels_agrees() -> None:
    for effect, variance in (risk_ratios(), odds_ratios()):
        expected = combine_effects(effect, variance, method_re="dl", use_t=True)
        found = of_one(effect, variance)
        assert found.tau2_dl == pytest.approx(expected.tau2, abs=1e-6)
        assert found.q == pytest.approx(expected.q, abs=1e-6)
        assert found.i2 == pytest.approx(expected.i2, abs=1e-6)
