"""A contrast of two groups of judges, where new judges and new cases are drawn each time. SIMULATED data.

Every judge has an ability of its own, every cluster a difficulty, one of its own for each group, and one for each
judge: all three sources of variation that the standard error has to know apart.
"""

from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
from scipy import special

from mrb_lib.stats.tables.groups import contrast

from .panels import covered, rows_of, sampling, tables_of

DRAWS = 1000


class Setting(NamedTuple):
    """Numbers of judges in the two groups and of cases, cases a cluster, and how much judges differ, in log-odds."""

    first: int
    second: int
    cases: int
    in_cluster: int
    judge_sd: float
    shift: float = 0.0


DIFFICULTY, OF_CASE, OF_GROUP, OF_JUDGE = 1.0, 0.5, 0.3, 0.5


def scores(setting: Setting, generator: np.random.Generator) -> np.ndarray:
    """Right and wrong answers, shape (judges, cases); the first group is better by `shift`."""
    judges, clusters = setting.first + setting.second, setting.cases // setting.in_cluster
    group = np.repeat([0, 1], [setting.first, setting.second])
    of_cluster = -generator.normal(0, DIFFICULTY, clusters) + generator.normal(0, OF_GROUP, (2, clusters))[group]
    of_cluster = of_cluster + generator.normal(0, OF_JUDGE, (judges, clusters))
    ability = 0.6 + generator.normal(0, setting.judge_sd, judges) + np.where(group == 0, setting.shift, 0.0)
    felt = ability[:, None] + np.repeat(of_cluster, setting.in_cluster, axis=1)
    felt = felt - generator.normal(0, OF_CASE, setting.cases)
    return (generator.random(felt.shape) < special.expit(felt)).astype(np.float64)


def estimates(setting: Setting) -> pd.DataFrame:
    """A row per draw of judges and cases."""
    generator = np.random.default_rng(1)
    of = sampling(np.repeat(np.arange(setting.cases // setting.in_cluster), setting.in_cluster))
    drawn = (np.split(scores(setting, generator).T, [setting.first], axis=1) for _ in range(DRAWS))
    return pd.DataFrame([contrast(sides, of) for sides in drawn])


def truth(setting: Setting) -> float:
    """The difference of the expected accuracies, over judges, clusters and cases: the log-odds are normal."""
    spread = np.sqrt(DIFFICULTY**2 + OF_GROUP**2 + OF_JUDGE**2 + OF_CASE**2 + setting.judge_sd**2)
    points, weights = np.polynomial.hermite_e.hermegauss(80)
    mean = [float(weights @ special.expit(0.6 + shift + spread * points)) for shift in (setting.shift, 0.0)]
    return (mean[0] - mean[1]) / float(weights.sum())


@pytest.mark.parametrize(
    ("setting", "least", "most"),
    [
        (Setting(3, 5, 100, 1, judge_sd=0.5), 0.03, 0.07), (Setting(3, 5, 400, 4, judge_sd=0.4), 0.03, 0.07),
        (Setting(15, 12, 400, 4, judge_sd=0.1), 0.03, 0.07),
        (Setting(3, 5, 100, 1, judge_sd=0.0), 0.02, 0.06), (Setting(8, 8, 400, 4, judge_sd=0.0), 0.03, 0.06),
        (Setting(15, 12, 100, 1, judge_sd=0.0), 0.04, 0.06),
    ],
    ids=str,
)  # fmt: skip
def test_size(setting: Setting, least: float, most: float) -> None:
    """Over 1,000 draws from 3 to 7%: taking judges that differ as fixed would reject 40%.

    Few judges cannot show that they are alike, so that the test of judges who do not differ is conservative.
    """
    assert least <= (estimates(setting)["p_value"] <= 0.05).mean() <= most


@pytest.mark.parametrize(
    "setting",
    [Setting(3, 5, 400, 1, judge_sd=0.4, shift=0.8), Setting(15, 12, 100, 1, judge_sd=0.3, shift=0.3)],
    ids=str,
)
def test_coverage_of_a_true_difference(setting: Setting) -> None:
    assert 0.93 <= covered(estimates(setting), truth(setting)) <= 0.97


def test_size_where_models_come_in_families() -> None:
    """Two groups of three families of five models that are alike: taken as draws, models would differ in .34."""
    generator, n, draws, families = np.random.default_rng(5), 100, 400, 6
    family = np.repeat(np.arange(families), 5)
    ability = 0.6 + generator.normal(0, 0.5, (draws, families))[:, family] + generator.normal(0, 0.1, (draws, 30))
    chance = special.expit(ability[..., None] + generator.normal(0, 1, (draws, 1, n)))
    panel, gold, cases = tables_of((generator.random(chance.shape) < chance).swapaxes(0, 1))
    stated = pd.DataFrame({"judge": panel.judges, "group": np.where(family < 3, "one", "two")})
    rows = rows_of("groups", panel, gold, cases, groups=stated.assign(family=family.astype(str)))
    assert len(rows) == draws
    assert (rows["p_value"] <= 0.05).mean() <= 0.07
