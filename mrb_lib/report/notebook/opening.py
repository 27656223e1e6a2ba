"""Open what the parameters of a notebook name."""

from __future__ import annotations

from pathlib import Path
from typing import Final, cast

import pandas as pd

from mrb_lib.benchmarks.benchmark import Benchmark, load
from mrb_lib.judges.roster.group_file import read_group_file
from mrb_lib.report.notebook.workspace import COLUMNS, Workspace
from mrb_lib.report.places import locate
from mrb_lib.review.records.reviewed import reviewed, tags_of
from mrb_lib.stats.where import asks_for_tags, restricted
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.schema import POLICIES
from mrb_lib.verdicts.manifest import read_manifest
from mrb_lib.verdicts.store import ANALYSIS_COLUMNS, COSTS, empty_verdicts, load_verdicts, run_folders
from mrb_lib.verdicts.training import mark_seen, training_cases

DEFAULT_DIMENSION: Final = "overall"


def open_workspace(
    benchmark: str,
    runs: str = "",
    *,
    judges: str = "",
    groups: str = "",
    dimension: str = "overall",
    by: str = "",
    where: str = "",
    policy: str = "balanced",
    gold: str = "majority",
    cluster: str = "",
    resamples: int = 2000,
    seed: int = 0,
    out: str = "",
) -> Workspace:
    """Open what a notebook's parameters name.

    Parameters
    ----------
    benchmark : a benchmark folder, or "demo" for the embedded benchmark (a folder of
        that name is reached as "./demo")
    runs : a folder of runs; empty for `runs` inside the benchmark folder, or no
        verdicts where that is missing. For "demo", empty means the weightless judges.
    judges : the judges to show, separated by commas, or `group:medical` for all of a group; empty for all
    groups : a file that states the groups of judges, see `mrb_lib.judges.roster.group_file`; empty for none
    dimension : the one that single-dimension figures show; "overall" is the last one where there is none of that name
    by : a column of the cases to break down by; empty leaves it to the notebook
    where : only the cases that this leaves, see `mrb_lib.stats.where.cases_where`; empty for all. Every
        caption says so
    policy, gold, resamples, seed : as for `mrb_lib.analyze`
    cluster : likewise; empty for the default clusters
    out : the folder to publish in; empty publishes nothing

    Raises
    ------
    InputError
        A folder is missing, a table breaks its contract, or an option names what is not there.

    Notes
    -----
    Validated by tests/report/notebook/test_workspace.py.
    """
    folder, runs_folder = locate(benchmark, runs)
    loaded = load(folder)
    verdicts, manifests = empty_verdicts()[[*ANALYSIS_COLUMNS, *COSTS]], []
    if runs_folder is not None:
        manifests = [read_manifest(path) for path in run_folders(runs_folder)]
        verdicts = load_verdicts(runs_folder, loaded.cases, costs=True)
    training = training_cases(manifests, loaded)
    verdicts = mark_seen(verdicts, training)
    if policy not in POLICIES:
        raise InputError(f"policy {policy!r} is unknown; use one of {', '.join(POLICIES)}.")
    columns = [*loaded.cases.columns, *COLUMNS]
    if by and by not in columns:
        raise InputError(f"by {by!r}: the cases have no such column; use one of {', '.join(dict.fromkeys(columns))}.")
    if where:
        said = (
            reviewed(loaded, sorted(verdicts["judge"].unique()), seed=seed).adjudications if "review" in where else None
        )
        loaded, kept = restricted(
            loaded,
            verdicts,
            where,
            policy=policy,
            adjudications=said,
            tags=tags_of(loaded) if asks_for_tags(where) else None,
        )
        verdicts = cast("pd.DataFrame", kept)  # as given
    group_file = read_group_file(Path(groups)) if groups else None
    opened = Workspace(
        loaded, verdicts, manifests, _dimension(loaded, dimension), by=by, where=where, policy=policy, gold=gold,
        cluster=cluster, resamples=resamples, seed=seed, out=out, group_file=group_file, training=training,
    )  # fmt: skip
    if group_file is not None:
        opened.groups()  # refuses a file that names none of the judges
    return opened.only(judges)


def _dimension(benchmark: Benchmark, name: str) -> str:
    dimensions = benchmark.meta.dimensions
    # The default has to work on a benchmark that has no such dimension; a name that was typed has to be right.
    if name not in dimensions and name != DEFAULT_DIMENSION:
        raise InputError(f"dimension {name!r} is not in the benchmark; use one of {', '.join(dimensions)}.")
    return name if name in dimensions else dimensions[-1]
