"""A judge with random weights judges probed cases only where the other judges are made on the spot, too."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from mrb_lib.benchmarks.benchmark import load, save
from mrb_lib.demo.build import write_demo
from mrb_lib.report.notebook import open_workspace
from mrb_lib.report.notebook.absent import Absent
from mrb_lib.report.notebook.live.probes import TINY_WITH, ProbedVerdicts, random_weights
from mrb_lib.report.notebook.workspace import Workspace


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    folder = tmp_path_factory.mktemp("small")
    write_demo(folder, cases=20, seed=5)
    whole, dimensions = load(folder), ("accuracy", "overall")  # judging takes what the words and dimensions take
    short = {name: whole.cases[name].str[:120] for name in ("response_a", "response_b")}
    votes = whole.annotations[whole.annotations["dimension"].isin(dimensions)].reset_index(drop=True)
    meta = replace(whole.meta, dimensions=dimensions)
    save(replace(whole, meta=meta, cases=whole.cases.assign(**short), annotations=votes), folder)
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
