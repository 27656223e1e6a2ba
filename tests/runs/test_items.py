"""Judges of whole items get all cases of an item at once, and the same prompts however a run is cut."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mrb_lib.benchmarks.benchmark import Benchmark, load, save
from mrb_lib.benchmarks.meta import BenchmarkMeta
from mrb_lib.judges.makers import RankingMaker
from mrb_lib.judges.prompts import load_prompt
from mrb_lib.judges.settings import Settings
from mrb_lib.runs.execute import settings_for
from mrb_lib.runs.items import by_items, digest_of_items
from mrb_lib.runs.plan import ProbeOptions, make_plan
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.schema import KEYS
from mrb_lib.verdicts.orders import EVIDENCE, ITEM_RESPONSES, to_shown_frame
from tests.judges.item_cases import better_of, item_cases
from tests.runs.scripted import Scripted
from tests.stats.small_tables import annotations_of

KEY = list(KEYS["verdicts"])


class Ranker(Scripted):
    ranks_items = True


def benchmark(folder: Path, cases: pd.DataFrame) -> Benchmark:
    labels = annotations_of({"r": "".join(letter[0] for letter in better_of(cases))})
    labels["case_id"] = cases["case_id"].to_numpy()
    save(Benchmark(BenchmarkMeta("items", "general", ("overall",)), cases, labels), folder)
    return load(folder)


@pytest.mark.parametrize("named", [True, False])
def test_a_batch_holds_whole_items_with_all_their_responses(named: bool) -> None:
    cases = item_cases(7, 4, named=named).sample(frac=1, random_state=1, ignore_index=True)
    plan = by_items(make_plan(cases, ("overall",)), Ranker(), cases)
    batches = list(plan.batches(plan.longest_first(plan.all_numbers), 2))
    assert len(batches) == 4
    assert sorted(np.concatenate(batches)) == list(range(len(plan)))
    for numbers in batches:
        rows = plan.rows(numbers)
        assert rows["question"].nunique() <= 2
        assert (rows.groupby("question").size() == 12).all()
        for _, row in rows.iterrows():
            own = cases[cases["question"] == row["question"]]
            assert set(row[ITEM_RESPONSES]) == {*own["response_a"], *own["response_b"]}
    some = by_items(make_plan(cases, ("overall",), limit=3), Ranker(), cases)
    assert some.cases[ITEM_RESPONSES].tolist() == plan.cases[ITEM_RESPONSES].head(3).tolist()


def test_cases_of_one_item_that_a_prompt_would_show_differently_are_not_put_together() -> None:
    cases = item_cases(1, 3).assign(reference=["x", "x", None])
    plan = by_items(make_plan(cases, ("overall",)), Ranker(), cases)
    assert plan.items is not None
    assert plan.items[0] == plan.items[1] != plan.items[2]
    assert [len(texts) for texts in plan.cases[ITEM_RESPONSES]] == [3, 3, 2]


def test_a_probe_is_refused_in_one_line() -> None:
    cases = item_cases(2, 3)
    plan = make_plan(cases, ("overall",), probes=ProbeOptions(names=("prompt/labels",)))
    with pytest.raises(InputError, match="a probe changes one case alone"):
        by_items(plan, Ranker(), cases)


def test_material_of_one_case_is_not_shown_for_another_of_its_item() -> None:
    """Cases of one question with other evidence are apart in the plan, and in the prompts that answer them."""
    cases = item_cases(1, 3, named=True)
    cases = cases.assign(evidence=["one", "two", "two"][: len(cases)])
    plan = make_plan(cases, ("overall",))
    assert len(set(by_items(plan, Ranker(), cases).items)) == 1, "evidence that is not shown does not count"
    shown = replace(plan, cases=cases.assign(**{EVIDENCE: cases["evidence"]}))
    parted = by_items(shown, Ranker(), cases)
    assert parted.items.tolist() == [0, 1, 1]
    tasks = RankingMaker(load_prompt("batch"), Settings()).tasks(to_shown_frame(parted.rows(parted.all_numbers)))
    assert all(len({row[EVIDENCE] for _, row in task.rows}) == 1 for task in tasks)


def test_another_grouping_into_items_is_another_run(tmp_path: Path) -> None:
    cases = item_cases(2, 3, named=True)
    regrouped = cases.assign(item=[f"{item}-{i % 2}" for i, item in enumerate(cases["item"])])
    digests = {digest_of_items(cases), digest_of_items(cases.copy()), digest_of_items(regrouped)}
    assert len(digests) == 2
    bench = benchmark(tmp_path / "bench", cases)
    assert settings_for(bench, Settings(), 1).items == digest_of_items(bench.cases)
