"""Options are declared once; a preset sets options that the commands have, and what the user sets goes before it."""

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

from .conftest import Mrb


def _options(name: str) -> list[typer.core.TyperOption]:
    group = typer.main.get_command(app)
    command = group.get_command(typer.Context(group), name)  # type: ignore[attr-defined]  # a group
    params = command.get_params(typer.Context(command))
    return [param for param in params if isinstance(param, typer.core.TyperOption)]


@pytest.mark.parametrize("command", ["judge", "analyze"])
def test_rare_options_are_listed_on_demand_and_always_work(mrb: Mrb, command: str) -> None:
    rare = {option.opts[-1]: option.hidden for option in _options(command) if option.name != "help"}
    short, whole = mrb(command, "--help").out, mrb(command, "--help-all").out
    assert any(rare.values()) and f"--help-all lists {sum(rare.values())} more options" in short
    for flag, is_rare in rare.items():
        assert flag in whole and (f"{flag} " in short) is not is_rare


def test_the_list_of_commands_has_whole_summaries(mrb: Mrb) -> None:
    shown = mrb("-h").out
    assert "..." not in shown.partition("Commands:")[2]


def test_an_embedded_benchmark_is_a_benchmark_for_every_command(
    mrb: Mrb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def small(name: str, progress: object) -> Path:
        assert name == "demo"
        return tmp_path / "small"

    monkeypatch.chdir(tmp_path)
    for wrong in (("judge", "demo", "r", "--judge", "first", "--scale", 7), ("analyze", "demo", "--table", "nosuch")):
        with monkeypatch.context() as patch:
            patch.setattr("mrb_lib.report.places.make_demo", None)
            assert mrb(*wrong).code == 2, "options are checked before it is made"
    monkeypatch.setattr("mrb_lib.report.places.make_demo", small)
    assert mrb("demo", "small", "--cases", 18, "--verdicts").code == 0
    assert "SIMULATED" in mrb("analyze", "demo", "--table", "composition").out
    assert mrb("check", "demo").code == 0
    assert mrb("judge", "demo", "judged", "--judge", "first", "--limit", 1).code == 0
    assert mrb("export", "table", "demo", "-", "tables").code == 0
    (tmp_path / "demo").mkdir()
    assert mrb("check", "demo").code == 2, "a folder of that name goes before"


@pytest.mark.parametrize("name", PRESETS)
def test_it_sets_options_that_the_commands_have(name: str) -> None:
    own = PRESETS[name]
    for command in get_args(Command):
        assert set(own[command]) <= {option.name for option in _options(command)}
    assert own["report"]["policy"] in POLICIES
    assert {path.stem for path in own_notebooks().glob("*.ipynb")} >= set(own["report"]["only"])
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
        (["--preset", "paper", "--policy", "net"], "net", ["paper"], "you set policy, which goes before its policy"),
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


def test_judging_takes_its_prompt_and_temperature(mrb: Mrb, handed: dict[str, object], tmp_path: Path) -> None:
    assert mrb("demo", tmp_path / "b", "--cases", 2).code == 0
    mrb("judge", tmp_path / "b", tmp_path / "r", "--judge", "longer", "--preset", "paper", "--temperature", 0.5)
    one = handed["one"]
    assert (one.settings.prompt, one.settings.temperature) == ("official-form", 0.5)
    assert one.orders == ("AB",)
