from __future__ import annotations

import pandas as pd
import pytest

from mrb_lib.stats.failures.failures import hardest_cases
from tests.stats.small_tables import gold_of, verdicts_of

VERDICTS = verdicts_of({("a", "AB"): "ABTAB", ("a", "BA"): "AB?AB", ("b", "AB"): "BBAA-"})


def test_the_lowest_mean_comes_first_with_its_verdicts() -> None:
    found = hardest_cases(VERDICTS, gold_of("AABA?"), dimension="overall").set_index("case_id")
    assert found.index.tolist() == ["c1", "c2", "c0", "c3"]
    assert found["mean_score"].tolist() == pytest.approx([0, 0.125, 0.5, 1])
    assert found["n_judges"].tolist() == [2, 2, 2, 2]
    assert found.loc["c2", ["A", "B", "tie", "none"]].tolist() == [1, 0, 1, 1]
    assert found.loc["c0", ["A", "B", "tie", "none"]].tolist() == [2, 1, 0, 0]


def test_a_judge_without_a_score_is_not_a_judge_that_is_wrong() -> None:
    found = hardest_cases(VERDICTS, gold_of("----B"), dimension="overall")
    assert found[["case_id", "mean_score", "n_judges"]].to_numpy().tolist() == [["c4", 1.0, 1]]


def test_the_seed_alone_orders_equal_means() -> None:
    verdicts, gold = verdicts_of({("a", "AB"): "B" * 30}), gold_of("A" * 30)
    orders = [hardest_cases(verdicts, gold, dimension="overall", seed=seed) for seed in (0, 0, 1)]
    pd.testing.assert_frame_equal(orders[0], orders[1])
    assert orders[0]["case_id"].tolist() != orders[2]["case_id"].tolist()
    assert set(orders[0]["case_id"]) == set(orders[2]["case_id"])
    turned = hardest_cases(verdicts.iloc[::-1], gold.iloc[::-1], dimension="overall", seed=0)
    pd.testing.assert_frame_equal(turned, orders[0])


def test_without_verdicts_or_gold_there_is_no_case() -> None:
    for dimension, gold in (("accuracy", gold_of("AAAAA")), ("overall", gold_of("?????"))):
        found = hardest_cases(VERDICTS, gold, dimension=dimension)
        assert len(found) == 0
        assert {"case_id", "mean_score", "A", "B", "tie", "none"} <= set(found.columns)
