"""The commands of the workbench as a person starts them, and benchmarks to start them on."""

from __future__ import annotations

import json
import multiprocessing
import os
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final

import pandas as pd

from mrb_lib.benchmarks.benchmark import Benchmark, load, save
from mrb_lib.build.construct.work import Work, begin, create_work
from mrb_lib.cli.main import main
from mrb_lib.demo.build import write_demo
from mrb_lib.review.records.store import open_store
from mrb_lib.runs.execute import judge

FORKS: Final = multiprocessing.get_context("forkserver")
"""A process that has imported what the commands need, which takes seconds, and forks for each of them."""
FORKS.set_forkserver_preload([
    __name__, "pytest", "mrb_lib.report.places", "mrb_lib.review.server", "mrb_lib.runs.execute",
    *(f"mrb_lib.cli.{name}" for name in ("app", "adjudications", "analyze", "annotate", "judge", "review")),
    "mrb_lib.cli.construct.screen",
])  # fmt: skip


class Command:
    """A command as a person types it, in a process of its own, which may do something `first`."""

    def __init__(self, home: Path, *words: object, first: Callable[[], None] | None = None, **more: str) -> None:
        kept = {name: value for name, value in os.environ.items() if name != "MRB_STORE"}
        environment = kept | {"MRB_HOME": str(home), "OMP_NUM_THREADS": "1"} | more
        self._log = tempfile.TemporaryFile("a+")  # noqa: SIM115  # it is closed with the command
        reading, writing = os.pipe()
        self.printed = os.fdopen(reading)
        with Connection(writing) as out, Connection(os.dup(self._log.fileno())) as log:
            given = ([*map(str, words)], environment, out, log, first)
            self.process = FORKS.Process(target=_run, args=given, daemon=True)
            self.process.start()

    def log(self) -> str:
        """What it has said beside what it printed."""
        self._log.seek(0)
        return self._log.read()

    def close(self) -> None:
        """Wait until it has ended."""
        self.process.join(60)
        self.printed.close()
        self._log.close()


def _run(
    words: list[str], environment: Mapping[str, str], out: Connection, log: Connection, first: Callable[[], None] | None
) -> None:
    os.environ.clear()
    os.environ.update(environment)
    for number, stream in enumerate((out, log), start=1):
        os.dup2(stream.fileno(), number)
        stream.close()
    # What the first process had may have been a file, in which one can seek.
    sys.stdout, sys.stderr = (os.fdopen(number, "w", buffering=1, closefd=False) for number in (1, 2))
    sys.argv = ["mrb", *words]
    if first:
        first()
    main()


def mrb(bench: Path, *words: object) -> str:
    """What a command prints; it fails where the command does."""
    command = Command(bench.parent / "home", *words)
    printed = command.printed.read()
    command.process.join()
    assert command.process.exitcode == 0, command.log()
    command.close()
    return printed


def simulated(
    folder: Path,
    cases: int,
    seed: int = 4,
    *,
    judged: bool = False,
    annotated: bool = True,
    pictures: Mapping[str, bytes] | None = None,
    dimensions: Sequence[str] = (),
    **columns: Any,
) -> Benchmark:
    """Write simulated cases, some columns given or made from the cases.

    Two judges that never agree have `judged` them; unless `annotated`, nobody has annotated them yet.
    """
    write_demo(folder / "demo", cases=cases, seed=seed)
    demo, bench = load(folder / "demo"), folder / "bench"
    meta = replace(demo.meta, dimensions=tuple(dimensions)) if dimensions else demo.meta
    votes = demo.annotations[demo.annotations["dimension"].isin(meta.dimensions if annotated else ())]
    save(replace(demo, meta=meta, annotations=votes, cases=demo.cases.assign(**columns)), bench)
    for name, content in (pictures or {}).items():
        (bench / "images" / name).write_bytes(content)
    if judged:
        judge(load(bench), bench / "runs", ["longer", "shorter"])
    return load(bench)


def deal(benchmark: Benchmark, *people: str, orders: Sequence[str] = ("AB",), first: int | None = None) -> None:
    """Assign all cases, or the first, to each of these people in turn of these orders."""
    cases = benchmark.cases["case_id"].head(first) if first else benchmark.cases["case_id"]
    rows = [(case, who, i, orders[i % len(orders)]) for who in people for i, case in enumerate(cases)]
    with open_store(store_of(benchmark)) as store:
        store.assign(benchmark.meta.name, pd.DataFrame(rows, columns=["case_id", "annotator", "position", "order"]))


def screening(folder: Path, items: pd.DataFrame, *people: str, pictures: Mapping[str, bytes] | None = None) -> Work:
    """Write items that these people are to screen, each with the columns of `items` and no choices."""
    work = create_work(folder / "work", "mine", "simulated")
    for name, content in (pictures or {}).items():
        (work.images / name).write_bytes(content)
    with begin(work, "start", {}, seed=0) as step:
        step.write("items", items.assign(dataset="secret-set", choices=None))
    mrb(work.path, "construct", "screen", work.path, "--clinicians", ",".join(people), "--assign-only")
    return work


def path_of(benchmark: Benchmark) -> Path:
    """The folder of a benchmark that was written."""
    assert benchmark.path is not None
    return benchmark.path


def store_of(benchmark: Benchmark) -> Path:
    """The store of reviews that the commands use."""
    return path_of(benchmark) / "reviews.sqlite"


def answers_of(benchmark: Benchmark, who: str) -> pd.DataFrame:
    """All that an annotator ever answered."""
    with open_store(store_of(benchmark), create=False) as store:
        return store.answers(benchmark.meta.name, annotator=who, history=True)


def reviews_of(benchmark: Benchmark, who: str) -> pd.DataFrame:
    """All that a reviewer ever stored."""
    with open_store(store_of(benchmark), create=False) as store:
        rows = store.adjudications(benchmark.meta.name, history=True)
    return rows[rows["reviewer"] == who]


def lab_settings(folder: Path) -> dict[str, str]:
    """The environment of a JupyterLab with all settings in a folder of its own, whose app scripts may reach."""
    (folder / "config").mkdir()
    config = {"LabApp": {"expose_app_in_browser": True}}
    (folder / "config" / "jupyter_lab_config.json").write_text(json.dumps(config), encoding="utf-8")
    own = {"JUPYTER_CONFIG_DIR": "config", "JUPYTER_DATA_DIR": "data", "JUPYTER_RUNTIME_DIR": "run"}
    own |= {"JUPYTERLAB_SETTINGS_DIR": "set", "JUPYTERLAB_WORKSPACES_DIR": "spaces", "IPYTHONDIR": "ipython"}
    return {name: str(folder / place) for name, place in own.items()}


class Served(Command):
    """`mrb review`, `annotate` or `lab` on a benchmark while the block runs; `address` is what it printed."""

    def __init__(self, app: str, bench: Path, *options: str, home: Path | None = None, **more: Any) -> None:
        super().__init__(home or bench.parent / "home", app, bench, "--no-browser", *options, **more)
        self.address = self.printed.readline().strip()

    def __enter__(self) -> Served:
        assert self.address.startswith("http://127.0.0.1:"), self.log()
        return self

    def __exit__(self, *_error: object) -> None:
        self.process.terminate()
        self.close()
