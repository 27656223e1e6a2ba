"""What a notebook says of a work folder is what the folder's tables hold."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.build.construct.simulated import write_simulated_work
from mrb_lib.build.construct.work import KEPT, Work, create_work
from mrb_lib.report.notebook.absent import Absent, reason_of
from mrb_lib.report.notebook.construction import Construction, conclusion, construction, reasons_of
from mrb_lib.report.notebook.workspace import Workspace
from mrb_lib.tables.errors import InputError

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Work:
    return write_simulated_work(tmp_path_factory.mktemp("construction") / "work", items=60)


@pytest.fixture(scope="module")
def clinical(pictured: Benchmark) -> Workspace:
    """A workspace that is not simulated."""
    meta = replace(pictured.meta, kind="clinical", name="ours")
    return Workspace(replace(pictured, meta=meta), pd.DataFrame({"judge": []}), [], "overall", resamples=40)


@pytest.fixture(scope="module")
def made(work: Work, clinical: Workspace, tmp_path_factory: pytest.TempPathFactory) -> Construction:
    found = construction(clinical, str(work.path), tmp_path_factory.mktemp("scratch"))
    assert isinstance(found, Construction)
    return found


def test_a_simulated_folder_says_so_though_the_benchmark_is_not(made: Construction) -> None:
    assert "SIMULATED" in made.note and made.mark == "SIMULATED"


def test_the_frames_count_what_the_folder_holds(made: Construction, work: Work) -> None:
    funnel = work.funnel()
    for step, rows in made.steps.groupby("step"):
        kept = funnel[(funnel["step"] == step) & (funnel["reason"] == KEPT)].iloc[0]
        assert (rows["n_in"].iloc[0], rows["n_out"].iloc[0]) == (kept["n_in"], kept["n_out"])
        assert rows["n"].fillna(0).sum() == kept["n_in"] - kept["n_out"]
    last = made.left[made.left["step"] == "pair"]
    assert last["n"].sum() == len(work.entering("release"))
    assert (made.left["share"] <= 1).all()
    decided = work.decisions().query("step == 'filter'")["kept"]
    assert (made.bins["kept"].sum(), made.bins["left_out"].sum()) == (decided.sum(), (~decided).sum())
    assert made.met["n"].sum() == len(work.pairs()) == made.design.set_index("quantity").loc["n_cases", "value"]
    assert made.counted["n"].sum() == len(work.responses())
    assert set(made.screening["dimension"]) == set(work.choices("screen")["criteria"])
    assert made.screening["krippendorff_alpha"].between(0.1, 0.95).all(), "clinicians share the merit of an item"


def test_the_conclusion_names_the_greatest_loss_and_the_least_agreement(made: Construction) -> None:
    said = conclusion(made)
    most = made.steps.loc[made.steps["n"].idxmax()]
    worst = made.screening.loc[made.screening["krippendorff_alpha"].idxmin()]
    assert f"left out by {most['step']}: {int(most['n'])} for the reason {most['reason']!r}" in said
    assert f"agree least on {worst['dimension']} (alpha {worst['krippendorff_alpha']:.2f} [" in said
    assert said.startswith("Everything in the work folder is SIMULATED.")


def test_a_step_that_left_nothing_out_has_a_row_without_a_reason() -> None:
    funnel = pd.DataFrame([("start", 3, 2, KEPT, 2), ("start", 3, 2, "tiny", 1), ("pair", 2, 2, KEPT, 2)],
                          columns=["step", "n_in", "n_out", "reason", "n"])  # fmt: skip
    rows = reasons_of(funnel)
    assert rows["reason"].fillna("-").tolist() == ["tiny", "-"]
    assert rows["n"].fillna(-1).tolist() == [1, -1]


def test_what_is_not_there_has_a_reason(clinical: Workspace, tmp_path: Path) -> None:
    absent = construction(clinical, "", tmp_path)
    assert isinstance(absent, Absent) and "no work folder is named" in reason_of(absent)
    empty = create_work(tmp_path / "empty", "ours", "clinical")
    assert "no step of ours is finished" in reason_of(construction(clinical, str(empty.path), tmp_path))
    with pytest.raises(InputError, match="is not a work folder"):
        construction(clinical, str(tmp_path / "nowhere"), tmp_path)
