"""What a paper shows of a work folder is what the tables of the folder hold."""

from pathlib import Path

import pandas as pd
import pytest

import mrb_lib as mrb
from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.build.construct.simulated import write_simulated_work
from mrb_lib.build.construct.work import KEPT, Work, create_work
from mrb_lib.report.construction import difficulty, funnel, left
from tests.notebooks.conftest import small as small


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Work:
    return write_simulated_work(tmp_path_factory.mktemp("construction") / "work", items=60)


def test_the_frames_count_what_the_folder_holds(work: Work, pictured: Benchmark) -> None:
    table, (steps, _) = work.funnel(), funnel(work, pictured)
    for (_, rows), (step, own) in zip(
        steps.groupby("step", sort=False), table.groupby("step", sort=False), strict=True
    ):
        kept = own[own["reason"] == KEPT].iloc[0]
        assert (rows["n_in"].iloc[0], rows["n_out"].iloc[0]) == (kept["n_in"], kept["n_out"]), step
        assert rows["n_items"].fillna(0).sum() == kept["n_in"] - kept["n_out"]
    rows, options = left(work, pictured)
    assert options == {"by": "organ"}
    assert rows.loc[rows["step"] == "paired", "n_items"].sum() == len(work.entering("release"))
    bins, _ = difficulty(work, pictured)
    decided = work.decisions().query("step == 'filter'")["kept"]
    assert (bins["kept"].sum(), bins["left_out"].sum()) == (decided.sum(), (~decided).sum())


def test_reasons_are_in_words(work: Work, pictured: Benchmark) -> None:
    reasons = funnel(work, pictured)[0]["reason"].dropna()
    assert reasons.str.contains("right answers above 3").any()
    assert reasons.str.contains("relevance below 3").any()
    assert not reasons.str.contains("^not |[<>=]").any()


def test_the_gold_labels_of_a_benchmark_that_was_made_of_it_are_a_step(work: Work, pictured: Benchmark) -> None:
    items = work.items()["item_id"].head(len(pictured.cases)).tolist()
    cases = pictured.cases.assign(item=[*items, *items][: len(pictured.cases)])
    steps, _ = funnel(work, Benchmark(pictured.meta, cases, pictured.annotations, pictured.images))
    last = steps.iloc[-1]
    assert (last["step"], last["n_in"]) == ("given a gold label", len(cases))


def test_what_is_not_there_has_a_reason(pictured: Benchmark, small: Path, tmp_path: Path) -> None:
    pages = mrb.paper(mrb.open(small))
    with pytest.raises(mrb.NotApplicable, match="no work folder is named"):
        pages.made("")
    empty = create_work(tmp_path / "empty", "ours", "clinical")
    with pytest.raises(mrb.NotApplicable, match="no step of ours is finished"):
        pages.made(str(empty.path))
    with pytest.raises(mrb.InputError):
        pages.made(str(tmp_path / "nowhere"))


def test_a_simulated_folder_says_so_though_the_benchmark_is_not(work: Work, small: Path) -> None:
    drawn = mrb.paper(mrb.open(small)).made(str(work.path), "difficulty")
    assert any(text.get_gid() == "simulated" for text in drawn.texts)
    assert isinstance(funnel(work, mrb.load(small))[0], pd.DataFrame)
