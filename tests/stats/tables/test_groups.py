"""Contrasts between groups of judges: against a plain loop, and what must hold of any."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from mrb_lib.stats.multiplicity import adjust
from mrb_lib.stats.tables.groups import HEURISTIC, NO_JUDGE, contrasted
from tests.stats.small_tables import groups_of, judged, part_of, rows_of

OPEN, MEDICAL, CRITIC = "open", "medical", "critic"
NAMES = {"a1": OPEN, "a2": OPEN, "a3": OPEN, "m1": MEDICAL, "m2": MEDICAL, "m3": MEDICAL, "m4": MEDICAL}


def groups(
    right: np.ndarray, names: dict[str, str] = NAMES, stated: pd.DataFrame | None = None, **options: object
) -> pd.DataFrame:
    """The rows of the table, of judges right (1), wrong (0) or without a verdict (-1), shape (judges, cases)."""
    columns = {name: options.pop(name) for name in ("cluster", "organ") if name in options}
    verdicts, gold, cases = judged(dict(zip(names, right, strict=True)), **columns)
    return rows_of("groups", cases, verdicts, gold, groups=groups_of(names) if stated is None else stated, **options)


def drawn(seed: int, n: int = 80, judges: int = 7) -> np.ndarray:
    generator = np.random.default_rng(seed)
    ability = generator.normal(0, 0.12, (judges, 1))
    return (generator.random((judges, n)) < 0.65 + ability + generator.normal(0, 0.15, n)).astype(int)


def variance_of_judges(scores: np.ndarray) -> tuple[float, float]:
    """Mean squares of judges and of the residual in a two-way layout, shape (judges, cases), both over its size."""
    k, n = scores.shape
    residual = scores - scores.mean(axis=1, keepdims=True) - scores.mean(axis=0) + scores.mean()
    return n * scores.mean(axis=1).var(ddof=1) / (k * n), (residual**2).sum() / ((k - 1) * (n - 1)) / (k * n)


@pytest.mark.parametrize("seed", range(5))
def test_a_contrast_is_what_mean_squares_give_with_cases_as_clusters(seed: int) -> None:
    right = drawn(seed)
    (row,) = groups(right).to_dict("records")
    n, difference = right.shape[1], right[:3].mean(axis=0) - right[3:].mean(axis=0)
    of_cases = difference.var(ddof=1) / n
    variance, squares = of_cases, of_cases**2 / (n - 1)
    for scores in (right[:3], right[3:]):
        of_judges, residual = variance_of_judges(scores)
        variance += of_judges - residual
        squares += (of_judges**2 + residual**2 / (n - 1)) / (len(scores) - 1)
    variance = max(variance, of_cases / 2)
    value, error, df = difference.mean(), np.sqrt(variance), max(variance**2 / squares, 1)
    assert (row["group_1"], row["group_2"], row["n_judges_1"], row["n_judges_2"]) == (OPEN, MEDICAL, 3, 4)
    assert row["difference"] == pytest.approx(value, abs=1e-12)
    assert (row["standard_error"], row["df"]) == pytest.approx((error, df), rel=1e-9)
    half = stats.t.ppf(0.975, df) * error
    assert (row["low"], row["high"]) == pytest.approx((max(value - half, -1), min(value + half, 1)))
    assert row["p_value"] == pytest.approx(2 * stats.t.sf(abs(value) / error, df))


def test_more_engines_of_a_model_are_no_more_judges() -> None:
    right = drawn(3)
    stated = pd.concat([groups_of(NAMES), groups_of({"a1+generative": OPEN}).assign(model="a1")])
    once = groups(right).iloc[0]
    again = groups(np.vstack([right, right[0]]), {**NAMES, "a1+generative": OPEN}, stated).iloc[0]
    for name in ("n_judges_1", "difference", "low", "high", "p_value"):
        assert again[name] == pytest.approx(once[name])


def test_models_of_a_family_are_one_draw_by_their_mean() -> None:
    """Two copies of a model add nothing; where models are taken as draws they would."""
    right, names = drawn(10), {**NAMES, "a1b": OPEN, "a1c": OPEN}
    stated = groups_of(names).assign(family=[*"a", *list(NAMES)[1:], *"aa"])
    once, again = groups(right).iloc[0], groups(np.vstack([right, right[[0, 0]]]), names, stated).iloc[0]
    assert (again["n_judges_1"], again["n_families_1"]) == (5, 3)
    for name in ("difference", "low", "high", "p_value"):
        assert again[name] == pytest.approx(once[name])


def test_a_group_without_a_judge_in_a_subfield_is_said() -> None:
    right = drawn(6)
    right[3:, :40] = -1
    rows = groups(right, organ=["eye"] * 40 + ["lung"] * 40, by="organ").set_index("subfield")
    assert rows.loc["eye", ["n_judges_1", "n_judges_2", "reason"]].tolist() == [3, 0, NO_JUDGE]
    assert np.isnan(rows.loc["eye", "difference"])
    assert pd.isna(rows.loc["lung", "reason"])


def test_judges_that_miss_cases_are_scored_on_their_own() -> None:
    right = drawn(7)
    right[0, :50] = -1
    row = groups(right).iloc[0]
    means = [right[0, 50:].mean(), right[1].mean(), right[2].mean()]
    assert row["difference"] == pytest.approx(np.mean(means) - right[3:].mean())
    assert (row["n"], row["n_excluded"]) == (80, 0)


def test_juries_and_judges_in_no_group_take_no_part_and_heuristics_where_nothing_else_does() -> None:
    assert contrasted([CRITIC, "mine", OPEN, HEURISTIC, "jury", "other", MEDICAL]) == [OPEN, MEDICAL, CRITIC, "mine"]
    assert contrasted([OPEN, HEURISTIC, "jury"]) == [OPEN, HEURISTIC]
    assert contrasted(["jury", "other"]) == []


def test_a_family_is_the_contrasts_of_a_dimension_and_subfield_or_of_all() -> None:
    names = NAMES | {"k1": CRITIC, "k2": CRITIC, "k3": CRITIC}
    given = {"names": names, "organ": ["eye", "lung"] * 40, "by": "organ"}
    rows = groups(drawn(8, judges=10), **given)
    assert len(rows) == 9
    for _, part in rows.groupby("subfield", dropna=False):
        assert part["family"].eq(3).all()
        assert part["p_adjusted"].to_numpy() == pytest.approx(adjust(part["p_value"].to_numpy(), "holm"))
    together = groups(drawn(8, judges=10), **given, family="all", correction="bonferroni")
    assert together["p_adjusted"].to_numpy() == pytest.approx(np.minimum(9 * together["p_value"], 1))


def test_medical_models_are_paired_with_their_bases_and_those_of_one_base_are_one_draw() -> None:
    right, bases = drawn(9), {"m1": "a1", "m2": "a1", "m3": "a2", "m4": "a3"}
    rows = groups(right, stated=groups_of(NAMES, bases))
    row = part_of(rows, "descendants").iloc[0]
    assert (row["group_1"], row["group_2"], row["n_judges_1"], row["n_judges_2"]) == (MEDICAL, "base", 4, 3)
    gains = np.stack([right[3:5].mean(axis=0) - right[0], right[5] - right[1], right[6] - right[2]])
    assert row["difference"] == pytest.approx(gains.mean())
    of_cases, (of_bases, residual) = gains.mean(axis=0).var(ddof=1) / gains.shape[1], variance_of_judges(gains)
    assert row["standard_error"] == pytest.approx(np.sqrt(max(of_cases + of_bases - residual, of_cases / 2)))
    assert part_of(rows, "contrast")["family"].eq(1).all()
