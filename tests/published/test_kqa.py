"""Agreement of K-QA's three physicians (Manes et al., 2024), a label set that is not a preference."""

import pytest

from mrb_lib.benchmarks.formats.base import Imported
from mrb_lib.benchmarks.votes import gold
from mrb_lib.stats.analyze import analyze
from mrb_lib.tables.errors import InputError

EXACT = 1e-6


@pytest.mark.parametrize(
    ("name", "value", "low", "high"),
    [
        ("percent_agreement", 0.854637, 0.8279, 0.8814),
        ("cohen_kappa", 0.720836, 0.6697, 0.7714),
        ("fleiss_kappa", 0.718868, 0.6663, 0.7703),
        ("krippendorff_alpha", 0.719103, 0.6666, 0.7705),
        ("gwet_ac1", 0.803952, 0.7677, 0.8407),
    ],
)
def test_agreement(kqa: Imported, name: str, value: float, low: float, high: float) -> None:
    row = analyze(kqa.benchmark, None, "agreement", cluster="case_id").iloc[0]
    assert row["n_cases"] == 399
    assert row[name] == pytest.approx(value, abs=EXACT)
    assert row[f"{name}_low"] == pytest.approx(low, abs=0.01)
    assert row[f"{name}_high"] == pytest.approx(high, abs=0.01)


def test_annotator_pairs(kqa: Imported) -> None:
    rows = analyze(kqa.benchmark, None, "agreement")
    kappas = rows.set_index(["annotator_1", "annotator_2"])["cohen_kappa"]
    assert kappas["label_0", "label_1"] == pytest.approx(0.669636, abs=EXACT)
    assert kappas["label_0", "label_2"] == pytest.approx(0.761185, abs=EXACT)
    assert kappas["label_1", "label_2"] == pytest.approx(0.731687, abs=EXACT)


def test_the_authors_majority(kqa: Imported) -> None:
    label = gold(kqa.benchmark)
    assert label["choice"].value_counts().to_dict() == {"Neutral": 234, "Entailment": 153, "Contradiction": 12}
    assert gold(kqa.benchmark, "unanimous")["choice"].notna().sum() == 312


def test_claims_about_one_question_are_not_independent(kqa: Imported) -> None:
    rows = analyze(kqa.benchmark, None, "agreement", cluster="case_id").iloc[0]
    clustered = analyze(kqa.benchmark, None, "agreement", cluster="question_id").iloc[0]
    for name in ("percent_agreement", "gwet_ac1"):
        assert clustered[name] == rows[name]
        width = clustered[f"{name}_high"] - clustered[f"{name}_low"]
        assert width > rows[f"{name}_high"] - rows[f"{name}_low"]


@pytest.mark.parametrize("table", ["accuracy", "consistency", "significance"])
def test_without_verdicts_nobody_is_scored(kqa: Imported, table: str) -> None:
    with pytest.raises(InputError, match="needs verdicts and there are none"):
        analyze(kqa.benchmark, kqa.verdicts, table)


def test_ceiling_works_on_any_labels(kqa: Imported) -> None:
    rows = analyze(kqa.benchmark, None, "ceiling").set_index("annotator")
    assert list(rows.index) == ["label_0", "label_1", "label_2", "mean"]
    assert rows.loc["mean", "accuracy"] == pytest.approx(rows["accuracy"].iloc[:3].mean())
    assert (rows["n"] + rows["n_excluded"]).iloc[:3].tolist() == [399, 399, 399]
