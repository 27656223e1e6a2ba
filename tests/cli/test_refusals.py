"""Every wrong wish is one line that names it, with exit code 2, and writes nothing."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from mrb_lib.cli.app import app

from ..build.construct.sources import write_source
from .conftest import Result, write_tables
from .test_ratings import write_ratings

JUDGE, FIRST = "judge {bench} runs", "judge {bench} runs --judge first"
RATED, PROBED = "judge {rated} runs --judge", "judge {demo} runs --judge first --probe"
SPLIT, START = "split {demo} --overwrite", "construct start {source} work"
TABLE = "analyze {bench} --table significance"
REFUSED = {
    "import nosuch {tables} out": "nosuch",
    "import table nowhere out": "nowhere",
    "import pandalm {tables} out": "",
    "import table {tables} out --unparsed-as-tie": "--unparsed-as-tie",
    "import table {tables} out --kind odd": "odd",
    "check nowhere": "nowhere",
    "judge nowhere runs --judge first": "nowhere",
    "judge nowhere runs": "no judge is named; pass --judge NAME",
    "analyze nowhere": "nowhere",
    "demo {tables}": "",
    "demo out --cases 0": "",
    "export nosuch nowhere - out": "nosuch",
    "report nowhere --out out": "nowhere",
    "analyze --explain acuracy": "table 'acuracy' is unknown",
    "analyze --table accuracy": "BENCH: name the folder",
    "analyze {bench} --json --csv": "",
    "analyze {bench} --resamples many": "'--resamples': must be a whole number; see `",
    **{
        f"{TABLE} {option}": option.split()[1]
        for option in (
            "--table nosuch",
            "--policy nosuch",
            "--by nosuch",
            "--dimension beauty",
            "--gold x",
            "--correction nosuch",
            "--resamples -1",
            "--level x",
            "--cluster nosuch",
        )
    },
    f"{TABLE} --margin much": "'--margin': must be a number",
    f"{FIRST} --concurrency 0": "--concurrency 0: must be more than 0.",
    f"{FIRST} --quantize 3bit": "--quantize '3bit': must be '4bit' or '8bit'.",
    f"{FIRST} --timeout soon": "'--timeout': must be a number; see `",
    "judge {bench}": "Missing argument 'RUNS'; see `",
    f"{FIRST} --engine slurm": "slurm",
    f"{FIRST} --workers 2": "need engine ray",
    f"{FIRST} --engine ray --workers 0": "--workers 0: must be at least 1",
    f"{FIRST} --dtype float8": "float8",
    f"{FIRST} --temperature -1": "--temperature",
    f"{FIRST} --budget 1 --engine ray": "budget",
    f"{FIRST} --budget 1 --judge endpoint:m --price-prompt 1": "budget",
    f"{FIRST} --orders AC": "AC",
    f"{FIRST} --retry ok": "ok",
    f"{FIRST} --judge nobody": "nobody",
    f"{JUDGE} --judge path:nowhere": "nowhere",
    f"{FIRST} --judge consensus-of:first,first": "first",
    f"{FIRST} --judge consensus-of:first,nobody": "nobody",
    f"{FIRST} --roster nowhere.toml": "nowhere.toml",
    f"{RATED} longer": "compares two responses",
    f"{RATED} random --orders BA": "the only order is AB",
    f"{RATED} random --probe response/repeated": "pairs of responses",
    f"{RATED} consensus-of:random,first": "a jury votes",
    f"{RATED} endpoint:m --url http://127.0.0.1:9 --prompt plain": "use rate",
    f"{RATED} endpoint:m+letters --url http://127.0.0.1:9": "compares two responses",
    f"{PROBED} response/sides": "the nearest are response/side",
    f"{PROBED}-file nowhere.csv": "the file is missing",
    f"{PROBED}-file {{judges}}": "needs one column case_id",
    f"{PROBED}-file {{strange}}": "2 of 2 cases of its file",
    f"{PROBED}-cases 3": "--probe-file FILE",
    f"{SPLIT} --by nothing": "nothing",
    f"{SPLIT} --test 1.5": "1.5",
    f"{SPLIT} --test 0.6 --validation 0.4": "",
    f"{SPLIT} --leave-out organ": "organ",
    f"{SPLIT} --leave-out organ=ear": "ear",
    f"{SPLIT} --folds nothing": "nothing",
    f"{SPLIT} --by department --leave-out nothing=1": "nothing",
    f"{START} --layout nonsense": "layout 'nonsense' is unknown",
    f"{START} --kind odd": "--kind 'odd': must be",
    f"{START} --map missing=question": "there is no column missing",
    f"{START} --where 'organ =='": "cannot be read",
    f"{START} --preset odd": "preset 'odd'",
    "construct filter {work} --tolerance 1": "--tolerance 1.0: must be less than 1.",
    "construct filter {work} --workers 0": "--workers 0: must be at least 1.",
    "construct release {work} out --min-annotators 0": "--min-annotators 0: must be at least 1.",
    "train {bench} runs --model x --ties twice": "--ties 'twice': must be 'half' or 'drop'.",
    "review {bench} --port 70000": "--port 70000: must be at most 65535.",
    "judges --access secret": "secret",
    "judges --engine magic": "magic",
    "judges --roster nowhere.toml": "nowhere.toml",
    "doctor --roster nowhere.toml": "nowhere.toml",
}


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Benchmarks, sources and files that commands may name."""
    folder = tmp_path_factory.mktemp("places")
    named = ("tables", "ratings", "source", "bench", "rated", "work", "demo", "strange", "judges")
    places = {name: folder / name for name in named}
    write_tables(places["tables"])
    write_ratings(places["ratings"])
    write_source(places["source"], 8)
    for name, text in (("strange", "case_id,question\n\x1b[31m,x\nb,y\n"), ("judges", "judge,question\n1,x\n")):
        places[name] = folder / f"{name}.csv"
        places[name].write_text(text, encoding="utf-8")
    for command in (
        "import table {tables} {bench}", "import table {ratings} {rated}", "demo {work} --construct --cases 30",
        "demo {demo} --cases 26",
    ):  # fmt: skip
        assert CliRunner().invoke(app, command.format(**places).split()).exit_code == 0
    return places


@pytest.mark.parametrize("command", REFUSED)
def test_a_wrong_wish_is_one_line_and_nothing_is_written(
    mrb: Callable[..., Result], places: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.chdir(tmp_path)
    before = {path: path.stat().st_mtime_ns for path in places["bench"].parent.rglob("*")}
    said = mrb(*shlex.split(command.format(**places))).refusal
    assert REFUSED[command] in said.splitlines()[-1]
    assert "\x1b" not in said
    assert list(tmp_path.iterdir()) == []
    assert {path: path.stat().st_mtime_ns for path in places["bench"].parent.rglob("*")} == before
