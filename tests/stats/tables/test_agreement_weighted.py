"""Coefficients of two annotators, and their standard errors, are those of scikit-learn, statsmodels and pingouin."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pingouin
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.inter_rater import cohens_kappa

from mrb_lib.stats.coefficients import bias_index, prevalence_index
from mrb_lib.stats.tables.agreement import NAMES
from mrb_lib.tables.schema import LEVELS
from tests.stats.small_tables import agreement, annotations_of, annotator_pairs, cases_of, estimated

CATEGORIES = list("1234")
WEIGHTS = {"cohen_kappa": None, "linear_kappa": "linear", "quadratic_kappa": "quadratic"}


def scored(n: int = 80, annotators: int = 3, missing: float = 0.0, seed: int = 0) -> pd.DataFrame:
    """Annotators who are near a case's score, and a little harsher one by one."""
    generator = np.random.default_rng(seed)
    truth = generator.integers(1, 5, n)
    words = {}
    for i in range(annotators):
        given = np.clip(truth + generator.integers(-1, 2, n) - (generator.random(n) < 0.2 * i), 1, 4)
        words[f"a{i}"] = "".join(np.where(generator.random(n) < missing, "-", given.astype(str)))
    return annotations_of(words)


def wide(annotations: pd.DataFrame) -> pd.DataFrame:
    return annotations.pivot_table(index="case_id", columns="annotator", values="choice", aggfunc="first")


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_weighted_kappas_equal_scikit_learn(missing: float) -> None:
    annotations = scored(missing=missing)
    rows = annotator_pairs(annotations, cases_of(80), categories=CATEGORIES, level="ordinal", resamples=0)
    table = wide(annotations)
    for _, row in rows.iterrows():
        both = table[[row["annotator_1"], row["annotator_2"]]].dropna()
        for name, weights in WEIGHTS.items():
            expected = cohen_kappa_score(*(both[column] for column in both), labels=CATEGORIES, weights=weights)
            assert row[name] == pytest.approx(expected, abs=1e-12)
    overall = agreement(annotations, cases_of(80), categories=CATEGORIES, level="ordinal", resamples=0).iloc[0]
    for name in WEIGHTS:
        assert overall[name] == pytest.approx(rows[name].mean(), abs=1e-12)


def test_the_interval_level_weighs_by_the_numbers_themselves() -> None:
    annotations = annotations_of({"a": "1224", "b": "1242"})
    row = annotator_pairs(annotations, cases_of(4), categories=list("124"), level="interval", resamples=0).iloc[0]
    first, second = np.array([1, 2, 2, 4]), np.array([1, 2, 4, 2])
    for name, power in (("linear_kappa", 1), ("quadratic_kappa", 2)):
        observed = (np.abs(first - second) ** power).mean()
        expected = (np.abs(first[:, None] - second) ** power).mean()
        assert row[name] == pytest.approx(1 - observed / expected)


def test_kappas_have_the_standard_errors_of_statsmodels() -> None:
    """Those of Fleiss, Cohen and Everitt (1969) divide by n, the estimator's (CR2) by n - 1."""
    annotations = scored(60, 2, seed=3)
    table = wide(annotations)
    counts = pd.crosstab(table["a0"], table["a1"]).reindex(index=CATEGORIES, columns=CATEGORIES, fill_value=0)
    for name, weights in WEIGHTS.items():
        expected = cohens_kappa(counts.to_numpy(), wt=weights)
        found = estimated(annotations, cases_of(60), name, categories=CATEGORIES, level="ordinal")
        assert found.value[0] == pytest.approx(expected.kappa, abs=1e-9)
        assert found.error[0] * np.sqrt(59 / 60) == pytest.approx(expected.std_kappa, abs=1e-9)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_alpha_ac2_and_iccs_of_a_pair_are_those_of_a_table_of_two(level: str, missing: float) -> None:
    """The kernel of many annotators, which other tests tie to krippendorff, irrCAC and pingouin."""
    annotations = scored(missing=missing, seed=5)
    rows = annotator_pairs(annotations, cases_of(80), categories=CATEGORIES, level=level, resamples=0)
    table = wide(annotations)
    for _, row in rows.iterrows():
        both = table[[row["annotator_1"], row["annotator_2"]]].dropna().index
        kept = annotations["case_id"].isin(both) & annotations["annotator"].isin(row[["annotator_1", "annotator_2"]])
        two = agreement(annotations[kept], cases_of(80), categories=CATEGORIES, level=level, resamples=0).iloc[0]
        for name in NAMES:
            assert row[name] == pytest.approx(two[name], abs=1e-8, nan_ok=True), name
        assert np.isfinite(row["krippendorff_alpha"])


@pytest.mark.filterwarnings("ignore:The inplace keyword")  # pingouin with pandas 3.1
def test_icc_of_pairs_equals_pingouin() -> None:
    annotations = scored()
    rows = annotator_pairs(annotations, cases_of(80), categories=CATEGORIES, level="interval", resamples=0)
    for (first, second), (_, row) in zip(combinations(["a0", "a1", "a2"], 2), rows.iterrows(), strict=True):
        assert (row["annotator_1"], row["annotator_2"]) == (first, second)
        both = annotations[annotations["annotator"].isin([first, second])].assign(
            score=lambda f: f["choice"].astype(float)
        )
        expected = pingouin.intraclass_corr(both, "case_id", "annotator", "score").set_index("Type").loc["ICC(A,1)"]
        assert row["icc_2_1"] == pytest.approx(expected["ICC"], abs=1e-9)


tables = arrays(np.int64, st.tuples(st.shared(st.integers(2, 4), key="q"), st.shared(st.integers(2, 4), key="q")),
                elements=st.integers(0, 9))  # fmt: skip


@given(tables)
def test_kappa_is_made_of_pabak_prevalence_and_bias(table: np.ndarray) -> None:
    """The decomposition of Byrt et al. (1993), for any number of categories."""
    n = table.sum()
    if n == 0:
        return
    first, second = table.sum(axis=1) / n, table.sum(axis=0) / n
    chance = first @ second
    if chance > 1 - 1e-9:
        return
    percent = np.trace(table) / n
    q = len(table)
    pabak = (q * percent - 1) / (q - 1)
    prevalence, bias = prevalence_index((first + second) / 2, q), bias_index(first, second, q)
    expected = (pabak - prevalence**2 + bias**2) / (1 - prevalence**2 + bias**2)
    assert (percent - chance) / (1 - chance) == pytest.approx(expected, abs=1e-9)
    if q == 2:
        assert prevalence == pytest.approx(abs(table[0, 0] - table[1, 1]) / n, abs=1e-7)
        assert bias == pytest.approx(abs(table[0, 1] - table[1, 0]) / n, abs=1e-9)


def test_without_an_order_there_are_no_weighted_kappas_and_the_row_says_so() -> None:
    row = annotator_pairs(scored(), cases_of(80), categories=CATEGORIES, resamples=0).iloc[0]
    assert row[["linear_kappa", "quadratic_kappa", "icc_2_1"]].isna().all()
    assert "nominal labels" in row["reason"]
    row = annotator_pairs(scored(), cases_of(80), categories=CATEGORIES, level="ordinal", resamples=0).iloc[0]
    assert row[["linear_kappa", "quadratic_kappa"]].notna().all()
    assert np.isnan(row["icc_2_1"])
    assert "no ICC" in row["reason"]


def test_no_interval_for_two_who_share_few_cases() -> None:
    rows = annotator_pairs(annotations_of({"a": "AB" * 9 + "A", "b": "AB" * 9 + "B"}), cases_of(19), resamples=100)
    row = rows.iloc[0]
    assert row["percent_agreement"] == pytest.approx(18 / 19)
    bounds = [name for name in rows.columns if name.endswith(("_low", "_high"))]
    assert row[bounds].isna().all()
    assert "share fewer than 20" in row["reason"]


def test_intervals_of_two_who_share_some_cases_are_called_approximate() -> None:
    for n, said in ((40, True), (60, False)):
        words = {"a": "AB" * (n // 2), "b": "AB" * (n // 2 - 2) + "BABB"}
        pair = annotator_pairs(annotations_of(words), cases_of(n), resamples=100).iloc[0]
        assert np.isfinite(pair["cohen_kappa_low"])
        assert ("approximate intervals" in pair["reason"]) is said
        row = agreement(annotations_of(words), cases_of(n), resamples=100).iloc[0]
        assert ("approximate intervals of kappas" in row["reason"]) is said
