"""`mrb construct` in a shell: every step and its status, one line for bad input, and nothing lost."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from mrb_lib.build.construct.screen import CRITERIA
from mrb_lib.build.construct.work import Work, begin, open_work
from mrb_lib.review.records.marks import AnnotatorAnswer
from mrb_lib.review.records.store import open_store

from ..build.construct.answerers import Script, scripted, started
from ..build.construct.paired import N, make_work
from ..build.construct.sources import write_source
from .conftest import Mrb

ITEMS = pd.DataFrame({"item_id": [f"i{i}" for i in range(8)], "images": [[] for _ in range(8)],
                      "question": "Which organ?", "reference": "liver", "choices": None})  # fmt: skip


@pytest.fixture
def script(tmp_path: Path) -> Iterator[Script]:
    with scripted(
        tmp_path, ["m1", "m2"], lambda model, item, sample: "liver" if item < "i4" else f"{model}\x1b[2J"
    ) as one:
        yield one


@pytest.fixture
def work(tmp_path: Path) -> Work:
    return started(tmp_path / "work", ITEMS, "simulated")


def test_filter_and_respond_print_their_tables_and_say_simulated(
    mrb: Mrb, work: Work, script: Script, tmp_path: Path
) -> None:
    roster = ("--roster", script.roster)
    options = ("construct", "filter", work.path, "--model", "m1", "--model", "m2", "--keep", "correct < 2", *roster)
    done = mrb(*options).ok
    assert "models SIMULATED" in done.out and "4 of 8 items go on (SIMULATED)" in done.out
    assert "m1: 8 SIMULATED answers made" in done.err and "m1: 8 of 8 answers" in done.err
    again = mrb(*options, "--json").json
    assert again["step"] == "filter" and again["data_kind"] == "SIMULATED"
    assert [row["accuracy"] for row in again["models"]] == [0.5, 0.5]
    assert [(row["reason"], row["n"]) for row in again["funnel"]] == [("kept", 4), ("not correct < 2", 4)]
    pool = tmp_path / "pool.toml"
    pool.write_text('[[model]]\nname = "m2"\nprompt = "short-answer"\n')
    answered = mrb("construct", "respond", work.path, "--responder", "m1", "--plan", pool, *roster).ok
    assert "4 of 4 items go on" in answered.out and "\x1b" not in answered.out + answered.err
    assert [table["prompt"] for table in work.choices("respond")["models"]] == ["open-answer", "short-answer"]


def test_the_command_prints_the_design(mrb: Mrb, tmp_path: Path) -> None:
    work = make_work(tmp_path / "work")
    done = mrb("construct", "pair", work.path, "--cases", 12).ok
    assert "12 pairs of responses (SIMULATED data)" in done.out
    assert "fewest_meetings" in done.out
    assert "rarest meeting: a and b, 2 times" in done.out
    assert "near-identical pair: 6" in done.err and f"mrb annotate {work.path} --annotators NAME,NAME,NAME" in done.err
    dealt = mrb("annotate", work.path, "--annotators", "ann,bea", "--cases", 6, "--assign-only")
    assert dealt.err.count(": 6 cases") == 2, dealt.err
    told = mrb("construct", "pair", work.path, "--cases", 12, "--json").json
    assert told["data_kind"] == "SIMULATED"
    assert {row["quantity"]: row["value"] for row in told["rows"]}["n_cases"] == 12
    assert mrb("construct", "pair", work.path, "--balance", "none").refusal


def test_dealt_rated_closed(mrb: Mrb, tmp_path: Path, served: dict[str, Any]) -> None:
    work = make_work(tmp_path / "work").path
    screen = ("construct", "screen", work)
    assert "--clinicians NAME,NAME" in mrb(*screen, "--close").refusal
    done = mrb(*screen, "--clinicians", "Dr A,Dr B", "--items", 6, "--assign-only", "--scale", "1,2,3")
    assert (done.code, done.err) == (0, "Dr A: 6 cases\nDr B: 6 cases\n")
    assert "--clinicians: 'Dr A' and 'dr a' look alike" in mrb(*screen, "--clinicians", "dr a", "--assign-only").refusal
    assert (open_work(work).choices("screen") or {})["scale"] == ["1", "2", "3"]
    with open_store(work / "reviews.sqlite") as store:
        for row in store.assignments("mine (screening)").itertuples():
            for criterion in CRITERIA:
                rating = "1" if row.position == 0 and row.annotator == "Dr A" else "3"
                store.add(AnnotatorAnswer("mine (screening)", row.case_id, row.annotator, criterion, rating, "AB"))
    shown = mrb(*screen, "--agreement")
    assert "mine (screening) (SIMULATED data)" in shown.out
    assert "image_quality" in shown.out
    assert "another form" in mrb(*screen, "--keep", "accuracy >= 3", "--assign-only").refusal
    closed = mrb(*screen, "--close").ok
    assert closed.out.startswith(f"kept 6 items of {N} (SIMULATED data): relevance >= 2")
    assert f"left out, nobody rated it: {N - 6}" in closed.out
    strict = mrb(*screen, "--keep", "accuracy >= 3", "--again", "--close")
    assert strict.out.startswith(f"kept 5 items of {N}"), strict.err
    assert "left out, not accuracy >= 3: 1" in strict.out

    assert mrb(*screen, "--coordinator", "--no-browser").code == 0
    assert "mine (screening)" in served["app"].answer("overview", {})["html"]
    assert mrb(*screen, "--coordinator", "--close").code == 2


def test_ratings_come_in_by_table(mrb: Mrb, tmp_path: Path) -> None:
    work = make_work(tmp_path / "work").path
    table = tmp_path / "ratings.csv"
    rows = [f"i{i};{who};4;{1 if (i, who) == (0, 'Dr B') else 4};5;" for i in range(5) for who in ("Dr A", "Dr B")]
    head = "item_id;clinician;relevance;accuracy;complexity;image_quality\n"
    table.write_text(head + "\n".join(rows) + "\n")
    done = mrb("construct", "screen", work, "--ratings", table, "--keep", "accuracy_min >= 3", "--close").ok
    assert "30 ratings added" in done.err, done.err
    assert done.out.startswith(f"kept 4 items of {N}")
    kept = open_work(work).entering("respond")["item_id"].tolist()
    assert kept == ["i1", "i2", "i3", "i4"]
    for row, message in (
        ("i99;Dr A;4;4;5;", "row 1, column item_id: 'i99' is no item"),
        ("i1;Dr A;7;4;5;", "column relevance: '7' is not on the scale; use one of 1, 2, 3, 4, 5"),
        ("i1;Dr A;;;;", "holds no rating"),
        ("i1;dr a;4;4;5;", "look alike"),
    ):
        table.write_text(head + row + "\n")
        assert message in mrb("construct", "screen", work, "--ratings", table, "--again").refusal


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_source(tmp_path_factory.mktemp("source") / "hospital", 8)


def test_a_folder_becomes_a_work_folder(mrb: Mrb, source: Path, tmp_path: Path) -> None:
    work = tmp_path / "work"
    result = mrb("construct", "start", source, work).ok
    assert "start kept 16 of 22 items" in result.out and "2 left out: the image cannot be read" in result.out
    before = (work / "items.parquet").read_bytes()

    assert "start is done already" in mrb("construct", "start", source, work).err
    refused = mrb("construct", "start", source, work, "--min-side", 90)
    assert refused.code == 2 and "--again" in refused.err and (work / "items.parquet").read_bytes() == before

    status = mrb("construct", "status", work).ok
    assert "next: mrb construct filter" in status.out
    shown = mrb("construct", "status", work, "--json").json
    assert shown["steps"][0]["state"] == "finished"
    assert shown["counts"][0] == {"organ": "chest", "items": 9, "start": 9}


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
