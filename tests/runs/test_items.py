"""Judges of whole items get all cases of an item at once, and the same prompts however a run is cut."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mrb_lib.benchmarks.benchmark import Benchmark, load, save
from mrb_lib.benchmarks.meta import BenchmarkMeta
from mrb_lib.judges.local.generative import GenerativeJudge
from mrb_lib.judges.settings import Settings
from mrb_lib.judges.tasks import Reply
from mrb_lib.runs.execute import judge, settings_for
from mrb_lib.runs.items import by_items, digest_of_items
from mrb_lib.runs.plan import ProbeOptions, make_plan
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.schema import KEYS
from mrb_lib.verdicts.orders import ITEM_RESPONSES
from mrb_lib.verdicts.store import load_verdicts
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


def comparable(runs: Path, bench: Benchmark) -> pd.DataFrame:
    held = load_verdicts(runs, bench.cases, replies=True)
    return held.drop(columns=["latency_s", "prompt_tokens", "completion_tokens"]).sort_values(KEY, ignore_index=True)


def test_a_run_that_dies_or_is_widened_and_goes_on_equals_one_run(
    tmp_path: Path, tiny: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = benchmark(tmp_path / "bench", item_cases(4, 3))
    name = f"path:{tiny('llama')}+batch"
    settings = Settings(device="cpu", max_new_tokens=6, batch_size=1)
    judge(bench, tmp_path / "whole", [name], settings=settings, repeats=2)
    whole = comparable(tmp_path / "whole", bench)
    assert len(whole) == 4 * 3 * 2 * 2
    assert whole["reply"].nunique() > 2

    write, calls = GenerativeJudge._write, list[int]()

    def dies(self: GenerativeJudge, requests: Sequence) -> list[Reply]:
        calls.append(1)
        if len(calls) > 3:
            raise RuntimeError("power cut")
        return write(self, requests)

    with monkeypatch.context() as patch:
        patch.setattr(GenerativeJudge, "_write", dies)
        with pytest.raises(RuntimeError, match="power cut"):
            judge(bench, tmp_path / "runs", [name], settings=settings, repeats=2)
    assert 0 < len(comparable(tmp_path / "runs", bench)) < len(whole)
    judge(bench, tmp_path / "runs", [name], settings=settings, repeats=2)
    pd.testing.assert_frame_equal(comparable(tmp_path / "runs", bench), whole)

    for limit, orders in ((2, ("AB",)), (5, ("BA",)), (None, ("AB", "BA"))):
        judge(bench, tmp_path / "parts", [name], settings=settings, repeats=2, limit=limit, orders=orders)
    pd.testing.assert_frame_equal(comparable(tmp_path / "parts", bench), whole)


def test_another_grouping_into_items_is_another_run(tmp_path: Path) -> None:
    cases = item_cases(2, 3, named=True)
    regrouped = cases.assign(item=[f"{item}-{i % 2}" for i, item in enumerate(cases["item"])])
    digests = {digest_of_items(cases), digest_of_items(cases.copy()), digest_of_items(regrouped)}
    assert len(digests) == 2
    bench = benchmark(tmp_path / "bench", cases)
    assert settings_for(bench, Settings(), 1).items == digest_of_items(bench.cases)
