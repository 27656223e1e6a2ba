"""Merged benchmarks keep their runs: each judge scores as before, and is one judge where its settings are the same."""

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner, Result

from mrb_lib.benchmarks.benchmark import Benchmark, load
from mrb_lib.cli.app import app
from mrb_lib.demo.build import write_demo
from mrb_lib.judges.settings import Settings
from mrb_lib.probes import PROBES as PROBES_THERE_ARE
from mrb_lib.probes import ProbedImages, ProbeId, Probing
from mrb_lib.report.places import write_simulated_runs
from mrb_lib.runs.execute import judge
from mrb_lib.runs.plan import ProbeOptions
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.schema import KEYS, NO_PROBE
from mrb_lib.verdicts.manifest import read_manifest, write_manifest
from mrb_lib.verdicts.parts import part_paths
from mrb_lib.verdicts.store import append_part, load_verdicts, read_run, run_folders, runs_on_other_cases
from mrb_lib.verdicts.training import training_cases
from tests.several_parts import several_parts
from tests.training_records import record_of

CASES = {"one": 9, "two": 6}
PROBES = ("response/lengthened:1", "image/swapped-organ")
JURY = "consensus-of:longer,shorter"
SIMULATED = ("Fictor-72B", "simulated-careful", "simulated-hasty", "simulated-specialist", "simulated-wordy")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two simulated benchmarks: of the judges of both, `random` judged with two seeds, and `first` judged one alone."""
    folder = tmp_path_factory.mktemp("merge")
    with several_parts():
        for seed, (name, cases) in enumerate(CASES.items()):
            write_demo(folder / name, cases=cases, seed=seed)
            bench, runs = load(folder / name), folder / name / "runs"
            write_simulated_runs(folder / name, runs, seed=seed)
            judge(bench, runs, ["longer", "shorter", JURY], probes=ProbeOptions(PROBES))
            judge(bench, runs, ["random"], settings=Settings(seed=seed))
    judge(load(folder / "one"), folder / "one" / "runs", ["first"], limit=5)
    done = merge(folder, "both")
    assert done.exit_code == 0
    return folder


@pytest.fixture
def merged(folder: Path) -> Benchmark:
    return load(folder / "both")


@pytest.fixture
def copy(folder: Path, tmp_path: Path) -> Path:
    """A folder with both benchmarks, for tests that change them."""
    for name in CASES:
        shutil.copytree(folder / name, tmp_path / name)
    return tmp_path


def merge(folder: Path, out: str, *options: str, of: tuple[str, ...] = ("one", "two")) -> Result:
    return CliRunner().invoke(app, ["merge", *(str(folder / name) for name in (*of, out)), *options])


def of_sources(folder: Path) -> Iterator[tuple[str, Benchmark, pd.DataFrame]]:
    for name in CASES:
        bench = load(folder / name)
        yield name, bench, load_verdicts(folder / name / "runs", bench.cases, replies=True)


def shown(verdicts: pd.DataFrame) -> pd.DataFrame:
    """Verdicts in a fixed order, a judge by its name alone."""
    named = verdicts.assign(judge=verdicts["judge"].str.partition("@")[0])
    return named.sort_values(list(KEYS["verdicts"]), ignore_index=True)


def test_no_verdict_is_lost_or_changed(folder: Path, merged: Benchmark) -> None:
    verdicts = load_verdicts(folder / "both" / "runs", merged.cases, replies=True)
    expected = [frame.assign(case_id=f"{name}-" + frame["case_id"]) for name, _, frame in of_sources(folder)]
    pd.testing.assert_frame_equal(shown(verdicts), shown(pd.concat(expected)), check_dtype=False)
    assert set(verdicts["status"]) == {"ok", "repaired", "unparsed"}
    assert verdicts["reply"].notna().any()
    assert set(verdicts["probe"]) == {NO_PROBE, *PROBES}


def test_probes_change_the_cases_as_before(folder: Path, merged: Benchmark) -> None:
    def drawn(benchmark: Benchmark, case: str, probe: str) -> object:
        changed = Probing(benchmark.cases).probed(case, ProbeId(probe))
        if isinstance(changed, str):
            return changed
        images = ProbedImages(benchmark.images, benchmark.cases)
        pictures = [images[name] for name in changed.images]
        return replace(changed, case_id="", original_id="", images=()), pictures

    for name, bench, _ in of_sources(folder):
        for case in bench.cases["case_id"].head(2):
            for probe in PROBES_THERE_ARE:
                assert drawn(merged, f"{name}-{case}", probe) == drawn(bench, case, probe)


def test_a_judge_of_the_same_settings_is_one_and_can_go_on(folder: Path, merged: Benchmark, tmp_path: Path) -> None:
    runs = shutil.copytree(folder / "both" / "runs", tmp_path / "runs")
    names = ["longer", "shorter", JURY]
    for done in judge(merged, runs, names, probes=ProbeOptions(PROBES)):
        assert (done.made, done.other_runs) == (0, ())
    [first] = judge(merged, runs, ["first"])
    assert (first.before, first.made) == (5 * 12, 10 * 12)
    assert runs_on_other_cases(runs, merged.case_fingerprint()) == []
    manifests = {manifest.judge: manifest for manifest in map(read_manifest, run_folders(runs))}
    assert set(SIMULATED) < set(manifests)
    assert {manifest.benchmark for manifest in manifests.values()} == {merged.meta.name}


def test_a_judge_of_other_settings_stays_apart_and_the_reason_is_told(copy: Path) -> None:
    done = merge(copy, "both")
    folders = {folder.name for folder in run_folders(copy / "both" / "runs") if "random" in folder.name}
    [one], [two] = ([name for name in folders if name.startswith(f"{source}-random-")] for source in CASES)
    assert folders == {one, two}
    assert f"random@{two} stays apart from random@{one}: seed 0 -> 1 differs\n" in done.stderr
    assert done.stderr.count("stays apart") == 1
    verdicts = load_verdicts(copy / "both" / "runs")
    assert f"{copy / 'both' / 'runs'}: {len(verdicts):,} verdicts of 11 judges\n" in done.stdout
    assert verdicts["judge"].nunique() == 11


def test_probes_of_other_seeds_and_runs_on_other_cases_stay_apart(copy: Path) -> None:
    for name, change in (("longer", {"options": {"probes": ["x"], "seed": 9}}), ("shorter", {"prompt_hash": "p"})):
        [run] = (copy / "two" / "runs").glob(f"{name}-*")
        write_manifest(run, replace(read_manifest(run), **change))
    [first] = (copy / "one" / "runs").glob("first-*")
    write_manifest(first, replace(read_manifest(first), benchmark_fingerprint="that of others"))
    said = merge(copy, "both").stderr
    assert "seed of probes 0 -> 9 differs" in said
    assert "prompt_hash none -> p differs" in said
    assert f"{JURY}@two-consensus-of" in said, "its members are others"
    [stale] = runs_on_other_cases(copy / "both" / "runs", load(copy / "both").case_fingerprint())
    assert stale.startswith("first-")


def test_later_sessions_and_other_machines_are_recorded(copy: Path) -> None:
    for name, device in (("one", "cuda"), ("two", "cpu")):
        [run] = (copy / name / "runs").glob("longer-*")
        session = {"created": "later", "options": {"seed": 0, "limit": 4, "cases": 4}}
        write_manifest(run, replace(read_manifest(run), device=device, resumed=[session]))
    merge(copy, "both")
    [run] = (copy / "both" / "runs").glob("longer-*")
    manifest = read_manifest(run)
    assert (manifest.device, [session.get("device") for session in manifest.resumed]) == ("cuda", [None, "cpu", None])
    assert [options["limit"] for options in manifest.sessions] == [None] * 3, "a limit is of the cases of one source"


def test_cases_that_a_judge_was_trained_on_are_known_under_their_new_ids(copy: Path) -> None:
    one = load(copy / "one")
    trained, validation = one.cases["case_id"][:4].tolist(), one.cases["case_id"][4:6].tolist()
    record = record_of(one, trained, validation=validation, started_from=record_of(one, trained[:1]))
    for name in CASES:
        [run] = (copy / name / "runs").glob("longer-*")
        write_manifest(run, replace(read_manifest(run), provenance={"training": record}))
    assert merge(copy, "both").exit_code == 0
    manifests = [read_manifest(run) for run in run_folders(copy / "both" / "runs")]
    without = load(copy / "both")
    without = replace(without, cases=without.cases.drop(columns="split"))
    table = training_cases(manifests, without).drop_duplicates(["judge", "case_id"])
    for name in ("longer", JURY):
        assert set(table.loc[table["judge"] == name, "case_id"]) == {f"one-{case}" for case in trained + validation}


def test_runs_are_left_out_where_that_is_asked_for_and_need_not_be_there(copy: Path) -> None:
    n = sum(len(frame) for _, _, frame in of_sources(copy))
    assert f"{n:,} verdicts of the sources are left out\n" in merge(copy, "both", "--no-runs").stderr
    assert not (copy / "both" / "runs").exists()
    for name in CASES:
        shutil.rmtree(copy / name / "runs")
    assert "no verdicts, since no source contains a folder runs" in merge(copy, "none").stderr


def test_what_is_wrong_with_a_run_is_refused_and_nothing_is_half_written(copy: Path) -> None:
    """A verdict on an unknown case, columns that do not fit, and a damaged part."""
    [first] = (copy / "one" / "runs").glob("first-*")
    append_part(first, read_run(first).head(1).assign(case_id="nobody"))
    assert "'nobody' does not exist" in str(merge(copy, "both").exception)
    shutil.rmtree(first)
    for name, value in (("one", 1.5), ("two", "text")):
        [run] = (copy / name / "runs").glob("longer-*")
        append_part(run, read_run(run).head(1).assign(repeat=1, mine=value))
    assert isinstance(merge(copy, "both").exception, InputError)
    part = part_paths(run)[-1]
    part.write_bytes(part.read_bytes()[:-20])
    assert str(part) in str(merge(copy, "both").exception)
    assert {path.name for path in copy.iterdir()} == set(CASES)
    assert merge(copy, "both", "--no-runs").exit_code == 0


def test_a_merged_benchmark_merges_again_and_a_copied_run_stays_one(copy: Path) -> None:
    [run] = (copy / "one" / "runs").glob("first-*")
    shutil.copytree(run, run.with_name("again"))
    said = merge(copy, "both").stderr
    assert "first@one-again" in said or "first@one-first" in said
    assert "both are of one source" in said
    write_demo(copy / "three", cases=6, seed=5)
    judge(load(copy / "three"), copy / "three" / "runs", ["longer"])
    assert merge(copy, "all", of=("both", "three")).exit_code == 0
    verdicts, bench = load_verdicts(copy / "all" / "runs"), load(copy / "all")
    assert set(verdicts.loc[verdicts["judge"] == "longer", "case_id"]) == set(bench.cases["case_id"])
    assert set(bench.cases["original_id"]) == {
        case for name in (*CASES, "three") for case in load(copy / name).cases["case_id"]
    }
