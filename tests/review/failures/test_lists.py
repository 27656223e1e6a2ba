"""Lists of cases: the failures behind a cell of accuracy and the hardest cases."""

import numpy as np
import pandas as pd
import pytest

from mrb_lib.review.failures.lists import failing_cases, hardest_cases
from mrb_lib.stats.scoring import correctness
from mrb_lib.tables.schema import POLICIES
from tests.stats.small_tables import accuracy, cases_of, gold_of, random_verdicts, verdicts_of

N = 60
CASES = cases_of(N, organ=["eye", "lung", "eye", "foot", None, "lung"] * 10)
GOLD = pd.concat([gold_of("AB?T-A" * 10, name) for name in ("accuracy", "overall")], ignore_index=True)


def verdicts_on_both() -> pd.DataFrame:
    """Three judges, two orders, ties, nulls and missing rows."""
    generator = np.random.default_rng(5)
    parts = [random_verdicts(generator, N, 3).assign(dimension=name) for name in ("accuracy", "overall")]
    return pd.concat(parts, ignore_index=True)


@pytest.mark.parametrize("policy", POLICIES)
def test_every_cell_of_accuracy_has_its_failures_under_the_policy(policy: str) -> None:
    verdicts, gold, cases = verdicts_on_both(), GOLD, CASES
    cells = failing_cases(verdicts, gold, cases, by="organ", policy=policy)
    table = accuracy(verdicts, gold, cases, by="organ", policy=policy, resamples=0, references=0)
    keys = ["judge", "dimension", "subfield"]
    both = table.merge(cells, on=keys, suffixes=("", "_of_cells"), validate="1:1")
    assert len(both) == len(table) == len(cells)
    assert both["n"].tolist() == both["n_of_cells"].tolist()
    scored = correctness(verdicts, gold, policy).dropna(subset="score").merge(cases, on="case_id")
    for row in cells.itertuples():
        own = scored[(scored["judge"] == row.judge) & (scored["dimension"] == row.dimension)]
        own = own[own["organ"] == row.subfield] if isinstance(row.subfield, str) else own
        assert set(row.wrong) == set(own.loc[own["score"].round(9) < 0.5, "case_id"])
        assert len(row.wrong) == row.n_wrong
        assert row.n_half_right == (own["score"].round(9) == 0.5).sum()
        assert row.n == row.n_right + row.n_half_right + row.n_wrong


VERDICTS = verdicts_of({("a", "AB"): "ABTAB", ("a", "BA"): "AB?AB", ("b", "AB"): "BBAA-"})


def test_the_lowest_mean_comes_first_with_its_verdicts() -> None:
    found = hardest_cases(VERDICTS, gold_of("AABA?")).set_index("case_id")
    assert found.index.tolist() == ["c1", "c2", "c0", "c3"]
    assert found["score"].tolist() == pytest.approx([0, 0.125, 0.5, 1])
    assert found["n_judges"].tolist() == [2, 2, 2, 2]
    assert found.loc["c2", ["A", "B", "tie", "none"]].tolist() == [1, 0, 1, 1]
    assert found.loc["c0", ["A", "B", "tie", "none"]].tolist() == [2, 1, 0, 0]


def test_a_judge_without_a_score_is_not_a_judge_that_is_wrong() -> None:
    found = hardest_cases(VERDICTS, gold_of("----B"))
    assert found[["case_id", "score", "n_judges"]].to_numpy().tolist() == [["c4", 1.0, 1]]


def test_the_seed_alone_orders_equal_means() -> None:
    verdicts, gold = verdicts_of({("a", "AB"): "B" * 30}), gold_of("A" * 30)
    orders = [hardest_cases(verdicts, gold, seed=seed) for seed in (0, 0, 1)]
    pd.testing.assert_frame_equal(orders[0], orders[1])
    assert orders[0]["case_id"].tolist() != orders[2]["case_id"].tolist()
    assert set(orders[0]["case_id"]) == set(orders[2]["case_id"])
    turned = hardest_cases(verdicts.iloc[::-1], gold.iloc[::-1], seed=0)
    pd.testing.assert_frame_equal(turned, orders[0])
