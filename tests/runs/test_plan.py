from __future__ import annotations

import numpy as np
import pandas as pd

from mrb_lib.runs.plan import Plan

CASES = pd.DataFrame({"case_id": ["z", "a", "m"], "question": ["1", "2", "3"]})
KEY = ["case_id", "dimension", "order", "repeat", "probe"]


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
