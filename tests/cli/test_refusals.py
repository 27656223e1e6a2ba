"""Every wrong wish is one line that names it, with exit code 2, and writes nothing."""

import json
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from mrb_lib.cli.app import app

from ..build.construct.sources import write_source
from .conftest import RATED_CASES, RATINGS_TOML, Mrb, write_ratings, write_tables

JUDGE, FIRST = "judge {bench} runs", "judge {bench} runs --judge first"
RATED, PROBED = "judge {rated} runs --judge", "judge {demo} runs --judge first --probe"
SPLIT, START = "split {demo} --overwrite", "construct start {source} work"
ANNOTATE = "annotate {demo}"
TABLE = "analyze {bench} --table significance"
REFUSED = {
    "import nosuch {tables} out": "format 'nosuch' is unknown; use one of judgebench",
    "import table nowhere out": "nowhere: there is no such file or folder",
    "import pandalm {tables} out": "testset-v1.json: the file is missing",
    "import pandalm {tables} out --normalize-names": "--normalize-names: import pandalm has no such option",
    "import table {tables} out --unparsed-as-tie": "--unparsed-as-tie: import table has no such option",
    "import table {tables} out --kind odd": "key kind: 'odd' must be 'clinical'",
    "check nowhere": "nowhere: there is no such folder",
    "judge nowhere runs --judge first": "nowhere: is not a benchmark",
    "judge nowhere runs": "no judge is named; pass --judge NAME",
    "analyze nowhere": "nowhere: is not a benchmark",
    "demo {tables}": "already exists; name another folder, or pass --overwrite",
    "demo out --construct --cases 5": "--cases 5",
    "demo out --seed -1": "--seed",
    "export nosuch nowhere - out": "format 'nosuch' is unknown; use one of dpo",
    "export sft {demo} - a b": "one folder too many",
    "export reward {demo} a --prompt plain": "--prompt: export reward has no such option",
    "export sft {demo} a --reference half": "prompt single shows none",
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
    f"{FIRST} --concurrency 0": "--concurrency 0: must be more than 0.",
    f"{FIRST} --timeout soon": "'--timeout': must be a number; see `",
    "judge {bench}": "Missing argument 'RUNS'; see `",
    f"{FIRST} --engine slurm": "--engine 'slurm': must be 'local' or 'ray'.",
    f"{FIRST} --workers 2": "need engine ray",
    f"{FIRST} --dtype float8": "--dtype 'float8': must be 'auto'",
    f"{FIRST} --temperature -1": "--temperature -1.0: must be at least 0.",
    f"{FIRST} --budget 1 --price-prompt 1 --price-completion 1 --engine ray": "a budget: needs engine local",
    f"{FIRST} --budget 1 --judge endpoint:m --price-prompt 1": "pass --price-prompt and --price-completion",
    f"{FIRST} --orders AC": "orders 'AC': use AB, BA or both, each once.",
    f"{FIRST} --retry ok": "retry 'ok': is no status of a failed verdict; use unparsed, refused, error.",
    f"{FIRST} --judge nobody": "judge 'nobody' is not in the roster",
    f"{JUDGE} --judge path:nowhere": "nowhere holds no config.json",
    f"{FIRST} --judge consensus-of:first,first": "is not a well-formed jury",
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
    f"{SPLIT} --test 0.6 --validation 0.4": "leave nothing to train on; give shares",
    f"{START} --layout nonsense": "layout 'nonsense' is unknown",
    f"{START} --map missing=question": "there is no column missing",
    f"{START} --where 'organ =='": "cannot be read",
    f"{START} --preset odd": "preset 'odd'",
    "construct filter {work}": "no model is named",
    "construct pair {tables}": "is not a work folder",
    "construct filter {work} --tolerance 1": "--tolerance 1.0: must be less than 1.",
    "train {bench} runs --model x --ties twice": "--ties 'twice': must be 'half' or 'drop'.",
    f"{ANNOTATE} --annotators =cmd --assign-only": "start a name",
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
    "lab {bench} --host ::": "--allow-remote",
    "review nowhere": "nowhere",
    "review {bench} --host 0.0.0.0 --no-browser": "--allow-remote",
    "review {bench} --port 70000": "--port 70000: must be at most 65535.",
    "judges --access secret": "--access 'secret': no judge left has it",
    "judges --roster nowhere.toml": "nowhere.toml: cannot be read as a roster",
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
    mrb: Mrb, places: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.chdir(tmp_path)
    before = {path: path.stat().st_mtime_ns for path in places["bench"].parent.rglob("*")}
    said = mrb(*shlex.split(command.format(**places))).refusal
    assert REFUSED[command] in said.splitlines()[-1]
    assert "\x1b" not in said
    assert list(tmp_path.iterdir()) == []
    assert {path: path.stat().st_mtime_ns for path in places["bench"].parent.rglob("*")} == before


TOML = "benchmark.toml"
BAD_RATINGS = {
    "a verdict outside the list": (
        "verdicts.csv", "3,harm,AB,low risk", "3,harm,AB,some risk", ["verdicts.csv, row 3", "no risk, low risk"]
    ),
    "an annotation outside the list": (
        "annotations.csv", "3,r1,harm,low risk", "3,r1,harm,A", ["annotations.csv, row 7", "'A'"]
    ),
    "an order that a rating has not": ("verdicts.csv", "1,harm,AB", "1,harm,BA", ["row 1", "order"]),
    "a second response": (
        "cases.csv", RATED_CASES,
        RATED_CASES.replace("response_a", "response_a,response_b").replace(".\n", ".,B\n"),
        ["cases.csv, row 1, column response_b", "one response is rated"],
    ),
    "no second response and no word of a rating": (
        TOML, RATINGS_TOML, 'name = "risk"\nkind = "general"\n', ["response_b", 'task = "rating"']
    ),
    "an unknown task": (TOML, '"rating"', '"grading"', ["key task", "'preference' or 'rating'"]),
    "an acceptable one that is no category": (TOML, '["no risk"]', '["safe"]', ["key acceptable", "'safe'"]),
    "all of them acceptable": (TOML, '["no risk"]', '["no risk", "low risk", "high risk"]', ["key acceptable"]),
    "numbers that do not rise": (
        TOML, '"no risk", "low risk", "high risk"]', '"3", "1", "2"]', ["key categories", "rise"]
    ),
    "a category of two lines": (TOML, '"no risk", "low', '"no\\nrisk", "low', ["one line"]),
    "definitions that are no table": (
        TOML, RATINGS_TOML[RATINGS_TOML.index("\n[definitions]"):], 'definitions = "high"\n', ["key definitions"]
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD_RATINGS)
def test_an_import_of_ratings_refuses(mrb: Mrb, ratings: Path, tmp_path: Path, name: str) -> None:
    file, old, new, parts = BAD_RATINGS[name]
    text = (ratings / file).read_text(encoding="utf-8")
    assert old in text
    (ratings / file).write_text(text.replace(old, new, 1), encoding="utf-8")
    before = sorted(tmp_path.rglob("*"))
    said = mrb("import", "table", ratings, tmp_path / "out").refusal
    assert said.count("\n") == 1 and all(part in said for part in parts)
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    ("raised", "said"),
    [
        (KeyboardInterrupt(), "interrupted"),
        (OSError(28, "No space left on device", "/disk/part"), "/disk/part: cannot be read or written (No space left"),
    ],
)
def test_an_interruption_and_a_full_disk_end_with_one_message(
    mrb: Mrb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, raised: BaseException, said: str
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise raised

    monkeypatch.setattr("mrb_lib.cli.demo.write_demo", fail)
    result = mrb("demo", tmp_path / "out")
    assert (result.code, result.out) == (1, "")
    assert len(result.err.splitlines()) == 1
    assert said in result.err
    assert list(tmp_path.iterdir()) == []


def test_a_finding_quotes_the_data_without_letting_it_steer_the_terminal(mrb: Mrb, tmp_path: Path) -> None:
    (tmp_path / "t").mkdir()
    names = ["\x1b[2Jerror\nerror: 7\r", "\u202ereversed", "\x9b31m", "\u60a3\U0001f9e0"]
    rows = [{"case_id": name, "question": "", "response_a": "same", "response_b": "same"} for name in names]
    (tmp_path / "t" / "cases.jsonl").write_text("\n".join(map(json.dumps, rows)))
    assert mrb("import", "table", tmp_path / "t", tmp_path / "b").code == 0
    said = mrb("check", tmp_path / "b", "--all").err
    assert not set(said) & {"\x1b", "\r", "\u202e", "\x9b"}
    assert "error: 7" not in said.splitlines()
    for shown in (r"\x1b[2Jerror\nerror: 7\r", r"\u202ereversed", r"\x9b31m", names[-1]):
        assert shown in said
