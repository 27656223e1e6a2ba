import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from mrb_lib.runs.plan import Plan

CASES = pd.DataFrame({"case_id": ["z", "a", "m"], "question": ["1", "2", "3"]})
KEY = ["case_id", "dimension", "order", "repeat", "probe"]


def test_rows_are_every_combination_once() -> None:
    plan = Plan(CASES, ("overall", "accuracy"), ("AB", "BA"), 3)
    rows = plan.rows(np.arange(len(plan)))
    assert len(rows) == len(plan) == 3 * 2 * 2 * 3 == len(rows[KEY].drop_duplicates())
    assert rows["question"].tolist() == rows["case_id"].map({"z": "1", "a": "2", "m": "3"}).tolist()


@given(st.sets(st.integers(0, 35)))
def test_rows_have_the_numbers_they_were_made_from(made: set[int]) -> None:
    plan = Plan(CASES, ("overall", "accuracy"), ("AB", "BA"), 3)
    held = plan.rows(np.array(sorted(made), dtype=int))
    assert plan.numbers(held).tolist() == sorted(made)


def test_verdicts_outside_the_plan_do_not_count() -> None:
    wide = Plan(CASES, ("overall", "accuracy"), ("AB", "BA"), 2)
    narrow = Plan(CASES.head(1), ("overall",), ("BA",), 1)
    numbers = narrow.numbers(wide.rows(np.arange(len(wide))))
    assert numbers[numbers >= 0].tolist() == [0]
    others = wide.rows(np.arange(len(wide))).assign(probe="blurred")
    assert (narrow.numbers(others) == -1).all()


def test_batches_hold_whole_cases_and_everything_once() -> None:
    plan = Plan(CASES, ("overall", "accuracy"), ("AB", "BA"), 1)
    numbers = np.array([0, 1, 3, 5, 8, 9])
    parts = list(plan.batches(numbers, 2))
    assert [part.tolist() for part in parts] == [[0, 1, 3, 5], [8, 9]]
    assert list(plan.batches(np.array([], dtype=int), 2)) == []
