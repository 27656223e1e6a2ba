"""A planted position bias is found again, and none is found where none was planted. SIMULATED data."""

from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest

from .panels import cases_of, frame_of, panel_of, rows_of
from .panels import covered as covered_by


class Judge(NamedTuple):
    """A judge asked twice in each order, whose cases are alike but for chance.

    Attributes
    ----------
    ties : share of cases that it finds equal
    sway, forward : share of the other cases that their position settles, and how many of these towards the first
    noise : share of presentations that it answers with a guess between the two responses
    """

    ties: float
    sway: float
    forward: float
    noise: float

    def settled(self) -> list[tuple[float, int, int]]:
        """How often which choice is settled in order AB and in order BA."""
        rest = 1 - self.ties
        return [
            (self.ties, 2, 2),
            (rest * self.sway * self.forward, 0, 1),
            (rest * self.sway * (1 - self.forward), 1, 0),
            (rest * (1 - self.sway) / 2, 0, 0),
            (rest * (1 - self.sway) / 2, 1, 1),
        ]

    def truths(self) -> dict[str, float]:
        """What `consistency` estimates, from the definitions."""
        guess = np.array([0.5, 0.5, 0.0])
        weight = np.array([share for share, *_ in self.settled()])
        p, q = (
            np.stack([(1 - self.noise) * np.eye(3)[found[side]] + self.noise * guess for found in self.settled()])
            for side in (1, 2)
        )
        same, again = (p * q).sum(axis=1), ((p**2).sum(axis=1) + (q**2).sum(axis=1)) / 2
        clear = (p[:, :2].sum(axis=1) * q[:, :2].sum(axis=1), (p[:, :2] * q[:, :2]).sum(axis=1))
        some = 1 - (1 - clear[0]) ** 2  # that one of two repeats at least is decisive in both orders
        margins = weight @ p, weight @ q
        first, second = (float(weight @ (p[:, i] + q[:, 1 - i])) for i in (0, 1))
        out = {"consistency": weight @ same, "repeat_agreement": weight @ again}
        out |= {"position_noise": 1 - weight @ again, "position_preference": weight @ (again - same)}
        out |= {"first_rate": first / (first + second)}
        out |= {"consistency_decisive": weight @ (some * clear[1] / np.maximum(clear[0], 1e-9)) / (weight @ some)}
        out |= {"tie_rate": (margins[0][2] + margins[1][2]) / 2, "position_bias": (first - second) / 2}
        return out

    def rows(self, n: int, benchmarks: int, seed: int, copies: int = 1) -> pd.DataFrame:
        """The table of so many such judges of n clusters of cases; copies of a case share what is settled."""
        generator = np.random.default_rng(seed)
        share, *pair = (np.array(column) for column in zip(*self.settled(), strict=True))
        which = generator.choice(len(share), (benchmarks, n), p=share / share.sum()).repeat(copies, axis=1)
        choice = np.stack([side[which] for side in pair], axis=-1).astype(np.int8)[..., None].repeat(2, axis=-1)
        guessed = generator.random(choice.shape, dtype=np.float32) < self.noise
        choice[guessed] = generator.integers(0, 2, int(guessed.sum()), dtype=np.int8)
        panel = panel_of(choice[:, None], judges=[f"j{i:04d}" for i in range(benchmarks)])
        gold, cases = frame_of(np.zeros((1, n * copies), dtype=np.int64)), cases_of(n * copies)
        return rows_of("consistency", panel, gold, cases.assign(cluster=np.arange(n).repeat(copies)))


def coverage(rows: pd.DataFrame, name: str, truth: float) -> float:
    assert rows[name].notna().all()
    return covered_by(rows, truth, f"{name}_")


SWAYED, GOOD = Judge(0.2, 0.35, 0.8, 0.1), Judge(0.2, 0.05, 0.5, 0.02)


@pytest.mark.parametrize("judge", [SWAYED, GOOD], ids=["swayed", "good"])
def test_every_interval_covers(judge: Judge) -> None:
    """A swayed judge, consistent in six cases of ten, and a good one, in more than nine of ten."""
    benchmarks = 1500
    rows = judge.rows(100, benchmarks, seed=100)
    for name, truth in judge.truths().items():
        error = rows[name].std() / np.sqrt(benchmarks)
        slack = 0.002 if name == "first_rate" else 0.0
        assert rows[name].mean() == pytest.approx(truth, abs=4 * error + slack), name
        if name not in ("consistency_decisive", "tie_rate"):  # they have no interval
            assert 0.93 <= coverage(rows, name, truth) <= 0.97, (name, coverage(rows, name, truth))


@pytest.mark.parametrize("consistent", [0.95, 0.98])
def test_intervals_cover_where_good_judges_are(consistent: float) -> None:
    """One repeat's worth of sway and no noise: a binomial of a hundred, of which percentiles miss one in eight."""
    judge = Judge(0.0, 1 - consistent, 0.5, 0.0)
    rows, truths = judge.rows(100, 3000, seed=1), judge.truths()
    assert truths["consistency"] == pytest.approx(consistent)
    assert 0.93 <= coverage(rows, "consistency", truths["consistency"]) <= 0.97
    for name in ("position_bias", "first_rate"):  # at .98 one case in a hundred leans either way
        most = 0.97 if consistent < 0.98 else 1.0
        assert 0.93 <= coverage(rows, name, truths[name]) <= most, (name, coverage(rows, name, truths[name]))
    assert (rows["consistency_high"] > rows["consistency_low"]).all()


def test_where_hardly_any_case_leans_intervals_are_too_wide_rather_than_too_narrow() -> None:
    """Two of a hundred, all to the first: no interval of a count so small covers exactly."""
    judge = Judge(0.0, 0.02, 1.0, 0.0)
    rows, truths = judge.rows(100, 2000, seed=2), judge.truths()
    for name in ("position_bias", "position_preference", "first_rate"):
        assert coverage(rows, name, truths[name]) >= 0.93, name


def test_intervals_cover_where_the_cases_of_a_cluster_are_alike() -> None:
    rows, truths = SWAYED.rows(100, 1000, seed=101, copies=3), SWAYED.truths()
    for name in ("consistency", "position_bias", "first_rate", "position_preference"):
        assert 0.93 <= coverage(rows, name, truths[name]) <= 0.97, (name, coverage(rows, name, truths[name]))
