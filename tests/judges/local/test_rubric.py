"""A rubric judge decides each criterion as if it were asked alone, and adds up the points as HealthBench does."""

import json
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.judges import ENGINES
from mrb_lib.judges.local.generative import GenerativeJudge
from mrb_lib.judges.local.pointwise import RubricJudge
from mrb_lib.judges.prompts import load_prompt
from mrb_lib.judges.settings import Settings
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.schema import DIMENSIONS
from mrb_lib.verdicts.orders import KEYS, to_case_frame
from tests.judges.local.by_hand import CASES, AskFor, ByHand, Tiny, made
from tests.judges.local.test_generative import Script
from tests.judges.rendering import render


def rubric(*criteria: tuple[object, ...]) -> str:
    keys = ("criterion", "weight", "dimension")
    return json.dumps([dict(zip(keys, one, strict=False)) for one in criteria], ensure_ascii=False)


THREE = rubric(("names the side", 5), ("invents a finding", -3), ("says how sure it is", 1.5))
CASES = CASES.assign(
    response_a=["A lesion on the left.", *CASES["response_a"][1:]], rubric=[THREE, rubric(("is brief", 2)), THREE]
)


CRITERIA = Settings(device="cpu", prompt="criteria")


def judge(folder: Path, images: object = None, **wishes: object) -> RubricJudge:
    return made(RubricJudge, folder, images, **wishes)


def written(folder: Path, **wishes: object) -> GenerativeJudge:
    return made(GenerativeJudge, folder, prompt="criteria", **wishes)


def alone(folder: Path, case: dict[str, str], response: str, place: int) -> float:
    """The probability of Y over that of Y and N after one prompt, with transformers alone."""
    prompt = load_prompt("single-criteria")
    text = prompt.render(case, [response], Settings(), criterion=place).text
    yes, no = ByHand(folder).shares(text, "YN")
    return yes / (yes + no)


class TestPacked:
    def test_each_criterion_is_decided_as_if_asked_alone(self, tiny: Tiny, ask_for: AskFor) -> None:
        rows = judge(tiny("llama")).judge(ask_for(CASES, ("overall",), ("AB",)))
        for row, case in zip(rows.to_dict("records"), CASES.to_dict("records"), strict=True):
            weights = [one["weight"] for one in json.loads(case["rubric"])]
            for side, response in (("first", case["response_a"]), ("second", case["response_b"])):
                expected = [alone(tiny("llama"), case, response, place) for place in range(len(weights))]
                assert json.loads(row[f"criteria_{side}"]) == pytest.approx(expected, abs=1e-4)
                won = sum(weight * p for weight, p in zip(weights, expected, strict=True))
                assert row[f"score_{side}"] == pytest.approx(won / sum(w for w in weights if w > 0), abs=1e-4)
            higher = "first" if row["score_first"] > row["score_second"] else "second"
            assert row["pick"] == ("tie" if case["case_id"] == "same" else higher)

    def test_both_orders_have_the_same_points_and_opposite_picks(self, tiny: Tiny, ask_for: AskFor) -> None:
        rows = to_case_frame(judge(tiny("llama")).judge(ask_for(CASES, DIMENSIONS, repeats=2)))
        keys = ["case_id", "dimension", "repeat"]
        both = [rows[rows["order"] == order].set_index(keys) for order in ("AB", "BA")]
        assert len(both[0]) == len(CASES) * len(DIMENSIONS) * 2
        for name in ("choice", "score_a", "score_b", "criteria"):
            assert both[0][name].equals(both[1][name]), name
        assert both[0]["choice"].xs("same").eq("tie").all()

    def test_several_cases_with_images_in_a_batch_equal_one_at_a_time(
        self, tiny: Tiny, ask_for: AskFor, pictured: Benchmark
    ) -> None:
        cases = pictured.cases.head(4).assign(
            rubric=[THREE, rubric(("is brief", 2)), rubric(*((f"point {i}", i - 4) for i in range(16))), THREE]
        )
        asked = ask_for(cases, ("overall",))
        own = judge(tiny("llava"), pictured.images)
        together = own.judge(asked)
        each = pd.concat([own.judge(rows) for _, rows in asked.groupby("case_id", sort=False)])
        merged = together.merge(each, on=list(KEYS))
        assert len(merged) == len(together) == 8
        assert together["status"].eq("ok").all()
        for name in ("score_first", "answer_mass"):
            assert (merged[f"{name}_x"] - merged[f"{name}_y"]).abs().max() < 1e-5, name
        sixteen = together[together["case_id"] == cases["case_id"].iloc[2]].iloc[0]
        assert len(json.loads(sixteen["criteria_first"])) == 16
        assert len(set(json.loads(sixteen["criteria_first"]))) > 12

    def test_a_criterion_of_one_dimension_counts_there_alone(self, tiny: Tiny, ask_for: AskFor) -> None:
        shared, own = ("names the side", 5), ("is polite", 4, "accuracy")
        rows = judge(tiny("llama")).judge(
            ask_for(CASES.head(1).assign(rubric=rubric(shared, own)), ("accuracy", "overall"), ("AB",))
        )
        first = json.loads(rows["criteria_first"].iloc[0])
        assert rows["criteria_first"].nunique() == 1
        scores = rows.set_index("dimension")["score_first"]
        assert scores["overall"] == pytest.approx(first[0], abs=1e-8)
        assert scores["accuracy"] == pytest.approx((5 * first[0] + 4 * first[1]) / 9, abs=1e-8)
        only = judge(tiny("llama")).judge(
            ask_for(CASES.head(1).assign(rubric=rubric(own)), ("accuracy", "overall"), ("AB",))
        )
        failed = only.set_index("dimension").loc["overall"]
        assert failed["status"] == "error"
        assert "counts for overall" in failed["error"]

    def test_a_case_without_a_rubric_says_so_and_the_others_are_judged(self, tiny: Tiny, ask_for: AskFor) -> None:
        cases = CASES.assign(rubric=[None, *CASES["rubric"][1:]])
        rows = judge(tiny("llama")).judge(ask_for(cases, ("overall",))).set_index("case_id")
        assert rows.loc["alpha", "status"].eq("error").all()
        assert rows.loc["alpha", "error"].str.contains("the case has none").all()
        assert rows.loc["beta", "status"].eq("ok").all()
        none = judge(tiny("llama")).judge(ask_for(CASES.drop(columns="rubric"), ("overall",)))
        assert none["status"].eq("error").all()

    def test_equal_points_without_a_tie_are_no_verdict(self, tiny: Tiny, ask_for: AskFor) -> None:
        rows = judge(tiny("llama"), choices=("A", "B")).judge(ask_for(CASES, ("overall",))).set_index("case_id")
        assert rows.loc["same", "status"].eq("unparsed").all()
        assert rows.loc["same", "error"].str.contains("has no tie").all()
        assert rows.loc["same", "score_first"].notna().all()
        assert rows.loc["alpha", "status"].eq("ok").all()


class TestPrompts:
    def test_what_is_said_of_two_responses_has_no_place(self) -> None:
        for name in ("criteria", "single-criteria"):
            with pytest.raises(InputError, match="shows each response alone"):
                render(load_prompt(name), "q", ["r"], criteria=["c"], probe_note="A is better")


class TestWritten:
    def test_a_criterion_without_a_decision_makes_the_row_unparsed(
        self, monkeypatch: pytest.MonkeyPatch, tiny: Tiny, ask_for: AskFor
    ) -> None:
        Script(monkeypatch, lambda _: json.dumps({"1": "met", "2": "partly"}))
        stated = rubric(("one", 1), ("two", 1, "accuracy"))
        rows = written(tiny("llama")).judge(ask_for(CASES.head(1).assign(rubric=stated), ("accuracy", "overall")))
        by = rows.set_index("dimension")
        assert by.loc["accuracy", "status"].eq("unparsed").all()
        assert by.loc["accuracy", "pick"].isna().all()
        assert by.loc["accuracy", "score_first"].isna().all()
        assert by.loc["accuracy", "error"].eq("criterion 2 has no decision").all()
        assert by.loc["overall", "pick"].eq("tie").all()
        assert json.loads(rows["criteria_first"].iloc[0]) == [1, None]

    def test_sampled_replies_to_one_response_do_not_depend_on_the_other(self, tiny: Tiny, ask_for: AskFor) -> None:
        wishes = {"temperature": 1.5, "max_new_tokens": 6}
        other = CASES.assign(response_b="something else entirely")
        replies = []
        for cases in (CASES, other):
            rows = written(tiny("llama"), **wishes).judge(ask_for(cases.head(2), ("overall",), ("AB",), repeats=2))
            replies.append(rows["reply"].str.split("response shown second:").str[0].tolist())
        assert replies[0] == replies[1]
        assert len(set(replies[0])) > 2


def test_the_prompt_and_the_suffix_choose_the_way(tiny: Tiny) -> None:
    request = replace(judge(tiny("llama")).request, settings=CRITERIA)
    build_rubric, build_generative = (ENGINES[name].build for name in ("rubric", "generative"))
    assert build_generative(request).prompt_id == "criteria"
    plain = replace(request, settings=Settings(device="cpu"))
    assert isinstance(build_rubric(plain), RubricJudge)
    assert build_rubric(plain).prompt_id == build_rubric(request).prompt_id == "single-criteria"
    with pytest.raises(InputError, match="one letter a criterion"):
        build_rubric(replace(request, settings=replace(CRITERIA, prompt="plain")))
    rated = replace(CRITERIA, task="rating", choices=("low", "high"))
    for build, why in ((build_rubric, "has ratings of one"), (build_generative, "but this engine reads a category")):
        with pytest.raises(InputError, match=why):
            build(replace(request, settings=rated))
