"""Judges and how each is to be run: as options of a command, as tables of a file, and over a benchmark."""

from collections.abc import Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import Annotated, Final, Literal

import numpy as np
from pydantic import Field

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.judges.jury import is_jury
from mrb_lib.judges.plan_file import changed_by_table, read_plan
from mrb_lib.judges.roster.engines import public_engines
from mrb_lib.judges.roster.roster import FOLDER
from mrb_lib.judges.settings import Settings, for_repeats
from mrb_lib.runs.beside import Beside, beside_of
from mrb_lib.runs.items import digest_of_items
from mrb_lib.runs.juries import check_known
from mrb_lib.runs.plan import Plan, ProbeOptions, check_orders, check_retry, make_plan
from mrb_lib.tables.errors import InputError, nearest
from mrb_lib.tables.options import Names, Option, Paths, checked_dataclass
from mrb_lib.tables.schema import ANSWER, KEYS, ORDERS
from mrb_lib.verdicts.manifest import run_id
from mrb_lib.verdicts.parts import damaged_parts
from mrb_lib.verdicts.protocol import Judge
from mrb_lib.verdicts.store import read_run

HELD: Final = [*KEYS["verdicts"][1:], "status"]
"""The columns that tell which verdicts of a plan a run holds."""


@checked_dataclass
class PlannedModel:
    """A model and how it is run.

    Attributes
    ----------
    name : as `mrb judge` names judges; empty where it is yet to be named
    """

    name: Annotated[str, Option("Name the model.")] = ""
    settings: Settings = field(default_factory=Settings)
    engine: Annotated[Literal["local", "ray"], Option("Run here (local), or on many GPUs (ray).")] = "local"
    workers: Annotated[int | None, Field(ge=1), Option("With ray: load N models at once.", "N", is_rare=True)] = None
    gpus_per_worker: Annotated[
        float | None, Field(ge=0), Option("With ray: give each worker N GPUs; default: 1.", "N", is_rare=True)
    ] = None

    def __post_init__(self) -> None:
        if self.engine == "local" and (self.workers is not None or self.gpus_per_worker is not None):
            raise InputError("workers and gpus_per_worker: need engine ray; name it, or leave them out.")
        if self.gpus_per_worker is not None and self.gpus_per_worker > 1 and self.gpus_per_worker % 1:
            raise InputError(f"gpus_per_worker {self.gpus_per_worker:g}: must be a share of one, or a whole number.")
        if self.engine == "ray" and self.settings.budget is not None:
            raise InputError("a budget: needs engine local, which alone asks servers; leave one out.")


@checked_dataclass
class PlannedJudge(PlannedModel):
    """A judge and how it is to be run; see `mrb_lib.runs.judge`."""

    orders: Annotated[Names, Option("Show the responses in these orders: AB, BA or AB,BA.", "ORDERS")] = ORDERS
    repeats: Annotated[int, Field(ge=1), Option("Make N verdicts per case, dimension and order.", "N")] = 1
    limit: Annotated[int | None, Field(ge=1), Option("Judge only the first N cases.", "N")] = None
    probe: Annotated[Names, Option("Judge cases also as probes change them: image/blur:3,response/*.", "NAMES")] = ()
    probe_file: Annotated[
        Paths, Option("Use a table of case_id and other texts as a probe; repeatable.", "FILE", is_file=True)
    ] = ()
    probe_cases: Annotated[int | None, Field(ge=1), Option("Probe only N cases, by organ; default: all.", "N")] = None
    retry: Annotated[Names, Option("Make verdicts with these statuses again: unparsed,refused,error.", "STATUSES")] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        check_orders(self.orders)
        check_retry(self.retry)
        _ = self.probes  # which checks its names and files

    @property
    def probes(self) -> ProbeOptions:
        """Return the probes to apply."""
        return ProbeOptions(self.probe, self.probe_cases, self.probe_file)


def check_suits(one: PlannedJudge, benchmark: Benchmark) -> None:
    """Raise `InputError` unless a benchmark can be judged in this way."""
    meta, settings = benchmark.meta, one.settings
    if not meta.is_judged or (meta.is_preference and not {"A", "B"} <= set(meta.categories)):
        raise InputError(
            f"benchmark {meta.name}: its labels ({', '.join(meta.categories)}) are not preferences between A and B "
            'or ratings; state task = "rating" in benchmark.toml, or analyse their agreement alone.'
        )
    if meta.is_rating and is_jury(one.name):
        raise InputError(f"judge {one.name!r}: a jury votes on pairs; the table jury takes the median of ratings.")
    if meta.is_rating and (one.probe or one.probe_file):
        raise InputError("probes: change pairs of responses, and the benchmark has ratings of one; leave them out.")
    if settings.prompt is None:
        return
    from mrb_lib.judges.prompts import builtin_ids, load_prompt

    prompt, answers = load_prompt(settings.prompt), meta.dimensions == (ANSWER,)
    if prompt.asks == "answer" and not answers:
        raise InputError(f"prompt {prompt.id}: asks for an answer, and responses are to be judged; name another.")
    if prompt.asks != "answer" and answers:
        known = " or ".join(builtin_ids("answering"))
        raise InputError(
            f"prompt {prompt.id}: asks for verdicts, and answers are wanted; name {known}, or a template that begins "
            "{# asks: answer #}."
        )


def plan_of(benchmark: Benchmark, one: PlannedJudge, beside: Beside) -> Plan:
    """Return the plan of a judge's run over a benchmark."""
    meta = benchmark.meta
    return make_plan(
        benchmark.cases, meta.dimensions, orders=one.orders, repeats=one.repeats, limit=one.limit, probes=one.probes,
        seed=one.settings.seed, rules=meta.rules, beside=beside,
    )  # fmt: skip


def is_complete(benchmark: Benchmark, runs: Path, one: PlannedJudge, judge: Judge) -> bool:
    """Return whether the run of a judge holds all that is planned, so that nobody need be asked."""
    folder = runs / run_id(judge, benchmark.case_fingerprint())
    if not folder.is_dir():
        return False
    plan = plan_of(benchmark, one, beside_of(benchmark, one.settings))
    plan = restricted(plan, judge.name, judge.dimensions)
    held = read_run(folder, HELD, without=damaged_parts(folder))
    kept = held[~held["status"].isin(one.retry)]
    return bool(np.isin(plan.all_numbers, plan.numbers(kept)).all())


def settings_for(benchmark: Benchmark, settings: Settings, repeats: int, beside: Beside | None = None) -> Settings:
    """Return the settings with which judges work on a benchmark: what it says of itself, and repeats that differ.

    Parameters
    ----------
    beside : what is shown beside the cases; None finds it out
    """
    meta = benchmark.meta
    return replace(
        for_repeats(settings, repeats),
        dimensions=meta.dimensions,
        choices=meta.choices,
        task=meta.task,
        is_ordered=meta.level != "nominal",
        definitions=dict(meta.definitions),
        shown=dict((beside or beside_of(benchmark, settings)).shown),
        items=digest_of_items(benchmark.cases) if "item" in benchmark.cases else "",
        labels=dict(meta.labels),
    )


def restricted(plan: Plan, name: str, dimensions: Sequence[str] | None) -> Plan:
    """Return the plan on the dimensions that a judge can judge, None for all; `InputError` where there is none."""
    if dimensions is None:
        return plan
    common = tuple(dimension for dimension in plan.dimensions if dimension in dimensions)
    if not common:
        raise InputError(
            f"judge {name}: judges {', '.join(dimensions) or 'no dimension'}, and the benchmark has "
            f"{', '.join(plan.dimensions)}; choose another judge."
        )
    return replace(plan, dimensions=common)


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
    """Return the problem of a name, if any; that a folder holds no weights is no mistake of the plan."""
    try:
        if FOLDER not in name:  # of a jury's member, too
            check_known(name, runs, extra)
    except InputError as error:
        return [f"{where}: {error}"]
    return []
