"""Many judges, each run in its own way: all are checked before the first starts, and a failure stops no other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field, replace
from functools import partial
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.judges.budget import Budget
from mrb_lib.judges.jury import parse_jury
from mrb_lib.judges.plan_file import changed_by_table, read_plan
from mrb_lib.judges.roster.engines import public_engines
from mrb_lib.judges.roster.roster import FOLDER, check_name, resolve
from mrb_lib.judges.settings import Settings
from mrb_lib.runs import execute
from mrb_lib.runs.interruption import InterruptedRunError
from mrb_lib.runs.juries import has_run
from mrb_lib.runs.local import Backend, run_locally
from mrb_lib.runs.outcomes import FailedRun, FailedRunsError, Outcome, RunSummary
from mrb_lib.runs.plan import ProbeOptions, check_orders, check_retry
from mrb_lib.runs.preflight import problems
from mrb_lib.runs.progress import ReportProgress
from mrb_lib.tables.errors import InputError, MrbError, nearest
from mrb_lib.tables.options import Names, Option, Paths, checked_dataclass
from mrb_lib.tables.schema import ORDERS


@checked_dataclass
class PlannedModel:
    """A model and how it is run.

    Attributes
    ----------
    name : as `mrb judge` names judges; empty where it is yet to be named
    """

    name: Annotated[str, Option("Name the model.")] = ""
    settings: Settings = field(default_factory=Settings)
    engine: Annotated[
        Literal["local", "ray"], Option("Run in this process (local), or on many GPUs and machines (ray).")
    ] = "local"
    workers: Annotated[
        int | None, Field(ge=1), Option("With --engine ray: load N models at once.", "N", is_rare=True)
    ] = None
    gpus_per_worker: Annotated[
        float | None, Field(ge=0), Option("With --engine ray: give each worker N GPUs.", "N", is_rare=True)
    ] = None

    def __post_init__(self) -> None:
        if self.engine == "local" and (self.workers is not None or self.gpus_per_worker is not None):
            raise InputError("workers and gpus_per_worker: need engine ray; name it, or leave them out.")
        if self.engine == "ray" and self.settings.budget is not None:
            raise InputError("a budget: servers are asked by engine local; leave one of the two out.")


@checked_dataclass
class PlannedJudge(PlannedModel):
    """A judge and how it is to be run; see `mrb_lib.runs.judge`."""

    orders: Annotated[Names, Option("Show the responses in these orders: AB, BA or AB,BA.", "ORDERS")] = ORDERS
    repeats: Annotated[int, Field(ge=1), Option("Make N verdicts per case, dimension and order.", "N")] = 1
    limit: Annotated[int | None, Field(ge=1), Option("Judge only the first N cases.", "N")] = None
    probe: Annotated[
        Names,
        Option("Judge the cases also as probes change them: image/blur:3,response/* (`mrb probes`).", "NAMES"),
    ] = ()
    probe_file: Annotated[
        Paths,
        Option(
            "Use a probe of your own: a table of case_id and of other texts (question, response_a, response_b) that "
            "should not change a verdict, such as translations; repeatable.",
            "FILE",
            is_file=True,
        ),
    ] = ()
    probe_cases: Annotated[
        int | None, Field(ge=1), Option("Probe only N cases, with each organ's share; default: all.", "N")
    ] = None
    retry: Annotated[Names, Option("Make verdicts with these statuses again: unparsed,refused,error.", "STATUSES")] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        check_orders(self.orders, self.repeats)
        check_retry(self.retry)
        _ = self.probes  # which checks its names and files

    @property
    def probes(self) -> ProbeOptions:
        """Which probes are applied."""
        return ProbeOptions(self.probe, self.probe_cases, self.probe_file)


ReportPlanned = Callable[[PlannedJudge, Outcome], None]


def read_judges(file: Path, usual: PlannedJudge, runs: Path, extra: Sequence[Path] = ()) -> list[PlannedJudge]:
    """Return the judges of a plan, in its order: tables `[[judge]]`, each with a `name` and its differences.

    A key is any option of `PlannedJudge`; `engine` may also be that of the judge, as after a plus sign in its name.
    The files of a prompt and of probes may be named from the folder of the plan. `[common]` holds what all share.

    Parameters
    ----------
    usual : what holds where the plan says nothing
    runs : the folder of runs, in which a member of a jury may be known that is no judge here
    extra : the user's own roster files

    Raises
    ------
    InputError
        With a line for every mistake in the file: an unknown key, a value of another type or out of range, a judge
        without a name or an unknown one.
    """
    common, tables = read_plan(file, "judge")
    shared, wrong = changed_by_table(usual, common, f"{file}, [common]", file.parent, without=("name",))
    judges: list[PlannedJudge] = []
    for number, table in enumerate(tables, 1):
        where = f"{file}, judge {table.get('name', number)!r}"
        engine, engines = table.get("engine"), ("local", "ray", *public_engines())
        if engine in public_engines() and "name" in table:
            table["name"] = f"{table['name']}+{table.pop('engine')}"
        elif engine == "local":
            table = {"workers": None, "gpus_per_worker": None, **table}
        one, more = changed_by_table(shared, table, where, file.parent)
        if engine not in (None, *engines):
            more = [f"{where}, engine {engine!r}: is unknown; use {', '.join(engines)}.{nearest(str(engine), engines)}"]
        elif not one.name and not more:
            more = [f"{where}, key 'name': is missing; write name = \"...\", as for --judge."]
        wrong += more or _unknown(one.name, where, runs, extra)
        judges.append(one)
    if wrong:
        raise InputError("\n".join(wrong))
    return judges


def _unknown(name: str, where: str, runs: Path, extra: Sequence[Path]) -> list[str]:
    """What is wrong with a name; that a folder holds no weights is no mistake of the plan."""
    try:
        jury = parse_jury(name)
        for one in [name] if jury is None else [member for member in jury.members if not has_run(member, runs)]:
            if not one.startswith(FOLDER):
                check_name(one, extra)
    except InputError as error:
        return [f"{where}: {error}"]
    return []


def judge_plan(
    benchmark: Benchmark,
    runs: Path,
    judges: Sequence[PlannedJudge],
    *,
    extra: Sequence[Path] = (),
    backend: Backend = run_locally,
    progress: ReportProgress | None = None,
    finished: ReportPlanned | None = None,
) -> list[RunSummary]:
    """Run judges over a benchmark, each in its own way; see `mrb_lib.runs.judge` for what it does with each.

    Several are checked before the first starts (see `mrb_lib.runs.preflight`): those that could not run are not
    tried.

    Validated by tests/runs/test_planned.py.

    Parameters
    ----------
    benchmark, runs, extra, progress : see `mrb_lib.runs.judge`
    judges : equal ones are run once; those whose settings name the same budget spend it together
    backend : where batches are answered that are not spread over Ray
    finished : called with what became of each judge as soon as that is known, of those that could not run at first

    Returns
    -------
    list of RunSummary
        In the order of the judges.

    Raises
    ------
    InputError, InterruptedRunError, RunError
        As `mrb_lib.runs.judge`; `FailedRunsError` also where a judge did not pass the check.
    """
    distinct = [one for number, one in enumerate(judges) if one not in judges[:number]]
    done: list[RunSummary] = []
    failed: list[FailedRun] = []

    def report(one: PlannedJudge, outcome: Outcome) -> None:
        if isinstance(outcome, RunSummary):
            done.append(outcome)
        else:
            failed.append(outcome)
        if finished is not None:
            finished(one, outcome)

    ready = []
    for one in distinct:
        try:
            wrong = _problems(benchmark, runs, one, extra) if len(distinct) > 1 else []
        except MrbError as error:
            wrong = [str(error)]
        if wrong:
            report(one, FailedRun(one.name, InputError(" ".join(wrong))))
        else:
            ready.append(one)
    amounts = {one.settings.budget for one in ready}
    budgets = {usd: Budget(usd) if usd is not None else None for usd in amounts}
    for usual, group in groupby(ready, key=lambda one: replace(one, name="")):
        waiting = list(group)
        here = partial(execute.judge, backend=backend, budget=budgets[usual.settings.budget])
        run = _on_ray(usual) if usual.engine == "ray" else here

        def next_finished(outcome: Outcome, waiting: list[PlannedJudge] = waiting) -> None:
            report(waiting.pop(0), outcome)

        try:
            run(
                benchmark, runs, [one.name for one in waiting], orders=usual.orders, repeats=usual.repeats,
                limit=usual.limit, probes=usual.probes, settings=usual.settings, extra=extra, retry=usual.retry,
                progress=progress, finished=next_finished,
            )  # fmt: skip
        except InterruptedRunError:
            raise
        except Exception as error:
            if len(distinct) == 1:
                raise
            for one in waiting:
                report(one, FailedRun(one.name, error))
    if failed:
        raise FailedRunsError(failed, len(distinct))
    return done


def _problems(benchmark: Benchmark, runs: Path, one: PlannedJudge, extra: Sequence[Path]) -> list[str]:
    if one.engine == "ray" and find_spec("ray") is None:
        return [f"judge {one.name!r}: engine ray needs ray; install it with `pip install 'mrb-workbench[scaleout]'`."]
    settings = execute.settings_for(benchmark, one.settings, one.repeats)
    kept = replace(settings, download=False)  # what is not here yet is fetched when the judge's turn has come
    make = partial(resolve, runs=runs, images=benchmark.images, settings=kept, extra=extra)
    is_complete = partial(
        execute.is_complete, benchmark, runs, orders=one.orders, repeats=one.repeats, limit=one.limit,
        probes=one.probes, settings=one.settings, retry=one.retry,
    )  # fmt: skip
    return problems(
        one.name, settings, runs=runs, make=make, extra=extra, here=one.engine == "local", is_complete=is_complete
    )


def _on_ray(one: PlannedJudge) -> Callable[..., list[RunSummary]]:
    from mrb_lib.runs.ray.scaleout import judge_on_ray

    return partial(judge_on_ray, workers=one.workers, gpus_per_worker=one.gpus_per_worker)
