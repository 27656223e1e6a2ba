"""Running the command in this process, as a shell would."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import typer.main

from mrb_lib.benchmarks.benchmark import load, save
from mrb_lib.cli.main import main
from mrb_lib.demo import build
from mrb_lib.report.places import write_simulated_runs
from mrb_lib.review import server
from mrb_lib.verdicts.manifest import Manifest, write_manifest
from mrb_lib.verdicts.store import append_part
from tests.several_parts import several_parts


@dataclass(frozen=True)
class Result:
    code: int
    out: str
    err: str

    @property
    def ok(self) -> Result:
        """The result of a command that did what it was asked to."""
        assert self.code == 0, self
        return self

    @property
    def json(self) -> Any:
        """What a command printed as JSON."""
        return json.loads(self.ok.out)

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The rows of the table that a command printed as JSON."""
        return list(self.json["rows"])

    @property
    def refusal(self) -> str:
        """Return what stderr has where input is refused: one line, after warnings if any, and no result."""
        assert (self.code, self.out) == (2, ""), self
        *before, last = self.err.splitlines()
        assert last.startswith("mrb: ") and all(line.startswith(("note: ", "warning: ")) for line in before), self
        return self.err


Mrb = Callable[..., Result]
"""Runs the command: of its words to what it printed."""
_COMMAND, _CASE = cache(typer.main.get_command), cache(build.simulate_case)


@pytest.fixture(scope="module", autouse=True)
def _what_is_the_same_is_made_once() -> Iterator[None]:
    """Typer builds every command and option anew at each call, .04 s; many tests write the same simulated cases."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(typer.main, "get_command", _COMMAND)
        patch.setattr(build, "simulate_case", _CASE)
        yield


@pytest.fixture(scope="module", autouse=True)
def _runs_of_several_parts() -> Iterator[None]:
    with several_parts():
        yield


@pytest.fixture
def mrb(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Mrb:
    """Runs the command in this process."""

    def run(*arguments: object) -> Result:
        monkeypatch.setattr(sys, "argv", ["mrb", *map(str, arguments)])
        with pytest.raises(SystemExit) as stop:
            main()
        captured = capsys.readouterr()
        return Result(int(stop.value.code or 0), captured.out, captured.err)

    return run


TABLES = {
    "cases.csv": "case_id,question,response_a,response_b,images,organ\n"
    '1,"What, exactly?",None,NA,"[""1.png""]",brain\n2,q,x,"y\nz",[],eye\n3,q3,p,r,[],\n',
    "annotations.csv": "case_id,annotator,dimension,choice\n"
    + "".join(f"{case},r{r},overall,{'ABA'[(case + r) % 3]}\n" for case in (1, 2, 3) for r in (1, 2, 3)),
    "verdicts.csv": "judge,case_id,dimension,order,choice\n"
    + "".join(f"{judge},{case},overall,{order},A\n" for judge in "jk" for case in (1, 2, 3) for order in ("AB", "BA")),
}


def write_tables(folder: Path) -> None:
    """Write tidy tables with one image, as a user might have written them."""
    from PIL import Image

    (folder / "images").mkdir(parents=True)
    for name, text in TABLES.items():
        (folder / name).write_text(text, encoding="utf-8")
    Image.new("L", (8, 8), 90).save(folder / "images" / "1.png")


@pytest.fixture
def tables(tmp_path: Path) -> Path:
    write_tables(tmp_path / "tables")
    return tmp_path / "tables"


RATINGS_TOML = """name = "risk"
kind = "general"
task = "rating"
dimensions = ["harm"]
categories = ["no risk", "low risk", "high risk"]
level = "ordinal"
acceptable = ["no risk"]

[definitions]
"high risk" = "a patient may be <b>hurt</b>"
"""
RATED_CASES = "case_id,question,response_a\n1,What is seen?,A lesion.\n2,Which side?,Left.\n3,Why?,Because.\n"
RATINGS = "case_id,annotator,dimension,choice\n" + "".join(
    f"{case},r{who},harm,{('no risk', 'low risk', 'high risk')[(case + who) % 3 if who < 3 else case % 3]}\n"
    for case in (1, 2, 3)
    for who in (1, 2, 3)
)
RATED = "judge,case_id,dimension,order,choice\nj,1,harm,AB,no risk\nj,2,harm,AB,high risk\nj,3,harm,AB,low risk\n"


def write_ratings(folder: Path) -> None:
    """Write tables in which one response a case is rated."""
    folder.mkdir()
    texts = {
        "benchmark.toml": RATINGS_TOML,
        "cases.csv": RATED_CASES,
        "annotations.csv": RATINGS,
        "verdicts.csv": RATED,
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")


@pytest.fixture
def ratings(tmp_path: Path) -> Path:
    write_ratings(tmp_path / "ratings")
    return tmp_path / "ratings"


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Eighteen SIMULATED cases, with caches and reviews in places of their own."""
    monkeypatch.setenv("MRB_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("MRB_STORE", raising=False)
    build.write_demo(tmp_path / "bench", cases=18, seed=3)
    return tmp_path / "bench"


def write_run(runs: Path, manifest: Manifest, votes: pd.DataFrame, right: float) -> None:
    """Write the run of a judge that is right with this probability, by one annotator's votes, in both orders."""
    rng, gold = np.random.default_rng(len(manifest.run_id)), votes["choice"].to_numpy()
    said = votes[["case_id", "dimension"]].merge(pd.DataFrame({"order": ["AB", "BA"]}), how="cross")
    is_a = (np.repeat(gold, 2) == "A") == (rng.random(len(said)) < right)
    said = said.assign(choice=np.where(is_a, "A", "B"), p_a=np.where(is_a, 0.8, 0.2), repeat=0, status="ok")
    (runs / manifest.run_id).mkdir(parents=True)
    append_part(runs / manifest.run_id, said.assign(judge=manifest.judge, probe="none", prompt_id=manifest.prompt_id))
    write_manifest(runs / manifest.run_id, manifest)


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What a command asks the server of apps for, instead of a server."""
    asked: dict[str, Any] = {}
    monkeypatch.setattr(
        server, "serve", lambda app, address, **options: asked.update(options, app=app, address=address)
    )
    return asked


def write_small_demo(folder: Path, cases: int) -> None:
    """The embedded benchmark and runs of SIMULATED judges; of two dimensions, since tables of all seven take longer."""
    build.write_demo(folder, cases=cases)
    benchmark, truth = load(folder), folder / "truth.parquet"
    kept = ("accuracy", "overall")
    votes = benchmark.annotations[benchmark.annotations["dimension"].isin(kept)]
    save(replace(benchmark, meta=replace(benchmark.meta, dimensions=kept), annotations=votes), folder)
    pd.read_parquet(truth, filters=[("dimension", "in", kept)]).to_parquet(truth)
    write_simulated_runs(folder, folder / "runs", seed=0)
