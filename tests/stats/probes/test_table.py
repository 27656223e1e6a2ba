"""The table probes against plain loops, gaps between groups, and what it says where something is missing."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import pytest

from mrb_lib.probes.expectation import UNKNOWN, known
from mrb_lib.probes.probe import target
from mrb_lib.stats.analyze import TABLES
from mrb_lib.stats.columns import DOMINATED
from mrb_lib.stats.multiplicity import adjust
from mrb_lib.stats.panel import ABSENT, Panel
from mrb_lib.stats.tables.probes import AS_IT_IS, NO_NOISE, NO_PROBES, NOT_PAIRED, expectations_broken
from mrb_lib.tables.schema import CHOICES, NO_PROBE
from tests.stats.probes.panels import cases_of, gold_of, panel_of, probes, table

N = 60


TESTS = ("p_value", "target_shift_p", "changed_p", "unmoved_p")


LIKES_A = {"A": 1.0, "B": 0.0, "tie": 0.5}


def ragged(seed: int, repeats: int = 3) -> dict[str, object]:
    """Two judges with ties, nulls and missing verdicts, under two probes."""
    rng = np.random.default_rng(seed)
    shape = (2, N, 2, repeats)
    return {
        name: panel_of(rng.choice([0, 1, 2, -1, ABSENT], size=shape, p=[0.35, 0.3, 0.15, 0.1, 0.1]))
        for name in (NO_PROBE, "response/credentials", "image/blur:2")
    }


def looped(plain: np.ndarray, probed: np.ndarray, gold: list[str]) -> dict[str, float]:
    """What the table should say, of choices of shape (cases, 2, repeats), cell by cell."""
    changed, shift, before, after, noise, beyond = [], [], [], [], [], []
    for case in range(len(plain)):
        cells = [(o, r) for o in range(2) for r in range(plain.shape[2])]
        both = [(plain[case, o, r], probed[case, o, r]) for o, r in cells]
        answered = [(a, b) for a, b in both if a >= 0 and b >= 0]
        if answered:
            changed.append(np.mean([a != b for a, b in answered]))
            sign = 1 if target(f"c{case}") == "A" else -1
            shift.append(np.mean([sign * (LIKES_A[CHOICES[b]] - LIKES_A[CHOICES[a]]) for a, b in answered]))
        shared = [(a, b) for a, b in both if ABSENT not in (a, b)]
        if shared:
            for into, side in ((before, 0), (after, 1)):
                into.append(np.mean([worth(pair[side], gold[case]) for pair in shared]))
        by_order, over = [], []
        for o in range(2):
            repeated = [code for code in plain[case, o] if code >= 0]
            pairs = [(x, y) for i, x in enumerate(repeated) for y in repeated[i + 1 :]]
            here = [(plain[case, o, r], probed[case, o, r]) for r in range(plain.shape[2])]
            here = [(a, b) for a, b in here if a >= 0 and b >= 0]
            if pairs:
                by_order.append(np.mean([x != y for x, y in pairs]))
            if pairs and here:
                over.append(np.mean([a != b for a, b in here]) - by_order[-1])
        if answered and by_order:
            noise.append(np.mean(by_order))
        if over:
            beyond.append(np.mean(over))
    return {
        "n": len(changed), "changed": np.mean(changed), "target_shift": np.mean(shift), "noise": np.mean(noise),
        "n_scored": len(before), "accuracy": np.mean(before), "accuracy_probed": np.mean(after),
        "accuracy_change": np.mean(after) - np.mean(before), "changed_beyond_noise": np.mean(beyond),
    }  # fmt: skip


def worth(code: int, label: str) -> float:
    if code < 0:
        return 0.0
    return 1.0 if CHOICES[code] == label else 0.5 if "tie" in (CHOICES[code], label) else 0.0


@pytest.mark.parametrize("seed", [0, 1])
def test_every_quantity_is_that_of_a_plain_loop(seed: int) -> None:
    panels = ragged(seed)
    gold = list(np.random.default_rng(seed + 9).choice(["A", "B", "tie"], N))
    rows = table(panels, gold_of(gold), N)
    assert len(rows) == 4
    for row in rows.itertuples():
        text = {"image/blur": "image/blur:2"}.get(row.probe, row.probe)
        judge = int(row.judge[1:])
        want = looped(panels[NO_PROBE].choice[judge, 0], panels[text].choice[judge, 0], gold)
        if row.probe == "image/blur":
            assert np.isnan(row.target_shift)
            del want["target_shift"]
        for name, value in want.items():
            assert getattr(row, name) == pytest.approx(value, abs=1e-12), (row.probe, name)


def test_what_the_order_does_is_not_taken_for_noise_or_for_the_probe() -> None:
    """A judge that always chooses what is shown first changes nothing."""
    first = np.zeros((1, N, 2, 2), dtype=int)
    first[:, :, 1] = 1
    row = table({NO_PROBE: panel_of(first), "question/sex": panel_of(first)}, gold_of(["A"] * N), N).iloc[0]
    assert (row["changed"], row["noise"], row["changed_beyond_noise"]) == (0, 0, 0)
    assert 0 < row["changed_high"] < 0.07


def test_a_verdict_in_one_order_only_is_compared_with_that_order() -> None:
    rng = np.random.default_rng(0)
    plain = rng.integers(0, 2, size=(1, N, 2, 1))
    probed = np.where(np.arange(2)[:, None] == 0, plain, ABSENT)
    row = table({NO_PROBE: panel_of(plain), "question/sex": panel_of(probed)}, gold_of(["A"] * N), N).iloc[0]
    assert (row["n"], row["changed"], row["accuracy_change"]) == (N, 0, 0)


def deterministic(change: float, probe: str, *, n: int = 300, **options: object) -> pd.Series:
    """The row of a judge that never varies, and changes this share of its verdicts under a probe."""
    plain = np.zeros((1, n, 2, 1), dtype=int)
    probed = plain.copy()
    probed[:, : int(change * n)] = 1
    panels = {NO_PROBE: panel_of(plain), probe: panel_of(probed)}
    return table(panels, gold_of(["A"] * n), n, resamples=200, **options).iloc[0]


def test_a_judge_that_never_changes_keeps_what_is_to_stay_and_breaks_what_is_not() -> None:
    for probe, keeps in (("image/blur:1", True), ("question/sex", True), ("response/credentials", True),
                         ("image/removed", False), ("response/side", False)):  # fmt: skip
        row = deterministic(0, probe)
        assert row["changed"] == 0
        assert row["kept_expectation"] is keeps or row["kept_expectation"] == keeps, probe


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
    rows = table(panels, gold_of(["A"] * N), N)
    own = rows[rows["probe"] == "their/own:9"]
    assert own["expected"].isna().all()
    assert own["kept_expectation"].isna().all()
    assert own["severity"].isna().all()
    assert own["changed"].notna().all()
    assert own["reason"].str.contains(UNKNOWN).all()


def test_what_is_known_of_an_id() -> None:
    assert known("image/blur:3")[:4] == ("image/blur", 3, "same", False)
    assert known("image/removed")[:4] == ("image/removed", 1, "worse", False)
    assert known("image/blur:0")[1:3] == (0, "same")
    assert known("response/repeated+both")[:4] == ("response/repeated+both", 1, "same", False)
    assert known("response/repeated")[3]


def test_the_same_error_in_both_responses_must_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    from mrb_lib.probes.probe import PROBES, Probe

    planted = Probe("response/side", "response", "", "flips", response=lambda text, *_: text)
    monkeypatch.setitem(PROBES._features, "response/side", planted)
    assert known("response/side")[2:5] == ("flips", True, "")
    assert known("response/side+both")[2:5] == ("same", False, "")


def test_all_tests_of_all_judges_are_corrected_together() -> None:
    """Corrected for each judge alone, twelve innocent judges are accused in a third of all runs."""
    for family in ("dimension", "all"):
        rows = table(ragged(5), gold_of(["A"] * N), N, family=family)
        p_values = rows[list(TESTS)].to_numpy()
        adjusted = rows[["p_adjusted", "target_shift_p_adjusted", "changed_p_adjusted", "unmoved_p_adjusted"]]
        np.testing.assert_allclose(adjusted, adjust(p_values.ravel(), "holm").reshape(p_values.shape))
        assert rows["family"].eq(np.isfinite(p_values).sum()).all()
        assert set(rows["judge"]) == {"j0000", "j0001"}


def test_with_and_without_the_image() -> None:
    rng = np.random.default_rng(1)
    right = {NO_PROBE: 0.9, "image/removed": 0.6, "image/swapped-same": 0.5}
    panels = {name: panel_of(np.where(rng.random((1, 400, 2, 1)) < share, 0, 1)) for name, share in right.items()}
    rows = table(panels, gold_of(["A"] * 400), 400, resamples=200)
    means = {name: (panel.choice == 0).mean() for name, panel in panels.items()}
    for name in ("image/removed", "image/swapped-same"):
        row = rows[rows["probe"] == name].iloc[0]
        assert row["accuracy"] == pytest.approx(means[NO_PROBE])
        assert row["accuracy_probed"] == pytest.approx(means[name])
        assert row["accuracy_change_low"] < right[name] - 0.9 < row["accuracy_change_high"]
    assert rows.loc[rows["part"] == "probe", "kept_expectation"].all()


def test_rows_say_why_there_is_nothing_to_compare() -> None:
    plain = panel_of(np.zeros((1, N, 2, 1), dtype=int))
    alone = table({NO_PROBE: plain}, gold_of(["A"] * N), N)
    assert alone["reason"].tolist() == [NO_PROBES]
    other = panel_of(np.zeros((1, N, 2, 1), dtype=int), judges=["another"])
    rows = table({NO_PROBE: plain, "question/sex": other}, gold_of(["A"] * N), N)
    assert rows["judge"].tolist() == ["another"]
    assert rows["n"].tolist() == [0]
    assert NOT_PAIRED in rows["reason"].iloc[0]


def test_without_probes_there_is_one_row_and_the_sentence_says_what_to_do() -> None:
    """Issue 42, fault 22: there was an empty row per judge, dimension and subfield."""
    plain = panel_of(np.zeros((3, N, 2, 1), dtype=int))
    cases = cases_of(N, organ=["eye", "lung"] * (N // 2))
    rows = probes({NO_PROBE: plain}, gold_of(["A"] * N), cases, by="organ", resamples=0)
    assert rows["reason"].tolist() == [NO_PROBES]
    assert "`mrb judge --probe`" in TABLES["probes"].says(rows)


def test_one_dominant_cluster_gives_no_interval_and_says_why() -> None:
    """Issue 42, fault 12: nine tenths of the cases in one cluster tell little more than two cases."""
    rng = np.random.default_rng(1)
    panels = {name: panel_of(rng.integers(0, 2, size=(1, N, 2, 1))) for name in (NO_PROBE, "image/removed")}
    cases = cases_of(N, room=["one"] * (N - 6) + list("abcdef"))
    row = probes(panels, gold_of(["A"] * N), cases, cluster="room", noise=0.0).iloc[0]
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


def made(verdicts: Mapping[str, Panel], part: str, gold: pd.DataFrame | None = None, **options: object) -> pd.DataFrame:
    given = {"resamples": 0, "noise": 0.0, **options}
    labels = gold_of(["A"] * OF_GAPS) if gold is None else gold
    rows = probes(verdicts, labels, cases_of(OF_GAPS), **given)
    return rows[rows["part"] == part]


def test_a_group_that_is_judged_worse_is_found_and_equal_ones_are_equivalent() -> None:
    verdicts = {
        NO_PROBE: wrong(0), f"{ORIGIN}:1": wrong(3), f"{ORIGIN}:2": wrong(4, start=[1]), f"{ORIGIN}:3": wrong(40),
    }  # fmt: skip
    rows = made(verdicts, "gap", resamples=200).set_index(["group_1", "group_2"])
    assert list(rows.index) == [("north", "south"), ("north", "east"), ("south", "east")]
    assert rows["accuracy_change"].tolist() == pytest.approx([-1 / OF_GAPS, -37 / OF_GAPS, -36 / OF_GAPS])
    assert rows["changed"].tolist() == pytest.approx([3 / OF_GAPS, 37 / OF_GAPS, 36 / OF_GAPS])
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
    drawn = {name: rng.integers(0, 2, size=(1, OF_GAPS, 2, 2)) for name in (NO_PROBE, f"{ORIGIN}:1", f"{ORIGIN}:2")}
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
    said = expectations_broken(table(verdicts, gold_of(["A"] * OF_GAPS), OF_GAPS, noise=0.0))
    assert "accuracy differs significantly in 2 of 3 comparisons and is equivalent in 1." in said


def test_where_no_verdict_changed_the_interval_says_how_much_may_have() -> None:
    """Of n cases of which none changed, a share of about 3.84 / (n + 3.84) is not rejected: Tango's score at 0."""
    row = made({NO_PROBE: wrong(3), "image/blur:1": wrong(3)}, "probe", resamples=200).iloc[0]
    assert row["accuracy_change"] == 0
    assert row["accuracy_change_high"] == pytest.approx(3.8415 / (OF_GAPS + 3.8415), rel=1e-3)
    assert row["accuracy_change_low"] == pytest.approx(-row["accuracy_change_high"])
    row = made({NO_PROBE: wrong(3), "image/blur:1": wrong(3)}, "probe").iloc[0]
    assert np.isnan(row["accuracy_change_low"]), "no interval was asked for"
