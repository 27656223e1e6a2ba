"""Agreement of K-QA's three physicians (Manes et al., 2024), a label set that is not a preference."""

import pytest

from mrb_lib.benchmarks.formats.base import Imported
from mrb_lib.benchmarks.votes import gold
from mrb_lib.stats.analyze import analyze

EXACT = 1e-6


AGREEMENT = {
    "percent_agreement": (0.854637, 0.8279, 0.8814), "cohen_kappa": (0.720836, 0.6697, 0.7714),
    "fleiss_kappa": (0.718868, 0.6663, 0.7703), "krippendorff_alpha": (0.719103, 0.6666, 0.7705),
    "gwet_ac1": (0.803952, 0.7677, 0.8407),
}  # fmt: skip


def test_agreement(kqa: Imported) -> None:
    """Claims about one question are not independent: by question the intervals are wider."""
    row, clustered = (
        analyze(kqa.benchmark, None, "agreement", cluster=name).iloc[0] for name in ("case_id", "question_id")
    )
    assert row["n_cases"] == 399
    for name, (value, low, high) in AGREEMENT.items():
        assert row[name] == clustered[name] == pytest.approx(value, abs=EXACT)
        assert [row[f"{name}_low"], row[f"{name}_high"]] == pytest.approx([low, high], abs=0.01), name
        if name in ("percent_agreement", "gwet_ac1"):
            widths = [each[f"{name}_high"] - each[f"{name}_low"] for each in (row, clustered)]
            assert widths[1] > widths[0]


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
