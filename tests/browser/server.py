"""The commands of the workbench as a person starts them, and benchmarks to start them on."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pandas as pd

from mrb_lib.benchmarks.benchmark import Benchmark, load, save
from mrb_lib.build.construct.work import Work, begin, create_work
from mrb_lib.demo.build import write_demo
from mrb_lib.review.records.store import open_store

MRB: Final = str(Path(sys.executable).with_name("mrb"))


def _environment(home: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name != "MRB_STORE"}
    return kept | {"MRB_HOME": str(home), "OMP_NUM_THREADS": "1"}


def mrb(bench: Path, *words: object) -> str:
    """What a command prints; it fails where the command does."""
    done = subprocess.run(
        [MRB, *map(str, words)], capture_output=True, text=True, check=False,
        env=_environment(bench.parent / "home"),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


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
        mrb(bench, "judge", bench, bench / "runs", "--judge", "longer", "--judge", "shorter")
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


class Served:
    """`mrb review`, `annotate` or `lab` on a benchmark while the block runs; `address` is what it printed."""

    def __init__(self, app: str, bench: Path, *options: str, home: Path | None = None, **environment: str) -> None:
        self._log = tempfile.TemporaryFile("w+")  # noqa: SIM115  # it is closed with the block
        self.process = subprocess.Popen(
            [MRB, app, str(bench), "--no-browser", *options], stdout=subprocess.PIPE, stderr=self._log, text=True,
            env=_environment(home or bench.parent / "home") | environment,
        )  # fmt: skip
        assert self.process.stdout is not None
        self.address = self.process.stdout.readline().strip()

    def __enter__(self) -> Served:
        assert self.address.startswith("http://127.0.0.1:"), self.log()
        return self

    def log(self) -> str:
        """What it has said beside its address."""
        self._log.seek(0)
        return self._log.read()

    def __exit__(self, *_error: object) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        self.process.communicate(timeout=60)
        self._log.close()
