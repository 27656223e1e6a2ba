"""PandaLM's published agreement and accuracies (Wang et al., ICLR 2024; README of 2023-06-09).

The literals are the recomputed values of the reference folder's truths, which agree
with the published ones to the digits that were published.
"""

import pandas as pd
import pytest

from mrb_lib.benchmarks.formats.base import Imported
from mrb_lib.benchmarks.votes import gold
from mrb_lib.stats.analyze import analyze

EXACT = 1e-6


def table(pandalm: Imported, name: str, **options: object) -> pd.DataFrame:
    return analyze(pandalm.benchmark, pandalm.verdicts, name, **options)


AGREEMENT = {
    "percent_agreement": (0.91992, 0.9059, 0.9333), "cohen_kappa": (0.864209, 0.8405, 0.8865),
    "fleiss_kappa": (0.864175, 0.8404, 0.8864), "krippendorff_alpha": (0.864221, 0.8405, 0.8865),
    "gwet_ac1": (0.886445, 0.8664, 0.9057),
}  # fmt: skip


def test_agreement(pandalm: Imported) -> None:
    row = table(pandalm, "agreement", cluster="case_id").iloc[0]
    assert (row["n_cases"], row["n_annotators"]) == (999, 3)
    for name, (value, low, high) in AGREEMENT.items():
        assert row[name] == pytest.approx(value, abs=EXACT), name
        assert [row[f"{name}_low"], row[f"{name}_high"]] == pytest.approx([low, high], abs=0.01), name


def test_annotator_pairs(pandalm: Imported) -> None:
    rows = table(pandalm, "agreement").set_index(["annotator_1", "annotator_2"])["cohen_kappa"]
    assert rows["annotator1", "annotator2"] == pytest.approx(0.852023, abs=EXACT)
    assert rows["annotator1", "annotator3"] == pytest.approx(0.878944, abs=EXACT)
    assert rows["annotator2", "annotator3"] == pytest.approx(0.861661, abs=EXACT)


@pytest.mark.parametrize(
    ("judge", "expected"),
    [
        ("gpt-3.5-turbo", (0.710711, 0.587919, 0.573623, 0.575538, 0.495784)),
        ("pandalm-7b", (0.667668, 0.573831, 0.574969, 0.574305, 0.435355)),
    ],
)
def test_accuracy_with_unparsed_read_as_tie(pandalm_as_tie: Imported, judge: str, expected: tuple[float, ...]) -> None:
    row = table(pandalm_as_tie, "accuracy", policy="official").set_index("judge").loc[judge]
    assert (row["n"], row["n_excluded"], row["coverage"]) == (999, 0, 1.0)
    assert row["accuracy"] == pytest.approx(expected[0], abs=EXACT)
    names = ["exact_accuracy", "precision_macro", "recall_macro", "f1_macro", "cohen_kappa"]
    assert tuple(row[names]) == pytest.approx(expected, abs=EXACT)


def test_accuracy_with_unparsed_dropped_or_wrong(pandalm: Imported) -> None:
    row = table(pandalm, "accuracy", policy="official").set_index("judge").loc["gpt-3.5-turbo"]
    assert row["accuracy"] == pytest.approx(0.697698, abs=EXACT)
    assert row["coverage"] == pytest.approx(974 / 999)
    names = ["exact_accuracy", "precision_macro", "recall_macro", "f1_macro", "cohen_kappa"]
    expected = (0.715606, 0.53654, 0.541652, 0.533082, 0.492865)
    assert tuple(row[names]) == pytest.approx(expected, abs=EXACT)


def test_the_unanimous_cases(pandalm_as_tie: Imported) -> None:
    """879 unanimous, 120 two to one, none split three ways; majority labels tie 105, first 422, second 472."""
    unanimous = table(pandalm_as_tie, "accuracy", gold="unanimous", resamples=0)
    assert set(unanimous["n"]) == {879}
    assert set(unanimous["n_excluded"]) == {120}
    assert set(table(pandalm_as_tie, "accuracy", resamples=0)["n_excluded"]) == {0}
    assert gold(pandalm_as_tie.benchmark)["choice"].value_counts().to_dict() == {"B": 472, "A": 422, "tie": 105}


@pytest.mark.parametrize("correction", ["none", "holm", "bonferroni", "bh"])
def test_mcnemar(pandalm_as_tie: Imported, correction: str) -> None:
    row = table(pandalm_as_tie, "significance", policy="official", correction=correction, cluster="case_id").iloc[0]
    assert (row["judge_1"], row["judge_2"]) == ("gpt-3.5-turbo", "pandalm-7b")
    assert (row["only_1"], row["only_2"], row["test"]) == (154, 111, "mcnemar_exact")
    assert row["p_value"] == pytest.approx(0.00974726, abs=1e-8)
    assert row["p_adjusted"] == pytest.approx(0.00974726, abs=1e-8)
    assert row["difference"] == pytest.approx((154 - 111) / 999)
    assert row["low"] < row["difference"] < row["high"]


def test_model_pairs_cover_the_benchmark(pandalm: Imported) -> None:
    rows = table(pandalm, "agreement", by="model_pair", resamples=200, pairwise=0)
    parts = rows[rows["subfield"].notna()]
    assert len(parts) == 10
    assert parts["n_cases"].sum() == 999
    assert "cerebras-gpt-6.7B vs llama-7b" in set(parts["subfield"])
