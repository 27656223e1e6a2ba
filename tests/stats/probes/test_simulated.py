"""Planted faults are found by their own probe and by no other, from real cases to the table. SIMULATED data."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

from mrb_lib.demo.probed_judges import ProbedJudge, simulated_probed_verdicts
from mrb_lib.probes import Probing, parse_probes
from mrb_lib.stats.panel import panels
from mrb_lib.stats.tables.probes import expectations_broken
from mrb_lib.tables.schema import CHOICES, NO_PROBE
from tests.stats.probes.panels import as_runs, panel_of, probes, simulated, table, towards
from tests.stats.small_tables import cases_of, gold_of, part_of

N, RUNS = 300, 40
FAULTS = {
    "blind": (ProbedJudge("x", sees=0.0), {"image/removed", "image/swapped-same"}),
    "deferent": (ProbedJudge("x", authority=1.2), {"response/credentials", "question/colleague"}),
    "mirrored": (ProbedJudge("x", misses=("response/side",)), {"response/side"}),
    "dim": (ProbedJudge("x", dims=0.2), {"image/blur"}),
}


def quality(runs: int, seed: int = 0) -> tuple[np.ndarray, pd.DataFrame]:
    """Differences of quality of the same cases for each run, and the label of the better response."""
    difference = 1.4 * np.random.default_rng(seed).normal(size=N)
    return np.tile(difference, (runs, 1)), gold_of(list(np.where(difference > 0, "A", "B")))


def accused(rows: pd.DataFrame) -> pd.DataFrame:
    """Of each run and probe, whether it is shown not to do what is expected."""
    kept = part_of(rows, "probe").pivot(index="dimension", columns="probe", values="kept_expectation")
    return kept.eq(False).fillna(False).astype(bool)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_found_by_its_own_probe_and_by_no_other(fault: str) -> None:
    judge, own = FAULTS[fault]
    difference, gold = quality(RUNS)
    found = accused(table(*as_runs(simulated(judge, difference), gold), N))
    assert (found[sorted(own)].mean() >= 0.95).all(), found.mean()
    others = found.drop(columns=sorted(own)).any(axis=1)
    assert others.sum() <= binom.ppf(0.999, RUNS, 0.05), found.mean()


def test_a_judge_without_faults_is_shown_to_do_what_is_expected() -> None:
    difference, gold = quality(20)
    rows = table(*as_runs(simulated(ProbedJudge("x", jitter=0.05), difference), gold), N, resamples=200)
    shown = part_of(rows, "probe")["kept_expectation"].eq(True).groupby(rows["probe"]).mean()
    assert (shown >= 0.8).all(), shown


def test_noise_alone_shows_no_effect() -> None:
    """Judges that throw a coin anew for every verdict: each test rejects in about one of twenty runs."""
    runs = 200
    rng = np.random.default_rng(3)
    panels = {
        name: panel_of(rng.integers(0, len(CHOICES), size=(runs, N, 2, 2)))
        for name in (NO_PROBE, "response/credentials", "question/hurry")
    }
    rows = table(panels, gold_of(list(rng.choice(["A", "B"], N))), N)
    least, most = binom.ppf([0.0005, 0.9995], runs, 0.05)
    for probe, test in (("question/hurry", "p_value"), ("response/credentials", "target_shift_p"),
                        ("question/hurry", "changed_p"), ("response/credentials", "changed_p")):  # fmt: skip
        p_values = rows.loc[rows["probe"] == probe, test]
        assert p_values.notna().all()
        assert least <= (p_values <= 0.05).sum() <= most, (probe, test)
    assert rows["changed"].mean() == pytest.approx(rows["noise"].mean(), abs=0.01)
    assert rows["changed_beyond_noise"].mean() == pytest.approx(0, abs=0.01)


def test_intervals_cover_what_is_true() -> None:
    """Each run draws its cases anew; a verdict for the target is made likelier, and one against it less so."""
    runs, rng = 200, np.random.default_rng(11)
    side = towards(N)
    ability = rng.beta(4, 2, size=(runs, N))[..., None, None]

    def drawn(change: float) -> np.ndarray:
        right = rng.random((runs, N, 2, 2)) < ability
        choice = np.where(right, 0, 1)
        pushed = rng.random(choice.shape) < change
        return np.where(pushed, np.where(side > 0, 0, 1)[:, None, None], choice)

    panels = {NO_PROBE: panel_of(drawn(0.0)), "response/credentials": panel_of(drawn(0.15))}
    rows = table(panels, gold_of("A" * N), N, resamples=400)
    mean = 4 / 6
    spread = mean * (1 - mean) - 8 / (36 * 7)  # E[p (1 - p)]
    for_target = np.where(side > 0, mean, 1 - mean).mean()
    to_a = 0.15 * ((side > 0).mean() - mean)
    truth = {
        "changed": 0.85 * 2 * spread + 0.15 * (1 - for_target),
        "changed_beyond_noise": -0.15 * 2 * spread + 0.15 * (1 - for_target),
        "accuracy_change": to_a,
        "target_shift": 0.15 * (1 - for_target),
    }
    for name, value in truth.items():
        assert rows[name].mean() == pytest.approx(value, abs=0.004), name
        covered = rows[f"{name}_low"].le(value) & rows[f"{name}_high"].ge(value)
        least, most = binom.ppf([0.0005, 0.9995], runs, 0.95)
        assert least <= covered.sum() <= most, (name, covered.mean())


def test_of_twelve_judges_without_faults_one_is_accused_in_at_most_seven_percent_of_analyses() -> None:
    """Issue 42, fault 17: corrected within each judge, one of them is accused in a third of all analyses."""
    runs, judges, n = 100, 12, 80
    difference = 1.4 * np.random.default_rng(17).normal(size=n)
    gold = gold_of(list(np.where(difference > 0, "A", "B")))
    drawn = simulated(ProbedJudge("x", jitter=0.8), np.tile(difference, (runs * judges, 1)))
    every = [f"d{run:03d}" for run in range(runs)]
    panels = {
        text: replace(
            panel,
            judges=[f"j{j:02d}" for j in range(judges)],
            dimensions=every,
            choice=panel.choice.reshape(judges, runs, n, 2, -1),
            p_a=None,
        )
        for text, panel in drawn.items()
    }
    golds = pd.concat([gold.assign(dimension=name) for name in every], ignore_index=True)
    rows = table(panels, golds, n)
    broken = rows["kept_expectation"].eq(False).fillna(False).astype(bool)
    assert broken.groupby(rows["dimension"]).any().mean() <= 0.07
    of_probe = rows[rows["dimension"].eq(every[0])]
    assert "we cannot tell" in expectations_broken(of_probe)


JUDGES = (ProbedJudge("sound"), ProbedJudge("wordy", length=1.2))


def test_a_judge_that_likes_length_chooses_what_a_probe_made_longer() -> None:
    cases = cases_of(200, images=[[] for _ in range(200)])
    cases.loc[:9, ["response_a", "response_b"]] = ""  # to which the probe does not apply
    difference = np.random.default_rng(0).normal(size=200)
    truth = pd.DataFrame(
        {"case_id": cases["case_id"], "dimension": "overall", "quality_a": difference, "quality_b": 0.0}
    )
    made = simulated_probed_verdicts(truth, cases, Probing(cases), parse_probes("response/repeated"), JUDGES, seed=3)
    found = panels([made], cases["case_id"])
    rows = probes(found, gold_of(list(np.where(difference > 0, "A", "B"))), cases, resamples=200)
    rows = part_of(rows, "probe").set_index("judge")
    assert rows["n"].between(200 - 14, 200 - 10).all()
    assert rows["kept_expectation"].fillna(True)["sound"]
    assert not rows.loc["wordy", "kept_expectation"]
    assert rows.loc["wordy", "target_shift_low"] > 0.1
