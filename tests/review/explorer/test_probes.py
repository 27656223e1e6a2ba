"""Which probe would have caught a judge's errors: the filter, its counts, and the case as a probe changes it."""

from html import escape
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.probes.from_file import file_probes
from mrb_lib.review.explorer.adjudicate import Reviews
from mrb_lib.review.explorer.answers import ExplorerAnswers
from mrb_lib.review.explorer.data import ExplorerData, explorer_data
from mrb_lib.review.failures.index import build_index, open_index
from mrb_lib.runs.execute import judge
from mrb_lib.runs.plan import ProbeOptions
from mrb_lib.verdicts.manifest import Manifest
from tests.review.explorer.asking import exported, ids, opened, rows_of

PROBES = ("image/noise:4", "image/removed", "<script>alert(1)</script>")
JUDGE, DIMENSION = "hasty", "overall"
HOSTILE = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def verdicts(pictured: Benchmark) -> pd.DataFrame:
    """Two judges, plain and under three probes, in both orders; the last probe has no verdict of one of them."""
    axes = {"judge": (JUDGE, "steady"), "case_id": pictured.cases["case_id"], "dimension": pictured.meta.dimensions}
    axes |= {"order": ("AB", "BA"), "probe": ("none", *PROBES)}
    frame = pd.MultiIndex.from_product(list(axes.values()), names=list(axes)).to_frame(index=False).astype("str")
    choice = np.random.default_rng(4).choice(np.array(["A", "B", "tie"], dtype=object), len(frame), p=[0.8, 0.1, 0.1])
    frame = frame.assign(repeat=0, choice=pd.Series(choice, dtype="str"), p_a=np.nan, status="ok", reply=frame["probe"])
    frame = frame[~(frame["judge"].eq("steady") & frame["probe"].eq(PROBES[2]))].reset_index(drop=True)
    unmoved = frame["judge"].eq("steady") & frame["probe"].isin(["none", PROBES[0]])
    return frame.assign(choice=frame["choice"].mask(unmoved, "A"))


@pytest.fixture(scope="module")
def answers(pictured: Benchmark, verdicts: pd.DataFrame) -> ExplorerAnswers:
    return opened(pictured, verdicts)


def _moved(verdicts: pd.DataFrame, probe: str) -> set[str]:
    """By hand: the cases on which the judge's choice under the probe is another one in some order."""
    rows = verdicts[verdicts["judge"].eq(JUDGE) & verdicts["dimension"].eq(DIMENSION)]
    wide = rows.pivot_table(index=["case_id", "order"], columns="probe", values="choice", aggfunc="first")
    return set(wide.index[wide["none"] != wide[probe]].get_level_values("case_id"))


def test_the_filter_keeps_the_cases_that_the_probe_changed(answers: ExplorerAnswers, verdicts: pd.DataFrame) -> None:
    query = {"judge": JUDGE, "dimension": DIMENSION}
    by_probe = [set(ids(answers, **query, changed_by=probe)) for probe in PROBES]
    assert by_probe == [_moved(verdicts, probe) for probe in PROBES]
    assert set(ids(answers, **query, changed_by="*")) == set.union(*by_probe)
    assert set(ids(answers, judge="steady", changed_by=PROBES[0])) == set()


def test_a_case_counts_the_verdicts_in_view_that_each_probe_changed(answers: ExplorerAnswers) -> None:
    by_probe = {probe: counts for probe, *counts in answers.case({"position": 0, "judge": "steady"})["probes"]}
    n = len(answers.data.kinds.dimensions)
    assert by_probe[PROBES[0]] == [n, 0]
    assert by_probe[PROBES[2]] == [0, 0]  # the judge has no verdict under it
    assert by_probe[PROBES[1]][1] > 0


def test_the_page_of_a_case_has_the_plain_verdicts_and_each_probe_its_own(answers: ExplorerAnswers) -> None:
    question = {"position": 0, "judge": JUDGE, "dimension": DIMENSION}
    assert "image/removed" not in answers.case(question)["html"]
    shown = answers.probed({**question, "probe": "image/removed"})
    assert "no image is shown" in shown["html"]
    assert "steady" not in shown["html"]
    assert "relevance" not in shown["html"]
    assert "No run says with which seed" in shown["html"]


def test_runs_of_two_seeds_are_shown_as_each_drew_the_case(pictured: Benchmark, verdicts: pd.DataFrame) -> None:
    data = explorer_data(pictured, verdicts)

    def manifest(seed: int) -> Manifest:
        return Manifest("r", "j", options={"probes": ["none", "image/noise:4"], "seed": seed})

    def page(*seeds: int) -> str:
        manifests = dict(zip((JUDGE, "steady"), map(manifest, seeds), strict=True))
        made = ExplorerData(data.benchmark, data.kinds, data.labels, data.votes, data.verdicts, manifests)
        return made.probed_html(0, "image/noise:4")

    assert page(3, 3).count("<section") == 1
    two = page(3, 4)
    assert two.count("<section") == 2
    assert "seed 3" in two
    assert "seed 4" in two


def test_the_texts_of_a_file_are_shown_where_the_file_is_named_and_another_file_is_said_to_be_one(
    pictured: Benchmark, tmp_path: Path
) -> None:
    path, runs = tmp_path / "french.csv", tmp_path / "runs"
    pictured.cases[["case_id"]].assign(response_a=HOSTILE).to_csv(path, index=False)
    judge(pictured, runs, ["longer"], probes=ProbeOptions(files=(path,)))
    index = open_index(build_index(runs, pictured, tmp_path / "index"))
    question = {"position": 0, "probe": "response/file-french"}

    def page(*files: Path) -> str:
        data = explorer_data(pictured, index, files=file_probes(files))
        return str(ExplorerAnswers(data, Reviews(pictured.meta.name, None)).probed(question)["html"])

    assert "<script" not in page(path)
    assert f"<ins>{escape(HOSTILE)}</ins>" in page(path)
    assert "longer was shown another file" not in page(path)
    assert "mrb review --probe-file FILE" in page()
    pictured.cases[["case_id"]].assign(response_a="edited").to_csv(path, index=False)
    assert "longer was shown another file of this name" in page(path)


def test_the_files_say_what_probes_changed(answers: ExplorerAnswers) -> None:
    query = {"judge": JUDGE, "dimension": DIMENSION, "changed_by": PROBES[1]}
    rows = rows_of(exported(answers, query))
    assert {row["case_id"] for row in rows} == set(ids(answers, **query))
    assert all(PROBES[1] in row["changed by"].split("; ") for row in rows)
    page = exported(answers, query, "html")
    assert f'changed by <bdi dir="auto">{PROBES[1]}</bdi>' in page
    assert page.count("no image is shown") == len(rows)
