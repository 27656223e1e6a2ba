"""A preset sets options that the commands have, what the user sets goes before it, and both are printed."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import get_args

import pytest
import typer

from mrb_lib.cli.app import app
from mrb_lib.cli.presets import PRESETS, Command
from mrb_lib.judges.prompts import builtin_ids
from mrb_lib.report.lab import own_notebooks
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.schema import POLICIES

from .conftest import Result

Mrb = Callable[..., Result]


@pytest.mark.parametrize("name", PRESETS)
def test_it_sets_options_that_the_commands_have(name: str) -> None:
    own = PRESETS[name]
    group = typer.main.get_command(app)
    for command in get_args(Command):
        found = group.get_command(typer.Context(group), command)  # type: ignore[attr-defined]  # a group
        assert set(own[command]) <= {option.name for option in found.get_params(typer.Context(found))}
    assert own["report"]["policy"] in POLICIES
    assert {path.stem for path in own_notebooks().glob("*.ipynb")} >= set(own["report"]["only"])  # type: ignore[call-overload]
    assert own["judge"]["prompt"] in builtin_ids()


@pytest.fixture
def handed(monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    """The options that the commands hand to the report and to the judges, which are not made."""
    options: dict[str, object] = {}

    def report(*_: object, **given: object) -> None:
        options.update(given)
        raise InputError("enough.")

    def judge(one: SimpleNamespace, _: object) -> None:
        options["one"] = one
        raise InputError("enough.")

    monkeypatch.setattr("mrb_lib.report.pipeline.report", report)
    monkeypatch.setattr("mrb_lib.runs.execute.check_suits", judge)
    return options


@pytest.mark.parametrize(
    ("arguments", "policy", "only", "said"),
    [
        (["--preset", "paper"], "official", ["paper"], "preset paper: policy official, only paper"),
        (
            ["--preset", "paper", "--policy", "net"],
            "net",
            ["paper"],
            "you set policy, which goes before its policy off",
        ),
        (["--preset", "paper", "-p", "policy=net"], "net", ["paper"], "preset paper: only paper; you set policy"),
        (["--preset", "paper", "--only", "05_subfields"], "official", ["05_subfields"], "you set only"),
        ([], "balanced", (), ""),
    ],
)
def test_what_the_user_sets_goes_before_it(
    mrb: Mrb, handed: dict[str, object], tmp_path: Path, arguments: list[str], policy: str, only: object, said: str
) -> None:
    assert mrb("demo", tmp_path / "b", "--cases", 2).code == 0
    result = mrb("report", tmp_path / "b", *arguments)
    assert (handed["policy"], handed["only"]) == (policy, only)
    assert said in result.err
    assert mrb("report", tmp_path / "b", "--preset", "papers").err.startswith(
        "mrb: preset 'papers' is unknown; use one"
    )


def test_judging_takes_its_prompt_and_temperature(mrb: Mrb, handed: dict[str, object], tmp_path: Path) -> None:
    assert mrb("demo", tmp_path / "b", "--cases", 2).code == 0
    mrb("judge", tmp_path / "b", tmp_path / "r", "--judge", "longer", "--preset", "paper", "--temperature", 0.5)
    one = handed["one"]
    assert (one.settings.prompt, one.settings.temperature) == ("official-form", 0.5)  # type: ignore[attr-defined]
    assert one.orders == ("AB",)  # type: ignore[attr-defined]
