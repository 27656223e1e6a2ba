"""The thirty-two SIMULATED judges: fictitious names in four groups, all marked, better where they should be."""

from collections import Counter
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from mrb_lib.benchmarks.benchmark import load
from mrb_lib.cli.app import app
from mrb_lib.demo.judges import JUDGES
from mrb_lib.demo.roster import ROSTER
from mrb_lib.judges.roster.groups import judge_groups, read_group_file
from mrb_lib.judges.roster.roster import entries
from mrb_lib.stats.analyze import analyze
from mrb_lib.verdicts.manifest import read_manifest
from mrb_lib.verdicts.store import load_verdicts, read_run, run_folders


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("roster") / "demo"
    made = CliRunner().invoke(app, ["demo", str(folder), "--cases", "120", "--roster", "32"])
    assert made.exit_code == 0, made.output
    assert "32 SIMULATED judges" in made.output
    return folder


def test_the_names_are_nobodys_and_every_group_is_there() -> None:
    assert len({each.name for each in ROSTER}) == 32
    assert Counter(each.group for each in ROSTER) == {"open": 12, "proprietary": 8, "medical": 8, "critic": 4}
    real = judge_groups([each.name for each in ROSTER])
    assert set(real["group"]) == {"other"}, "no name reads like one of the roster of models"
    assert not {each.name for each in ROSTER} & {entry.name for entry in entries()}
    assert {each.base for each in ROSTER} <= {"", *(each.name for each in ROSTER)}
    assert {each.group for each in ROSTER[:4]} == {"open", "proprietary", "medical", "critic"}


def test_every_run_says_simulated_and_the_file_says_the_groups(demo: Path) -> None:
    manifests = [read_manifest(folder) for folder in run_folders(demo / "runs")]
    assert len(manifests) == 32
    assert {(manifest.kind, manifest.source) for manifest in manifests} == {("simulated", "SIMULATED")}
    assert set(read_run(run_folders(demo / "runs")[0], ["reply"])["reply"]) == {"SIMULATED"}
    file = read_group_file(demo / "groups.csv")
    assert file.groups == {each.name: each.group for each in ROSTER}
    told = judge_groups([each.name for each in ROSTER], manifests, override=file)
    assert set(told["how"]) == {"file"}


def test_judges_are_better_than_what_they_are_tuned_from(demo: Path) -> None:
    benchmark = load(demo)
    verdicts = load_verdicts(demo / "runs", benchmark.cases)
    rows = analyze(benchmark, verdicts, "accuracy", policy="official", resamples=0, references=0)
    level = rows[rows["dimension"] == "average"].set_index("judge")["accuracy"]
    assert all(level[each.name] > level[each.base] for each in ROSTER if each.base)
    assert level.idxmin() == "Imaginary-1B"


def test_the_five_judges_of_known_faults_stay_as_they_were(tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    CliRunner().invoke(app, ["demo", str(folder), "--cases", "3", "--verdicts", "--roster", "2"])
    judges = pd.Series([read_manifest(run).judge for run in run_folders(folder / "runs")])
    assert sorted(judges) == sorted([*(judge.name for judge in JUDGES), ROSTER[0].name, ROSTER[1].name])
    assert read_group_file(folder / "groups.csv").groups.keys() == {ROSTER[0].name, ROSTER[1].name}
