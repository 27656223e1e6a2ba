"""A judge with random weights judges probed cases only where the other judges are made on the spot, too."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from mrb_lib.data.benchmark import load, save
from mrb_lib.data.demo.build import write_demo
from mrb_lib.notebook import open_workspace
from mrb_lib.notebook.absent import Absent
from mrb_lib.notebook.live.probes import TINY_WITH, ProbedVerdicts, random_weights
from mrb_lib.notebook.workspace import Workspace


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    folder = tmp_path_factory.mktemp("small")
    write_demo(folder, cases=20, seed=5)
    benchmark = load(folder)  # what judging takes is the length of the responses
    short = {name: benchmark.cases[name].str[:120] for name in ("response_a", "response_b")}
    save(replace(benchmark, cases=benchmark.cases.assign(**short)), folder)
    return open_workspace(str(folder), resamples=40)


def test_none_is_made_where_the_runs_hold_probed_cases(workspace: Workspace, tmp_path: Path) -> None:
    assert isinstance(random_weights(ProbedVerdicts(workspace), tmp_path), Absent)
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_the_probes_reach_it_in_both_orders_and_it_says_what_it_is(workspace: Workspace, tmp_path: Path) -> None:
    made = [random_weights(ProbedVerdicts(workspace, "SIMULATED"), tmp_path / name) for name in ("one", "two")]
    verdicts = made[0]
    assert isinstance(verdicts, pd.DataFrame)
    assert set(verdicts["judge"]) == {"RANDOM-WEIGHTS+packed"}
    assert set(verdicts["probe"]) == {"none", *TINY_WITH.split(",")}
    here = verdicts[verdicts["dimension"] == "overall"]
    assert here.groupby("probe").size().eq(12 * 2).all()
    pd.testing.assert_frame_equal(*made)  # type: ignore[arg-type]  # both are frames


def test_torch_is_not_imported_before_one_is_made() -> None:
    program = "import sys, mrb_lib.notebook.live.probes, mrb_lib.notebook.live.telling\nprint('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
