import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from mrb_lib.benchmarks.benchmark import Benchmark, save
from mrb_lib.cli.serving import ServerOptions
from mrb_lib.report.lab import own_notebooks

from .conftest import Mrb

Served = tuple[Path, ServerOptions, Mapping[str, str]]


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[Served]:
    """Return what would have been served: nothing is started."""
    calls: list[Served] = []
    monkeypatch.setattr("mrb_lib.cli.lab_server.serve_lab", lambda *call: calls.append(call))
    return calls


@pytest.fixture
def bench(tmp_path: Path, pictured: Benchmark, monkeypatch: pytest.MonkeyPatch) -> Path:
    save(pictured, tmp_path / "bench")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MRB_STORE", raising=False)
    return tmp_path / "bench"


def code_of(notebook: Path) -> str:
    return "\n".join("".join(cell["source"]) for cell in json.loads(notebook.read_text())["cells"])


def test_it_opens_the_first_notebook_in_a_folder_named_after_the_benchmark(
    mrb: Mrb, bench: Path, served: list[Served]
) -> None:
    said = mrb("lab", "bench", "--no-browser", "--port", "9321").ok.err
    [(where, options, environment)] = served
    assert where.resolve() == bench.parent / "mrb-lab" / "bench" / "00_start.ipynb"
    assert options == ServerOptions(port=9321, browser=False, host="127.0.0.1", allow_remote=False)
    assert "MRB_STORE" not in environment
    n = len(list(own_notebooks().glob("*.ipynb")))
    assert f"{n} notebooks written" in said
    assert f"benchmark = {str(bench)!r}" in code_of(where)
    assert "set_defaults" not in code_of(where)
    assert f"0 notebooks written, {n} kept as they were" in mrb("lab", "bench", "--no-browser").err


def test_the_store_goes_by_the_environment_and_into_no_notebook(
    mrb: Mrb, bench: Path, served: list[Served], tmp_path: Path
) -> None:
    for store in ("postgresql://me:secret@host/reviews", "beside.sqlite"):
        assert mrb("lab", "bench", "--folder", "mine", "--store", store).ok
    assert [environment["MRB_STORE"] for *_, environment in served] == [
        "postgresql://me:secret@host/reviews",
        str(tmp_path / "beside.sqlite"),
    ]
    assert not any("secret" in path.read_text() for path in (tmp_path / "mine").iterdir())


def test_without_a_server_it_says_where_the_notebook_is(mrb: Mrb, bench: Path, served: list[Served]) -> None:
    said = mrb("lab", bench, "--folder", "mine", "--prepare").ok
    assert served == [] and Path(said.out.strip()).is_file()
