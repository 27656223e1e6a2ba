"""Every parameter of a notebook matters: another value of it changes a number or the conclusion."""

from __future__ import annotations

import functools
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mrb_lib.benchmarks.benchmark import Benchmark, load, save
from mrb_lib.build.construct.simulated import write_simulated_work
from mrb_lib.report.notebook import opening, publish, trial, workspace
from mrb_lib.tables.files import slug
from mrb_lib.verdicts.store import load_verdicts, save_imported
from tests.tables_once import Made, make_panels_once, make_tables_once

from .cells import run_cells
from .conftest import JUDGES
from .test_execution import OF_TRAINING
from .test_structure import COMMON, MORE, NOTEBOOKS

pytestmark = pytest.mark.slow

OTHER: dict[str, object] = {
    "judges": "judge_0, judge_2, judge_4",
    "dimension": "creativity",
    "by": "model_a",
    "where": "length > 60",
    "policy": "official",
    "gold": "unanimous",
    "cluster": "organ",
    "resamples": 60,
    "seed": 1,
    "judge": "judge_0",
    "target": 0.6,
    "margin": 0.2,
    "epsilon": 0.4,
    "delta": 0.2,
    "limit": 2,
    "keep_runs": "a folder",
    "level": "interval",
}
# Where the first value has to be another one than the notebook's own, for a second to matter.
FIRST: dict[str, dict[str, object]] = {
    "24_comparison": {"cluster": "case_id"},
    "01_composition": {"by": "dataset", "cluster": "case_id"},  # parts large enough for resampled intervals
    "04_significance": {"cluster": "case_id"},  # clusters enough for resampled intervals, here and below
    "06_consistency": {"cluster": "case_id"},
    "09_ceiling": {"cluster": "case_id"},
    "13_calibration": {"cluster": "case_id"},
    "08_judging": {"limit": 4},  # on two questions
    "21_training": {"cluster": "case_id"},
    "22_transfer": {"cluster": "case_id"},
    "23_probes": {"cluster": "case_id"},
    "15_transfer": {"by": "organ"},  # domains, of which the benchmark's own one is too few
}
SECOND: dict[str, dict[str, object]] = {
    "08_judging": {"judge": "random"},
    "22_transfer": {"judges": f"judge_1, {JUDGES[-1]}"},  # one of them was trained without a department
}
# What a notebook cannot depend on, and why.
WITHOUT_EFFECT: dict[str, dict[str, str]] = {
    "08_judging": {"resamples": "intervals of shares of both orders are Wilson's"},
    "17_power": dict.fromkeys(("resamples", "seed"), "power follows from variances by formula"),
}


class Undrawn:
    """What stands in for a figure: drawing takes most of the time, and every number drawn is in a CSV."""

    def png(self) -> bytes:
        return b""

    svg = pdf = png

    def boxes(self) -> list[object]:
        return []


@pytest.fixture(scope="session")
def made() -> Made:
    """Tables and panels that were made for one notebook, for others that make them of the same, too."""
    return Made()


@pytest.fixture(scope="session")
def once_read() -> dict[str, Callable[..., object]]:
    """What reads a folder's benchmark, and its verdicts, once; the cases of a folder are then always the same."""
    known: dict[tuple[Path, int], pd.DataFrame] = {}

    def verdicts(runs: Path, cases: pd.DataFrame, **options: bool) -> pd.DataFrame:
        key = runs, id(cases)
        if key not in known:
            known[key] = load_verdicts(runs, cases, **options)
        return known[key].copy()

    return {"load": functools.cache(load), "load_verdicts": verdicts}


@pytest.fixture(autouse=True)
def quick(made: Made, once_read: dict[str, Callable[..., object]], monkeypatch: pytest.MonkeyPatch) -> None:
    """No figure is drawn or leads to cases, no widget is made, a judge is tried only once, equal tables made once."""
    make_tables_once(monkeypatch, made)
    make_panels_once(monkeypatch, made)
    for name, reads in once_read.items():
        monkeypatch.setattr(opening, name, reads)
    monkeypatch.setattr(workspace.Workspace, "failing", lambda *_arguments, **_options: None)

    def undrawn(draw: Callable[..., object]) -> Callable[..., Undrawn]:
        return functools.wraps(draw)(lambda *_args, **_options: Undrawn())

    specs = {name: replace(spec, draw=undrawn(spec.draw)) for name, spec in workspace.FIGURES.items()}
    monkeypatch.setattr(workspace, "FIGURES", specs)
    monkeypatch.setattr(publish, "mark_simulated", lambda _drawn: None)
    tried: list[trial.Tried] = []
    run_trial = trial.run_trial

    def once(
        benchmark: Benchmark, judge: str, folder: Path, *, limit: int, seed: int, keep_runs: str, **_options: object
    ) -> object:
        """The first trial, of the stand-in; others take of it what they would, and say how they were called."""
        if not tried:
            tried.append(run_trial(benchmark, judge, folder, limit=limit, seed=seed))
        verdicts = tried[0].verdicts
        part = verdicts[verdicts["case_id"].isin(benchmark.cases["case_id"].head(limit))]
        return replace(tried[0], verdicts=part, note=f"Judge {judge}, limit {limit}, seed {seed}, {keep_runs}.")

    monkeypatch.setattr(trial, "run_trial", once)
    monkeypatch.setenv("MRB_STATIC", "1")


@pytest.fixture(scope="session")
def other_benchmark(full: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same cases, annotations and verdicts under another name."""
    return renamed(full, tmp_path_factory.mktemp("other"))


def renamed(bench: Path, folder: Path) -> Path:
    same = load(bench)
    save(replace(same, meta=replace(same.meta, name="other")), folder)
    shutil.copytree(bench / "runs", folder / "runs")
    return folder


@pytest.fixture(scope="session")
def of_training(trained: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What notebooks about training take: judges with records, these under another name, and some of their runs."""
    runs = tmp_path_factory.mktemp("trained-runs")
    for judge in ("judge_0", "judge_2", "judge_3", JUDGES[-2]):
        shutil.copytree(trained / "runs" / slug(judge), runs / slug(judge))
    other = renamed(trained, tmp_path_factory.mktemp("other-trained"))
    return {"first": str(trained), "benchmark": str(other), "runs": str(runs)}


@pytest.fixture(scope="session")
def earlier(full: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An earlier release: the last two cases were not in it, two had other texts, and verdicts were drawn anew."""
    folder = tmp_path_factory.mktemp("earlier")
    now = load(full)
    cases = now.cases.iloc[:-2].copy()
    cases.loc[cases.index[:2], "question"] = "Before?"
    known = now.annotations["case_id"].isin(cases["case_id"])
    save(replace(now, meta=replace(now.meta, name="earlier"), cases=cases, annotations=now.annotations[known]), folder)
    said = load_verdicts(full / "runs", now.cases)
    said = said[said["case_id"].isin(cases["case_id"])].reset_index(drop=True)
    anew = np.random.default_rng(1).random(len(said)) < 0.3
    said = said.assign(choice=said["choice"].mask(anew, "A"), p_a=said["p_a"].mask(anew, 0.9))
    save_imported(said, folder / "runs", benchmark="earlier", kind="simulated", source="test")
    return folder


@pytest.fixture(scope="session")
def other_runs(full: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs of four of the judges, without the best one."""
    folder = tmp_path_factory.mktemp("other-runs")
    verdicts = load_verdicts(full / "runs", load(full).cases)
    few = verdicts[verdicts["judge"].isin(["judge_1", "judge_2", "judge_3", "judge_4"])]
    save_imported(few, folder, benchmark="full", kind="simulated", source="test")
    return folder


def published(path: Path, parameters: dict[str, object]) -> Iterator[tuple[str, str]]:
    """Run a notebook cell by cell: the CSV files that each publishes, by name, and the conclusion at the end.

    Captions are not compared: they may name what was not used.
    """
    last: object = None
    yielded: set[Path] = set()
    for names, last in run_cells(path, parameters):  # noqa: B007  # the last of all is the conclusion
        for file in sorted({*Path(names.get("out") or "nowhere").rglob("*.csv")} - yielded):
            yielded.add(file)
            yield file.name, file.read_text()
    yield "conclusion", str(last)


@pytest.fixture(scope="session")
def of_ratings(rated: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What the notebook about ratings takes: judges that rate, these under another name, and some of their runs."""
    runs = tmp_path_factory.mktemp("rated-runs")
    for judge in ("judge_0", "judge_2", "judge_4"):
        shutil.copytree(rated / "runs" / slug(judge), runs / slug(judge))
    other = renamed(rated, tmp_path_factory.mktemp("other-rated"))
    return {"first": str(rated), "benchmark": str(other), "runs": str(runs)}


@pytest.fixture(scope="session")
def works(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Two SIMULATED work folders of different items."""
    root = tmp_path_factory.mktemp("works")
    return [str(write_simulated_work(root / str(seed), items=40, seed=seed).path) for seed in (0, 5)]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_parameter_matters(
    path: Path,
    full: Path,
    other_benchmark: Path,
    other_runs: Path,
    earlier: Path,
    of_training: dict[str, str],
    of_ratings: dict[str, str],
    paper_files: dict[str, str],
    works: list[str],
    tmp_path: Path,
) -> None:
    """A notebook with one other value need run no further than the first file that is another."""
    first = {"benchmark": str(full), "resamples": 40, **FIRST.get(path.stem, {})}
    groups = tmp_path / "groups.csv"
    groups.write_text("judge,group\njudge_0,ours\njudge_1,ours\njudge_2,theirs\njudge_3,theirs\n", encoding="utf-8")
    places = {"benchmark": str(other_benchmark), "runs": str(other_runs), "groups": str(groups)}
    second = {**OTHER, **places, "work": paper_files["work"], **SECOND.get(path.stem, {})}
    if path.stem == "20_construction":
        first["work"], second["work"] = works
    if path.stem == "24_comparison":
        first["other_benchmark"] = str(earlier)
        second |= {"other_benchmark": str(other_benchmark), "other_runs": str(min((earlier / "runs").iterdir()))}
    own = of_training if path.stem in OF_TRAINING else of_ratings if path.stem == "25_ratings" else {}
    if own:
        first["benchmark"] = own["first"]
        second |= {name: own[name] for name in ("benchmark", "runs")}
    before = dict(published(path, {**first, "out": str(tmp_path / "first")}))
    assert len(before) > 1, "it publishes into the folder that is named"

    def matters(name: str) -> bool:
        again = published(path, {**first, name: second[name], "out": str(tmp_path / name)})
        names = set()
        for file, text in again:
            names.add(file)
            if before.get(file) != text:
                return True
        return names != before.keys()

    ignored = [name for name in {**COMMON, **MORE.get(path.stem, {})} if name != "out" and not matters(name)]
    assert sorted(ignored) == sorted(WITHOUT_EFFECT.get(path.stem, {}))
