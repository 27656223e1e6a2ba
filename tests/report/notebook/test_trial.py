"""A judge is tried with every engine that reads its weights; without one, a stand-in that says what it is."""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd
import pytest

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.judges.roster.roster import resolve
from mrb_lib.report.notebook.trial import lacking, run_trial, trial
from mrb_lib.tables.errors import InputError
from mrb_lib.verdicts.parts import part_paths
from mrb_lib.verdicts.store import run_folders


def saved(folder: Path) -> str:
    """The name of a folder that looks like a model's."""
    (folder / "model").mkdir()
    (folder / "model" / "config.json").write_text("{}")
    return f"path:{folder / 'model'}"


def test_weights_are_asked_in_three_ways(tmp_path: Path) -> None:
    name = saved(tmp_path)
    found = trial(name, tmp_path, seed=7)
    assert found.names == (f"{name}+packed", f"{name}+generative", f"{name}+rating")
    assert (found.note, found.mark, found.settings.seed) == ("", "", 7)
    assert found.settings.max_new_tokens is None  # a real judge writes as much as it needs


@pytest.mark.parametrize("name", ["random", "consensus-of:random,first", "endpoint:some-model"])
def test_what_has_no_weights_here_is_asked_in_its_own_way(name: str, tmp_path: Path) -> None:
    assert trial(name, tmp_path).names == (name,)


def test_an_engine_that_is_named_is_the_only_one(tmp_path: Path) -> None:
    name = saved(tmp_path) + "+packed"
    assert trial(name, tmp_path).names == (name,)


def test_an_unknown_judge_is_refused(tmp_path: Path) -> None:
    for ask in (lacking, lambda name: trial(name, tmp_path)):
        with pytest.raises(InputError, match="is not in the roster"):
            ask("no-such-judge")


def test_the_stand_in_says_what_it_is_and_can_be_resolved(tmp_path: Path) -> None:
    found = trial("", tmp_path, texts=["some words"], seed=1)
    assert found.mark == "RANDOM WEIGHTS"
    assert found.note.startswith("RANDOM WEIGHTS")
    assert "noise" in found.note
    for name in found.names:
        judge = resolve(name, runs=tmp_path, images={}, settings=found.settings)
        assert judge.name.startswith("RANDOM-WEIGHTS+")  # what every table and figure shows


def test_the_seed_decides_the_stand_in(tmp_path: Path) -> None:
    weights = [
        Path(trial("", tmp_path / str(i), seed=seed).names[0].removeprefix("path:").removesuffix("+packed"))
        for i, seed in enumerate((1, 1, 2))
    ]
    first, again, other = ((folder / "model.safetensors").read_bytes() for folder in weights)
    assert first == again
    assert first != other


def test_a_missing_library_is_a_reason_only_where_weights_are_read(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert lacking("") == ""
    monkeypatch.setitem(sys.modules, "torch", None)
    for name in ("", saved(tmp_path), f"path:{tmp_path / 'model'}+reward"):
        assert lacking(name) == "needs mrb-workbench[judges]: torch not installed"
    for name in ("random", "consensus-of:random,first", "endpoint:some-model"):
        assert lacking(name) == ""


def test_verdicts_are_kept_where_that_is_asked_for_and_a_second_time_goes_on(
    pictured: Benchmark, tmp_path: Path
) -> None:
    kept = tmp_path / "kept"
    run_trial(pictured, "random", tmp_path / "a", limit=2, keep_runs=str(kept), seed=3)
    [folder] = run_folders(kept)
    first = {path.name: path.read_bytes() for path in part_paths(folder)}
    assert first
    again = run_trial(pictured, "random", tmp_path / "b", limit=5, keep_runs=str(kept), seed=3)
    parts = {path.name: path.read_bytes() for path in part_paths(folder)}
    assert first.items() < parts.items(), "what was there is not judged again"
    assert again.verdicts["case_id"].nunique() == 5
    fresh = run_trial(pictured, "random", tmp_path / "c", limit=5, seed=3)
    keys = ["case_id", "dimension", "order"]
    pd.testing.assert_frame_equal(
        *(tried.verdicts.sort_values(keys, ignore_index=True)[[*keys, "judge", "choice"]] for tried in (again, fresh))
    )
    assert not (tmp_path / "b" / "runs").exists()
    few = run_trial(pictured, "random", tmp_path / "d", limit=1, keep_runs=str(kept), seed=3)
    assert few.verdicts["case_id"].unique().tolist() == pictured.cases["case_id"].head(1).tolist()


def test_other_runs_in_the_folder_are_not_shown(pictured: Benchmark, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    for judge, seed in (("longer", 0), ("random", 1), ("random", 2)):
        tried = run_trial(pictured, judge, tmp_path / "work", limit=2, keep_runs=str(kept), seed=seed)
        assert tried.verdicts["judge"].unique().tolist() == [judge]
    assert len(run_folders(kept)) == 3


def test_nothing_is_kept_by_itself(pictured: Benchmark, tmp_path: Path) -> None:
    run_trial(pictured, "longer", tmp_path / "work", limit=2)
    assert [path.name for path in tmp_path.iterdir()] == ["work"]
    assert run_folders(tmp_path / "work" / "runs")
