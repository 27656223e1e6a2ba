"""Fixtures of the report's tests: a small benchmark, and notebooks that publish without drawing."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from mrb_lib.benchmarks.benchmark import Benchmark, save
from mrb_lib.benchmarks.meta import BenchmarkMeta
from mrb_lib.benchmarks.votes import gold
from mrb_lib.report import execute, provenance
from mrb_lib.report.defaults import DEFAULTS, set_defaults
from mrb_lib.report.defaults import Options as StudyOptions
from mrb_lib.report.execute import Finished
from mrb_lib.report.lab import Value
from mrb_lib.report.pipeline import ReportResult, report
from mrb_lib.report.records import EXECUTED, NotebookFailure
from mrb_lib.report.study import Study
from mrb_lib.review.failures.kinds import failure_kinds
from mrb_lib.review.failures.query import from_fragment, select
from mrb_lib.stats.where import cases_where
from mrb_lib.tables.errors import NotApplicable
from mrb_lib.tables.files import staged_folder
from mrb_lib.tables.schema import Kind
from mrb_lib.verdicts.store import save_imported
from tests.several_parts import several_parts
from tests.stats.small_tables import annotations_of, cases_of, verdicts_of

PARAMETERS = """benchmark = "demo"
dimension = None
"""

# What publish leaves, without the cost of drawing: one grey pixel stated to be at 300 dpi.
PUBLISH = """
import base64, io, json
from dataclasses import replace
from pathlib import Path
import pandas as pd
from mrb_lib.report.defaults import DEFAULTS
from mrb_lib.report.tabular import table_text
out, runs, policy, seed = (DEFAULTS[name] for name in ("out", "runs", "policy", "seed"))
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACXBIWXMAAC4jAAAuIwF4pT92AAAACklEQVR4"
    "nGNoAAAAggCBd81ytgAAAABJRU5ErkJggg=="
)
def publish_figure(id, title="A figure", caption="What it shows.", data="x,y\\n1,2.5\\n", **more):
    folder = Path(out, "figures"); folder.mkdir(exist_ok=True)
    folder.joinpath(f"{id}.png").write_bytes(PNG)
    folder.joinpath(f"{id}.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg"/>')
    folder.joinpath(f"{id}.pdf").write_bytes(b"%PDF-1.4")
    folder.joinpath(f"{id}.csv").write_text(data)
    files = {suffix: f"{id}.{suffix}" for suffix in ("png", "svg", "pdf", "csv")}
    sidecar = dict(id=id, title=title, caption=caption, reading="Up is more.", policy=policy, n=4, simulated=False)
    folder.joinpath(f"{id}.json").write_text(json.dumps({**sidecar, "files": files, **more}))
def publish_table(id, data, title="A table", caption="What it lists.", best=()):
    folder = Path(out, "tables"); folder.mkdir(exist_ok=True)
    folder.joinpath(f"{id}.csv").write_text(data)
    folder.joinpath(f"{id}.tex").write_text("tabular")
    files = {suffix: f"{id}.{suffix}" for suffix in ("csv", "tex")}
    sidecar = dict(id=id, title=title, caption=caption, policy=policy, n=4, simulated=False, files=files)
    text = table_text(pd.read_csv(io.StringIO(data)))
    sidecar["shown"], sidecar["n_rows"] = replace(text, best=frozenset(map(tuple, best))).grid(), len(text.rows)
    folder.joinpath(f"{id}.json").write_text(json.dumps(sidecar))
"""


def index_of(folder: Path) -> Any:
    """What the index of a folder of figures says."""
    return json.loads((folder / "index.json").read_text(encoding="utf-8"))


def ids_of(folder: Path) -> list[str]:
    """The figures that the index of a folder lists."""
    return [figure["id"] for figure in index_of(folder)["figures"]]


class Lab:
    """A folder with a benchmark, notebooks, and the report made of them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.notebooks = folder / "notebooks"
        self.bench = folder / "bench"
        self.out = folder / "out"
        self.notebooks.mkdir()

    def notebook(self, name: str, *cells: str, parameters: str = PARAMETERS) -> Path:
        """Write a notebook: title, parameters, then these cells; one that starts with `# ` is prose."""
        head = [self._prose(f"# The title of {name}\n\nWhat {name} asks."), self._code(parameters, ["parameters"])]
        body = [self._prose(cell) if cell.startswith("# ") else self._code(cell) for cell in cells]
        listed = [{**cell, "id": f"cell-{i}"} for i, cell in enumerate([*head, *body])]
        content = {"cells": listed, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
        path = self.notebooks / f"{name}.ipynb"
        path.write_text(json.dumps(content), encoding="utf-8")
        return path

    def benchmark(self, *, kind: Kind = "general", name: str = "small", judge: str = "first") -> Path:
        """Write the benchmark, with the verdicts of one judge."""
        ids = pd.Series(["c1", "c2", "c3", "c4"])
        cases = pd.DataFrame({"case_id": ids, "question": "Q?", "response_a": "left", "response_b": "right"})
        votes = {"case_id": ids, "annotator": "r1", "dimension": "overall", "choice": ["A", "B", "A", "tie"]}
        meta = BenchmarkMeta(name, kind, ("clarity", "overall"))
        with staged_folder(self.bench, overwrite=True) as stage:
            save(Benchmark(meta, cases, pd.DataFrame(votes)), stage)
        verdicts = {"judge": judge, "case_id": ids, "dimension": "overall", "order": "AB", "choice": "A"}
        save_imported(pd.DataFrame(verdicts), self.bench / "runs", benchmark=name, kind=kind, source="table")
        return self.bench

    def report(self, **options: Any) -> ReportResult:
        return report(self.bench, None, self.out, notebooks=self.notebooks, **options)

    def states(self, folder: Path | None = None) -> dict[str, tuple[int, bytes]]:
        """When each published file was written, and what it holds."""
        root = folder or self.out
        files = sorted(path for path in root.rglob("*") if path.is_file())
        return {path.relative_to(root).as_posix(): (path.stat().st_mtime_ns, path.read_bytes()) for path in files}

    @staticmethod
    def _prose(source: str) -> dict[str, object]:
        return {"cell_type": "markdown", "metadata": {}, "source": source}

    @staticmethod
    def _code(source: str, tags: Sequence[str] = ()) -> dict[str, object]:
        metadata = {"tags": list(tags)}
        return {"cell_type": "code", "metadata": metadata, "source": source, "outputs": [], "execution_count": None}


@pytest.fixture(scope="session", autouse=True)
def own_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Keep what can be made again out of the user's cache."""
    folder = tmp_path_factory.mktemp("mrb-home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MRB_HOME", str(folder))
        yield folder


@pytest.fixture(scope="module", autouse=True)
def _runs_of_several_parts() -> Iterator[None]:
    with several_parts():
        yield


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    lab = Lab(tmp_path)
    lab.benchmark()
    return lab


@pytest.fixture(autouse=True)
def no_defaults() -> Iterator[None]:
    """What one test sets for all that is opened is not set for the next, whichever comes first."""
    kept = dict(DEFAULTS)
    DEFAULTS.clear()
    yield
    DEFAULTS.clear()
    DEFAULTS.update(kept)


@pytest.fixture(autouse=True)
def steady_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """The library does not change while a test runs, even where somebody is at work on it."""
    monkeypatch.setattr(provenance, "code_hash", lambda: "the code")


@pytest.fixture
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the notebooks in this process, for tests of what is run and what becomes of it."""
    monkeypatch.setattr(execute, "run_notebooks", run_in_this_process)


def run_in_this_process(
    notebooks: Sequence[Path], folder: Path, tasks: Mapping[str, Mapping[str, Mapping[str, Value]]], jobs: int
) -> Iterator[Finished]:
    """In place of `mrb_lib.report.execute.run_notebooks`: no kernel, no outputs, all else alike."""
    for path in notebooks:
        (folder / path.stem).mkdir(parents=True)
        yield Finished(path, folder / path.stem, _run_here(path, folder / path.stem, **tasks[path.stem]), 0.1)


def _run_here(
    path: Path, folder: Path, parameters: Mapping[str, Value], options: Mapping[str, Value]
) -> NotebookFailure | None:
    content = json.loads(path.read_text(encoding="utf-8"))
    names: dict[str, object] = {}
    tagged = [cell for cell in content["cells"] if "parameters" in cell["metadata"].get("tags", [])]
    exec("".join("".join(cell["source"]) for cell in tagged), names)  # noqa: S102  # the tests' own cells
    names.update(parameters)
    DEFAULTS.clear()
    set_defaults(**options, out=str(folder))
    failure = None
    seen: set[str] = set()
    for number, cell in enumerate(content["cells"], start=1):
        tags = cell["metadata"].get("tags", [])
        if cell["cell_type"] == "code" and "parameters" not in tags and failure is None:
            cell["metadata"]["mrb"] = note = dict[str, object]()
            try:
                exec("".join(cell["source"]), names)  # noqa: S102  # the tests' own cells
            except NotApplicable as reason:
                note["not_applicable"] = str(reason)
            except Exception as error:  # noqa: BLE001  # whatever the cell raises
                failure = NotebookFailure(path.stem, number, cell["source"], type(error).__name__, str(error))
            published = {f"{file.parent.name}/{file.stem}" for file in folder.glob("*/*.json")}
            note["published"] = sorted(published - seen)
            seen |= published
    (folder / EXECUTED).write_text(json.dumps(content), encoding="utf-8")
    DEFAULTS.clear()  # which a process of its own would not leave behind
    return failure


@pytest.fixture(scope="session")
def publish() -> str:
    """Code for a notebook's cell, to publish figures and tables without drawing."""
    return PUBLISH


@pytest.fixture
def two(lab: Any, publish: str, quickly: None) -> Any:
    """Two notebooks, run quickly: one publishes a figure and a table, one a figure."""
    lab.notebook("one", publish + 'publish_figure("first")', 'publish_table("scores", "judge,accuracy\\nfirst,0.5\\n")')
    lab.notebook("two", publish + 'publish_figure("second")')
    return lab


def opened(study: Study, fragment: str) -> list[str]:
    """The cases that `mrb review` lists for a query: by the policy balanced and the majority."""
    query, _ = from_fragment(fragment)
    labels, cases = gold(study.benchmark), study.benchmark.cases
    kinds = failure_kinds(study.verdicts[study.verdicts["probe"] == "none"], labels, cases)
    within = None
    if query.where:
        within = cases_where(query.where, cases, gold=labels, outcomes=lambda: kinds.outcomes, reviewers=dict,
                             dimensions=study.benchmark.meta.dimensions)  # fmt: skip
    return [str(cases["case_id"].iloc[i]) for i in select(kinds, cases, query, within=within)]


def study_of(votes: dict[str, str], said: dict[tuple[str, str], str], organs: Any = None, **options: Any) -> Study:
    """A study of letters: labels by annotator, and verdicts by judge and order."""
    cases, verdicts = cases_of(len(next(iter(votes.values())))), verdicts_of(said)
    cases = cases if organs is None else cases.assign(organ=organs)
    benchmark = Benchmark(BenchmarkMeta("made", "general", ("overall",)), cases, annotations_of(votes))
    groups = pd.DataFrame({"judge": sorted(verdicts["judge"].unique()), "group": "open", "how": "exact"})
    return Study(benchmark, verdicts, [], StudyOptions(**options), groups)
