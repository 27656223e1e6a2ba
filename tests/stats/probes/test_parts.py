"""Gaps between groups, and subfields, on panels whose truth is planted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import pytest

from mrb_lib.stats.panel import ABSENT, Panel
from mrb_lib.stats.tables.probes import AS_IT_IS, NOT_PAIRED, expectations_broken
from mrb_lib.tables.schema import NO_PROBE
from tests.stats.probes.panels import cases_of, gold_of, panel_of, probes, table

N = 300
ORIGIN = "question/origin"


def wrong(*counts: int, start: Sequence[int] | None = None) -> Panel:
    """Judges that choose A, which is right, but for so many cases in a row."""
    choice = np.zeros((len(counts), N, 2, 1), dtype=int)
    for j, (count, first) in enumerate(zip(counts, start or [0] * len(counts), strict=True)):
        choice[j, first : first + count] = 1
    return panel_of(choice)


def made(verdicts: Mapping[str, Panel], part: str, gold: pd.DataFrame | None = None, **options: object) -> pd.DataFrame:
    given = {"resamples": 0, "noise": 0.0, **options}
    labels = gold_of(["A"] * N) if gold is None else gold
    rows = probes(verdicts, labels, cases_of(N), **given)
    return rows[rows["part"] == part]


def test_a_group_that_is_judged_worse_is_found_and_equal_ones_are_equivalent() -> None:
    verdicts = {
        NO_PROBE: wrong(0), f"{ORIGIN}:1": wrong(3), f"{ORIGIN}:2": wrong(4, start=[1]), f"{ORIGIN}:3": wrong(40),
    }  # fmt: skip
    rows = made(verdicts, "gap", resamples=200).set_index(["group_1", "group_2"])
    assert list(rows.index) == [("north", "south"), ("north", "east"), ("south", "east")]
    assert rows["accuracy_change"].tolist() == pytest.approx([-1 / N, -37 / N, -36 / N])
    assert rows["changed"].tolist() == pytest.approx([3 / N, 37 / N, 36 / N])
    assert rows["equivalent"].tolist() == [True, False, False]
    assert rows["kept_expectation"].tolist() == [True, False, False]
    assert (rows["p_adjusted"] <= 0.05).tolist() == [False, True, True]
    assert rows["family"].eq(15).all(), "accuracy and changes of three pairs; those and the target of three probes"
    assert (rows["accuracy_change_low"] <= rows["accuracy_change"]).all()
    assert (rows["accuracy_change_high"] >= rows["accuracy_change"]).all()


def test_groups_are_no_steps() -> None:
    verdicts = {NO_PROBE: wrong(0), **{f"{ORIGIN}:{k}": wrong(9 * k) for k in (1, 2, 3)}, "image/blur:1": wrong(2),
                "image/blur:2": wrong(4)}  # fmt: skip
    probed = made(verdicts, "probe").set_index(["probe", "severity"])["group"]
    assert probed.loc[ORIGIN].tolist() == ["north", "south", "east"]
    assert probed.loc["image/blur"].isna().all()


def test_a_probe_of_one_group_is_set_beside_the_cases_as_they_are() -> None:
    verdicts = {NO_PROBE: wrong(0), "question/other": wrong(30)}
    gap, probed = (made(verdicts, part).iloc[0] for part in ("gap", "probe"))
    assert (gap["group_1"], gap["group_2"]) == (AS_IT_IS, "the other")
    for name in ("n", "changed", "accuracy", "accuracy_probed", "accuracy_change", "p_value", "equivalence_p"):
        assert gap[name] == pytest.approx(probed[name]), name


def test_a_gap_is_of_the_cells_of_both_groups_and_of_their_noise() -> None:
    rng = np.random.default_rng(0)
    drawn = {name: rng.integers(0, 2, size=(1, N, 2, 2)) for name in (NO_PROBE, f"{ORIGIN}:1", f"{ORIGIN}:2")}
    first, second = drawn[f"{ORIGIN}:1"], drawn[f"{ORIGIN}:2"]
    second[:, 250:] = ABSENT
    row = made({name: panel_of(choice) for name, choice in drawn.items()}, "gap", noise=None).iloc[0]
    both = np.s_[0, :250]
    assert (row["n"], row["n_excluded"]) == (250, 50)
    assert row["changed"] == pytest.approx((first[both] != second[both]).mean())
    noise = [(each[both][..., 0] != each[both][..., 1]).mean() for each in (first, second)]
    assert row["noise"] == pytest.approx(np.mean(noise))


def test_groups_without_a_case_in_common_are_told_apart_from_equal_ones() -> None:
    early, late = wrong(0), wrong(0)
    early.choice[:, :, 150:], late.choice[:, :, :150] = ABSENT, ABSENT
    row = made({NO_PROBE: wrong(0), f"{ORIGIN}:1": early, f"{ORIGIN}:2": late}, "gap").iloc[0]
    assert row["n"] == 0
    assert NOT_PAIRED in row["reason"]
    assert row[["accuracy_change", "p_value", "equivalence_p"]].isna().all()
    assert row["equivalent"] is pd.NA
    assert row["kept_expectation"] is pd.NA


def test_the_sentence_speaks_of_gaps() -> None:
    verdicts = {NO_PROBE: wrong(0), f"{ORIGIN}:1": wrong(3), f"{ORIGIN}:2": wrong(4), f"{ORIGIN}:3": wrong(40)}
    said = expectations_broken(table(verdicts, gold_of(["A"] * N), N, noise=0.0))
    assert "accuracy differs significantly in 2 of 3 comparisons and is equivalent in 1." in said


def test_where_no_verdict_changed_the_interval_says_how_much_may_have() -> None:
    """Of n cases of which none changed, a share of about 3.84 / (n + 3.84) is not rejected: Tango's score at 0."""
    row = made({NO_PROBE: wrong(3), "image/blur:1": wrong(3)}, "probe", resamples=200).iloc[0]
    assert row["accuracy_change"] == 0
    assert row["accuracy_change_high"] == pytest.approx(3.8415 / (N + 3.8415), rel=1e-3)
    assert row["accuracy_change_low"] == pytest.approx(-row["accuracy_change_high"])
    row = made({NO_PROBE: wrong(3), "image/blur:1": wrong(3)}, "probe").iloc[0]
    assert np.isnan(row["accuracy_change_low"]), "no interval was asked for"
