"""The tables `probes` and `contamination` from files on disk; `mrb probes`, and judging with probes."""

from collections.abc import Callable
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mrb_lib.benchmarks.benchmark import Benchmark, save
from mrb_lib.benchmarks.meta import BenchmarkMeta
from mrb_lib.demo.build import write_demo
from mrb_lib.probes import PROBES
from mrb_lib.verdicts.manifest import Manifest

from .conftest import write_run

ITEMS, SIZE = 40, 3


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Forty items with three responses, half of them from after a cut-off; runs of a judge by two prompts."""
    rows, labels, rng = [], [], np.random.default_rng(0)
    for item in range(ITEMS):
        worth = rng.permutation(SIZE)
        for a, b in combinations(range(SIZE), 2):
            date = ["2020-05", "2025", "2023-10", None][item % 4]
            rows.append((f"i{item}", f"q{item}", f"{item} r{a}", f"{item} r{b}", date))
            labels.append("A" if worth[a] > worth[b] else "B")
    cases = pd.DataFrame(rows, columns=["item", "question", "response_a", "response_b", "date"])
    cases = cases.assign(case_id=[f"c{i}" for i in range(len(rows))], images=[[] for _ in rows])
    votes = pd.DataFrame({"case_id": cases["case_id"], "annotator": "r", "dimension": "overall", "choice": labels})
    folder = tmp_path_factory.mktemp("prompts") / "bench"
    save(Benchmark(BenchmarkMeta("prompted", "simulated", ("overall",)), cases, votes), folder)
    for run, prompt, right in (("one", "plain", 0.95), ("two", "reasoned", 0.6)):
        write_run(folder / "runs", Manifest(run, "gpt-4o", prompt_id=prompt, prompt_hash=prompt), votes, right, seed=1)
    write_run(folder / "runs", Manifest("other", "mine", prompt_id="plain"), votes, 1.0, scores=True)
    return folder


def test_templates_are_told_from_the_manifests(mrb: Callable, bench: Path) -> None:
    [pair] = mrb("analyze", bench, "--table", "probes", "--json").rows
    assert (pair["judge"], pair["judge_1"], pair["judge_2"]) == ("gpt-4o", "gpt-4o@one", "gpt-4o@two")
    assert (pair["prompt_1"], pair["prompt_2"]) == ("plain", "reasoned")
    assert pair["p_adjusted"] < 0.05
    assert pair["shared_flips"] == pytest.approx(0.35**2, abs=0.1)
    assert pair["changed_beyond_noise"] is None
    assert "noise is unknown" in pair["reason"]
    text = mrb("analyze", bench, "--table", "probes")
    assert "Accuracy differs significantly in 1 of 1 comparisons of two prompts" in " ".join(text.out.split())
    assert text.err == ""


def test_a_roster_of_ones_own_states_a_cutoff(mrb: Callable, bench: Path, tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    own.write_text('[[judge]]\nname = "mine"\nengine = "endpoint"\nmodel = "mine-1"\ncutoff = "2021-01"\n')
    asked = ("analyze", bench, "--table", "contamination", "--json", "--roster", own)
    found = next(row for row in mrb(*asked).rows if row["judge"] == "mine")
    assert (found["cutoff"], found["cutoff_of"]) == ("2021-01", "mine")
    assert [found[f"n_{name}"] for name in ("before", "after")] == [30, 60]
    said = mrb("analyze", bench, "--table", "accuracy", "--roster", own)
    assert "--roster changes nothing: table accuracy does not read it" in said.err
    own.write_text('[[judge]]\nname = "mine"\nengine = "endpoint"\nmodel = "mine-1"\ncutoff = "soon"\n')
    assert "cutoff" in mrb(*asked).refusal


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("probes") / "bench"
    write_demo(folder, cases=26)
    return folder


def test_the_list_names_every_probe_and_what_should_follow(mrb: Callable) -> None:
    lines = mrb("probes").out.splitlines()
    assert len(lines) == len(PROBES)
    listed = mrb("probes", "--json").json
    assert [one["name"] for one in listed] == list(PROBES)
    assert {one["expected"] for one in listed} == {"same", "worse", "flips"}
    assert {one["changes"] for one in listed} == {"image", "response", "question", "prompt"}


def test_judging_and_the_table_of_probes(mrb: Callable, demo: Path, tmp_path: Path) -> None:
    probes = "response/lengthened,image/mirrored"
    judged = mrb("judge", demo, tmp_path / "runs", "--judge", "longer", "--probe", probes).ok
    assert "probe image/mirrored: does not apply to" in judged.err
    table = mrb("analyze", demo, tmp_path / "runs", "--table", "probes", "--dimension", "overall", "--json").ok
    rows = [row for row in table.rows if row["part"] == "probe"]
    changed = {row["severity"]: row["changed"] for row in rows if "lengthened" in row["probe"]}
    assert changed.keys() == {1, 2, 3}
    assert 0.2 < changed[1] <= changed[2] <= changed[3]


def _german(folder: Path, text: str = "Was zeigt das Bild\x1b[31m?") -> Path:
    path = folder / "deutsch.csv"
    path.write_text(f"case_id,question\nsim-000000,{text}\nsim-000001,{text}\nelsewhere,{text}\n", encoding="utf-8")
    return path


def test_the_texts_of_a_file_are_judged_told_and_expected_to_change_nothing(
    mrb: Callable, demo: Path, tmp_path: Path
) -> None:
    path, runs = _german(tmp_path), tmp_path / "runs"
    (tmp_path / "answers.jsonl").write_text('{"case_id": "sim-000002", "response_a": "Nein."}', encoding="utf-8")
    command = (
        "judge", demo, runs, "--judge", "first", "--probe", "response/lengthened:1", "--probe-file", path,
        "--probe-file", tmp_path / "answers.jsonl",
    )  # fmt: skip
    judged = mrb(*command).ok
    assert "probe question/file-deutsch: does not apply to 24 of 26 cases (the file has no row for it)" in judged.err
    assert "question/file-deutsch: 1 of 3 cases of its file are not in the benchmark ('elsewhere')" in judged.err
    assert "probe response/file-answers: does not apply to 25 of 26 cases" in judged.err
    again = mrb(*command)
    assert "first: 0 SIMULATED verdicts made" in again.out
    path.unlink()
    table = mrb("analyze", demo, runs, "--table", "probes", "--dimension", "overall", "--json").ok
    rows = {row["probe"]: row for row in table.rows if row["part"] == "probe"}
    assert rows.keys() == {"response/lengthened", "question/file-deutsch", "response/file-answers"}
    german = rows["question/file-deutsch"]
    assert (german["expected"], german["n"], german["changed"], german["target_shift"]) == ("same", 2, 0, None)
