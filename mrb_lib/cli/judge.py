"""`mrb judge`: run judges over a benchmark."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from inspect import Parameter
from pathlib import Path
from textwrap import shorten
from typing import Annotated

import pandas as pd
import typer

from mrb_lib.benchmarks.benchmark import Benchmark, load
from mrb_lib.cli.judged import JudgedRow, judged_table, measured, measures_of, packed_instead, position_bias
from mrb_lib.cli.judges import EnginesCommand
from mrb_lib.cli.listing import line
from mrb_lib.cli.options import Bench, DeclaredCommand, Rosters, options_from, parameters
from mrb_lib.cli.presets import chosen
from mrb_lib.cli.progress import verdict_bars
from mrb_lib.judges.budget import Estimate
from mrb_lib.judges.roster.roster import check_name, samples
from mrb_lib.judges.settings import for_repeats
from mrb_lib.runs.juries import check_members
from mrb_lib.runs.local import run_locally
from mrb_lib.runs.outcomes import FailedRunsError, Outcome, RunSummary
from mrb_lib.runs.plan import RETRIABLE
from mrb_lib.runs.planned import PlannedJudge, judge_plan, read_judges
from mrb_lib.tables.errors import InputError, RunError
from mrb_lib.tables.options import options_of
from mrb_lib.verdicts.run_totals import RunTotals, totals

_LONGEST_REASON = 300


class JudgeCommand(EnginesCommand, DeclaredCommand):
    """`mrb judge`, with the options of a planned judge."""

    @property
    def declared(self) -> Iterable[Parameter]:
        """See `DeclaredCommand`."""

        return parameters(options_of(PlannedJudge(), without=("name",)).values())


COMMAND = JudgeCommand


def judge(
    context: typer.Context,
    bench: Bench,
    runs: Annotated[Path, typer.Argument(metavar="RUNS", help="The folder of runs; created if needed.")],
    names: Annotated[
        list[str] | None,
        typer.Option(
            "--judge",
            metavar="NAME...",
            help="Run these judges, after one --judge or several: NAME or NAME+ENGINE of the roster, path:DIR, "
            "endpoint:MODEL or endpoint:MODEL+letters, or a jury as consensus-of:NAME,NAME.",
        ),
    ] = None,
    plan: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Run judges with different options, before those named by --judge: a TOML file of tables [[judge]].",
        ),
    ] = None,
    more: Annotated[list[str] | None, typer.Argument(hidden=True)] = None,
    rosters: Rosters = None,
    preset: Annotated[
        str,
        typer.Option(metavar="NAME", help="paper: order AB, prompt official-form, temperature 0.1, where not set."),
    ] = "",
) -> None:
    """Run judges over a benchmark. Verdicts already in RUNS are kept and not made again.

    A judge that fails stops no other. A plan is a TOML file: each [[judge]] has a name, and any of these options as
    keys with underscores (timeout_s for --timeout), where it differs; engine may also be that of the judge. [common]
    is for all, and the options given here hold where the plan says nothing. All judges of a plan are checked before
    the first starts. At the end a table has what each did.
    """
    context.obj |= chosen(preset, "judge", context.obj) if preset else {}
    usual = options_from(PlannedJudge(), context)
    extra = tuple(rosters or ())
    judges = [] if plan is None else read_judges(plan, usual, runs, extra)
    for name in [*(names or []), *(more or [])]:
        check_name(name, extra)
        check_members(name, runs, partial(check_name, extra=extra))
        judges.append(replace(usual, name=name))
    judges = [one for number, one in enumerate(judges) if one not in judges[:number]]
    if not judges:
        raise InputError("no judge is named; pass --judge NAME (`mrb judges` lists them), or --plan FILE.")
    _say_temperature(judges, extra)
    with_table = plan is not None or len(judges) > 1
    _run(load(bench), runs, judges, extra, with_table=with_table)


def _run(
    benchmark: Benchmark,
    runs: Path,
    judges: Sequence[PlannedJudge],
    extra: Sequence[Path],
    *,
    with_table: bool,
) -> None:
    """Run the judges, and say what became of them, also where somebody stops that."""
    outcomes: list[tuple[PlannedJudge, Outcome]] = []

    def note(one: PlannedJudge, outcome: Outcome) -> None:
        outcomes.append((one, outcome))
        if not isinstance(outcome, RunSummary) and not outcome.is_interrupted and len(judges) > 1:
            typer.echo(line(f"{one.name}: failed: {outcome.reason}"), err=True)

    try:
        with verdict_bars() as step:
            judge_plan(
                benchmark, runs, judges, extra=extra, progress=step, finished=note,
                backend=partial(run_locally, approve=_approve),
            )  # fmt: skip
    except FailedRunsError as error:
        n = f"{len(error.failed)} of {error.n_judges}"
        raise RunError(f"{n} judges failed, see above; what the others did is kept.") from error
    finally:
        rows = [next((JudgedRow(*pair) for pair in outcomes if pair[0] == one), JudgedRow(one)) for one in judges]
        if outcomes:
            _report_all(benchmark, rows, extra, with_table=with_table)
    _fail_if_hopeless(rows)


def _approve(name: str, estimate: Estimate) -> None:
    """Say what requests may cost, and ask whether to go on where that may be more than the budget."""
    typer.echo(f"{name}: {estimate}", err=True)
    if not estimate.may_exceed or not sys.stdin.isatty():
        return
    # A whole line: bars are drawn below it.
    typer.echo(
        f"{name}: that may exceed the budget, at which the run stops and can go on later; start? [y/N]", err=True
    )
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise RunError(f"judge {name}: nothing was sent; name another --budget, or answer y.")


def _say_temperature(judges: Sequence[PlannedJudge], extra: Sequence[Path]) -> None:
    """Say with which temperature repeats are drawn, where the user set none."""
    drawn = {
        one.repeats: for_repeats(one.settings, one.repeats).temperature
        for one in judges
        if for_repeats(one.settings, one.repeats) != one.settings and _samples(one.name, extra)
    }
    for repeats, temperature in drawn.items():
        typer.echo(
            f"temperature {temperature} for all {repeats} repeats: greedy replies would be the same every time "
            "(--temperature sets another)",
            err=True,
        )


def _samples(name: str, extra: Sequence[Path]) -> bool:
    try:
        return samples(name, extra)
    except InputError:
        return False  # there is no such folder, which the check before the start says


def _fail_if_hopeless(rows: Sequence[JudgedRow]) -> None:
    hopeless = [row.outcome.judge for row in rows if row.outcome and set(row.totals.statuses) == {"error"}]
    if hopeless:
        raise RunError(
            f"{', '.join(hopeless)}: every verdict is an error; see above, fix that, then use --retry error."
        )


def _report_all(benchmark: Benchmark, rows: Sequence[JudgedRow], extra: Sequence[Path], *, with_table: bool) -> None:
    """What became of the judges, line by line, and as a table."""
    folders = list(dict.fromkeys(row.folder for row in rows if row.folder is not None))
    try:
        measures = measured(benchmark, folders)
    except InputError as error:
        typer.echo(line(f"how well they judge is not known: {error}"), err=True)
        measures = measured(benchmark, [])
    for row in rows:
        if isinstance(row.outcome, RunSummary):
            _report(row.outcome, row.totals, " SIMULATED" if benchmark.meta.kind == "simulated" else "")
            _report_habits(row, measures, extra)
    if with_table:
        typer.echo("\n" + judged_table(benchmark, rows, measures))


def _report_habits(row: JudgedRow, measures: pd.DataFrame, extra: Sequence[Path]) -> None:
    """What a judge does whatever it is shown."""
    if row.outcome is None or row.folder is None:
        return
    for text in (
        position_bias(measures_of(measures, row.folder)),
        packed_instead(row.planned.name, row.totals.statuses, extra),
    ):
        if text:
            typer.echo(f"{row.outcome.judge}: {text}", err=True)


def _report(done: RunSummary, held: RunTotals, mark: str) -> None:
    """What became of one judge: the result on stdout, what else its user should know on stderr."""
    for member in done.members:
        _report(member, totals(member.folder), mark)
    again = f" ({done.retried} of them again)" if done.retried else ""
    typer.echo(
        f"{done.judge}: {done.made}{mark} verdicts made{again} in {done.seconds:.1f} s, "
        f"{done.before} were there, in {done.folder}"
    )
    typer.echo(f"{done.judge}: {held}")
    if held.usual_error is not None:
        typer.echo(f"{done.judge}: most errors: {shorten(held.usual_error, _LONGEST_REASON)}", err=True)
    failed = [status for status in RETRIABLE if held.statuses.get(status)]
    if failed:
        typer.echo(f"{done.judge}: --retry {','.join(failed)} makes the verdicts without a choice again", err=True)
    if done.waiting:
        typer.echo(f"{done.judge}: {done.waiting} verdicts wait for members that have not judged them", err=True)
    for text in (*done.notices, *done.other_runs):
        typer.echo(f"{done.judge}: {text}", err=True)
