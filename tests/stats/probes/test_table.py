"""The table probes against plain loops, gaps between groups, and what it says where something is missing."""

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
import pandas as pd
import pytest

from mrb_lib.probes.expectation import UNKNOWN, known
from mrb_lib.probes.probe import PROBES, Probe
from mrb_lib.stats.analyze import TABLES
from mrb_lib.stats.columns import DOMINATED
from mrb_lib.stats.multiplicity import adjust
from mrb_lib.stats.panel import ABSENT, Panel
from mrb_lib.stats.tables.probes import AS_IT_IS, NO_NOISE, NO_PROBES, NOT_PAIRED, expectations_broken
from mrb_lib.tables.schema import CHOICES, NO_PROBE
from tests.stats.probes.panels import panel_of, probes, table, towards
from tests.stats.small_tables import cases_of, gold_of

N = 60


TESTS = ["p_value", "target_shift_p", "changed_p", "unmoved_p"]
ADJUSTED = ["p_adjusted", "target_shift_p_adjusted", "changed_p_adjusted", "unmoved_p_adjusted"]
RIGHT = gold_of("A" * N)
LIKES_A = np.array([1.0, 0.0, 0.5])


def ragged(seed: int, repeats: int = 3) -> dict[str, Panel]:
    """Two judges with ties, nulls and missing verdicts, under two probes."""
    rng = np.random.default_rng(seed)
    shape = (2, N, 2, repeats)
    return {
        name: panel_of(rng.choice([0, 1, 2, -1, ABSENT], size=shape, p=[0.35, 0.3, 0.15, 0.1, 0.1]))
        for name in (NO_PROBE, "response/credentials", "image/blur:2")
    }


def of_cells(value: np.ndarray, there: np.ndarray) -> np.ndarray:
    """The mean over the cells of each case that are there; NaN where none is."""
    total = there.reshape(len(there), -1).sum(axis=1)
    return np.where(there, value, 0).reshape(len(there), -1).sum(axis=1) / np.where(total, total, np.nan)


def by_definition(plain: np.ndarray, probed: np.ndarray, gold: np.ndarray) -> dict[str, float]:
    """What the table should say, of choices of shape (cases, 2 orders, repeats) and labels, as codes."""
    answered, shared = (plain >= 0) & (probed >= 0), (plain != ABSENT) & (probed != ABSENT)
    gained = towards(len(plain))[:, None, None] * (LIKES_A[probed] - LIKES_A[plain])
    label = gold[:, None, None]
    before, after = (
        of_cells(np.where(said < 0, 0, np.where(said == label, 1, 0.5 * ((said == 2) | (label == 2)))), shared)
        for said in (plain, probed)
    )
    first, second = (plain[..., list(places)] for places in zip(*combinations(range(plain.shape[2]), 2), strict=True))
    changed, noise, beyond = of_cells(plain != probed, answered), [], []
    for order in (0, 1):
        pair, here = (first[:, order], second[:, order]), answered[:, order]
        noise.append(of_cells(pair[0] != pair[1], (pair[0] >= 0) & (pair[1] >= 0)))
        beyond.append(of_cells(plain[:, order] != probed[:, order], here) - noise[-1])
    noise, beyond = (of_cells(np.stack(each, axis=1), np.isfinite(each).T) for each in (noise, beyond))
    return {
        "n": answered.any(axis=(1, 2)).sum(), "changed": np.nanmean(changed),
        "noise": np.nanmean(noise[~np.isnan(changed)]),
        "target_shift": np.nanmean(of_cells(gained, answered)), "n_scored": shared.any(axis=(1, 2)).sum(),
        "accuracy": np.nanmean(before), "accuracy_probed": np.nanmean(after),
        "accuracy_change": np.nanmean(after) - np.nanmean(before), "changed_beyond_noise": np.nanmean(beyond),
    }  # fmt: skip


@pytest.mark.parametrize("seed", [0, 1])
def test_every_quantity_is_that_of_its_definition(seed: int) -> None:
    panels, gold = ragged(seed), np.random.default_rng(seed + 9).integers(0, 3, N)
    rows = table(panels, gold_of([CHOICES[code] for code in gold]), N)
    assert len(rows) == 4
    for row in rows.itertuples():
        text = {"image/blur": "image/blur:2"}.get(row.probe, row.probe)
        both = (panels[name].choice[int(row.judge[1:]), 0] for name in (NO_PROBE, text))
        want = by_definition(*both, gold)
        if row.probe == "image/blur":
            assert np.isnan(row.target_shift)
            del want["target_shift"]
        for name, value in want.items():
            assert getattr(row, name) == pytest.approx(value, abs=1e-12), (row.probe, name)


def deterministic(change: float, probe: str, *, n: int = 300, **options: object) -> pd.Series:
    """The row of a judge that never varies, and changes this share of its verdicts under a probe."""
    plain = np.zeros((1, n, 2, 1), dtype=int)
    probed = plain.copy()
    probed[:, : int(change * n)] = 1
    panels = {NO_PROBE: panel_of(plain), probe: panel_of(probed)}
    return table(panels, gold_of("A" * n), n, resamples=200, **options).iloc[0]


def test_a_judge_that_never_changes_keeps_what_is_to_stay_and_breaks_what_is_not() -> None:
    for probe, keeps in (("image/blur:1", True), ("question/sex", True), ("response/credentials", True),
                         ("image/removed", False), ("response/side", False)):  # fmt: skip
        row = deterministic(0, probe)
        assert row["changed"] == 0
        assert row["kept_expectation"] == keeps, probe


def test_too_few_cases_decide_nothing() -> None:
    for probe in ("image/blur:1", "image/removed", "response/side"):
        row = deterministic(0, probe, n=12)
        assert row["kept_expectation"] is pd.NA
        assert "undecided" in row["reason"]


def test_without_repeats_noise_is_unknown_unless_it_is_stated() -> None:
    unknown, stated = (deterministic(0.1, "question/sex", noise=noise) for noise in (None, 0.0))
    assert np.isnan(unknown["noise"])
    assert np.isnan(unknown["changed_beyond_noise"])
    assert NO_NOISE in unknown["reason"]
    assert stated["changed_beyond_noise"] == pytest.approx(0.1)
    assert not stated["kept_expectation"]


def test_a_probe_that_the_library_does_not_have_expects_nothing() -> None:
    panels = ragged(4)
    panels["their/own:9"] = panels.pop("image/blur:2")
    rows = table(panels, RIGHT, N)
    own = rows[rows["probe"] == "their/own:9"]
    assert own[["expected", "kept_expectation", "severity"]].isna().all(axis=None)
    assert own["changed"].notna().all()
    assert own["reason"].str.contains(UNKNOWN).all()


def test_the_same_error_in_both_responses_must_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    planted = Probe("response/side", "response", "", "flips", response=lambda text, *_: text)
    monkeypatch.setitem(PROBES._features, "response/side", planted)
    assert known("response/side")[2:5] == ("flips", True, "")
    assert known("response/side+both")[2:5] == ("same", False, "")


def test_all_tests_of_all_judges_are_corrected_together() -> None:
    """Corrected for each judge alone, twelve innocent judges are accused in a third of all runs."""
    for family in ("dimension", "all"):
        rows = table(ragged(5), RIGHT, N, family=family)
        p_values = rows[TESTS].to_numpy()
        np.testing.assert_allclose(rows[ADJUSTED], adjust(p_values.ravel(), "holm").reshape(p_values.shape))
        assert rows["family"].eq(np.isfinite(p_values).sum()).all()
        assert set(rows["judge"]) == {"j0000", "j0001"}


def test_rows_say_why_there_is_nothing_to_compare() -> None:
    plain = panel_of(np.zeros((1, N, 2, 1), dtype=int))
    alone = table({NO_PROBE: plain}, RIGHT, N)
    assert alone["reason"].tolist() == [NO_PROBES]
    other = panel_of(np.zeros((1, N, 2, 1), dtype=int), judges=["another"])
    rows = table({NO_PROBE: plain, "question/sex": other}, RIGHT, N)
    assert rows["judge"].tolist() == ["another"]
    assert rows["n"].tolist() == [0]
    assert NOT_PAIRED in rows["reason"].iloc[0]


def test_without_probes_there_is_one_row_and_the_sentence_says_what_to_do() -> None:
    """Issue 42, fault 22: there was an empty row per judge, dimension and subfield."""
    plain = panel_of(np.zeros((3, N, 2, 1), dtype=int))
    cases = cases_of(N, organ=["eye", "lung"] * (N // 2))
    rows = probes({NO_PROBE: plain}, RIGHT, cases, by="organ", resamples=0)
    assert rows["reason"].tolist() == [NO_PROBES]
    assert "`mrb judge --probe`" in TABLES["probes"].says(rows)


def test_one_dominant_cluster_gives_no_interval_and_says_why() -> None:
    """Issue 42, fault 12: nine tenths of the cases in one cluster tell little more than two cases."""
    rng = np.random.default_rng(1)
    panels = {name: panel_of(rng.integers(0, 2, size=(1, N, 2, 1))) for name in (NO_PROBE, "image/removed")}
    cases = cases_of(N, room=["one"] * (N - 6) + list("abcdef"))
    row = probes(panels, RIGHT, cases, cluster="room", noise=0.0).iloc[0]
    assert row[["changed_low", "accuracy_change_low", "accuracy_change_high"]].isna().all()
    assert DOMINATED in row["reason"]


OF_GAPS = 300
ORIGIN = "question/origin"


def wrong(*counts: int, start: Sequence[int] | None = None) -> Panel:
    """Judges that choose A, which is right, but for so many cases in a row."""
    choice = np.zeros((len(counts), OF_GAPS, 2, 1), dtype=int)
    for j, (count, first) in enumerate(zip(counts, start or [0] * len(counts), strict=True)):
        choice[j, first : first + count] = 1
    return panel_of(choice)


def made(verdicts: Mapping[str, Panel], part: str, **options: object) -> pd.DataFrame:
    given = {"resamples": 0, "noise": 0.0, **options}
    return probes(verdicts, gold_of("A" * OF_GAPS), cases_of(OF_GAPS), part=part, **given)


def origins(*counts: int, start: Sequence[int] | None = None) -> dict[str, Panel]:
    """A judge that never errs without a probe, and so often for each of the origins."""
    places = zip(counts, start or [0] * len(counts), strict=True)
    probed = {f"{ORIGIN}:{i}": wrong(count, start=[first]) for i, (count, first) in enumerate(places, 1)}
    return {NO_PROBE: wrong(0), **probed}


def test_a_group_that_is_judged_worse_is_found_and_equal_ones_are_equivalent() -> None:
    rows = made(origins(3, 4, 40, start=[0, 1, 0]), "gap", resamples=200).set_index(["group_1", "group_2"])
    assert list(rows.index) == [("north", "south"), ("north", "east"), ("south", "east")]
    assert rows["accuracy_change"].tolist() == pytest.approx([-1 / OF_GAPS, -37 / OF_GAPS, -36 / OF_GAPS])
    assert rows["changed"].tolist() == pytest.approx([3 / OF_GAPS, 37 / OF_GAPS, 36 / OF_GAPS])
    assert rows["equivalent"].tolist() == [True, False, False]
    assert rows["kept_expectation"].tolist() == [True, False, False]
    assert (rows["p_adjusted"] <= 0.05).tolist() == [False, True, True]
    assert rows["family"].eq(15).all(), "accuracy and changes of three pairs; those and the target of three probes"


def test_groups_are_no_steps() -> None:
    verdicts = {**origins(9, 18, 27), "image/blur:1": wrong(2), "image/blur:2": wrong(4)}
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
    drawn = {name: rng.integers(0, 2, size=(1, OF_GAPS, 2, 2)) for name in (NO_PROBE, f"{ORIGIN}:1", f"{ORIGIN}:2")}
    first, second = drawn[f"{ORIGIN}:1"], drawn[f"{ORIGIN}:2"]
    second[:, 250:] = ABSENT
    row = made({name: panel_of(choice) for name, choice in drawn.items()}, "gap", noise=None).iloc[0]
    both = np.s_[0, :250]
    assert (row["n"], row["n_excluded"]) == (250, 50)
    assert row["changed"] == pytest.approx((first[both] != second[both]).mean())
    noise = [(each[both][..., 0] != each[both][..., 1]).mean() for each in (first, second)]
    assert row["noise"] == pytest.approx(np.mean(noise))


def test_the_sentence_speaks_of_gaps() -> None:
    said = expectations_broken(table(origins(3, 4, 40), gold_of("A" * OF_GAPS), OF_GAPS, noise=0.0))
    assert "accuracy differs significantly in 2 of 3 comparisons and is equivalent in 1." in said


def test_where_no_verdict_changed_the_interval_says_how_much_may_have() -> None:
    """Of n cases of which none changed, a share of about 3.84 / (n + 3.84) is not rejected: Tango's score at 0."""
    same = {NO_PROBE: wrong(3), "image/blur:1": wrong(3)}
    row = made(same, "probe", resamples=200).iloc[0]
    assert row["accuracy_change"] == 0
    assert row["accuracy_change_high"] == pytest.approx(3.8415 / (OF_GAPS + 3.8415), rel=1e-3)
    assert row["accuracy_change_low"] == pytest.approx(-row["accuracy_change_high"])
    assert np.isnan(made(same, "probe")["accuracy_change_low"].iloc[0]), "no interval was asked for"
