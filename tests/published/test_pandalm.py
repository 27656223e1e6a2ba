"""PandaLM's published agreement and accuracies (Wang et al., ICLR 2024; README of 2023-06-09).

The literals are the recomputed values of the reference folder's truths, which agree
with the published ones to the digits that were published.
"""

import pandas as pd
import pytest

from mrb_lib.benchmarks.formats.base import Imported
from mrb_lib.stats.analyze import analyze

EXACT = 1e-6


def table(pandalm: Imported, name: str, **options: object) -> pd.DataFrame:
    return analyze(pandalm.benchmark, pandalm.verdicts, name, **options)


@pytest.mark.parametrize(
    ("unparsed", "judge", "accuracy", "coverage", "expected"),
    [
        ("tie", "gpt-3.5-turbo", 0.710711, 1, (0.710711, 0.587919, 0.573623, 0.575538, 0.495784)),
        ("tie", "pandalm-7b", 0.667668, 1, (0.667668, 0.573831, 0.574969, 0.574305, 0.435355)),
        ("wrong", "gpt-3.5-turbo", 0.697698, 974 / 999, (0.715606, 0.53654, 0.541652, 0.533082, 0.492865)),
    ],
)
def test_accuracy(
    pandalm: Imported, pandalm_as_tie: Imported, unparsed: str, judge: str, accuracy: float, coverage: float,
    expected: tuple[float, ...],
) -> None:  # fmt: skip
    """With unparsed replies read as ties, and with them wrong, or dropped from what is after the accuracy."""
    imported = pandalm_as_tie if unparsed == "tie" else pandalm
    row = table(imported, "accuracy", policy="official").set_index("judge").loc[judge]
    assert (row["n"], row["n_excluded"]) == (999, 0)
    assert (row["accuracy"], row["coverage"]) == pytest.approx((accuracy, coverage), abs=EXACT)
    names = ["exact_accuracy", "precision_macro", "recall_macro", "f1_macro", "cohen_kappa"]
    assert tuple(row[names]) == pytest.approx(expected, abs=EXACT)


def test_mcnemar(pandalm_as_tie: Imported) -> None:
    row = table(pandalm_as_tie, "significance", policy="official", cluster="case_id").iloc[0]
    assert (row["judge_1"], row["judge_2"]) == ("gpt-3.5-turbo", "pandalm-7b")
    assert (row["only_1"], row["only_2"], row["test"]) == (154, 111, "mcnemar_exact")
    assert row["p_adjusted"] == row["p_value"] == pytest.approx(0.00974726, abs=1e-8)
    assert row["difference"] == pytest.approx((154 - 111) / 999)
    assert row["low"] < row["difference"] < row["high"]
