"""A preset is data: what it sets fits the commands, what the user sets goes before it, and both are told."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest
import typer
from typer.testing import CliRunner

from mrb_lib.cli.app import app
from mrb_lib.cli.presets import Command, preset, presets
from mrb_lib.judges.prompt_files import builtin_ids
from mrb_lib.report.lab import own_notebooks
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.schema import POLICIES


@pytest.mark.parametrize("name", presets())
def test_it_sets_options_that_the_commands_have(name: str) -> None:
    own = preset(name)
    group = typer.main.get_command(app)
    for command in get_args(Command):
        found = group.get_command(typer.Context(group), command)  # type: ignore[attr-defined]  # a group
        options = found.get_params(typer.Context(found))
        assert set(getattr(own, command)) <= {option.name for option in options}
    assert own.report["policy"] in POLICIES
    assert {path.stem for path in own_notebooks().glob("*.ipynb")} >= set(own.report["only"])
    assert own.judge["prompt"] in builtin_ids()


def test_that_of_a_paper_is_the_published_rule() -> None:
    own = preset("paper")
    assert own.report == {"policy": "official", "only": ["paper"]}
    assert own.judge == {"orders": "AB", "prompt": "official-form", "temperature": 0.1}


def test_what_the_user_sets_goes_before_and_is_told() -> None:
    options, said = preset("paper").options("report", {"policy", "seed"})
    assert options == {"only": ["paper"]}
    assert said == "preset paper: only paper; you set policy, which goes before its policy official"


def test_an_unknown_one_is_refused_with_the_names() -> None:
    with pytest.raises(InputError, match=r"^preset 'papers' is unknown; use one of paper\."):
        preset("papers")


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    """What `mrb report` hands to the report, which is not made."""
    handed: dict[str, object] = {}

    def run(*_places: object, **options: object) -> object:
        handed.update(options)
        raise InputError("enough.")

    monkeypatch.setattr("mrb_lib.report.pipeline.report", run)
    return handed


@pytest.mark.parametrize(
    ("arguments", "policy", "only", "said"),
    [
        (["--preset", "paper"], "official", ["paper"], "preset paper: policy official, only paper"),
        (["--preset", "paper", "--policy", "balanced"], "balanced", ["paper"], "you set policy"),
        (["--preset", "paper", "-p", "policy=net"], "net", ["paper"], "you set policy"),
        (["--preset", "paper", "--only", "05_subfields"], "official", ["05_subfields"], "you set only"),
        ([], "balanced", (), ""),
    ],
)
def test_the_command_line_goes_before_it(
    seen: dict[str, object], tmp_path: Path, arguments: list[str], policy: str, only: object, said: str
) -> None:
    made = CliRunner().invoke(app, ["demo", str(tmp_path / "b"), "--cases", "2"])
    assert made.exit_code == 0
    result = CliRunner().invoke(app, ["report", str(tmp_path / "b"), *arguments])
    assert isinstance(result.exception, InputError)
    assert (seen["policy"], seen["only"]) == (policy, only)
    assert said in result.output


def test_judging_takes_its_prompt_and_temperature(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    handed: dict[str, object] = {}

    def judge(*_places: object, **options: object) -> list[object]:
        handed.update(options)
        return []

    monkeypatch.setattr("mrb_lib.runs.execute.judge", judge)
    bench = str(tmp_path / "b")
    CliRunner().invoke(app, ["demo", bench, "--cases", "2"])
    CliRunner().invoke(app, ["judge", bench, bench, "--judge", "longer", "--preset", "paper", "--temperature", "0.5"])
    settings = handed["settings"]
    assert (settings.prompt, settings.temperature) == ("official-form", 0.5)  # type: ignore[attr-defined]  # handed on
    assert handed["orders"] == ("AB",)
