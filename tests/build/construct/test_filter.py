"""What is promised of `filter`: every item has its reason, no model is asked twice, and no option is wrong silently."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from mrb_lib.build.construct.answers.answering import Answered, asked_questions
from mrb_lib.build.construct.answers.marking import NO_REFERENCE, MarkOptions
from mrb_lib.build.construct.filter import FilterOptions, filter_items
from mrb_lib.build.construct.work import Work
from mrb_lib.judges import Settings
from mrb_lib.runs.planned import PlannedModel
from mrb_lib.tables.errors import InputError, RunError

from .answerers import Script, die, scripted, started, without_times

N = 30
MODELS = ("m1", "m2", "m3")
ITEMS = pd.DataFrame(
    {
        "item_id": [f"i{i:02d}" for i in range(N)],
        "images": [[] for _ in range(N)],
        "question": [f"Which of these is seen in case {i}? {'x' * (i % 7)}" for i in range(N)],
        "reference": ["B" if i % 3 == 0 else "liver" for i in range(N - 1)] + [None],
        "choices": [["spleen", "liver"] if i % 3 == 0 else None for i in range(N)],
        "organ": ["abdomen" if i % 2 else None for i in range(N)],
    }
)


def truthful(model: str, item: str, sample: int) -> str:
    """Model m1 is right on items under 10, m2 under 20, m3 under 30; in sample 2 all are wrong."""
    is_right = int(item[1:]) < 10 * int(model[1:]) and sample < 2
    return "liver" if is_right else "spleen"


@pytest.fixture
def script(tmp_path: Path) -> Iterator[Script]:
    with scripted(tmp_path, [*MODELS, "marker"], truthful) as script:
        yield script


@pytest.fixture
def work(tmp_path: Path) -> Work:
    return started(tmp_path / "work", ITEMS)


def run(work: Work, script: Script, keep: str = "", **options: Any) -> Answered:
    again = bool(options.pop("again", False))
    retry = options.pop("retry", ())
    chosen = FilterOptions(**{"models": script.models(*MODELS), "keep": keep, **options})
    return filter_items(work, chosen, extra=[script.roster], again=again, retry=retry)


def test_what_is_hard_is_kept_and_every_other_item_has_its_reason(work: Work, script: Script) -> None:
    result = run(work, script, "correct <= 2 and organ == 'abdomen'")
    assert (result.n_in, result.n_out) == (N, 9)
    assert list(work.entering("respond")["item_id"]) == [f"i{i:02d}" for i in range(11, 29, 2)]
    reasons = work.funnel().query("step == 'filter'").set_index("reason")["n"].to_dict()
    assert reasons == {"kept": 9, "not correct <= 2": 10, "not organ == 'abdomen'": 10, NO_REFERENCE: 1}
    assert result.models["accuracy"].tolist() == [10 / 29, 20 / 29, 1.0]
    assert result.models["n_excluded"].tolist() == [1, 1, 1]
    assert (result.models["low"] < result.models["accuracy"]).all()
    assert result.models["chance"].tolist() == [0.5] * 3 and result.models["n_chance"].tolist() == [10] * 3


def test_a_model_sees_the_question_and_its_options_and_not_the_answer(work: Work, script: Script) -> None:
    run(work, script)
    assert "reference" not in script.shown and set(script.shown["first"]) == {""}
    assert script.shown["question"].tolist() == asked_questions(ITEMS).tolist()
    one = pd.DataFrame({"question": ["Which?"], "choices": [["x", "y"]]})
    assert asked_questions(one).tolist() == ["Which?\n\nA. x\nB. y"]


def test_another_rule_asks_no_model_again(work: Work, script: Script) -> None:
    run(work, script, "correct <= 1", samples=2)
    asked, answers = script.asked, work.answers()
    assert asked == N * 3 * 2 == len(answers)
    with pytest.raises(InputError, match="keep was 'correct <= 1', now 'correct <= 2'"):
        run(work, script, "correct <= 2", samples=2)
    (work.images / "left.png").write_bytes(b"by a start that failed")
    assert run(work, script, "correct <= 2", samples=2, again=True).n_out == 19
    before = run(work, script, "correct <= 2", samples=2)
    assert before.runs == [] and before.n_out == 19, "the same command again does nothing and says the same"
    assert before.models["accuracy"].tolist() == [10 / 29, 20 / 29, 1.0]
    assert script.asked == asked and work.answers().equals(answers)


def test_most_of_a_models_samples_decide_whether_it_is_right(work: Work, script: Script) -> None:
    run(work, script, samples=3)
    measures = work.difficulty().set_index("item_id")
    assert measures.loc["i00", "correct"] == 3 and measures.loc["i00", "share_correct"] == pytest.approx(2 / 3)
    assert measures.loc["i00", "n_answers"] == 9 and measures.loc["i29", ["correct", "share_correct"]].isna().all()
    assert measures.loc[["i05", "i15", "i25"], "correct"].tolist() == [3, 2, 1]
    run(work, script, samples=4, again=True)
    halves = work.difficulty().set_index("item_id").loc["i00", ["correct", "share_correct", "n_models"]]
    assert halves.tolist() == [0, 0.5, 3], "half of a model's answers is not more than half"


def test_answers_stand_in_the_order_of_items_models_and_samples_whatever_was_killed(
    work: Work, script: Script, tmp_path: Path
) -> None:
    script.batch = 10
    child = os.fork()
    if child == 0:  # pragma: no cover
        script.say = lambda *key: truthful(*key) if script.asked < 70 else die()
        run(work, script, "correct <= 2", samples=2)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    assert work.state("filter") == "begun" and work.answers().empty
    resumed = run(work, script, "correct <= 2", samples=2)
    assert 0 < script.asked < N * 3 * 2, "what the killed process kept is not asked again"
    other = started(tmp_path / "other", ITEMS)
    whole = run(other, script, "correct <= 2", samples=2)
    assert resumed.models.equals(whole.models)
    assert without_times(work.answers()).equals(without_times(other.answers()))
    for table in ("decisions", "difficulty", "funnel"):
        assert getattr(work, table)().equals(getattr(other, table)())
    keys = work.answers()[["item_id", "model", "sample"]]
    assert keys.equals(keys.sort_values(["item_id", "model", "sample"], ignore_index=True))
    assert not list(work.path.glob(".filter*"))


def test_a_judge_marks_what_no_rule_finds_right(work: Work, script: Script) -> None:
    script.say = lambda model, item, sample: "correct" if model == "marker" else "hepar"
    marker = PlannedModel("marker", Settings(prompt="mark-answer"))
    run(work, script, marker=marker)
    answers = work.answers()
    by_rule, by_judge = answers[answers["marked_by"] == "letter"], answers[answers["marked_by"] == "judge"]
    assert len(by_rule) == 30 and not by_rule["correct"].any() and len(by_judge) == 57 and by_judge["correct"].all()
    assert set(script.shown["first"]) == {"hepar"} and set(script.shown["reference"]) == {"liver"}
    assert len(script.shown) == 19, "the same answer of three models to an item is marked once"
    blind = PlannedModel("marker", Settings(prompt="short-answer"))
    for wrong in (FilterOptions(script.models("m1"), mark=MarkOptions("judge")),
                  FilterOptions(script.models("m1"), marker=blind)):  # fmt: skip
        with pytest.raises(InputError, match=r"no judge is named|shows no reference"):
            filter_items(work, wrong, extra=[script.roster], again=True)


def test_a_judge_is_not_asked_where_rules_find_every_answer_right(work: Work, script: Script) -> None:
    script.say = lambda model, item, sample: "liver"
    run(work, script, marker=PlannedModel("marker", Settings(prompt="mark-answer")))
    assert script.asked == 3 * N and work.answers()["correct"].dropna().eq(1).all()


def test_bad_input_is_one_line_and_loses_nothing(work: Work, script: Script) -> None:
    asked = {
        "corect < 2": "keep: 'corect' is unknown",
        "__import__('os')": "keep .* not part of the language",
    }
    for rule, said in asked.items():
        with pytest.raises(InputError, match=said):
            run(work, script, rule)
    assert script.asked == 0 and work.state("filter") is None
    for models, said in (((), "no model is named"), (("m1", "m1"), "name it once"), (("random",), "writes no answers"),
                         (("consensus-of:m1,m2",), "writes no answers")):  # fmt: skip
        with pytest.raises(InputError, match=said):
            run(work, script, models=script.models(*models))
    with pytest.raises(InputError, match="asks for verdicts"):
        run(work, script, models=[*script.models("m1"), *script.models("m2", prompt="plain")])
    assert script.asked == 0
    with pytest.raises(InputError, match=r"keeps none of 30 items \(correct is 1 to 3, half are over 2\)"):
        run(work, script, "correct > 3")
    assert work.entering("respond").shape[0] == N if work.state("filter") == "finished" else True
    assert run(work, script, "correct < 3", again=True).n_out == 19 and script.asked == 3 * N


def test_a_model_that_only_fails_stops_the_step_and_can_be_asked_again(work: Work, script: Script) -> None:
    script.say = lambda model, item, sample: None if model == "m2" else truthful(model, item, sample)
    with pytest.raises(RunError, match=r"model m2: every answer is an error .*--retry error"):
        run(work, script)
    script.say = truthful
    assert run(work, script, retry=("error",)).models["n"].tolist() == [29, 29, 29]
    assert script.asked == 4 * N


def test_a_refusal_is_wrong_and_an_error_is_not_marked(work: Work, script: Script) -> None:
    said = {"m1": "I'm sorry, but I can't help with that.", "m2": "<think>what is it"}
    script.say = lambda model, item, sample: (
        said.get(model) or (None if item < "i10" else truthful(model, item, sample))
    )
    result = run(work, script)
    assert result.models["accuracy"].tolist() == [0, 0, 1] and result.models["n"].tolist() == [29, 29, 19]
    answers = work.answers()
    assert set(answers["marked_by"].dropna()) == {"refused", "unparsed", "letter", "exact"}
    assert answers[answers["status"] == "error"]["correct"].isna().all()
