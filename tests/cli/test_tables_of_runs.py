"""Tables that read what runs record: groups of judges, prompts, probes, cut-offs, and what judges were trained on."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest

import mrb_lib
from mrb_lib.benchmarks.benchmark import Benchmark, load, save
from mrb_lib.benchmarks.meta import BenchmarkMeta
from mrb_lib.demo.build import write_demo
from mrb_lib.probes import PROBES
from mrb_lib.review.explorer.data import explorer_data
from mrb_lib.review.failures.index import build_index, open_index
from mrb_lib.stats.where import OUTCOMES
from mrb_lib.verdicts.manifest import Manifest
from tests.training_records import BASE_REVISION, manifest_of, record_of

from .conftest import Mrb, write_run

JUDGES = ("Qwen2-VL-7B", "Qwen2-VL-7B-sft", "InternVL2_5-8B", "MBZUAI/MedMO-8B", "HuatuoGPT", "gpt-4o", "somebody")


@pytest.fixture
def published(mrb: Mrb, tmp_path: Path) -> Path:
    """A benchmark with the verdicts of judges that are named as in published result files."""
    rng, ids, source = np.random.default_rng(0), [f"c{i}" for i in range(40)], tmp_path / "tables"
    cases = pd.DataFrame({"case_id": ids, "question": "q", "response_a": "a", "response_b": "b"})
    votes = pd.DataFrame(
        {"case_id": ids, "annotator": "r", "dimension": "overall", "choice": rng.choice(["A", "B"], 40)}
    )
    said = votes.drop(columns="annotator").assign(order="AB").merge(pd.DataFrame({"judge": JUDGES}), how="cross")
    said["choice"] = said["choice"].where(rng.random(len(said)) < 0.7, "tie")
    source.mkdir()
    tables = {"cases": cases.assign(organ=["eye", "lung"] * 20), "annotations": votes, "verdicts": said}
    for name, rows in tables.items():
        rows.to_csv(source / f"{name}.csv", index=False)
    imported = mrb("import", "table", source, tmp_path / "bench").ok
    assert "note: Group medical: HuatuoGPT as huatuogpt-vision-7b, MBZUAI/MedMO-8B as medmo-8b." in imported.err
    assert "In no group: somebody;" in imported.err
    return tmp_path / "bench"


def test_contrasts_are_of_the_groups_that_names_tell_and_the_matches_are_printed(mrb: Mrb, published: Path) -> None:
    result = mrb("analyze", published, "--table", "groups", "--json", "--by", "organ")
    contrasts = {(r["group_1"], r["group_2"]) for r in result.rows if r["part"] == "contrast"}
    assert contrasts == {("open", "proprietary"), ("open", "medical"), ("proprietary", "medical")}
    assert {r["n_judges_1"] for r in result.rows if r["group_1"] == "open"} == {3}
    assert "Qwen2-VL-7B-sft as tuned from qwen2-vl-7b" in result.err
    assert "InternVL2_5-8B as internvl3-8b" in result.err


def test_a_file_goes_before_names(mrb: Mrb, published: Path, tmp_path: Path) -> None:
    file = tmp_path / "groups.csv"
    file.write_text("judge,group\nsomebody,ours\nHuatuoGPT,ours\n", encoding="utf-8")
    rows = mrb("analyze", published, "--table", "groups", "--json", "--groups", file).rows
    assert {r["n_judges_2"] for r in rows if r["group_2"] == "ours"} == {2}
    assert {r["n_judges_2"] for r in rows if r["group_2"] == "medical"} == {1}


def test_gains_are_of_the_pairs_that_are_known_or_named(mrb: Mrb, published: Path) -> None:
    rows = mrb("analyze", published, "--table", "gains", "--json").rows
    assert [(row["base"], row["tuned"], row["n_seen"]) for row in rows] == [("Qwen2-VL-7B", "Qwen2-VL-7B-sft", None)]
    assert "no record of the training" in str(rows[0]["reason"])
    named = ("--base", "InternVL2_5-8B", "--tuned", "somebody")
    rows = mrb("analyze", published, "--table", "gains", "--json", *named).rows
    assert [(row["base"], row["tuned"]) for row in rows] == [("InternVL2_5-8B", "somebody")]
    assert mrb("analyze", published, "--table", "gains", "--base", "gpt-4o").refusal
    assert "changes nothing" not in mrb("analyze", published, "--table", "gains", *named).err
    assert "change nothing" in mrb("analyze", published, "--table", "accuracy", *named).err


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Cases from before and after a cut-off; runs of a judge by two prompts, and of another."""
    ids, folder = [f"c{i}" for i in range(120)], tmp_path_factory.mktemp("prompts") / "bench"
    cases = pd.DataFrame({"case_id": ids, "question": ids, "response_a": "one", "response_b": "two"})
    cases = cases.assign(date=["2020-05", "2025", "2023-10", None] * 30, images=[[] for _ in ids])
    choices = np.random.default_rng(0).choice(["A", "B"], len(ids))
    votes = pd.DataFrame({"case_id": ids, "annotator": "r", "dimension": "overall", "choice": choices})
    save(Benchmark(BenchmarkMeta("prompted", "simulated", ("overall",)), cases, votes), folder)
    for run, prompt, right in (("one", "plain", 0.95), ("two", "reasoned", 0.6)):
        write_run(folder / "runs", Manifest(run, "gpt-4o", prompt_id=prompt, prompt_hash=prompt), votes, right)
    write_run(folder / "runs", Manifest("other", "mine", prompt_id="plain"), votes, 1.0)
    return folder


def test_templates_are_told_from_the_manifests(mrb: Mrb, bench: Path) -> None:
    [pair] = mrb("analyze", bench, "--table", "probes", "--json").rows
    assert (pair["judge"], pair["judge_1"], pair["judge_2"]) == ("gpt-4o", "gpt-4o@one", "gpt-4o@two")
    assert (pair["prompt_1"], pair["prompt_2"]) == ("plain", "reasoned")
    text = mrb("analyze", bench, "--table", "probes")
    assert "Accuracy differs significantly in 1 of 1 comparisons of two prompts" in " ".join(text.out.split())


def test_a_roster_of_ones_own_states_a_cutoff(mrb: Mrb, bench: Path, tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    own.write_text('[[judge]]\nname = "mine"\nengine = "endpoint"\nmodel = "mine-1"\ncutoff = "2021-01"\n')
    asked = ("analyze", bench, "--table", "contamination", "--json", "--roster", own)
    found = next(row for row in mrb(*asked).rows if row["judge"] == "mine")
    assert (found["cutoff"], found["cutoff_of"]) == ("2021-01", "mine")
    assert [found[f"n_{name}"] for name in ("before", "after")] == [30, 60]
    own.write_text('[[judge]]\nname = "mine"\nengine = "endpoint"\nmodel = "mine-1"\ncutoff = "soon"\n')
    assert "cutoff" in mrb(*asked).refusal


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("probes") / "bench"
    write_demo(folder, cases=26)
    return folder


def test_the_list_names_every_probe_and_what_should_follow(mrb: Mrb) -> None:
    lines = mrb("probes").out.splitlines()
    assert len(lines) == len(PROBES)
    listed = mrb("probes", "--json").json
    assert [one["name"] for one in listed] == list(PROBES)
    assert {one["expected"] for one in listed} == {"same", "worse", "flips"}
    assert {one["changes"] for one in listed} == {"image", "response", "question", "prompt"}


def test_judging_and_the_table_of_probes(mrb: Mrb, demo: Path, tmp_path: Path) -> None:
    probes = "response/lengthened,image/mirrored"
    judged = mrb("judge", demo, tmp_path / "runs", "--judge", "longer", "--probe", probes).ok
    assert "probe image/mirrored: does not apply to" in judged.err
    table = mrb("analyze", demo, tmp_path / "runs", "--table", "probes", "--dimension", "overall", "--json").ok
    rows = [row for row in table.rows if row["part"] == "probe"]
    changed = {row["severity"]: row["changed"] for row in rows if "lengthened" in row["probe"]}
    assert changed.keys() == {1, 2, 3}
    assert 0.2 < changed[1] <= changed[2] <= changed[3]


def test_the_texts_of_a_file_are_judged_told_and_expected_to_change_nothing(
    mrb: Mrb, demo: Path, tmp_path: Path
) -> None:
    path, runs, text = tmp_path / "deutsch.csv", tmp_path / "runs", "Was zeigt das Bild\x1b[31m?"
    path.write_text(f"case_id,question\nsim-000000,{text}\nsim-000001,{text}\nelsewhere,{text}\n", encoding="utf-8")
    command = ("judge", demo, runs, "--judge", "first", "--probe", "response/lengthened:1", "--probe-file", path)
    judged = mrb(*command).ok
    assert "probe question/file-deutsch: does not apply to 24 of 26 cases (the file has no row for it)" in judged.err
    assert "question/file-deutsch: 1 of 3 cases of its file are not in the benchmark ('elsewhere')" in judged.err
    again = mrb(*command)
    assert "first: 0 SIMULATED verdicts made" in again.out
    path.unlink()
    table = mrb("analyze", demo, runs, "--table", "probes", "--dimension", "overall", "--json").ok
    rows = {row["probe"]: row for row in table.rows if row["part"] == "probe"}
    assert rows.keys() == {"response/lengthened", "question/file-deutsch"}
    german = rows["question/file-deutsch"]
    assert (german["expected"], german["n"], german["changed"], german["target_shift"]) == ("same", 2, 0, None)


N, TRAINED, STOPPED_BY = 60, 30, 6


class Trained(NamedTuple):
    """A benchmark, and runs on it of a judge and of one that was trained further from it on half of the cases."""

    bench: Path
    runs: Path
    cases: list[str]


def small() -> Benchmark:
    ids = [f"c{i}" for i in range(N)]
    cases = pd.DataFrame({"case_id": ids, "question": [f"q{i}" for i in range(N)], "images": [[] for _ in ids]})
    cases = cases.assign(response_a="one two three", response_b="four", organ=["eye", "lung"] * (N // 2))
    choice = np.random.default_rng(0).choice(list("AB"), N)
    votes = pd.DataFrame({"case_id": ids, "annotator": "r", "dimension": "overall", "choice": choice})
    return Benchmark(BenchmarkMeta("here", "clinical", ("overall",)), cases, votes)


def write_all(folder: Path, benchmark: Benchmark, record: Mapping[str, object]) -> tuple[Path, Path]:
    save(benchmark, folder)
    runs = folder / "runs"
    write_run(runs, manifest_of("base", revision=BASE_REVISION), benchmark.annotations, 0.6)
    write_run(runs, manifest_of("tuned", record, revision="sha256:tuned"), benchmark.annotations, 0.8)
    return folder, runs


@pytest.fixture
def trained(tmp_path: Path) -> Trained:
    benchmark = small()
    cases = benchmark.cases["case_id"].tolist()
    record = record_of(benchmark, cases[:TRAINED], validation=cases[TRAINED : TRAINED + STOPPED_BY])
    return Trained(*write_all(tmp_path / "bench", benchmark, record), cases[: TRAINED + STOPPED_BY])


NOTE = "note: tuned: 36 of 60 cases are left out: 30 were trained on, and 6 more are validation cases or related\n"


def test_a_table_says_how_many_cases_it_leaves_out(mrb: Mrb, trained: Trained) -> None:
    result = mrb("analyze", trained.bench, "--json", "--resamples", 40).ok
    assert NOTE in result.err
    assert {row["n_seen"] for row in result.rows if row["judge"] == "tuned"} == {len(trained.cases)}


def test_a_judge_that_was_trained_on_test_cases_is_an_error_and_so_is_a_record_that_was_changed(
    mrb: Mrb, trained: Trained, tmp_path: Path
) -> None:
    benchmark = small()
    divided = replace(benchmark, cases=benchmark.cases.assign(split=["train"] * 50 + ["test"] * 10))
    leaky = record_of(divided, divided.cases["case_id"].tolist()[40:52])
    changed = {**record_of(divided, trained.cases), "digests": ["0" * 32] * len(trained.cases)}
    for name, record, said in (
        ("leaky", leaky, "trained on 2 cases"),
        ("changed", changed, "its cases_digest does not fit"),
    ):
        bench, _ = write_all(tmp_path / name, divided, record)
        for arguments in (("analyze", bench), ("report", bench, bench / "runs", "--out", tmp_path / f"out-{name}")):
            assert said in mrb(*arguments).refusal


def test_notebooks_explorer_and_case_pages_leave_them_out_and_mark_them(trained: Trained, tmp_path: Path) -> None:
    study = mrb_lib.open(trained.bench, trained.runs, resamples=40)
    assert NOTE.removeprefix("note: ").strip() in repr(study)
    accuracy = study.table("accuracy", references=0).frame.set_index("judge")
    assert accuracy["n"].to_dict() == {"tuned": 24, "base": 60}
    assert study.scores()["judge"].value_counts().to_dict() == {"base": 60, "tuned": 24}
    wrong = {judge: set(study.cases(judge=judge, wrong=True)["case_id"]) for judge in study.judges}
    assert not wrong["tuned"] & set(trained.cases)
    assert wrong["base"] & set(trained.cases)
    index = open_index(build_index(trained.runs, load(trained.bench), tmp_path / "index"))
    for data in (explorer_data(study.benchmark, index), explorer_data(study.benchmark, study.verdicts)):
        tuned = data.kinds.judges.index("tuned")
        outcome = [OUTCOMES[code] for code in data.kinds.grid("outcome")[tuned, 0]]
        assert outcome.count("trained on") == 36 and data.kinds.grid("judged")[tuned].all()
        page = data.case_html(outcome.index("trained on"))
        row = page.split("<tbody>")[-1].split("</tr>")[1]
        assert all(words in row for words in ("tuned", ">trained on</span>", "not counted"))
        assert "mrb-yes" not in row and "mrb-no" not in row.replace("mrb-none", "")
        assert ">trained on</span>" not in data.case_html(N - 1)
