"""Many judges, each run in its own way: checked before the first starts, and none that fails stops another."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path
from typing import Final, Literal, cast, get_type_hints

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.judges.budget import Budget
from mrb_lib.judges.jury import parse_jury
from mrb_lib.judges.plan_file import checked, read_plan
from mrb_lib.judges.roster.engines import public_engines
from mrb_lib.judges.roster.roster import FOLDER, check_name, resolve
from mrb_lib.judges.settings import Settings
from mrb_lib.runs import execute
from mrb_lib.runs.interruption import InterruptedRunError
from mrb_lib.runs.juries import has_run
from mrb_lib.runs.local import Backend, run_locally
from mrb_lib.runs.outcomes import FailedRun, FailedRunsError, Outcome, RunSummary
from mrb_lib.runs.plan import ProbeOptions, check_limit, check_orders, check_retry
from mrb_lib.runs.preflight import problems
from mrb_lib.runs.progress import ReportProgress
from mrb_lib.tables.errors import InputError, MrbError
from mrb_lib.tables.schema import ORDERS

_NOT_HERE: Final = ("dimensions", "choices", "task", "is_ordered", "definitions", "items", "labels", "shown")
"""Settings that follow from the benchmark."""


@dataclass(frozen=True)
class PlannedJudge:
    """A judge and how it is to be run.

    Attributes
    ----------
    name : as `mrb judge` names judges
    settings : how it works
    orders, repeats, limit, retry : see `mrb_lib.runs.judge`
    probe, probe_cases, probe_file : the names, cases and files of `mrb_lib.runs.plan.ProbeOptions`
    spread : "local", in this process, or over the workers of "ray"
    workers, gpus_per_worker : of "ray"

    Raises
    ------
    InputError
        One of these is out of range.
    """

    name: str
    settings: Settings
    orders: tuple[str, ...] = ORDERS
    repeats: int = 1
    limit: int | None = None
    retry: tuple[str, ...] = ()
    probe: tuple[str, ...] = ()
    probe_cases: int | None = None
    probe_file: tuple[str, ...] = ()
    spread: Literal["local", "ray"] = "local"
    workers: int | None = None
    gpus_per_worker: float | None = None

    def __post_init__(self) -> None:
        check_orders(self.orders, self.repeats)
        check_limit(self.limit)
        check_retry(self.retry)
        ProbeOptions(self.probe, self.probe_cases, tuple(map(Path, self.probe_file)))
        if self.spread == "local" and (self.workers is not None or self.gpus_per_worker is not None):
            raise InputError('workers and gpus_per_worker: need engine "ray"; name it, or leave them out.')
        if self.spread == "ray" and self.settings.budget is not None:
            raise InputError('a budget: servers are asked by engine "local"; leave one of the two out.')
        if self.gpus_per_worker is not None and self.gpus_per_worker < 0:
            raise InputError(f"gpus_per_worker {self.gpus_per_worker:g}: must not be less than 0.")
        if self.workers is not None and self.workers < 1:
            raise InputError(f"workers {self.workers}: at least 1 is needed.")

    @property
    def probes(self) -> ProbeOptions:
        """Which probes are applied."""
        return ProbeOptions(self.probe, self.probe_cases, tuple(map(Path, self.probe_file)))


ReportPlanned = Callable[[PlannedJudge, Outcome], None]


def read_judges(file: Path, usual: PlannedJudge, runs: Path, extra: Sequence[Path] = ()) -> list[PlannedJudge]:
    """The judges of a plan, in its order: tables `[[judge]]`, each with a `name` and what differs from the usual.

    A key is any field of `mrb_lib.judges.settings.Settings` that the benchmark does not decide, any of
    `PlannedJudge`, or `engine`: that of the judge, as after a plus sign in its name, or "local" or "ray". The files
    of a prompt and of probes may be named from the folder of the plan. `[common]` holds what all its judges share.

    Parameters
    ----------
    usual : what holds where the plan says nothing
    runs : the folder of runs, in which a member of a jury may be known that is no judge here
    extra : the user's own roster files

    Raises
    ------
    InputError
        With a line for everything that is wrong in the file: a key that is unknown or a value that is of another
        type or out of range, a judge without a name or that nobody knows.
    """
    common, tables = read_plan(file, "judge")
    keys = {key: kind for key, kind in _keys().items() if key != "name"}
    shared, wrong = _changed(usual, common, keys, f"{file}, [common]", file.parent)
    judges: list[PlannedJudge] = []
    for number, table in enumerate(tables, 1):
        where = f"{file}, judge {table.get('name', number)!r}"
        one, more = _changed(shared, table, _keys(), where, file.parent)
        wrong += more or _unknown(one.name, where, runs, extra)
        judges.append(one)
    if wrong:
        raise InputError("\n".join(wrong))
    return judges


def _keys() -> dict[str, object]:
    """The type of every key of a table."""
    settings, own = get_type_hints(Settings), get_type_hints(PlannedJudge)
    of_settings = {field.name: settings[field.name] for field in fields(Settings) if field.name not in _NOT_HERE}
    return {
        "name": str,
        "engine": str,
        **{key: own[key] for key in own if key not in ("settings", "spread")},
    } | of_settings


def _changed(
    usual: PlannedJudge, table: Mapping[str, object], keys: Mapping[str, object], where: str, folder: Path
) -> tuple[PlannedJudge, list[str]]:
    """A judge that differs from the usual in what a table says, and what is wrong with that."""
    values, wrong = checked(table, keys, where)
    if "name" in keys and not values.get("name") and not wrong:
        wrong.append(f"{where}, key 'name': is missing; write name = \"...\", as for --judge.")
    engine = values.pop("engine", None)
    if engine in ("local", "ray"):
        values["spread"] = engine
        if engine == "local":
            values = {"workers": None, "gpus_per_worker": None, **values}
    elif engine in public_engines() and "name" in values:
        values["name"] = f"{values['name']}+{engine}"
    elif engine is not None:
        known = ", ".join(("local", "ray", *public_engines())) if "name" in keys else "local, ray"
        wrong.append(f"{where}, key 'engine': {engine!r} is none of {known}; write one.")
    prompt = values.get("prompt")
    if isinstance(prompt, str) and (folder / prompt).is_file():
        values["prompt"] = str(folder / prompt)
    if "probe_file" in values:
        named = cast("tuple[str, ...]", values["probe_file"])
        values["probe_file"] = tuple(str(folder / name) if (folder / name).is_file() else name for name in named)
    of_settings = {field.name for field in fields(Settings)} & values.keys()
    try:
        settings = replace(usual.settings, **{name: values.pop(name) for name in of_settings})  # type: ignore[arg-type]  # checked above
        return replace(usual, settings=settings, **values), wrong  # type: ignore[arg-type]  # likewise
    except InputError as error:
        return usual, [*wrong, f"{where}: {error}"]


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
        run = _on_ray(usual) if usual.spread == "ray" else here

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
    if one.spread == "ray" and find_spec("ray") is None:
        return [f"judge {one.name!r}: engine ray needs ray; install it with `pip install 'mrb-workbench[scaleout]'`."]
    settings = execute.settings_for(benchmark, one.settings, one.repeats)
    kept = replace(settings, download=False)  # what is not here yet is fetched when the judge's turn has come
    make = partial(resolve, runs=runs, images=benchmark.images, settings=kept, extra=extra)
    is_complete = partial(
        execute.is_complete, benchmark, runs, orders=one.orders, repeats=one.repeats, limit=one.limit,
        probes=one.probes, settings=one.settings, retry=one.retry,
    )  # fmt: skip
    return problems(
        one.name, settings, runs=runs, make=make, extra=extra, here=one.spread == "local", is_complete=is_complete
    )


def _on_ray(one: PlannedJudge) -> Callable[..., list[RunSummary]]:
    from mrb_lib.runs.ray.scaleout import judge_on_ray

    return partial(judge_on_ray, workers=one.workers, gpus_per_worker=one.gpus_per_worker)
