"""What is promised of `respond`: every response is there, with the flag that says why it may not be paired."""

from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

from mrb_lib.build.construct.answers.answering import Answered
from mrb_lib.build.construct.respond import FLAGS, TOO_FEW, respond
from mrb_lib.build.construct.work import Work
from mrb_lib.judges.settings import Settings
from mrb_lib.runs.planned import PlannedModel
from mrb_lib.tables.errors import InputError, RunError

from .answerers import Script, scripted, started

POOL = ("r1", "r2", "r3")
ITEMS = pd.DataFrame({"item_id": [f"i{i}" for i in range(6)], "images": [[] for _ in range(6)],
                      "question": [f"What is seen in case {i}?" for i in range(6)], "reference": "liver",
                      "choices": None})  # fmt: skip
LONG = "The liver is enlarged and its edge is blunt, as in congestion; the spleen is of normal size and shape."
REFUSAL = "I'm sorry, but I can't help with that."


def own(model: str, item: str, sample: int) -> str:
    return f"{model} sees {item} for the {sample}th time, and has words of {model * 3} own"


@pytest.fixture
def script(tmp_path: Path) -> Iterator[Script]:
    with scripted(tmp_path, POOL, own) as script:
        yield script


@pytest.fixture
def work(tmp_path: Path) -> Work:
    return started(tmp_path / "work", ITEMS)


def run(work: Work, script: Script, *pool: str, samples: int = 1, again: bool = False) -> Answered:
    models = script.models(*(pool or POOL), prompt="open-answer")
    return respond(work, models, samples=samples, again=again, extra=[script.roster])


def test_every_response_is_kept_with_its_flag(work: Work, script: Script) -> None:
    said = {
        ("r1", "i0"): REFUSAL, ("r1", "i1"): "", ("r1", "i2"): None, ("r2", "i3"): LONG,
        ("r3", "i3"): LONG.replace("blunt", "BLUNT ").replace(".", ""), ("r2", "i4"): "cut", ("r3", "i5"): "same",
        ("r1", "i5"): "Same.",
    }  # fmt: skip
    script.say = lambda model, item, sample: said.get((model, item), own(model, item, sample))
    script.cut_off = {"cut"}
    result = run(work, script)
    assert (result.n_in, result.n_out) == (6, 6)
    responses = work.responses()
    assert len(responses) == 18
    flags = responses.set_index(["model", "item_id"])["flag"].dropna().to_dict()
    assert flags == {("r1", "i0"): "refused", ("r1", "i1"): "empty", ("r1", "i2"): "error",
                     ("r3", "i3"): "near-identical", ("r2", "i4"): "truncated",
                     ("r3", "i5"): "near-identical"}  # fmt: skip
    alike = responses[responses["alike"].notna()]
    assert {*(alike["item_id"] + alike["model"])} == {"i3r2", "i3r3", "i5r1", "i5r3"}
    assert responses.set_index(["model", "item_id"])["answer"][("r1", "i0")] == REFUSAL
    counts = result.models.set_index("model")
    assert counts["usable"].to_dict() == {"r1": 3, "r2": 6, "r3": 6} and (counts["n"] == 6).all()
    assert counts.loc["r1", list(FLAGS)].tolist() == [1, 1, 1, 0, 0]


def test_a_responder_that_only_refuses_is_counted_and_stops_nothing(work: Work, script: Script) -> None:
    script.say = lambda model, item, sample: (
        REFUSAL if model == "r2" or (model, item) == ("r3", "i1") else own(model, item, sample)
    )
    result = run(work, script)
    assert (result.n_in, result.n_out) == (6, 5)
    assert result.models.set_index("model")["usable"].to_dict() == {"r1": 6, "r2": 0, "r3": 5}
    assert work.funnel().query("step == 'respond' and reason != 'kept'")[["reason", "n"]].to_numpy().tolist() == [
        [TOO_FEW, 1]
    ]
    assert list(work.entering("pair")["item_id"]) == ["i0", "i2", "i3", "i4", "i5"]


def test_samples_of_one_responder_may_be_alike(work: Work, script: Script) -> None:
    script.say = lambda model, item, sample: f"{model} says this each time it is asked"
    run(work, script, "r1", "r2", samples=2)
    responses = work.responses()
    assert len(responses) == 24 and responses["flag"].isna().all()
    assert responses.groupby(["item_id", "model"])["alike"].nunique().eq(1).all()


def test_bad_input_is_one_line_and_loses_nothing(work: Work, script: Script) -> None:
    with pytest.raises(InputError, match="no model is named"):
        respond(work, [])
    with pytest.raises(InputError, match="'r1': is alone"):
        run(work, script, "r1")
    with pytest.raises(InputError, match="samples 0"):
        run(work, script, samples=0)
    script.say = lambda *key: REFUSAL
    with pytest.raises(RunError, match="fewer than two responders answered on every item"):
        run(work, script, again=True)
    assert work.state("respond") == "begun" and script.asked == 18
    script.say = own
    assert run(work, script, "r1", "r2", samples=2, again=True).n_out == 6


def test_a_budget_is_for_all_responders_together(work: Work, script: Script) -> None:
    paid = Settings(prompt="open-answer", budget=5, price_prompt=1, price_completion=1)
    respond(work, [PlannedModel(name, paid) for name in POOL], extra=[script.roster])
    assert len(script.budgets) == 3 and script.budgets[0] is script.budgets[1] is script.budgets[2] is not None


def test_bad_input_of_one_responder_leaves_the_step_as_it_was(work: Work, script: Script) -> None:
    def say(model: str, item: str, sample: int) -> str:
        if model == "r2":
            raise InputError("r2: has no weights here")
        return own(model, item, sample)

    script.say = say
    with pytest.raises(InputError, match="r2: has no weights here"):
        run(work, script)
    assert work.state("respond") is None
    assert run(work, script, "r1", "r3").n_out == 6 and script.asked == 13, "what the others wrote is kept"
