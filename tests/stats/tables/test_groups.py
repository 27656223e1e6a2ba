"""Contrasts between groups of judges: against a plain loop, and what must hold of any."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from mrb_lib.stats.analysis import Analysis
from mrb_lib.stats.analyze import TABLES
from mrb_lib.stats.columns import ALIKE, ONE_CLUSTER
from mrb_lib.stats.multiplicity import adjust
from mrb_lib.stats.panel import ABSENT, Panel
from mrb_lib.stats.tables.groups import HEURISTIC, NO_JUDGE, contrasted
from tests.stats.small_tables import groups_of

OPEN, MEDICAL, CRITIC = "open", "medical", "critic"
NAMES = {"a1": OPEN, "a2": OPEN, "a3": OPEN, "m1": MEDICAL, "m2": MEDICAL, "m3": MEDICAL, "m4": MEDICAL}


def groups(
    panel: Panel, gold: pd.DataFrame, cases: pd.DataFrame, stated: pd.DataFrame, **options: object
) -> pd.DataFrame:
    """The rows of the table."""
    analysis = Analysis.from_frames(cases, None, gold, dimensions=["overall"], groups=stated, **options)
    table = TABLES["groups"]
    rows: pd.DataFrame = table.of(replace(analysis, probes={"none": panel}))
    return rows


def benchmark(
    right: np.ndarray, judges: list[str], **columns: list[object]
) -> tuple[Panel, pd.DataFrame, pd.DataFrame]:
    """Judges right (1), wrong (0) or without a verdict (-1) in order AB; the gold label is A throughout.

    Parameters
    ----------
    right : shape (judges, cases)
    """
    choice = np.select([right == 1, right == 0], [0, 1], ABSENT).astype(np.int8)[:, None, :, None, None]
    choice = np.concatenate([choice, np.full_like(choice, ABSENT)], axis=3)
    ids = [f"c{i}" for i in range(right.shape[1])]
    gold = pd.DataFrame({"case_id": ids, "dimension": "overall", "choice": "A"})
    order = np.argsort(judges)
    panel = Panel([judges[i] for i in order], ["overall"], [0], choice[order], None, pd.DataFrame())
    return panel, gold, pd.DataFrame({"case_id": ids, **columns})


def drawn(seed: int, n: int = 80, judges: int = 7) -> np.ndarray:
    generator = np.random.default_rng(seed)
    ability = generator.normal(0, 0.12, (judges, 1))
    return (generator.random((judges, n)) < 0.65 + ability + generator.normal(0, 0.15, n)).astype(int)


def by_loop(first: np.ndarray, second: np.ndarray) -> tuple[float, float, float]:
    """Difference, standard error and degrees of freedom by mean squares of the two-way layout, cases as clusters."""
    n = first.shape[1]
    difference = first.mean(axis=0) - second.mean(axis=0)
    of_cases = difference.var(ddof=1) / n
    variance, squares = of_cases, of_cases**2 / (n - 1)
    for scores in (first, second):
        k = len(scores)
        mean_square_judges = n * scores.mean(axis=1).var(ddof=1)
        residual = 0.0
        for judge in range(k):
            for case in range(n):
                fitted = scores[judge].mean() + scores[:, case].mean() - scores.mean()
                residual += (scores[judge, case] - fitted) ** 2
        mean_square_residual = residual / ((k - 1) * (n - 1))
        variance += (mean_square_judges - mean_square_residual) / (k * n)
        squares += (mean_square_judges / (k * n)) ** 2 / (k - 1)
        squares += (mean_square_residual / (k * n)) ** 2 / ((k - 1) * (n - 1))
    variance = max(variance, of_cases / 2)
    return float(difference.mean()), float(np.sqrt(variance)), float(max(variance**2 / squares, 1))


@pytest.mark.parametrize("seed", range(5))
def test_a_contrast_is_what_the_mean_squares_of_a_plain_loop_give(seed: int) -> None:
    right = drawn(seed)
    (row,) = groups(*benchmark(right, list(NAMES)), groups_of(NAMES)).to_dict("records")
    value, error, df = by_loop(right[:3].astype(float), right[3:].astype(float))
    assert (row["group_1"], row["group_2"], row["n_judges_1"], row["n_judges_2"]) == (OPEN, MEDICAL, 3, 4)
    assert row["difference"] == pytest.approx(value, abs=1e-12)
    assert row["standard_error"] == pytest.approx(error, rel=1e-9)
    assert row["df"] == pytest.approx(df, rel=1e-9)
    half = stats.t.ppf(0.975, df) * error
    assert (row["low"], row["high"]) == pytest.approx((max(value - half, -1), min(value + half, 1)))
    assert row["p_value"] == pytest.approx(2 * stats.t.sf(abs(value) / error, df))


def test_interval_and_test_say_the_same_of_every_contrast() -> None:
    said = set()
    for seed in range(60):
        right = drawn(seed, n=30)
        right[3:] |= (np.random.default_rng(seed).random(right[3:].shape) < 0.3).astype(int)
        (row,) = groups(*benchmark(right, list(NAMES)), groups_of(NAMES)).to_dict("records")
        shown = row["low"] > 0 or row["high"] < 0
        assert shown == (row["p_value"] < 0.05)
        said.add(shown)
    assert said == {True, False}


def test_groups_that_change_places_change_the_sign_and_nothing_else() -> None:
    data = benchmark(drawn(1), list(NAMES))
    swap = {OPEN: MEDICAL, MEDICAL: OPEN}
    one, other = (
        groups(*data, groups_of(names)).iloc[0] for names in (NAMES, {judge: swap[g] for judge, g in NAMES.items()})
    )
    assert one["difference"] == pytest.approx(-other["difference"])
    assert (one["low"], one["high"]) == pytest.approx((-other["high"], -other["low"]))
    for name in ("p_value", "standard_error", "df"):
        assert one[name] == pytest.approx(other[name])


def test_more_engines_of_a_model_are_no_more_judges() -> None:
    right = drawn(3)
    once = groups(*benchmark(right, list(NAMES)), groups_of(NAMES)).iloc[0]
    stated = pd.concat([groups_of(NAMES), groups_of({"a1+generative": OPEN}).assign(model="a1")])
    again = groups(*benchmark(np.vstack([right, right[0]]), [*NAMES, "a1+generative"]), stated).iloc[0]
    for name in ("n_judges_1", "difference", "low", "high", "p_value"):
        assert again[name] == pytest.approx(once[name])


def test_models_of_a_family_are_one_draw_by_their_mean() -> None:
    """Two copies of a model add nothing; where models are taken as draws they would."""
    right = drawn(10)
    once = groups(*benchmark(right, list(NAMES)), groups_of(NAMES)).iloc[0]
    names = {**NAMES, "a1b": OPEN, "a1c": OPEN}
    stated = groups_of(names)
    stated["family"] = stated["judge"].where(~stated["judge"].isin(["a1", "a1b", "a1c"]), "a")
    again = groups(*benchmark(np.vstack([right, right[[0, 0]]]), list(names)), stated).iloc[0]
    assert (again["n_judges_1"], again["n_families_1"]) == (5, 3)
    for name in ("difference", "low", "high", "p_value"):
        assert again[name] == pytest.approx(once[name])


def test_what_is_undefined_is_null_with_a_reason() -> None:
    stated = groups_of(NAMES)
    alike = groups(*benchmark(np.ones((7, 20), dtype=int), list(NAMES)), stated).iloc[0]
    assert alike["difference"] == 0.0
    assert ALIKE in alike["reason"]
    assert np.isnan(alike["p_value"])
    one = groups(*benchmark(drawn(5), list(NAMES), cluster=["x"] * 80), stated).iloc[0]
    assert ONE_CLUSTER in one["reason"]
    assert np.isnan(one["low"])
    right = drawn(6)
    right[3:, :40] = -1
    of_eyes = groups(*benchmark(right, list(NAMES), organ=["eye"] * 40 + ["lung"] * 40), stated, by="organ")
    eye = of_eyes[of_eyes["subfield"] == "eye"].iloc[0]
    assert (eye["n_judges_1"], eye["n_judges_2"], eye["reason"]) == (3, 0, NO_JUDGE)
    assert np.isnan(eye["difference"])
    assert of_eyes[of_eyes["subfield"] == "lung"]["reason"].isna().all()


def test_judges_that_miss_cases_are_scored_on_their_own() -> None:
    right = drawn(7)
    right[0, :50] = -1
    row = groups(*benchmark(right, list(NAMES)), groups_of(NAMES)).iloc[0]
    means = [right[0, 50:].mean(), right[1].mean(), right[2].mean()]
    assert row["difference"] == pytest.approx(np.mean(means) - right[3:].mean())
    assert (row["n"], row["n_excluded"]) == (80, 0)


def test_juries_and_judges_in_no_group_take_no_part_and_heuristics_where_nothing_else_does() -> None:
    assert contrasted([CRITIC, "mine", OPEN, HEURISTIC, "jury", "other", MEDICAL]) == [OPEN, MEDICAL, CRITIC, "mine"]
    assert contrasted([OPEN, HEURISTIC, "jury"]) == [OPEN, HEURISTIC]
    assert contrasted(["jury", "other"]) == []


def test_a_family_is_the_contrasts_of_a_dimension_and_subfield_or_of_all() -> None:
    names = NAMES | {"k1": CRITIC, "k2": CRITIC, "k3": CRITIC}
    data = benchmark(drawn(8, judges=10), list(names), organ=["eye", "lung"] * 40)
    rows = groups(*data, groups_of(names), by="organ")
    assert len(rows) == 9
    for _, part in rows.groupby("subfield", dropna=False):
        assert part["family"].eq(3).all()
        assert part["p_adjusted"].to_numpy() == pytest.approx(adjust(part["p_value"].to_numpy(), "holm"))
    together = groups(*data, groups_of(names), by="organ", family="all", correction="bonferroni")
    assert together["p_adjusted"].to_numpy() == pytest.approx(np.minimum(9 * together["p_value"], 1))


def test_medical_models_are_paired_with_their_bases_and_those_of_one_base_are_one_draw() -> None:
    right, bases = drawn(9), {"m1": "a1", "m2": "a1", "m3": "a2", "m4": "a3"}
    rows = groups(*benchmark(right, list(NAMES)), groups_of(NAMES, bases))
    row = rows[rows["part"] == "descendants"].iloc[0]
    assert (row["group_1"], row["group_2"], row["n_judges_1"], row["n_judges_2"]) == (MEDICAL, "base", 4, 3)
    gains = np.stack([right[3:5].mean(axis=0) - right[0], right[5] - right[1], right[6] - right[2]])
    assert row["difference"] == pytest.approx(gains.mean())
    n, k = gains.shape[1], 3
    residual = gains - gains.mean(axis=1, keepdims=True) - gains.mean(axis=0) + gains.mean()
    shared = (residual**2).sum() / ((k - 1) * (n - 1)) / (k * n)
    of_cases = gains.mean(axis=0).var(ddof=1) / n
    variance = max(of_cases + gains.mean(axis=1).var(ddof=1) / k - shared, of_cases / 2)
    assert row["standard_error"] == pytest.approx(np.sqrt(variance))
    assert rows[rows["part"] == "contrast"]["family"].eq(1).all()
