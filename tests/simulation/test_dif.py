"""A judge that is weak in a subfield is found, a subfield that is hard for all is not taken for one. SIMULATED data."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest

from mrb_lib.stats.tables.dif import UNCLEAR

from .panels import covered, rejects_as_claimed, rows_of, tables_of

ABILITY = np.linspace(-0.8, 0.8, 8)


def eyes(
    n: int, benchmarks: int, seed: int, *, hard: float = 0.0, weak: float = 0.0, weak_judges: int = 1, orders: int = 1,
    size: int = 1, slopes: Sequence[float] = (1,) * 8,
) -> pd.DataFrame:  # fmt: skip
    """The rows about eyes, a third of the cases, of eight judges.

    Eyes are `hard` for all, and the first judges have a loss there of their own. Cases come in clusters of `size`, on
    each of which judges have good and bad days. `slopes` say how well each judge tells hard cases from easy ones: a
    coin's is 0.
    """
    rng = np.random.default_rng(seed)
    cluster = np.arange(n) // size
    eye = cluster % 3 == 0
    difficulty = rng.normal(0, 1, (1, benchmarks, n, 1)) + hard * eye[:, None]
    stands_out = (np.arange(8) < weak_judges)[:, None, None, None]
    slope, ability = np.array(slopes)[:, None, None, None], ABILITY[:, None, None, None]
    eta = slope * (ability - difficulty) - weak * eye[:, None] * stands_out
    if size > 1:
        eta = eta + rng.normal(size=(8, benchmarks, cluster[-1] + 1, 1))[:, :, cluster]
    right = rng.random((8, benchmarks, n, orders)) < 1 / (1 + np.exp(-eta))
    tables = tables_of(right, organ=np.where(eye, "eye", "lung"), cluster=cluster)
    found = rows_of("dif", *tables, every_dimension=1, by="organ")
    return found[found["subfield"] == "eye"]


def check_sizes(found: pd.DataFrame, trials: int) -> None:
    """The test rejects, and the interval misses, that there is no difference in 5%; hardly any is undefined."""
    undefined = found["p_value"].isna()
    assert undefined.mean() < 0.06
    found = found[~undefined]
    assert rejects_as_claimed((found["p_value"] < 0.05).mean(), 1 - covered(found, 1), trials=trials)


@pytest.mark.parametrize(
    ("n", "options"), [(100, {}), (100, {"hard": 1.0}), (400, {"hard": 1.0, "orders": 2}), (600, {"size": 10})]
)
def test_size_and_coverage(n: int, options: dict[str, Any]) -> None:
    """Eight judges without DIF in each of 100 benchmarks: within three Monte-Carlo errors, from 2.7 to 7.3%.

    With 60 clusters of ten, 19% of tests reject where cases are taken to be independent.
    """
    check_sizes(eyes(n, 100, 7, **options), 800)


def test_weak_judges_do_not_make_the_others_look_strong() -> None:
    """Matched by all judges, three weak ones of eight would make 74% of the others significant and 50% B or C."""
    found = eyes(1000, 50, 12, weak=1.2, weak_judges=3)
    weak = found["judge"].isin(["j00", "j01", "j02"])
    assert found.loc[weak, "ets_delta"].mean() == pytest.approx(-2.35 * 1.2, abs=0.15)
    others = found[~weak]
    assert (others["p_value"] < 0.05).mean() <= 0.09
    assert (others["ets_class"] != "A").mean() < 0.05
    assert others["ets_delta"].mean() == pytest.approx(0, abs=0.12)
    assert found["n_matching"].median() == 5


def test_half_of_the_judges_being_weak_is_said_to_be_unclear() -> None:
    found = eyes(1000, 40, 13, weak=1.2, weak_judges=4)
    unclear = found["reason"].fillna("").str.startswith(UNCLEAR)
    assert unclear.mean() > 0.7
    assert (found.loc[unclear, "n_matching"] == 8).all()


COIN = (0.0, 0.5, 0.8, 1.0, 1.2, 1.5, 1.0, 2.0)
COINS = (0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0)


@pytest.mark.parametrize(("seed", "slopes"), [(9, (1,) * 8), (22, (1.0, 0.0, *COIN[2:]))], ids=["alike", "a coin"])
def test_a_planted_weakness_is_found_and_classed_as_large(seed: int, slopes: Sequence[float]) -> None:
    """A loss of 1.2 in log odds is an ETS delta of -2.8, of a judge that is no coin."""
    found = eyes(1000, 40, seed, hard=1.0, weak=1.2, slopes=slopes)
    weak, others = (found[(found["judge"] == "j00") == is_it] for is_it in (True, False))
    assert (weak["p_adjusted"] < 0.05).mean() > 0.95
    assert weak["ets_delta"].mean() == pytest.approx(-2.82, abs=0.3)
    assert (weak["ets_class"] == "C").mean() > 0.65
    assert (weak["ets_class"] != "A").mean() > 0.95
    assert (others["p_value"] < 0.05).mean() <= 0.07
    if slopes[1]:
        level = ABILITY[0] - 1.0 - np.random.default_rng(0).normal(size=100_000)
        loss = np.mean(1 / (1 + np.exp(-level)) - 1 / (1 + np.exp(1.2 - level)))
        assert weak["excess"].mean() == pytest.approx(-loss, abs=0.02)
        assert (others["ets_class"] == "A").mean() > 0.97
        assert found["n_matching"].median() == 7


def test_a_hard_subfield_alone_is_seen_in_accuracy_and_not_in_dif() -> None:
    found = eyes(1000, 60, 10, hard=1.0)
    assert (found["accuracy_inside"] - found["accuracy_outside"]).mean() < -0.15
    assert found["ets_delta"].mean() == pytest.approx(0.0, abs=0.05)
    assert found["excess"].mean() == pytest.approx(0.0, abs=0.005)
    assert (found["ets_class"] == "C").mean() < 0.01


@pytest.mark.parametrize(("n", "hard", "slopes"), [(1000, 1.0, COIN), (400, 2.0, COINS)], ids=["one", "three"])
def test_a_coin_is_not_weak_where_cases_are_easy(n: int, hard: float, slopes: Sequence[float]) -> None:
    """Issue 12, point 13: matched by the plain number of judges that are right, coins were flagged in 38% of tests.

    No judge has DIF; the subfields differ in difficulty, the judges in how well they follow it. Of 80 tests of a coin
    up to 12.3% may reject, which is three Monte-Carlo errors.
    """
    found = eyes(n, 80, 21, hard=hard, slopes=slopes)
    is_coin = found["judge"].isin([f"j{i:02d}" for i in range(slopes.count(0.0))])
    for _, judges in found.groupby(is_coin):
        most = 0.05 + 3 * np.sqrt(0.05 * 0.95 / len(judges))
        assert (judges["p_value"] < 0.05).mean() <= max(0.07, most)
        assert (judges["ets_class"] != "A").mean() <= 0.04
    assert (found.groupby("judge")["p_value"].agg(lambda p: (p < 0.05).mean()) <= 0.123).all()
