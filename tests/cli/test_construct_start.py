"""`mrb construct start` and `status` in a shell: counts in, one line for bad input, and nothing lost."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from mrb_lib.benchmarks.benchmark import load
from mrb_lib.benchmarks.votes import gold
from mrb_lib.build.construct.work import open_work
from mrb_lib.demo import write_demo
from mrb_lib.report.places import write_simulated_runs
from mrb_lib.review.failures.kinds import failure_kinds
from mrb_lib.verdicts.store import load_verdicts

from ..build.construct.sources import drawing, stored, write_source
from .conftest import Result

Mrb = Callable[..., Result]


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_source(tmp_path_factory.mktemp("source") / "hospital", 8)


def test_a_folder_becomes_a_work_folder(mrb: Mrb, source: Path, tmp_path: Path) -> None:
    work = tmp_path / "work"
    result = mrb("construct", "start", source, work)
    assert result.code == 0, result.err
    assert "start kept 16 of 22 items" in result.out and "2 left out: the image cannot be read" in result.out
    assert "patients were named in DICOM files (PatientID 1, PatientName 1)" in result.err
    before = (work / "items.parquet").read_bytes()

    assert "start is done already" in mrb("construct", "start", source, work).err
    refused = mrb("construct", "start", source, work, "--min-side", 90)
    assert refused.code == 2 and "--again" in refused.err and (work / "items.parquet").read_bytes() == before

    status = mrb("construct", "status", work)
    assert status.code == 0 and "next: mrb construct filter" in status.out
    none = mrb("construct", "start", source, tmp_path / "none", "--min-side", 9000)
    assert (none.code, "start kept 0 of" in none.out) == (0, True)
    assert "warning: no item is left for the next step; correct the input and start with --again" in none.err
    shown = json.loads(mrb("construct", "status", work, "--json").out)
    assert shown["steps"][0]["state"] == "finished" and shown["counts"][0] == {
        "organ": "chest",
        "items": 9,
        "start": 9,
    }


def test_what_is_passed_over_is_named_in_short_lines(mrb: Mrb, tmp_path: Path) -> None:
    series = tmp_path / "source" / "ct"
    series.mkdir(parents=True)
    for number in range(90):
        (series / f"._slice_{number}.dcm").write_bytes(b"x")
    (series / "slice_1.png").write_bytes(stored(drawing(1)))
    (tmp_path / "source" / "questions.csv").write_text("image,question,answer\nct,Which organ is this?,liver\n")
    result = mrb("construct", "start", tmp_path / "source", tmp_path / "work")
    assert result.code == 0 and "start kept 1 of 1 items" in result.out
    [named] = [line for line in result.err.splitlines() if "passed over" in line]
    assert named.startswith("passed over, left by an operating system (90): ct/._slice_0.dcm, ct/._slice_1.dcm")
    assert named.endswith("... (all in items.notes)") and len(named) < 400
    assert open_work(tmp_path / "work").items()["notes"][0].count("._slice_") == 90


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--layout", "nonsense"], "layout 'nonsense' is unknown"),
        (["--kind", "odd"], "--kind odd"),
        (["--map", "missing=question"], "there is no column missing"),
        (["--where", "organ =="], "cannot be read"),
        (["--not-in", "nowhere"], "is not a benchmark"),
        (["--selection", "#kind=wrong"], "--from-failures RUNS"),
    ],
)
def test_bad_input_is_one_line_and_leaves_nothing(
    mrb: Mrb,
    source: Path,
    tmp_path: Path,
    options: list[str],
    message: str,
) -> None:
    result = mrb("construct", "start", source, tmp_path / "work", *options)
    assert result.code == 2 and message in result.err and result.err.count("\n") == 1
    assert not (tmp_path / "work").exists()


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A benchmark of ten cases, judged by SIMULATED judges."""
    bench = tmp_path_factory.mktemp("judged") / "bench"
    bench.mkdir()
    write_demo(bench, cases=10)
    write_simulated_runs(bench, bench / "runs", seed=0)
    return bench


def test_failures_become_a_work_folder(mrb: Mrb, judged: Path, tmp_path: Path) -> None:
    first, runs = tmp_path / "first", judged / "runs"
    result = mrb("construct", "start", judged, first, "--from-failures", runs, "--kind", "all_wrong")
    assert result.code == 0, result.err
    work, cases = open_work(first), load(judged).cases.set_index("case_id")
    items = work.items().set_index("item_id")
    assert work.meta.kind == "simulated" and 0 < len(items) < 10
    assert (items["question"] == cases.loc[items.index, "question"]).all() and "response_a" not in items
    kinds = failure_kinds(load_verdicts(runs), gold(load(judged)), load(judged).cases)
    assert set(items.index) == set(cases.index[kinds.grid("all_wrong")[-1].any(axis=0)])

    exported = tmp_path / "selection.csv"
    exported.write_text("\ufeffcase_id,organ\n" + "".join(f"{case},x\n" for case in cases.index[:2]), encoding="utf-8")
    chosen = ("--from-failures", runs, "--selection")
    assert "start kept 2 of 2" in mrb("construct", "start", judged, tmp_path / "a", *chosen, exported).out
    address = f"http://localhost/#kind=wrong&organ={cases['organ'].iloc[0]}"
    assert mrb("construct", "start", judged, tmp_path / "b", *chosen, address).code == 0
    assert set(open_work(tmp_path / "b").items()["organ"]) == {cases["organ"].iloc[0]}
    nothing = mrb("construct", "start", judged, tmp_path / "c", *chosen, "#organ=foot&kind=unparsed")
    assert nothing.code == 2 and "leaves no case" in nothing.err and not (tmp_path / "c").exists()
    odd = mrb("construct", "start", judged, tmp_path / "c", "--from-failures", runs, "--kind", "odd")
    assert odd.code == 2 and "'odd'" in odd.err
