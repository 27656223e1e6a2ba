"""Every wrong wish is one line that names it, with exit code 2, and writes nothing."""

import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from mrb_lib.cli.app import app

from ..build.construct.sources import write_source
from .conftest import Result, write_ratings, write_tables

JUDGE, FIRST = "judge {bench} runs", "judge {bench} runs --judge first"
RATED, PROBED = "judge {rated} runs --judge", "judge {demo} runs --judge first --probe"
SPLIT, START = "split {demo} --overwrite", "construct start {source} work"
ANNOTATE = "annotate {demo}"
TABLE = "analyze {bench} --table significance"
REFUSED = {
    "import nosuch {tables} out": "format 'nosuch' is unknown; use one of judgebench",
    "import table nowhere out": "nowhere: there is no such file or folder",
    "import pandalm {tables} out": "testset-v1.json: the file is missing",
    "import table {tables} out --unparsed-as-tie": "--unparsed-as-tie: import table has no such option",
    "import table {tables} out --kind odd": "key kind: 'odd' is unknown; use one of clinical",
    "check nowhere": "nowhere: there is no such folder",
    "judge nowhere runs --judge first": "nowhere: is not a benchmark",
    "judge nowhere runs": "no judge is named; pass --judge NAME",
    "analyze nowhere": "nowhere: is not a benchmark",
    "demo {tables}": "already exists; name another folder, or pass --overwrite",
    "demo out --cases 0": "'--cases': must be at least 1; see `",
    "export nosuch nowhere - out": "format 'nosuch' is unknown; use one of dpo",
    "report nowhere --out out": "nowhere: is not a benchmark",
    "report {bench} --preset papers": "preset 'papers' is unknown; use one",
    "analyze --explain acuracy": "table 'acuracy' is unknown",
    "analyze --table accuracy": "BENCH: name the folder",
    "analyze {bench} --json --csv": "--json, --csv and --latex: choose one.",
    "analyze {bench} --resamples many": "'--resamples': must be a whole number; see `",
    f"{TABLE} --table nosuch": "table 'nosuch' is unknown",
    f"{TABLE} --policy nosuch": "policy 'nosuch' is unknown; use one of official",
    f"{TABLE} --by nosuch": "by 'nosuch': the cases have no such column to break down by; use one of question, organ",
    f"{TABLE} --dimension beauty": "dimension 'beauty' is unknown; use one of overall",
    f"{TABLE} --gold x": "gold rule 'x' is unknown; use one of majority",
    f"{TABLE} --correction nosuch": "correction 'nosuch' is unknown; use one of holm",
    f"{TABLE} --resamples -1": "resamples -1: must be at least 40",
    f"{TABLE} --level x": "level 'x' is unknown; use one of nominal",
    f"{TABLE} --cluster nosuch": "cluster 'nosuch': the cases have no such column",
    f"{TABLE} --margin much": "'--margin': must be a number",
    f"{FIRST} --concurrency 0": "--concurrency 0: must be more than 0.",
    f"{FIRST} --quantize 3bit": "--quantize '3bit': must be '4bit' or '8bit'.",
    f"{FIRST} --timeout soon": "'--timeout': must be a number; see `",
    "judge {bench}": "Missing argument 'RUNS'; see `",
    f"{FIRST} --engine slurm": "--engine 'slurm': must be 'local' or 'ray'.",
    f"{FIRST} --workers 2": "need engine ray",
    f"{FIRST} --engine ray --workers 0": "--workers 0: must be at least 1",
    f"{FIRST} --dtype float8": "--dtype 'float8': must be 'auto'",
    f"{FIRST} --temperature -1": "--temperature -1.0: must be at least 0.",
    f"{FIRST} --budget 1 --price-prompt 1 --price-completion 1 --engine ray": "servers are asked by engine local",
    f"{FIRST} --budget 1 --judge endpoint:m --price-prompt 1": "pass --price-prompt and --price-completion",
    f"{FIRST} --orders AC": "orders 'AC': use AB, BA or both, each once.",
    f"{FIRST} --repeats 0": "--repeats 0: must be at least 1.",
    f"{FIRST} --retry ok": "retry 'ok': is no status of a failed verdict; use unparsed, refused, error.",
    f"{FIRST} --judge nobody": "judge 'nobody' is not in the roster",
    f"{JUDGE} --judge path:nowhere": "nowhere holds no config.json",
    f"{FIRST} --judge consensus-of:first,first": "is not a well-formed jury",
    f"{FIRST} --judge consensus-of:first,nobody": "judge 'nobody' is not in the roster",
    f"{FIRST} --roster nowhere.toml": "nowhere.toml: cannot be read as a roster",
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
    f"{SPLIT} --by nothing": "--by nothing: the cases have no column nothing",
    f"{SPLIT} --test 1.5": "--test 1.5: is not a share",
    f"{SPLIT} --test 0.6 --validation 0.4": "leave nothing to train on; give less.",
    f"{SPLIT} --leave-out organ": "--leave-out organ: name a column and a value",
    f"{SPLIT} --leave-out organ=ear": "no case has that value; organ is one of abdomen",
    f"{SPLIT} --folds nothing": "--folds nothing: the cases have no column nothing",
    f"{SPLIT} --by department --leave-out nothing=1": "the cases have no column nothing",
    f"{START} --layout nonsense": "layout 'nonsense' is unknown",
    f"{START} --kind odd": "--kind 'odd': must be",
    f"{START} --map missing=question": "there is no column missing",
    f"{START} --where 'organ =='": "cannot be read",
    f"{START} --preset odd": "preset 'odd'",
    "construct filter {work}": "no model is named",
    "construct filter {tables} --model m": "is not a work folder",
    "construct pair {tables}": "is not a work folder",
    "construct filter {work} --tolerance 1": "--tolerance 1.0: must be less than 1.",
    "construct filter {work} --workers 0": "--workers 0: must be at least 1.",
    "construct release {work} out --min-annotators 0": "--min-annotators 0: must be at least 1.",
    "train {bench} runs --model x --ties twice": "--ties 'twice': must be 'half' or 'drop'.",
    f"{ANNOTATE} --annotators =cmd --assign-only": "start a name",
    f"{ANNOTATE} --annotators a,,b --assign-only": "start a name",
    f"{ANNOTATE} --annotators Consensus --assign-only": "take another",
    f"{ANNOTATE} --annotators a,a --assign-only": "'a': occurs twice",
    f"{ANNOTATE} --annotators a,b --host 192.0.2.1": "--allow-remote",
    f"{ANNOTATE} --annotators a,b --export out.csv --agreement": "choose one",
    f"{ANNOTATE} --agreement --coordinator": "choose one",
    f"{ANNOTATE} --full": "--export OUT",
    f"{ANNOTATE} --agreement": "nothing is assigned yet",
    f"{ANNOTATE} --export out.csv": "nothing is assigned yet",
    "lab nowhere": "nowhere: is not a benchmark",
    "lab {bench} --host 0.0.0.0": "--allow-remote",
    "lab {bench} --host example.org": "--allow-remote",
    "lab {bench} --host ::": "--allow-remote",
    "review nowhere": "nowhere",
    "review {bench} --host 0.0.0.0 --no-browser": "--allow-remote",
    "review {bench} --port 70000": "--port 70000: must be at most 65535.",
    "judges --access secret": "--access 'secret': no judge left has it",
    "judges --engine magic": "--engine 'magic': no judge left has it",
    "judges --roster nowhere.toml": "nowhere.toml: cannot be read as a roster",
    "doctor --roster nowhere.toml": "nowhere.toml: cannot be read as a roster",
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
