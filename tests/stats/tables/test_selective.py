"""The table `selective`: thresholds, what they do on held-out cases, and its sentence."""

from math import comb

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from mrb_lib.stats.analyze import TABLES
from mrb_lib.stats.estimation import Sampling
from mrb_lib.stats.methods.forecasts import FOLDS, folds
from mrb_lib.stats.tables import selective as module
from mrb_lib.stats.tables.selective import GRID, upper_bound
from tests.stats.small_tables import annotations_of, part_of, rows_of, tables_of

SPEC = TABLES["selective"]
Four = tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame, pd.DataFrame]
"""Verdicts, gold labels, annotations and cases."""


def tables(p: np.ndarray, right: np.ndarray, **columns: object) -> Four:
    """One judge of probabilities p for A, which gold and all of three annotators are where the judge is right."""
    gold = "".join(np.where((p > 0.5) == right, "A", "B"))
    verdicts, labels, cases = tables_of({("j", "AB"): "".join(np.where(p > 0.5, "A", "B"))}, gold, **columns)
    return verdicts.assign(p_a=p), labels, annotations_of(dict.fromkeys("abc", gold)), cases


def selective(
    verdicts: pd.DataFrame, gold: pd.DataFrame, annotations: pd.DataFrame, cases: pd.DataFrame, **options: object
) -> pd.DataFrame:
    return rows_of("selective", cases, verdicts, gold, annotations, **options)


def drawn(n: int, seed: int, best: float = 0.98, **columns: object) -> Four:
    """A judge that is right with a probability that rises from 1/2 to `best` with its confidence."""
    generator = np.random.default_rng(seed)
    confidence = generator.uniform(0.5, 1, n)
    right = generator.random(n) < 0.5 + (confidence - 0.5) * 2 * (best - 0.5)
    return tables(np.where(generator.random(n) < 0.5, confidence, 1 - confidence), right, **columns)


def plain_fixed_sequence(confidence: np.ndarray, wrong: np.ndarray, alpha: float, delta: float) -> float | None:
    """As the paper tells it: from the strictest threshold down, until the exact test does not reject."""
    best = None
    for threshold in GRID[::-1]:
        kept = confidence >= threshold
        n, k = int(kept.sum()), int(wrong[kept].sum())
        if (1 - alpha) ** n > delta or n < 0.15 * len(confidence):
            continue
        if sum(comb(n, i) * alpha**i * (1 - alpha) ** (n - i) for i in range(k + 1)) > delta:
            break
        best = float(threshold)
    return best


def told(verdicts: pd.DataFrame, gold: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """How sure the judge is of each case, and whether it is wrong."""
    p = verdicts["p_a"].to_numpy()
    return np.maximum(p, 1 - p), (verdicts["choice"] != gold["choice"]).to_numpy()


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("alpha", "delta"), [(0.1, 0.05), (0.2, 0.1)])
def test_the_threshold_is_that_of_the_procedure_written_plainly(seed: int, alpha: float, delta: float) -> None:
    data = drawn(160, seed)
    row = selective(*data, target=1 - alpha, part="guarantee").set_index("delta").loc[delta]
    expected = plain_fixed_sequence(*told(*data[:2]), alpha, delta)
    if expected is None:
        assert np.isnan(row["threshold"])
        assert row["reason"] == module.CANNOT
    else:
        assert row["threshold"] == expected
        assert row["bound"] >= 1 - alpha


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("delta", [0.05, 0.1])
def test_each_fold_is_answered_by_the_threshold_of_the_others(seed: int, delta: float) -> None:
    """A loop over folds, by the procedure written plainly."""
    data = drawn(250, seed, best=0.94)
    confidence, wrong = told(*data[:2])
    fold = folds(Sampling(np.arange(250), np.empty((0, 250))), seed)
    answered = np.zeros(250, dtype=bool)
    for held in range(FOLDS):
        rest = fold != held
        threshold = plain_fixed_sequence(confidence[rest], wrong[rest], 0.2, delta)
        if threshold is not None:
            answered |= ~rest & (confidence >= threshold)
    row = selective(*data, target=0.8, seed=seed, part="guarantee").set_index("delta").loc[delta]
    assert row["n_answered"] == answered.sum() != (confidence >= row["threshold"]).sum()
    assert row["coverage"] == pytest.approx(answered.mean())
    assert row["agreement"] == pytest.approx(1 - wrong[answered].mean())


def test_clusters_across_subfields_give_each_subfield_a_case() -> None:
    """100 clusters of an eye and a lung: each subfield calibrates on all 100, as it would alone."""
    data = drawn(200, 6, cluster=np.repeat(np.arange(100), 2), organ=["eye", "lung"] * 100)
    assert selective(*data, by="organ", target=0.7, part="guarantee")["n_calibration"].eq(100).all()


def test_one_case_of_each_cluster_calibrates_and_all_are_answered() -> None:
    data = drawn(400, 6, cluster=np.repeat(np.arange(100), 4))
    rows = selective(*data, target=0.7, part="guarantee")
    assert (rows[["n_calibration", "n"]] == [100, 400]).all(axis=None)
    alone = selective(*data, target=0.7, cluster="case_id", part="guarantee")
    assert (alone["n_calibration"] == 400).all()


def test_both_orders_make_one_answer() -> None:
    first, gold, annotations, cases = tables(np.array([0.9, 0.3, 0.8]), np.array([True, False, True]))
    second = first.assign(order="BA", p_a=[0.6, 0.3, 0.1])
    table = selective(pd.concat([first, second]), gold, annotations, cases)
    row = part_of(table, "summary").iloc[0]
    assert row["n"] == 3
    assert row["agreement"] == pytest.approx(1 / 3)  # .75 for A, .3 for A, .45 for A; gold A, A, A
    curve = part_of(table, "curve")
    np.testing.assert_allclose(curve["threshold"], [0.75, 0.7, 0.55])
    np.testing.assert_allclose(curve["risk"], [0, 1 / 2, 2 / 3])


@pytest.mark.parametrize(("wrong", "n"), [(3, 40), (0, 12), (17, 60)])
def test_the_bound_of_right_and_wrong_is_that_of_clopper_and_pearson(wrong: int, n: int) -> None:
    exact = stats.binomtest(wrong, n, alternative="less").proportion_ci(0.9, "exact").high
    assert upper_bound(np.array([float(wrong)]), np.array([n]), 0.1)[0] == pytest.approx(exact, abs=1e-9)


def test_every_annotated_case_counts_against_a_stated_reference() -> None:
    """Issue 12, point 6. Before, the splits and the ties were left out, and the judge was right on all of the rest."""
    annotations = annotations_of({"a": "AAATB", "b": "AABTB", "c": "ABTAB"})
    verdicts, gold, cases = tables_of({("j", "AB"): "AAAAA"}, "AA?TB")
    table = selective(verdicts.assign(p_a=[0.9, 0.8, 0.9, 0.5, 0.1]), gold, annotations, cases)
    majority = part_of(table, "summary").iloc[0]
    assert (majority["reference"], majority["n"]) == ("majority", 5)
    assert majority["agreement"] == pytest.approx(4 / 5)  # one half answers a tie, which c3 is; c2 has no label
    # one annotator against the majority of the other two: all of c0 and c4, the one B of c1 against A, A is wrong,
    # the two A's see a split; none of c2; of c3 as of c1
    assert majority["human_level"] == pytest.approx((1 + 0 + 0 + 0 + 1) / 5)
    assert majority["judge_level"] == pytest.approx((1 + 1 / 3 + 0 + 1 / 3 + 1) / 5)


def test_without_annotators_of_their_own_there_is_no_human_level() -> None:
    verdicts, gold, annotations, cases = drawn(60, 3)
    row = selective(verdicts, gold, annotations.assign(annotator="consensus"), cases, part="summary").iloc[0]
    assert module.NO_HUMAN in row["reason"]
    assert row["n"] == 60


def test_what_is_left_out_is_counted_and_a_silent_judge_is_null() -> None:
    verdicts, gold, annotations, cases = drawn(40, 7)
    gold.loc[0, "choice"] = "tie"
    verdicts.loc[1, "p_a"] = np.nan
    mute = verdicts.assign(judge="mute", p_a=np.nan)
    table = selective(pd.concat([verdicts, mute]), gold.iloc[:-1], annotations, cases)
    row = part_of(table, "summary").set_index("judge")
    assert (row.loc["j", "n"], row.loc["j", "n_excluded"]) == (38, 2)
    assert (row.loc["mute", "n"], row.loc["mute", "n_excluded"]) == (0, 40)
    assert row.loc["mute", "reason"] == module.NO_PROBABILITIES
    assert np.isnan(row.loc["mute", "agreement"])
    assert set(table.loc[table["judge"] == "mute", "part"]) == {"summary"}


def test_without_probabilities_the_table_is_one_sentence() -> None:
    verdicts, gold, annotations, cases = drawn(40, 7)
    table = selective(verdicts.assign(p_a=np.nan), gold, annotations, cases)
    assert len(table) == 0
    assert SPEC.says(table) == "There is nothing to show: no judge gives a probability on an annotated case."


def test_every_cluster_counts_once_in_what_is_promised_and_measured() -> None:
    """400 questions of one case, right in 97%, and 40 of twenty, right in 60%: a promise of .9 stood beside .72."""
    sizes = np.repeat([1, 20], [400, 40])
    cluster = np.repeat(np.arange(len(sizes)), sizes)
    right = np.random.default_rng(1).random(len(cluster)) < np.where(sizes[cluster] == 1, 0.97, 0.6)
    verdicts, gold, annotations, cases = tables(np.full(len(cluster), 0.95), right, cluster=cluster.astype(str))
    table = selective(verdicts, gold, annotations, cases)
    by_cluster = pd.Series(right).groupby(cluster).mean()
    rows = part_of(table, "guarantee")
    promised = rows[rows["coverage"] == 1]
    assert len(promised)
    assert promised["agreement"].tolist() == pytest.approx([by_cluster.mean()] * len(promised))
    assert (promised["n_answered"] == len(cluster)).all()
    assert (promised["n_calibration"] == len(sizes)).all()
    assert part_of(table, "summary")["agreement"].iloc[0] == pytest.approx(right.mean())
