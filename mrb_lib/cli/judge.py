"""`mrb judge`: run judges over a benchmark."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from inspect import Parameter
from pathlib import Path
from textwrap import shorten
from typing import Annotated

import typer

from mrb_lib.benchmarks.benchmark import Benchmark, load
from mrb_lib.cli.judged import JudgedRow, judged_table, measured, measures_of, position_bias
from mrb_lib.cli.judges import EnginesCommand
from mrb_lib.cli.listing import line
from mrb_lib.cli.options import DeclaredCommand, LateBench, Rosters, embedded, options_from, parameters
from mrb_lib.cli.presets import chosen
from mrb_lib.cli.progress import verdict_bars
from mrb_lib.runs.execute import judge_plan
from mrb_lib.runs.juries import check_known
from mrb_lib.runs.local import run_locally
from mrb_lib.runs.outcomes import FailedRun, FailedRunsError, Outcome, RunSummary
from mrb_lib.runs.plan import RETRIABLE
from mrb_lib.runs.planned import PlannedJudge, read_judges
from mrb_lib.tables.errors import InputError, RunError
from mrb_lib.tables.options import options_of
from mrb_lib.verdicts.store import totals

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
    bench: LateBench,
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
        check_known(name, runs, extra)
        judges.append(replace(usual, name=name))
    judges = [one for number, one in enumerate(judges) if one not in judges[:number]]
    if not judges:
        raise InputError("no judge is named; pass --judge NAME (`mrb judges` lists them), or --plan FILE.")
    benchmark = load(embedded(bench))
    outcomes: list[tuple[PlannedJudge, Outcome]] = []

    def note(one: PlannedJudge, outcome: Outcome) -> None:
        outcomes.append((one, outcome))
        if isinstance(outcome, FailedRun) and not outcome.is_interrupted and len(judges) > 1:
            typer.echo(line(f"{one.name}: failed: {outcome.reason}"), err=True)

    try:
        with verdict_bars() as step:
            answering = partial(run_locally, expect=lambda name, cost: typer.echo(f"{name}: {cost}", err=True))
            judge_plan(benchmark, runs, judges, extra=extra, progress=step, finished=note, backend=answering)
    except FailedRunsError as error:
        n = f"{len(error.failed)} of {error.n_judges}"
        raise RunError(f"{n} judges failed, see above; what the others did is kept.") from error
    finally:
        rows = [next((JudgedRow(*pair) for pair in outcomes if pair[0] == one), JudgedRow(one)) for one in judges]
        if outcomes:
            _report_all(benchmark, rows, with_table=plan is not None or len(judges) > 1)
    hopeless = [row.outcome.judge for row in rows if row.outcome and set(row.totals.statuses) == {"error"}]
    if hopeless:
        raise RunError(
            f"{', '.join(hopeless)}: every verdict is an error; see above, fix that, then use --retry error."
        )


def _report_all(benchmark: Benchmark, rows: Sequence[JudgedRow], *, with_table: bool) -> None:
    """Print what became of the judges, line by line, and as a table."""
    folders = list(dict.fromkeys(row.folder for row in rows if row.folder is not None))
    try:
        measures = measured(benchmark, folders)
    except InputError as error:
        typer.echo(line(f"how well they judge is not known: {error}"), err=True)
        measures = measured(benchmark, [])
    for row in rows:
        if isinstance(row.outcome, RunSummary):
            _report(row.outcome, " SIMULATED" if benchmark.meta.kind == "simulated" else "")
            if biased := position_bias(measures_of(measures, row.outcome.folder)):
                typer.echo(f"{row.outcome.judge}: {biased}", err=True)
    if with_table:
        typer.echo("\n" + judged_table(benchmark, rows, measures))


def _report(done: RunSummary, mark: str) -> None:
    """Print what became of one judge: the result on stdout, what else its user should know on stderr."""
    for member in done.members:
        _report(member, mark)
    held, name = totals(done.folder), done.judge
    again = f" ({done.retried} of them again)" if done.retried else ""
    typer.echo(
        f"{name}: {done.made}{mark} verdicts made{again} in {done.seconds:.1f} s, {done.before} were there, in "
        f"{done.folder}\n{name}: {held}"
    )
    texts = [f"most errors: {shorten(held.usual_error, _LONGEST_REASON)}"] if held.usual_error is not None else []
    if failed := [status for status in RETRIABLE if held.statuses.get(status)]:
        texts.append(f"--retry {','.join(failed)} makes the verdicts without a choice again")
    if done.waiting:
        texts.append(f"{done.waiting} verdicts wait for members that have not judged them")
    for text in (*texts, *done.notices, *done.other_runs):
        typer.echo(f"{name}: {text}", err=True)
