"""Tests that tiny models get what is shown beside a case, in every engine, and read it together as alone."""

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.judges.context import context_of
from mrb_lib.judges.local.generative import GenerativeJudge
from mrb_lib.judges.local.packed import PackedJudge
from mrb_lib.judges.local.pointwise import RatingJudge
from mrb_lib.judges.local.reward import RewardJudge
from mrb_lib.judges.settings import Settings
from mrb_lib.runs.beside import beside_of
from mrb_lib.runs.execute import settings_for
from mrb_lib.runs.plan import Plan, make_plan
from mrb_lib.tables.errors import InputError
from mrb_lib.verdicts.orders import KEYS, to_shown_frame
from tests.judges.local.by_hand import ByHand, Made, Tiny, made
from tests.judges.shown_benchmark import DIMENSIONS, shown_benchmark

SHOWN = Settings(reference="weak", evidence=True, examples=2, max_new_tokens=4)


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Benchmark:
    return shown_benchmark(tmp_path_factory.mktemp("shown") / "bench", n=17)


def rows_of(bench: Benchmark, settings: Settings = SHOWN) -> pd.DataFrame:
    """The rows that a judge is shown."""
    plan: Plan = make_plan(bench.cases, DIMENSIONS, rules=bench.meta.rules, beside=beside_of(bench, settings))
    return to_shown_frame(plan.rows(plan.all_numbers))


def judge_of(kind: type[Made], folder: Path, bench: Benchmark, settings: Settings = SHOWN) -> Made:
    return made(kind, folder, settings=settings_for(bench, settings, 1))


def test_packed_reads_what_it_reads_alone(tiny: Tiny, bench: Benchmark) -> None:
    shown = rows_of(bench)
    assert set(shown["case_id"]) == {"c14", "c15", "c16"}
    rows = judge_of(PackedJudge, tiny("llama"), bench).judge(shown)
    assert rows["status"].eq("ok").all()
    hand, truth = ByHand(tiny("llama")), shown[list(KEYS)].copy()
    truth["p"] = [
        hand.p_first(row, {}, DIMENSIONS, context=context_of(row, "weak", evidence=True, examples=2))
        for row in shown.to_dict("records")
    ]
    both = rows.merge(truth, on=list(KEYS), validate="one_to_one")
    assert truth["p"].std() > 0.005, "the probabilities must differ, or the test shows nothing"
    assert (both["p_first"] - both["p"]).abs().max() < 1e-4
    usual = judge_of(PackedJudge, tiny("llama"), bench, replace(SHOWN, reference=None, evidence=False, examples=0))
    assert (usual.judge(shown)["p_first"].to_numpy() - rows["p_first"].to_numpy()).std() > 0.005


def test_ratings_of_a_response_may_be_shown_a_reference_and_no_choices(tiny: Tiny, bench: Benchmark) -> None:
    settings = replace(SHOWN, examples=0)
    rows = judge_of(RatingJudge, tiny("llama"), bench, settings).judge(rows_of(bench, settings).head(4))
    assert rows["status"].eq("ok").all()
    with pytest.raises(InputError, match="prompt rating: does not ask for what annotators decided"):
        judge_of(RatingJudge, tiny("llama"), bench)
    with pytest.raises(InputError, match="takes no prompt; leave out --reference and --evidence and --examples"):
        judge_of(RewardJudge, tiny("llama"), bench)


def test_a_case_that_lacks_what_is_shown_fails_alone(tiny: Tiny, bench: Benchmark) -> None:
    cases = bench.cases.copy()
    cases.loc[15, "reference_weak"] = None
    changed = replace(bench, cases=cases)
    for kind in (PackedJudge, GenerativeJudge):
        rows = judge_of(kind, tiny("llama"), changed).judge(rows_of(changed))
        assert set(rows[rows["status"] == "error"]["case_id"]) == {"c15"}
