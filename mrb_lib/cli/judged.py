"""Results of judges that have run: a table of all of them, and what their user should know."""

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Final

import pandas as pd
from rich.console import Console
from rich.table import Table
from rich.text import Text

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.cli.listing import line
from mrb_lib.runs.outcomes import Outcome, RunSummary
from mrb_lib.runs.planned import PlannedJudge
from mrb_lib.stats import analyze as tables
from mrb_lib.verdicts.manifest import read_manifest
from mrb_lib.verdicts.parts import DamagedPartError
from mrb_lib.verdicts.store import RunTotals, iter_verdicts, totals
from mrb_lib.verdicts.training import training_cases

WIDTH: Final = 100
POLICY: Final = "balanced"
MEASURES: Final = ("n", "accuracy", "n_both", "consistency", "first_rate", "first_rate_low", "first_rate_high")
_MAIN: Final = "overall"
# A share whose whole interval lies beyond these is far from the half of a judge that does not heed the position.
_LEAST, _MOST = 0.25, 0.75


@dataclass(frozen=True)
class JudgedRow:
    """One judge of a plan.

    Attributes
    ----------
    planned : who was to judge, and how
    outcome : what became of it; None where it was not started
    """

    planned: PlannedJudge
    outcome: Outcome | None = None

    @property
    def folder(self) -> Path | None:
        """Its run; None where there is none."""
        folder = None if self.outcome is None else self.outcome.folder
        return folder if folder is not None and folder.is_dir() else None

    @cached_property
    def totals(self) -> RunTotals:
        """Return the totals of its run; empty where there is none, or a damaged part, which `measured` tells."""

        try:
            return RunTotals() if self.folder is None else totals(self.folder)
        except DamagedPartError:
            return RunTotals()


def main_dimension(benchmark: Benchmark) -> str:
    """The dimension that a table with one number a judge speaks of: `overall`, else the benchmark's first."""
    dimensions = benchmark.meta.dimensions
    return _MAIN if _MAIN in dimensions else dimensions[0]


def measured(benchmark: Benchmark, folders: Sequence[Path]) -> pd.DataFrame:
    """Return how well runs judge on the benchmark's main dimension, from all verdicts that they hold.

    Parameters
    ----------
    folders : of the runs, each once

    Returns
    -------
    DataFrame
        A row a run, by the name of its folder, with the columns `MEASURES`: `accuracy` over `n` cases by the policy
        `POLICY`; over the `n_both` cases answered in both orders `consistency` and, with its 95% interval,
        `first_rate`, the share of verdicts with a winner that chose the response shown first. Null where undefined,
        as all of it is where no verdict is on the dimension.

    Raises
    ------
    InputError
        A part is damaged, or the record of a judge's training was changed.
    """
    out = pd.DataFrame(index=pd.Index([folder.name for folder in folders]), columns=list(MEASURES), dtype=float)
    if not folders:
        return out

    columns = tuple(
        dict.fromkeys(name for table in ("accuracy", "consistency") for name in tables.verdict_columns(table))
    )
    manifests = {folder.name: read_manifest(folder) for folder in folders}
    # A judge may have several runs, as with two prompts; training is known by this name, too.
    names = {manifest.name_of_run: folder for folder, manifest in manifests.items()}
    frames = [
        frame.assign(judge=pd.Categorical([name] * len(frame)))
        for name, folder in zip(names, folders, strict=True)
        for frame in iter_verdicts(folder, benchmark.cases, columns)
    ]
    if not sum(map(len, frames)):
        return out
    training = training_cases(manifests.values(), benchmark)
    panels = tables.read_panels(benchmark, frames, training)
    make = partial(tables.analyze, benchmark, panels, policy=POLICY, resamples=0, training=training)
    accuracy, consistency = (
        frame[frame["dimension"] == main_dimension(benchmark)].set_index("judge").rename(index=names)
        for frame in (make("accuracy", references=0.0), make("consistency"))
    )
    out.update(accuracy[["n", "accuracy"]])
    both = consistency[consistency["n"] > 0].rename(columns={"n": "n_both"})
    out.update(both[list(MEASURES[2:])])
    return out


def measures_of(measures: pd.DataFrame, folder: Path) -> dict[str, float]:
    """The measures of a run that are known, by name; see `measured`."""
    return {str(name): float(value) for name, value in measures.reindex([folder.name]).iloc[0].dropna().items()}


def position_bias(known: Mapping[str, float]) -> str:
    """Return a sentence on `measures_of` a run; empty where no position is preferred beyond doubt."""
    rate, low, high = (known.get(name, 0.5) for name in ("first_rate", "first_rate_low", "first_rate_high"))
    if low > _MOST:
        return f"chose the first-shown in {rate:.0%} of verdicts: position decides more than the responses"
    if high < _LEAST:
        return f"chose the second-shown in {1 - rate:.0%} of verdicts: position decides more than the responses"
    return ""


def judged_table(benchmark: Benchmark, rows: Sequence[JudgedRow], measures: pd.DataFrame) -> str:
    """A row a judge, at most `WIDTH` wide, what is undefined blank; columns without any value are left out.

    Parameters
    ----------
    measures : see `measured`
    """
    cells = [_cells(row, measures) for row in rows]
    names = [each["judge"] for each in cells]
    for row, each in zip(rows, cells, strict=True):
        if names.count(each["judge"]) > 1 and row.folder is not None:
            each["judge"] += f"@{row.folder.name}"  # as other tables tell the runs of one judge apart
    shown = [name for name in cells[0] if any(each[name] for each in cells)]
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in shown:
        is_text = name in ("judge", "statuses")
        table.add_column(name, justify="left" if is_text else "right", no_wrap=not is_text, overflow="fold")
    for each in cells:
        table.add_row(*(Text(line(each[name])) for name in shown))
    mark = " (SIMULATED data)" if benchmark.meta.kind == "simulated" else ""
    console = Console(file=io.StringIO(), width=WIDTH, color_system=None)
    with console.capture() as written:
        console.print(
            f"{benchmark.meta.name}{mark}: accuracy (policy {POLICY}), consistency and first-shown rate on "
            f"{main_dimension(benchmark)}\n",
            markup=False, highlight=False,
        )  # fmt: skip
        console.print(table)
    return "\n".join(text.rstrip() for text in written.get().rstrip().split("\n"))


def _cells(row: JudgedRow, measures: pd.DataFrame) -> dict[str, str]:
    """The cells of a row by their headings; empty where there is nothing."""
    held = row.totals
    known = {} if row.folder is None else measures_of(measures, row.folder)
    done = row.outcome if isinstance(row.outcome, RunSummary) else None
    state = ""
    if row.outcome is None:
        state = "not started"
    elif not isinstance(row.outcome, RunSummary):
        state = "interrupted" if row.outcome.is_interrupted else "failed"
    tokens = [count for count in (held.prompt_tokens, held.completion_tokens) if count is not None]
    statuses = ", ".join(f"{count:,} {status}" for status, count in held.statuses.items())
    return {
        "judge": row.planned.name if done is None else done.judge,
        "verdicts": f"{sum(held.statuses.values()):,}" if held.statuses else "",
        "statuses": "; ".join(text for text in (state, statuses) if text),
        "first\nshown": _share(known.get("first_rate")),
        "consis-\ntency": _share(known.get("consistency")),
        "accuracy": _share(known.get("accuracy")),
        "n": f"{known['n']:,.0f}" if known.get("n") else "",
        "seconds": "" if done is None else f"{done.seconds:,.1f}",
        "tokens": f"{sum(tokens):,}" if tokens else "",
        "USD": "" if held.cost_usd is None else f"{held.cost_usd:.4f}",
    }


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"
