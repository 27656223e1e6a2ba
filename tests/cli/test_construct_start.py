"""`mrb construct start` and `status` in a shell: counts in, one line for bad input, and nothing lost."""

import json
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from mrb_lib.build.construct.work import begin, open_work
from mrb_lib.review.records.marks import AnnotatorAnswer
from mrb_lib.review.records.store import open_store

from ..build.construct.sources import drawing, stored, write_source
from .conftest import Result

Mrb = Callable[..., Result]


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_source(tmp_path_factory.mktemp("source") / "hospital", 8)


def test_a_folder_becomes_a_work_folder(mrb: Mrb, source: Path, tmp_path: Path) -> None:
    work = tmp_path / "work"
    result = mrb("construct", "start", source, work).ok
    assert "start kept 16 of 22 items" in result.out and "2 left out: the image cannot be read" in result.out
    assert "patients were named in DICOM files (PatientID 1, PatientName 1)" in result.err
    before = (work / "items.parquet").read_bytes()

    assert "start is done already" in mrb("construct", "start", source, work).err
    refused = mrb("construct", "start", source, work, "--min-side", 90)
    assert refused.code == 2 and "--again" in refused.err and (work / "items.parquet").read_bytes() == before

    status = mrb("construct", "status", work).ok
    assert "next: mrb construct filter" in status.out
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
    result = mrb("construct", "start", tmp_path / "source", tmp_path / "work").ok
    assert "start kept 1 of 1 items" in result.out
    [named] = [line for line in result.err.splitlines() if "passed over" in line]
    assert named.startswith("passed over, left by an operating system (90): ct/._slice_0.dcm, ct/._slice_1.dcm")
    assert named.endswith("... (all in items.notes)") and len(named) < 400
    assert open_work(tmp_path / "work").items()["notes"][0].count("._slice_") == 90


def test_the_plan_of_the_paper_comes_with_the_next_command_at_every_stage(
    mrb: Mrb, source: Path, tmp_path: Path
) -> None:
    work = tmp_path / "my work"
    assert mrb("construct", "start", source, work).code == 0 and not open_work(work).meta.plan
    assert mrb("construct", "start", source, work, "--preset", "paper").code == 0

    def following() -> str:
        return next(line for line in mrb("construct", "status", work).out.splitlines() if line.startswith("next: "))

    assert following().startswith(f"next: mrb construct filter '{work}' --model ") and "correct <= 1" in following()
    opened = open_work(work)
    planned = opened.meta.plan["respond"]
    assert planned.count("--responder") == 12 and "--samples 2" in planned
    assert opened.meta.plan["screen"].count("NAME") == 3 == opened.meta.plan["annotate"].count("NAME")
    with begin(opened, "filter", {}, seed=0):
        pass
    with begin(opened, "screen", {}, seed=0, finish=False):
        assert following() == f"next: mrb construct screen '{work}' --close"
    with begin(opened, "screen", {}, seed=0):
        pass
    assert f"construct respond '{work}' --samples 2" in following()
    with begin(opened, "respond", {}, seed=0) as under_way:
        items = under_way.entering["item_id"]
        rows = [(item, model, f"{model} reads {item}") for item in items for model in "ab"]
        responses = pd.DataFrame(rows, columns=["item_id", "model", "answer"])
        under_way.write("responses", responses.assign(sample=0, status="ok", flag=None))
    assert f"construct pair '{work}' --pairs 1" in following()
    assert mrb("construct", "pair", work).code == 0
    assert following().startswith(f"next: mrb annotate '{work}' --annotators NAME,NAME,NAME")
    case = pd.read_parquet(work / "cases.parquet")["case_id"].iloc[0]
    with open_store(work / "reviews.sqlite") as store:
        store.add(AnnotatorAnswer("my work", case, "Dr A", "overall", "A", "AB"))
    assert following() == f"next: mrb construct release '{work}' BENCH --min-annotators 3"
    with begin(opened, "release", {}, seed=0):
        pass
    assert following().startswith("next: mrb judge")


def test_a_start_that_keeps_nothing_says_why_it_cannot_go_on(mrb: Mrb, tmp_path: Path) -> None:
    folder = tmp_path / "source"
    folder.mkdir()
    (folder / "a.png").write_bytes(b"no image")
    rows = [{"image": name, "question": "Which organ is this?"} for name in ("a.png", "b.png")]
    pd.DataFrame(rows).to_excel(folder / "questions.xlsx", index=False)
    none = mrb("construct", "start", folder, tmp_path / "work").ok
    assert "start kept 0 of 2 items" in none.out
    assert "warning: no item is left for the next step; correct the input and start with --again" in none.err
    shown = mrb("construct", "status", tmp_path / "work")
    reasons = "1 the image cannot be read; 1 the image is missing"
    assert f"no item is left after start ({reasons}): correct that, and run `mrb construct start SRC" in shown.out
    assert "next:" not in shown.out
