"""A plan names models, each asked in its own way; what is recorded of them names no place on this machine."""

from dataclasses import replace
from pathlib import Path

import pytest

from mrb_lib.build.construct.answers.pool import pool_of, recorded
from mrb_lib.judges import Settings
from mrb_lib.judges.prompts import load_prompt
from mrb_lib.runs.planned import PlannedModel
from mrb_lib.tables.errors import InputError

USUAL = PlannedModel("", Settings(prompt="open-answer", seed=3))
OWN = (
    "{# asks: answer #}\n{% block case %}{{ question }}{% endblock %}{% block responses %}{% endblock %}"
    "{% block ask %} Be brief.{% endblock %}"
)


def test_a_plan_says_how_each_model_is_asked(tmp_path: Path) -> None:
    (tmp_path / "own.jinja").write_text(OWN)
    plan = tmp_path / "plan.toml"
    plan.write_text(
        '[[model]]\nname = "path:here"\nprompt = "own.jinja"\ntemperature = 1\ndevice = "cpu"\n'
        '[[model]]\nname = "endpoint:big"\nurl = "http://user:secret@127.0.0.1:8000/v1"\n'
        '[[model]]\nname = "path:there"\nengine = "ray"\nworkers = 2\n'
    )
    named, own, served, spread = pool_of(["path:first"], plan, USUAL)
    assert named == replace(USUAL, name="path:first")
    assert own.settings.prompt == str(tmp_path / "own.jinja")
    assert (own.settings.temperature, own.settings.seed) == (1, 3)
    assert served.settings.prompt == "open-answer" and served.settings.url.endswith("8000/v1")
    assert (spread.engine, spread.workers, own.engine) == ("ray", 2, "local")
    record = recorded({"here": own, "big": served}, 2)
    hashed = load_prompt(own.settings.prompt).hash
    assert record[0] == {"model": "here", "prompt": "own", "prompt_hash": hashed, "temperature": 1, "dtype": "auto",
                         "seed": 3}  # fmt: skip
    assert record[1]["temperature"] == 0.7, "several samples are drawn"
    assert str(tmp_path) not in str(record) and "secret" not in str(record)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "list of tables"),
        ("[common]\ntemprature = 1\n[[model]]\nname = 'x'\n", "'temprature': is unknown"),
        ("[[model]]\nprompt = 'open-answer'\n", "model 1, key name"),
        ("[[model]]\nname = 'x'\ntemprature = 1\n", "'temprature': is unknown"),
        ("[[model]]\nname = 'x'\ntemperature = 'hot'\n", "temperature 'hot': must be a number"),
        ("[[model", "cannot be read"),
    ],
)
def test_a_bad_plan_is_refused_in_one_line(tmp_path: Path, text: str, said: str) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text(text)
    with pytest.raises(InputError, match=said) as error:
        pool_of([], plan, USUAL)
    assert "\n" not in str(error.value)


def test_what_is_recorded_tells_zero_from_nothing() -> None:
    greedy = PlannedModel("m", Settings(prompt="open-answer", temperature=0.0, seed=0))
    unset = PlannedModel("m", Settings(prompt="open-answer", seed=0))
    blind = PlannedModel("m", Settings(prompt="open-answer", seed=0, without_images=True))
    [zero], [none], [unseeing] = (recorded({"m": one}, 1) for one in (greedy, unset, blind))
    assert zero["temperature"] == 0.0 and zero["seed"] == 0
    assert "temperature" not in none and "without_images" not in none
    assert unseeing["without_images"] is True
