"""Tests that what a run shows beside the cases is in what a server is sent, in the run's record, and nowhere else."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from mrb_lib.benchmarks.benchmark import Benchmark, load, save
from mrb_lib.judges.settings import Settings
from mrb_lib.runs.beside import beside_of
from mrb_lib.runs.execute import judge
from mrb_lib.runs.outcomes import RunSummary
from mrb_lib.runs.plan import ProbeOptions, make_plan
from mrb_lib.tables.errors import InputError
from mrb_lib.verdicts.manifest import read_manifest
from tests.judges.endpoint.chat_server import ChatServer, message
from tests.judges.shown_benchmark import DIMENSIONS, rating_benchmark, shown_benchmark

REPLY = json.dumps(dict.fromkeys(DIMENSIONS, "A"))


@pytest.fixture
def bench(tmp_path: Path) -> Benchmark:
    return shown_benchmark(tmp_path / "bench")


def asked(
    bench: Benchmark, runs: Path, name: str = "endpoint:m", reply: str = REPLY, **settings: object
) -> tuple[RunSummary, dict[str, list[str]]]:
    """A run, and what the server was sent about each case, by what its question begins with."""
    limit = settings.pop("limit", None)
    with ChatServer(lambda _: message(reply)) as server:
        [summary] = judge(bench, runs, [name], limit=limit, settings=Settings(url=server.url, **settings))
        texts = sorted(received.text for received in server.received)
    of_case: dict[str, list[str]] = {}
    for text in texts:
        of_case.setdefault(re.findall(r"<<<question \w{8}>>>\n(question-\d+)", text)[0], []).append(text)
    return summary, of_case


def shown_by(summary: RunSummary) -> dict[str, dict[str, object]]:
    """Return what a run says that it showed beside the cases, a part of what its folder is called after."""
    return read_manifest(summary.folder).spec["shown"]


def test_the_reference_is_shown_where_asked_for_in_a_run_of_its_own(bench: Benchmark, tmp_path: Path) -> None:
    folders = {}
    for level in ("none", "strong"):
        summary, of_case = asked(bench, tmp_path / "runs", reference=level, limit=6)
        assert len(of_case) == 6
        for case, texts in of_case.items():
            assert len(texts) == 2
            for text in texts:
                assert (f"strong-{case.removeprefix('question-')} " in text) == (level == "strong")
        folders[level] = summary.folder
    assert len(set(folders.values())) == 2
    assert "shown" not in read_manifest(folders["none"]).spec
    assert read_manifest(folders["strong"]).spec["shown"]["reference"]["level"] == "strong"


def test_no_gold_of_a_case_that_is_judged_reaches_a_prompt(bench: Benchmark, tmp_path: Path) -> None:
    """With all gold of test cases turned round, every request is the same, byte for byte."""
    turned = bench.annotations.copy()
    is_test = turned["case_id"].isin([f"c{i}" for i in range(14, 24)])
    turned.loc[is_test, "choice"] = turned.loc[is_test, "choice"].map({"A": "B", "B": "A", "tie": "A"})
    save(replace(bench, annotations=turned), tmp_path / "turned")
    first, was = asked(bench, tmp_path / "runs", examples=3)
    second, now = asked(load(tmp_path / "turned"), tmp_path / "others", examples=3)
    assert was == now
    assert shown_by(first) == shown_by(second)
    assert sorted(was) == sorted(f"question-{i}" for i in range(14, 24)), "training cases are not judged"
    for case, texts in was.items():
        for text in texts:
            others = set(re.findall(r"question-\d+", text)) - {case}
            assert len(others) == 3
            assert all(int(name.removeprefix("question-")) < 14 for name in others)
            assert text.count("Verdict on example") == 3
    assert "question-0 " not in was["question-23"][0], "its item is that of a training case"


def test_what_is_left_out_is_said_and_recorded(bench: Benchmark, tmp_path: Path) -> None:
    summary, _ = asked(bench, tmp_path / "runs", examples=2, seed=4)
    assert summary.notices[0].startswith("14 of 24 cases are in the split train, from which examples are drawn")
    recorded = shown_by(summary)["examples"]
    assert {name: recorded[name] for name in ("k", "seed")} == {"k": 2, "seed": 4}
    assert len(recorded["sha256"]) == 64


def test_letters_and_ratings_show_them_too(bench: Benchmark, tmp_path: Path) -> None:
    _, of_case = asked(bench, tmp_path / "letters", "endpoint:m+letters", "A", examples=2, reference="strong")
    assert all(len(texts) == 4 for texts in of_case.values())
    for text in of_case["question-20"]:
        assert re.search(r"Verdict on example 2: (accuracy|overall): [AB]", text)
        assert "strong-20 " in text
    reply = json.dumps(dict.fromkeys(DIMENSIONS, "low"))
    _, rated = asked(rating_benchmark(tmp_path), tmp_path / "rated", reply=reply, examples=2)
    text = rated["question-20"][0]
    assert set(json.loads(re.findall(r"Verdict on example 1: (.*)", text)[0]).values()) <= {"low", "medium", "high"}
    assert "second-" not in text


def test_a_case_changed_by_a_probe_has_the_same_examples(bench: Benchmark) -> None:
    shown = beside_of(bench, Settings(examples=2))
    plan = make_plan(bench.cases, DIMENSIONS, probes=ProbeOptions(("response/*",)), beside=shown)
    rows = plan.rows(plan.all_numbers)
    assert rows["probe"].nunique() > 2
    assert set(rows["case_id"]) == {f"c{i}" for i in range(14, 24)}
    assert (rows.groupby("case_id")["context_examples"].nunique() == 1).all()


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"reference": "strong"}, "reference strong: no case has a value in the column reference"),
        ({"examples": 15}, "examples 15: must be at most 10"),
        ({"examples": 2}, "examples 2: no case is in the split train, from which they are drawn; run `mrb split"),
    ],
)
def test_what_is_not_there_is_said_before_anything_is_written(
    bench: Benchmark, tmp_path: Path, settings: dict[str, object], said: str
) -> None:
    bare = replace(bench, cases=bench.cases.drop(columns=["reference", "split"]))
    with pytest.raises(InputError, match=re.escape(said)):
        judge(bare, tmp_path / "runs", ["random"], settings=Settings(**settings))
    assert not (tmp_path / "runs").exists()


def test_a_run_that_is_damaged_is_made_again_though_training_cases_are_left_out(
    bench: Benchmark, tmp_path: Path
) -> None:
    settings = Settings(examples=2)
    [summary] = judge(bench, tmp_path / "runs", ["random"], settings=settings)
    part = next(summary.folder.glob("*.parquet"))
    part.write_bytes(part.read_bytes()[:-20])
    [again] = judge(bench, tmp_path / "runs", ["random"], settings=settings)
    assert again.made == 10 * 2 * len(DIMENSIONS)
