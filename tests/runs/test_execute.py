from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pandas as pd
import pytest

from mrb_lib.data.benchmark import Benchmark, BenchmarkMeta, save
from mrb_lib.errors import InputError, RunError
from mrb_lib.judges.settings import Settings
from mrb_lib.runs import execute
from mrb_lib.runs.execute import judge
from mrb_lib.runs.manifest import read_manifest
from mrb_lib.runs.store import exclusive, load_verdicts, part_paths, run_folders, save_imported
from mrb_lib.schema import KEYS

KEY = list(KEYS["verdicts"])
ALL = ["random", "first", "longer", "shorter", "lexical"]


def _sorted(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.sort_values(KEY).reset_index(drop=True)


def test_every_judge_gives_every_verdict_in_the_frame_of_the_case(little: Benchmark, tmp_path: Path) -> None:
    judge(little, tmp_path / "runs", ALL)
    verdicts = load_verdicts(tmp_path / "runs", little.cases)
    assert len(verdicts) == len(ALL) * 40 * 2 * 2
    assert not verdicts.duplicated(KEY).any()
    both = verdicts.pivot(index=["judge", "case_id", "dimension"], columns="order", values="choice")
    same = (both["AB"] == both["BA"]).groupby("judge").mean()
    assert same[["longer", "shorter", "lexical"]].tolist() == [1, 1, 1], "they judge the text, not its place"
    assert same["first"] == 0
    assert 0.2 < same["random"] < 0.8


def test_a_run_in_pieces_equals_a_run_at_once(little: Benchmark, tmp_path: Path) -> None:
    judge(little, tmp_path / "whole", ["random", "longer"], repeats=2)
    judge(little, tmp_path / "pieces", ["random"], orders=("BA",), limit=7)
    judge(little, tmp_path / "pieces", ["longer", "random"], limit=20)
    [random, longer] = judge(little, tmp_path / "pieces", ["random", "longer"], repeats=2)
    assert random.before == longer.before == 20 * 2 * 2
    whole, pieces = (_sorted(load_verdicts(tmp_path / name)) for name in ("whole", "pieces"))
    pd.testing.assert_frame_equal(whole, pieces)
    [again] = judge(little, tmp_path / "pieces", ["random"], repeats=2)
    assert (again.made, again.before) == (0, 40 * 2 * 2 * 2)


def test_a_changed_setting_starts_a_new_run_and_says_so(little: Benchmark, tmp_path: Path) -> None:
    [one] = judge(little, tmp_path, ["random"], settings=Settings(seed=0))
    [two] = judge(little, tmp_path, ["random"], settings=Settings(seed=1))
    assert one.folder != two.folder
    assert two.other_runs == (one.folder.name,)
    assert set(load_verdicts(tmp_path)["judge"]) == {f"random@{one.folder.name}", f"random@{two.folder.name}"}
    [first] = judge(little, tmp_path, ["first"], settings=Settings(seed=0))
    assert judge(little, tmp_path, ["first"], settings=Settings(seed=1))[0].folder == first.folder, (
        "its verdicts do not depend on the seed"
    )


def test_a_corrected_label_keeps_the_run_and_a_corrected_case_starts_another(little: Benchmark, tmp_path: Path) -> None:
    from mrb_lib.data.benchmark import load

    [one] = judge(little, tmp_path / "runs", ["longer"])
    relabelled = Benchmark(little.meta, little.cases, little.annotations.iloc[1:])
    reworded = Benchmark(little.meta, little.cases.assign(question="other"), little.annotations)
    for name, bench, same in (("l", relabelled, True), ("w", reworded, False)):
        save(bench, tmp_path / name)
        [two] = judge(load(tmp_path / name), tmp_path / "runs", ["longer"])
        assert (two.folder == one.folder) is same


def test_the_manifest_tells_how_to_repeat_the_run(little: Benchmark, tmp_path: Path) -> None:
    [done] = judge(little, tmp_path, ["random"], settings=Settings(seed=5))
    manifest = read_manifest(done.folder)
    assert (manifest.judge, manifest.seed, dict(manifest.spec)) == ("random", 5, {"seed": 5})
    assert manifest.benchmark_fingerprint == little.case_fingerprint()
    assert manifest.versions["pandas"] == pd.__version__


def test_a_jury_takes_the_majority_of_its_members(little: Benchmark, tmp_path: Path) -> None:
    judge(little, tmp_path, ["longer", "shorter", "first", "consensus-of", "consensus-of:first,longer"])
    table = load_verdicts(tmp_path).pivot(index=["case_id", "dimension", "order"], columns="judge", values="choice")
    for row in table.itertuples(index=False):
        votes = dict(zip(table.columns, row, strict=True))
        three = [votes[name] for name in ("longer", "shorter", "first")]
        modes = {vote for vote in three if three.count(vote) == max(map(three.count, three))}
        assert votes["consensus-of"] == (modes.pop() if len(modes) == 1 else "tie")
        pair = {votes["first"], votes["longer"]}
        assert votes["consensus-of:first,longer"] == (pair.pop() if len(pair) == 1 else "tie")


def test_a_jury_waits_for_all_its_members(little: Benchmark, tmp_path: Path) -> None:
    judge(little, tmp_path, ["longer"])
    judge(little, tmp_path, ["first"], limit=10)
    [partial] = judge(little, tmp_path, ["consensus-of:first,longer"])
    assert (partial.made, partial.waiting) == (10 * 4, 30 * 4)
    judge(little, tmp_path, ["first"])
    [rest] = judge(little, tmp_path, ["consensus-of:first,longer"])
    assert (rest.made, rest.before, rest.waiting) == (30 * 4, 10 * 4, 0)


def test_a_jury_counts_its_members_only_and_waits_for_one_without_any_verdict(
    little: Benchmark, tmp_path: Path
) -> None:
    judge(little, tmp_path, ["longer", "first"])
    others = load_verdicts(tmp_path).query("judge == 'longer'").assign(judge="first@home", choice="A")
    save_imported(others, tmp_path, benchmark="little", kind="general", source="elsewhere")
    [pair] = judge(little, tmp_path, ["consensus-of:first,longer"])
    assert (pair.made, pair.waiting) == (40 * 4, 0)
    table = load_verdicts(tmp_path).pivot(index=["case_id", "dimension", "order"], columns="judge", values="choice")
    differs = table["first"] != table["longer"]
    assert differs.any()
    assert (table.loc[differs, "consensus-of:first,longer"] == "tie").all()
    for part in part_paths(next(tmp_path.glob("first-*"))):
        part.unlink()
    [waiting] = judge(little, tmp_path, ["consensus-of:first,longer"], repeats=2)
    assert (waiting.made, waiting.waiting) == (0, 40 * 4)


@pytest.mark.parametrize(
    "name", ["nobody", "consensus-of:first,nobody", "consensus-of:first", "consensus-of:", "consensus-of:a,a"]
)
def test_a_judge_that_does_not_exist_is_refused(little: Benchmark, tmp_path: Path, name: str) -> None:
    judge(little, tmp_path, ["first"])
    before = sorted(path for path in tmp_path.rglob("*") if "bench" not in path.parts)
    with pytest.raises(InputError):
        judge(little, tmp_path, [name])
    assert sorted(path for path in tmp_path.rglob("*") if "bench" not in path.parts) == before


@pytest.mark.parametrize("options", [{"orders": ("XY",)}, {"repeats": 0}, {"limit": 0}])
def test_options_out_of_range_are_refused_and_nothing_is_written(
    little: Benchmark, tmp_path: Path, options: dict[str, object]
) -> None:
    with pytest.raises(InputError):
        judge(little, tmp_path / "runs", ["first"], **options)
    assert not (tmp_path / "runs").exists()


def test_labels_that_are_no_preference_cannot_be_judged(little: Benchmark, tmp_path: Path) -> None:
    meta = BenchmarkMeta("nli", "general", ("overall", "accuracy"), categories=("Yes", "No"))
    with pytest.raises(InputError, match="not preferences"):
        judge(Benchmark(meta, little.cases, little.annotations, path=little.path), tmp_path / "runs", ["first"])


def test_two_processes_on_one_run_refuse_each_other(little: Benchmark, tmp_path: Path) -> None:
    [done] = judge(little, tmp_path, ["first"])
    with exclusive(done.folder), pytest.raises(RunError, match="another process"):
        judge(little, tmp_path, ["first"])


def test_a_killed_run_goes_on_where_it_was(little: Benchmark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = """
        import sys, time
        from pathlib import Path
        from mrb_lib.data.benchmark import load
        from mrb_lib.judges.heuristic import RandomJudge
        from mrb_lib.runs import execute
        execute.CASES_PER_BATCH = 1
        honest = RandomJudge.judge
        def slow(self, shown):
            time.sleep(0.02)
            return honest(self, shown)
        RandomJudge.judge = slow
        execute.judge(load(sys.argv[1]), Path(sys.argv[2]), ["random"])
    """
    runs = tmp_path / "runs"
    process = subprocess.Popen([sys.executable, "-c", textwrap.dedent(script), str(little.path), str(runs)])
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not (
        runs.is_dir() and run_folders(runs) and len(part_paths(run_folders(runs)[0])) > 3
    ):
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    [folder] = run_folders(runs)
    (folder / ".part-99999.parquet.partial").write_bytes(b"half")
    kept = len(load_verdicts(runs))
    assert 0 < kept < 40 * 4
    monkeypatch.setattr(execute, "CASES_PER_BATCH", 16)
    [done] = judge(little, runs, ["random"])
    assert (done.before, done.made) == (kept, 40 * 4 - kept)
    judge(little, tmp_path / "whole", ["random"])
    pd.testing.assert_frame_equal(_sorted(load_verdicts(runs)), _sorted(load_verdicts(tmp_path / "whole")))
    assert not list(folder.glob(".part-*"))
