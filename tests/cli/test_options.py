"""Options are declared once: the command line reads them, and each wrong value is one line."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import typer

from mrb_lib.cli.app import app

from .conftest import Result

Mrb = Callable[..., Result]


def _options(name: str) -> list[typer.core.TyperOption]:
    group = typer.main.get_command(app)
    command = group.get_command(typer.Context(group), name)  # type: ignore[attr-defined]  # a group
    params = command.get_params(typer.Context(command))
    return [param for param in params if isinstance(param, typer.core.TyperOption)]


@pytest.mark.parametrize("command", ["judge", "analyze"])
def test_rare_options_are_listed_on_demand_and_always_work(mrb: Mrb, command: str) -> None:
    rare = {
        option.opts[-1]: option.hidden for option in _options(command) if option.name != "help"
    }  # told before --help-all shows them
    short, whole = mrb(command, "--help").out, mrb(command, "--help-all").out
    assert any(rare.values()) and f"--help-all lists {sum(rare.values())} more options" in short
    for flag, is_rare in rare.items():
        assert flag in whole and (f"{flag} " in short) is not is_rare


def test_the_list_of_commands_has_whole_summaries_and_takes_little_time(mrb: Mrb) -> None:
    shown = mrb("-h").out
    assert "..." not in shown.partition("Commands:")[2]
    code = (
        "import sys; from mrb_lib.cli.app import app; assert not {'pydantic', 'pandas', 'numpy'} & sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


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
