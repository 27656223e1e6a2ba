"""What a name opens, the embedded benchmark, and the notebooks that `mrb lab` writes over nobody's own work."""

import ast
import json
import multiprocessing
from pathlib import Path
from typing import Any

import nbformat
import pandas as pd
import pytest

import mrb_lib
import mrb_lib.demo
from mrb_lib.benchmarks.benchmark import Benchmark, save
from mrb_lib.benchmarks.meta import BenchmarkMeta
from mrb_lib.demo.judges import JUDGES, REPEATS
from mrb_lib.report.defaults import DEFAULTS
from mrb_lib.report.lab import opening, own_notebooks, prepare
from mrb_lib.report.places import DEMO_JUDGES, home, make_demo
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.files import REVIEWS
from tests.report.conftest import Lab


def write_stand_in(folder: Path, cases: int, seed: int) -> None:
    """Write cases, one annotator and what is behind them, as the demo does."""
    ids = [f"c{i}" for i in range(cases)]
    frame = pd.DataFrame({"case_id": ids, "question": "Q?", "response_a": "left", "response_b": "right"})
    frame = frame.assign(department="Neurology", model_a="one", model_b="other")
    votes = pd.DataFrame({"case_id": ids, "annotator": "r1", "dimension": "overall", "choice": "A"})
    save(Benchmark(BenchmarkMeta("demo", "simulated", ("overall",)), frame, votes), folder)
    truth = pd.DataFrame({"case_id": ids, "dimension": "overall", "quality_a": 0.4, "quality_b": 0.1})
    truth.to_parquet(folder / "truth.parquet")


def quiet(line: str) -> None:
    """Show nothing."""


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A home of one's own, and a generator that notes each time it is called."""
    calls: list[int] = []

    def write(folder: Path, cases: int, seed: int) -> None:
        calls.append(seed)
        write_stand_in(folder, cases, seed)

    monkeypatch.setenv("MRB_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(mrb_lib.demo, "write_demo", write)
    return calls


def test_a_filter_leaves_its_cases_and_is_said_wherever_they_are_shown(lab: Lab, tmp_path: Path) -> None:
    where = "gold == 'A' and outcome['first'] == 'right'"
    opened = mrb_lib.open(lab.bench, where=where, resamples=0)
    assert opened.benchmark.cases["case_id"].tolist() == ["c1", "c3"]
    assert set(opened.benchmark.annotations["case_id"]) == set(opened.verdicts["case_id"]) == {"c1", "c3"}
    assert f"where {where}" in repr(opened)
    shown = opened.table("composition").show()
    assert f"where {where}" in shown.caption
    assert where in opened.conclude("composition")
    assert "where" not in repr(mrb_lib.open(lab.bench))
    with pytest.raises(InputError, match="leaves none of 4 cases"):
        mrb_lib.open(lab.bench, where="gold == 'B' and outcome['first'] == 'right'")


@pytest.mark.parametrize(("benchmark", "runs"), [("", ""), ("nowhere", ""), ("bench", "nowhere")])
def test_what_is_not_there_is_bad_input(benchmark: str, runs: str, lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(lab.folder)
    with pytest.raises(InputError):
        mrb_lib.open(benchmark, runs)


def test_home_follows_the_users_choice_then_xdg(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MRB_HOME", str(tmp_path / "chosen"))
    assert home() == tmp_path / "chosen"
    monkeypatch.delenv("MRB_HOME")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert home() == tmp_path / "cache" / "mrb"
    monkeypatch.setenv("XDG_CACHE_HOME", "not/absolute")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert home() == tmp_path / ".cache" / "mrb"


def test_the_demo_is_made_once_and_judged_by_every_weightless_judge(
    made: list[int], capsys: pytest.CaptureFixture[str]
) -> None:
    first = mrb_lib.open("demo")
    assert first.note.startswith("SIMULATED")
    simulated = {judge.name for judge in JUDGES}
    assert {manifest.judge for manifest in first.manifests} == {*DEMO_JUDGES, *simulated}
    assert {manifest.judge for manifest in first.manifests if manifest.source == "SIMULATED"} == simulated
    assert set(first.verdicts["order"]) == {"AB", "BA"}
    mrb_lib.open("demo")
    assert made == [0]
    assert len(capsys.readouterr().err.splitlines()) == 1, "what takes long is said, and only when it is done"


def test_other_judges_make_the_runs_again_and_reviews_stay(made: list[int]) -> None:
    benchmark = make_demo(cases=3, progress=quiet)
    (benchmark / REVIEWS).write_text("what somebody said")
    assert make_demo(cases=3, judges=("first", "longer"), progress=quiet) == benchmark
    assert len(made) == 2
    assert len(list(benchmark.glob("runs/*/manifest.json"))) == 2 + len(JUDGES)
    assert (benchmark / REVIEWS).read_text() == "what somebody said"


def test_the_benchmark_of_ratings_is_made_in_the_same_way(made: list[int]) -> None:
    for _ in range(2):
        said: list[str] = []
        benchmark = make_demo("demo-ratings", cases=20, progress=said.append)
    assert benchmark == home() / "demo-ratings" / "benchmark"
    assert said == [], "it was there"
    opened = mrb_lib.open(benchmark)
    assert (len(opened.benchmark.cases), opened.benchmark.meta.is_rating) == (20, True)
    assert len(opened.manifests) > 1
    assert made == []


def test_a_demo_that_was_interrupted_is_made_again(made: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(folder: Path, cases: int, seed: int) -> None:
        (folder / "benchmark.toml").write_text("half")
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(mrb_lib.demo, "write_demo", interrupted)
        with pytest.raises(KeyboardInterrupt):
            make_demo(cases=3, progress=quiet)
    assert not (home() / "demo" / "benchmark").exists()
    benchmark = make_demo(cases=3, progress=quiet)
    assert json.loads((benchmark / "stamp.json").read_text())["cases"] == 3
    assert not list(benchmark.parent.glob(".benchmark.*"))


def test_processes_that_start_together_make_the_demo_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def write(folder: Path, cases: int, seed: int) -> None:
        with (tmp_path / "made").open("a") as stream:
            stream.write("x")
        write_stand_in(folder, 1, seed)

    def open_demo() -> None:
        opened = mrb_lib.open("demo")
        assert len(opened.verdicts) == 2 * (len(DEMO_JUDGES) + REPEATS * len(JUDGES))
        assert len(opened.manifests) == len(DEMO_JUDGES) + len(JUDGES)

    monkeypatch.setenv("MRB_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(mrb_lib.demo, "write_demo", write)
    started = [multiprocessing.get_context("fork").Process(target=open_demo) for _ in range(3)]
    for process in started:
        process.start()
    for process in started:
        process.join(120)
    assert [process.exitcode for process in started] == [0, 0, 0]
    assert (tmp_path / "made").read_text() == "x"


HOSTILE = '/data/\'; import os; os.abort() #"""\n{x} \\ \\1 é\u202e'
START = "00_start.ipynb"


def parameters(path: Path) -> dict[str, Any]:
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    [cell] = [cell for cell in notebook.cells if "parameters" in cell.metadata.get("tags", [])]
    statements = ast.parse(cell.source).body
    assert all(isinstance(statement, ast.Assign) for statement in statements)
    return {one.targets[0].id: ast.literal_eval(one.value) for one in statements}


def test_every_notebook_is_written_and_opens_the_benchmark(tmp_path: Path) -> None:
    written = prepare(tmp_path / "mine", "/b")
    sources = sorted(own_notebooks().glob("*.ipynb"))
    assert [path.name for path in written] == [source.name for source in sources]
    assert next(iter(written)).name == START
    assert not any(written.values())
    for made, source in zip(written, sources, strict=True):
        assert parameters(made) == {**parameters(source), "benchmark": "/b"}
        before, after = (json.loads(path.read_text())["cells"] for path in (source, made))
        tagged = [cell["metadata"].get("tags") == ["parameters"] for cell in before]
        assert [one == other for one, other in zip(before, after, strict=True)] == [not tag for tag in tagged]


def test_other_runs_are_set_for_all_that_is_opened_below(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    [path] = [path for path in prepare(tmp_path, "/b", "/b/some runs") if path.name == START]
    cells = [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
    assert "parameters" in cells[0].metadata.tags
    monkeypatch.setitem(DEFAULTS, "runs", "")
    exec(cells[1].source, {"mrb_lib": mrb_lib})  # noqa: S102  # the library's own cell
    assert DEFAULTS["runs"] == "/b/some runs"


@pytest.mark.parametrize("runs", ["", HOSTILE])
def test_a_hostile_path_is_text(runs: str, tmp_path: Path) -> None:
    start = next(iter(prepare(tmp_path, HOSTILE, runs)))
    assert parameters(start)["benchmark"] == HOSTILE
    for cell in nbformat.read(start, as_version=4).cells:
        if cell.cell_type == "code":
            ast.parse(cell.source)


@pytest.mark.parametrize("runs", ["", "/runs"])
def test_a_notebook_of_the_same_benchmark_and_runs_is_kept_with_all_that_was_changed(runs: str, tmp_path: Path) -> None:
    first = next(iter(prepare(tmp_path, "/b", runs)))
    mine = json.loads(first.read_text())
    mine["cells"].append({"cell_type": "markdown", "id": "mine", "metadata": {}, "source": "my own words"})
    first.write_text(json.dumps(mine))
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    again = prepare(tmp_path, "/b", runs)
    assert next(iter(again)) == first
    assert all(again.values())
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before
    assert next(iter(prepare(tmp_path, "/b", "/other"))).name == "00_start-2.ipynb"


@pytest.mark.parametrize("there", ["other", "{", "", '{"cells": []}', '{"cells": [{}]}'])
def test_what_is_not_ours_keeps_its_name_and_ours_gets_a_number(there: str, tmp_path: Path) -> None:
    mine = tmp_path / START
    other = opening(json.loads((own_notebooks() / START).read_text()), "/other")
    mine.write_text(json.dumps(other) if there == "other" else there)
    before = mine.read_bytes()
    start = next(iter(prepare(tmp_path, "/b")))
    assert start.name == "00_start-2.ipynb"
    assert mine.read_bytes() == before
    assert parameters(start)["benchmark"] == "/b"
    assert next(iter(prepare(tmp_path, "/b"))) == start


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="name another with --folder"):
        prepare(tmp_path / "file", "/b")
