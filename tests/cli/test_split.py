"""`mrb split` as a shell runs it."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from mrb_lib.benchmarks.benchmark import load
from mrb_lib.demo import write_demo


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sixty SIMULATED cases, which are split already."""
    folder = tmp_path_factory.mktemp("written") / "d"
    write_demo(folder, cases=60)
    return folder


@pytest.fixture
def demo(written: Path, tmp_path: Path) -> Path:
    """A copy of them, to be changed."""
    return shutil.copytree(written, tmp_path / "d")


def test_a_split_is_drawn_written_checked_and_replaced_only_when_asked(mrb: Callable, demo: Path) -> None:
    before = (demo / "cases.parquet").read_bytes()
    refused = mrb("split", demo)
    assert "the cases are split already" in refused.refusal
    assert "pass --overwrite" in refused.err
    assert (demo / "cases.parquet").read_bytes() == before
    made = mrb("split", demo, "--overwrite", "--seed", "4").ok
    lines = made.out.splitlines()
    assert lines[0] == "split by item: 60 cases in 60 units"
    assert lines[1].split() == ["train", "validation", "test", "all"]
    assert lines[2].split() == ["cases", "42", "6", "12", "60"]
    assert load(demo).cases["split"].value_counts().to_dict() == {"train": 42, "validation": 6, "test": 12}
    assert "0 errors" in mrb("check", demo).out
    cases = pd.read_parquet(demo / "cases.parquet")
    cases.assign(split=cases["split"].sample(frac=1, random_state=1).to_numpy()).to_parquet(demo / "cases.parquet")
    tampered = mrb("check", demo)
    assert (tampered.code, "benchmark.toml, column split: the cases are split otherwise" in tampered.err) == (2, True)


def test_verdicts_made_before_a_split_are_kept(mrb: Callable, demo: Path) -> None:
    runs = demo / "runs"
    assert "longer: 720 SIMULATED verdicts made" in mrb("judge", demo, runs, "--judge", "longer").out
    mrb("split", demo, "--overwrite", "--folds", "department")
    again = mrb("judge", demo, runs, "--judge", "longer")
    assert "longer: 0 SIMULATED verdicts made" in again.out
    assert "720 were there" in again.out
    assert len([path for path in runs.iterdir() if path.is_dir()]) == 1
    assert "judged other cases" not in mrb("analyze", demo).err


def test_rows_to_train_on_are_written_with_or_without_runs(mrb: Callable, demo: Path, tmp_path: Path) -> None:
    listed = mrb("export", "--help").out
    assert all(f"\n  {name} " in listed for name in ("sft", "dpo", "reward"))
    written = mrb("export", "sft", demo, tmp_path / "rows", "--dimension", "overall", "--dimension", "accuracy")
    assert (written.code, written.out) == (0, f"{tmp_path / 'rows'} (SIMULATED): {demo} in format sft\n")
    assert "rows of" in written.err
    assert mrb("export", "dpo", demo, "-", tmp_path / "pairs", "--no-swap", "--ties", "drop").code == 0
    assert mrb("export", "reward", demo, tmp_path / "rewards").code == 0
    assert mrb("export", "table", demo, tmp_path / "tables").code == 0
    assert not (tmp_path / "tables" / "verdicts.csv").exists()
    for arguments, part in (
        (("sft", demo, "-", tmp_path / "a", tmp_path / "b"), "one folder too many"),
        (("reward", demo, tmp_path / "a", "--prompt", "plain"), "--prompt: export reward has no such option"),
        (("sft", demo, tmp_path / "a", "--reference", "half"), "prompt single shows none"),
    ):
        refused = mrb("export", *arguments)
        assert (refused.code, part in refused.err, (tmp_path / "a").exists()) == (2, True, False), refused
