"""The published layout: what is imported, exported and imported again is identical."""

import io
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from pandas.testing import assert_frame_equal
from PIL import Image

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.benchmarks.formats.base import Imported
from mrb_lib.benchmarks.formats.official import read, write
from mrb_lib.benchmarks.meta import BenchmarkMeta
from mrb_lib.benchmarks.votes import gold
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.schema import DIMENSIONS, ORGANS
from mrb_lib.tables.validation import conform
from mrb_lib.verdicts.store import empty_verdicts

from .conftest import judged


def verdicts_for(case_ids: list[str], judge: str, seed: int) -> pd.DataFrame:
    """Replies in the published prompt's format; some not readable, one with five dimensions, one null."""
    rng = np.random.default_rng(seed)
    replies: list[str | None] = []
    for i in range(len(case_ids)):
        choices = {name: str(rng.choice(["A", "B"])) for name in DIMENSIONS} | (
            {"overall": "tie"} if i % 5 == 3 else {}
        )
        five = {name: choice for name, choice in choices.items() if name != "overall"}
        whole = json.dumps(choices | {"reason": 'said "so"\nand 中文'}, ensure_ascii=False)
        odd = {1: "I could not find a difference.", 2: f"```json\n{json.dumps(five)}\n```", 4: None}
        replies.append(odd.get(i % 5, whole))
    return judged(case_ids, replies, judge)


def assert_same(first: Imported, second: Imported) -> None:
    assert_frame_equal(first.benchmark.cases, second.benchmark.cases)
    assert_frame_equal(first.benchmark.annotations, second.benchmark.annotations)
    assert_frame_equal(first.verdicts, second.verdicts)
    assert dict(first.benchmark.images) == dict(second.benchmark.images)


def test_sample_content(sample: Imported, reference_data: Path) -> None:
    cases, annotations = sample.benchmark.cases, sample.benchmark.annotations
    assert cases["organ"].value_counts().to_dict() == {"chest": 8, "abdomen": 6, "brain": 6}
    assert set(cases["department"]) == {"Pulmonology", "Gastroenterology", "Neurology"}
    assert (len(annotations), sample.benchmark.meta.kind, sample.findings) == (20 * 6, "clinical", [])
    line = json.loads((reference_data / "official_sample/pair_gt_all/brain.jsonl").read_text().splitlines()[0])
    mine = annotations[annotations["case_id"] == line["question_id"]]
    assert dict(zip(mine["dimension"], mine["choice"], strict=True)) == line["human_answer"]


@pytest.mark.parametrize("judges", [[], ["plain"], ["org/Judge-8B", "plain"]])
def test_round_trip_of_the_sample(sample: Imported, tmp_path: Path, judges: list[str]) -> None:
    ids = sample.benchmark.cases["case_id"].tolist()
    made = [verdicts_for(ids, judge, i) for i, judge in enumerate(judges)]
    imported = sample._replace(verdicts=pd.concat(made, ignore_index=True)) if judges else sample
    findings = write(imported.benchmark, imported.verdicts, tmp_path / "first")
    assert {finding.column for finding in findings} <= {"status"}
    again = read(tmp_path / "first")
    assert_same(imported, again)
    assert again.benchmark.meta == imported.benchmark.meta
    write(again.benchmark, again.verdicts, tmp_path / "second")
    written = {p.relative_to(tmp_path / "first"): p.read_bytes() for p in (tmp_path / "first").rglob("*.*l*")}
    assert written == {p.relative_to(tmp_path / "second"): p.read_bytes() for p in (tmp_path / "second").rglob("*.*l*")}


def test_drawn_verdicts_are_read_back_and_stay_marked(sample: Imported, tmp_path: Path) -> None:
    verdicts = verdicts_for(sample.benchmark.cases["case_id"].tolist(), "J", 2)
    verdicts = verdicts[verdicts["choice"].notna()].assign(reply="SIMULATED")
    write(sample.benchmark, verdicts, tmp_path)
    again = read(tmp_path).verdicts
    keys = ["case_id", "dimension", "choice"]
    assert_frame_equal(
        again.loc[again["choice"].notna(), keys].reset_index(drop=True), verdicts[keys].reset_index(drop=True)
    )
    assert again["reply"].str.contains("SIMULATED").all()


def test_documented_rows(sample: Imported, tmp_path: Path) -> None:
    write(sample.benchmark, verdicts_for(sample.benchmark.cases["case_id"].tolist(), "J", 0), tmp_path)
    raw = tmp_path / "data" / "benchmark_result_parquet1"
    rows = [json.loads(line) for line in (raw / "all" / "pair_J.jsonl").read_text(encoding="utf-8").splitlines()]
    assert len(rows) == 20
    assert list(rows[0]) == [
        "question_id", "dataset", "modality_type", "question_type", "question", "chosen_answer", "image_id",
        "body_part", "answer_model",
    ]  # fmt: skip
    assert isinstance(rows[0]["chosen_answer"], str)
    texts = [(raw / organ / "pair_J.jsonl").read_text(encoding="utf-8") for organ in ("abdomen", "brain", "chest")]
    split = "".join(texts).splitlines()
    assert [json.loads(line) for line in split] == rows


def test_images_decode_where_the_published_script_loads_them(
    sample: Imported, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    datasets = pytest.importorskip("datasets")
    write(sample.benchmark, sample.verdicts, tmp_path / "out")
    path = str(tmp_path / "out" / "pair_gt_all" / "parquet" / "brain.parquet")
    rows = datasets.load_dataset("parquet", data_files=path, split="train", cache_dir=str(tmp_path / "cache"))
    case = sample.benchmark.cases.set_index("case_id").loc[rows[0]["question_id"]]
    assert isinstance(rows[0]["image"], Image.Image)
    original = Image.open(io.BytesIO(sample.benchmark.images[case["images"][0]]))
    assert rows[0]["image"].tobytes() == original.tobytes()
    assert rows[0]["answer2_text"] == case["response_b"]
    assert rows[0]["modality_type"] == "brain"


def benchmark_of(n: int, categories: tuple[str, ...] = ("A", "B", "tie"), seed: int = 0) -> Benchmark:
    """Three annotators, extra columns of several types, organs in no order, one image a case."""
    rng = np.random.default_rng(seed)
    ids = [f"c{i:03d}" for i in range(n)]
    cases = pd.DataFrame(
        {
            "case_id": ids,
            "severity": rng.integers(0, 5, n),
            "question": [f"Q{i}" for i in range(n)],
            "response_a": ["None", "NA", "", 'a "b"\r\n'] * (n // 4),
            "response_b": "x",
            "images": [[f"scans/{i % 7}.png"] for i in range(n)],
            "organ": rng.choice(ORGANS, n),
            "modality": pd.Series([None, "CT"] * (n // 2), dtype="str"),
            "score": rng.normal(size=n),
            "checked": rng.random(n) < 0.5,
        }
    )
    cases["department"] = "Cardiology"
    annotations = pd.DataFrame(
        [(c, f"r{k}", d, str(rng.choice(categories))) for c in ids for k in range(3) for d in DIMENSIONS],
        columns=["case_id", "annotator", "dimension", "choice"],
    )
    images = {f"scans/{i}.png": bytes([i]) * 10 for i in range(7)}
    meta = BenchmarkMeta("made", "simulated", categories=categories, source="a seed", licence="MIT")
    return Benchmark(meta, conform(cases, "cases", "made"), conform(annotations, "annotations", "made"), images)


@pytest.mark.parametrize("categories", [("A", "B"), ("A", "B", "tie")])
def test_three_annotators_keep_their_majorities_and_cases_without_one_are_counted(
    tmp_path: Path, categories: tuple[str, ...]
) -> None:
    benchmark = benchmark_of(80, categories)
    findings = write(benchmark, empty_verdicts(), tmp_path)
    again = read(tmp_path).benchmark
    assert_frame_equal(benchmark.cases, again.cases)
    assert dict(benchmark.images) == dict(again.images)
    assert [getattr(again.meta, name) for name in ("kind", "name", "source", "licence")] == [
        "simulated", "made", "a seed", "MIT",
    ]  # fmt: skip
    before, columns = gold(benchmark), ["case_id", "dimension", "choice"]
    complete = before.groupby("case_id")["choice"].transform(lambda c: c.notna().all())
    assert_frame_equal(before.loc[complete, columns].reset_index(drop=True), gold(again)[columns])
    text = "\n".join(map(str, findings))
    assert "column annotator: annotations of 3 annotators became one label a case and dimension, by majority" in text
    undecided, ties = before.loc[~complete, "case_id"].nunique(), (before.loc[complete, "choice"] == "tie").sum()
    assert (len(findings) == 1, undecided == 0, ties == 0) == (len(categories) == 2,) * 3
    if ties:
        problem = f"{undecided} cases lack a label in some dimension ({undecided} of them for want of a majority)"
        assert problem in text and f"{ties} labels are ties" in text


def test_what_the_layout_cannot_hold_is_counted(tmp_path: Path) -> None:
    benchmark = benchmark_of(20, ("A", "B"))
    cases = benchmark.cases.copy()
    cases.loc[0, "organ"] = None
    cases["images"] = [["scans/1.png"], [], ["scans/1.png", "scans/3.png"], ["gone.png"], *cases["images"].tolist()[4:]]
    ids = cases["case_id"].tolist()
    rows = []
    for case_id in ids[:6]:
        for order, repeat, probe in (("AB", 0, "none"), ("BA", 0, "none"), ("AB", 1, "none"), ("AB", 0, "blur")):
            rows += [("x/y", case_id, d, order, repeat, probe, "A", "repaired", f"{d} A", 0.5) for d in DIMENSIONS]
    names = ["judge", "case_id", "dimension", "order", "repeat", "probe", "choice", "status", "reply", "p_a"]
    verdicts = conform(pd.DataFrame(rows, columns=names), "verdicts", "made")
    benchmark = Benchmark(benchmark.meta, cases, benchmark.annotations, benchmark.images)
    text = "\n".join(str(f) for f in write(benchmark, verdicts, tmp_path))
    for expected in (
        "1 cases have no organ; they are left out",
        "1 cases have several images; they are left out",
        "2 cases have no image, or one that could not be found",
        "36 verdicts have the order BA",
        "36 verdicts are repeats",
        "36 verdicts are about a probed case",
        "12 verdicts are on cases left out",
        "1 columns cannot be written: p_a",
        "4 cases have no single reply of a judge",
    ):
        assert expected in text
    again = read(tmp_path)
    assert len(again.benchmark.cases) == 18
    assert len(again.verdicts) == 24
    assert again.verdicts["choice"].eq("A").all()


@pytest.mark.parametrize("judge", ["x/../y", "endpoint:gpt-4o", "/etc/j", "j\nk", "j" * 101])
def test_a_judge_whose_name_cannot_name_a_file_is_written_under_another(tmp_path: Path, judge: str) -> None:
    benchmark = benchmark_of(8, ("A", "B"))
    verdicts = pd.concat([verdicts_for(benchmark.cases["case_id"].tolist(), name, 1) for name in (judge, "plain")])
    (finding,) = (one for one in write(benchmark, verdicts, tmp_path / "out") if one.column == "judge")
    assert f"the judge's name {judge!r} cannot name a file" in finding.problem
    again = read(tmp_path / "out").verdicts
    assert again.groupby("judge").size().to_dict() == {"plain": 48, finding.cure.split()[-1]: 48}
    assert {path.name for path in tmp_path.iterdir()} == {"out"}


@pytest.mark.parametrize(
    ("cases", "meta", "message"),
    [
        ({"organ": pd.Series(None, dtype="str")}, {}, "no case has an organ"),
        ({"organ": "../x"}, {}, r"'\.\./x' cannot name a file"),
        ({"question_id": "x"}, {}, "column question_id"),
        ({}, {"dimensions": ("overall",)}, "has no dimension accuracy, relevance"),
        ({}, {"categories": ("yes", "no")}, "its labels are yes, no"),
    ],
)
def test_what_does_not_fit_at_all_is_refused(
    tmp_path: Path, cases: dict[str, object], meta: dict[str, tuple[str, ...]], message: str
) -> None:
    made = benchmark_of(8, ("A", "B"))
    unfit = replace(made, cases=made.cases.assign(**cases), meta=replace(made.meta, **meta))
    with pytest.raises(InputError, match=message):
        write(unfit, empty_verdicts(), tmp_path)
    assert list(tmp_path.iterdir()) == []
