"""The tables of `mrb analyze`: from a benchmark and verdicts to one frame; see `mrb_lib.stats.columns`."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib import import_module
from typing import Final

import numpy as np
import pandas as pd
from threadpoolctl import ThreadpoolController

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.stats.analysis import ADJUDICATED, RULES, Analysis
from mrb_lib.stats.analysis import GivenVerdicts as GivenVerdicts
from mrb_lib.stats.analysis import read_panels as read_panels
from mrb_lib.stats.clusters import resampling_unit
from mrb_lib.stats.columns import TABLES as TABLES
from mrb_lib.stats.multiplicity import CORRECTIONS, FAMILIES
from mrb_lib.stats.options import check_choice, join_reasons
from mrb_lib.stats.panel import Panel
from mrb_lib.stats.scoring import BOTH_ORDERS
from mrb_lib.stats.subfields import By, columns_of, subfield_values
from mrb_lib.stats.where import restricted
from mrb_lib.tables.errors import InputError, NotApplicable
from mrb_lib.tables.schema import KEYS, LEVELS, NO_PROBE, POLICIES, category_numbers
from mrb_lib.verdicts.training import mark_seen

FEWEST_RESAMPLES: Final = 40
ALL_SEEN: Final = "{} was trained on every case that it judged"
_JUDGES: Final = ("judge", "judge_1", "judge_2", "base", "tuned")


def unread(table: str, options: Iterable[str], *, has_marks: bool = False) -> list[str]:
    """Return the options, by name, that a table does not read, with marks or without."""
    spec = TABLES[table]
    reads = {*spec.parameters_read(has_marks=has_marks), *spec.options, "table", "where"}
    return [name for name in options if name not in reads]


def verdict_columns(table: str) -> tuple[str, ...]:
    """The columns of the verdicts table that a table is made from; none where it reads no verdicts."""
    spec = TABLES[table]
    more = ("p_categories",) if "p_a" in spec.reads else ()
    return (*KEYS["verdicts"], "choice", *spec.reads, *more) if "verdicts" in spec.parameters else ()


def analyze(
    benchmark: Benchmark,
    verdicts: GivenVerdicts,
    table: str,
    *,
    policy: str = "balanced",
    by: By = None,
    dimension: str | None = None,
    gold: str = "majority",
    correction: str | None = None,
    family: str = "dimension",
    resamples: int = 2000,
    seed: int = 0,
    cluster: str | None = None,
    level: str | None = None,
    probe: str = NO_PROBE,
    adjudications: pd.DataFrame | None = None,
    where: str = "",
    tags: pd.DataFrame | None = None,
    groups: pd.DataFrame | None = None,
    training: pd.DataFrame | None = None,
    records: pd.DataFrame | None = None,
    pairs: Sequence[tuple[str, str]] | None = None,
    prompts: pd.DataFrame | None = None,
    marks: pd.DataFrame | None = None,
    versus: str | None = None,
    **options: float,
) -> pd.DataFrame:
    """Make one of the registered tables, `TABLES`.

    Parameters
    ----------
    verdicts : the verdicts table, or its panels by probe (see `read_panels`), which are quicker where
        several tables are made; None or empty for tables about the annotators or the cases
    table : its name
    policy : the scoring policy
    by : a cases column to break down by, or `model_pair`; or several, in one go: the overall rows once, then the
        subfields of each column, whose name is in the rows' `by`, exactly as by that column alone. Means over
        subfields in overall rows (`macro_accuracy`) are of the first. None gives overall rows only
    dimension : one dimension; None gives all the benchmark's
    gold : the rule that makes gold labels from the annotations, one of `RULES`, or "adjudicated": the majority as
        reviewers corrected it
    correction : for multiple tests; None for the table's own (holm; bh in `dif`, by in `ceiling`)
    family : the tests that are corrected together: those of one dimension and subfield, or "all" of the table,
        those of all columns of `by` among them
    resamples, seed : of the cluster bootstrap; 0 resamples give no intervals
    cluster : the cases column to cluster by, "case_id" for the cases themselves; None takes the column `cluster`
        where there is one, else the coarsest of item, question and images that repeats and has ten values,
        else cases; see `mrb_lib.stats.clusters.resampling_unit`
    level : of measurement of the labels; None takes the benchmark's own. Above the nominal
        level preferences are ordered A, tie, B.
    probe : the verdicts to read
    adjudications : what reviewers said, as `mrb_lib.review.records.store.Store.adjudications` gives it, for the rule
        "adjudicated" and for the table `adjudication`; there, None is that nobody reviewed anything
    where : only the cases that this leaves, such as "organ == 'eye' and length > 700"; see
        `mrb_lib.stats.where.cases_where`. What verdicts cost is then null, unless the verdicts are a table
    tags : what reviewers tagged, as `Store.tags` gives it, for `where`; None where nobody did
    groups : the group of each judge, as `mrb_lib.judges.roster.groups.judge_groups` gives it from the runs; None tells
        it from the judges' names alone
    training : `judge`, `case_id`: the cases that judges were trained on, one row each, and a row without a case for a
        judge known to have been trained on none, as `mrb_lib.verdicts.training.training_cases` gives it; None is that
        nobody knows. What a judge says of such a case is left out of every table, see `read_panels`
    records : how judges were trained, see `mrb_lib.verdicts.training.training_records`; None where nobody knows
    pairs : (base, tuned) judges for the table `gains`; None takes those that `records` and `groups` know
    prompts : the prompt of each run, see `mrb_lib.verdicts.store.run_prompts`; None tells runs of one judge from
        their names alone
    marks : `item_id`, `model`, `correct`: which model answered which item right, for the part `knowledge` of the table
        `models`; None where no model answered, which gives no such rows
    versus : the judge that `significance` compares all others with; None compares every two
    options : those that the table alone has, such as `margin` of `significance`; `mrb analyze --explain T`
        names them

    Returns
    -------
    DataFrame
        See the function that makes the table, `TABLES[name].make`; `mrb analyze --explain T` prints its columns. Every
        row of a table that takes `cluster` names in its column `cluster` what cases are clustered by.

    Raises
    ------
    InputError
        An option is unknown, or the table needs verdicts or preferences that are not there.
    """
    spec = TABLES[table]
    own_options = spec.checked(options)
    if training is not None and isinstance(verdicts, pd.DataFrame):
        verdicts = mark_seen(verdicts, training)
    if not spec.label_sets:
        if dimension in benchmark.meta.labels:
            raise InputError(
                f"table {table}: dimension {dimension!r} has several labels a case; "
                "choose another, or the table ratings."
            )
        if isinstance(verdicts, pd.DataFrame) and benchmark.meta.labels:
            verdicts = verdicts[~verdicts["dimension"].isin(list(benchmark.meta.labels))]
        benchmark = benchmark.of_one_choice
    dimensions = list(benchmark.meta.dimensions) if dimension is None else [dimension]
    inputs = Analysis(
        benchmark=benchmark,
        probes={},
        probe=probe,
        rule=gold,
        level=level or benchmark.meta.level,
        by=by,
        dimensions=dimensions,
        cluster=cluster,
        policy=policy,
        correction=correction,
        family=family,
        resamples=resamples,
        seed=seed,
        adjudications=adjudications,
        groups=groups,
        training=training,
        records=records,
        pairs=pairs,
        prompts=prompts,
        marks=marks,
        versus=versus,
    )
    _check_options(inputs)
    _check_task(benchmark, table, policy, has_marks=marks is not None)
    if where:
        benchmark, verdicts = restricted(
            benchmark, verdicts, where, policy=policy, adjudications=adjudications, tags=tags
        )
    probes = _probes(benchmark, verdicts, table, probe, dimensions)
    probes = {name: panel.without_seen(training, benchmark.cases["case_id"]) for name, panel in probes.items()}
    inputs = replace(inputs, benchmark=benchmark, probes=probes)
    with _libraries().limit(limits=1, user_api="blas"):  # small products wait for each other where cores are busy
        frame = spec.of(inputs, **own_options)
    if inputs.panel is not None:
        frame = _with_seen_reasons(frame, inputs.panel)
    return frame


@cache
def _libraries() -> ThreadpoolController:
    """Return the control of the BLAS libraries, found once (3 ms and more), when all of them are loaded."""
    import_module("scipy.linalg")
    return ThreadpoolController()


def _check_options(given: Analysis) -> None:
    """Raise `InputError` for an option that is wrong for every table, whether this one reads it or not."""
    meta, cases = given.benchmark.meta, given.cases
    check_choice("gold rule", given.rule, (*RULES, ADJUDICATED))
    if given.rule == ADJUDICATED and given.adjudications is None:
        raise InputError("gold rule 'adjudicated': needs adjudications; name their store or file (--adjudications).")
    if given.correction is not None:
        check_choice("correction", given.correction, CORRECTIONS)
    check_choice("family", given.family, FAMILIES)
    check_choice("level", given.level, LEVELS)
    numbers = category_numbers(meta.categories)
    if given.level == "ordinal" and list(numbers) != sorted(numbers):
        stated = ", ".join(meta.categories)
        raise InputError(f"level ordinal: the categories do not rise ({stated}); list them in order in benchmark.toml.")
    check_choice("policy", given.policy, POLICIES)
    for dimension in given.dimensions:
        check_choice("dimension", dimension, meta.dimensions)
    if given.resamples and given.resamples < FEWEST_RESAMPLES:
        raise InputError(
            f"resamples {given.resamples}: must be at least {FEWEST_RESAMPLES}, since fewer have no 2.5% point, "
            "or 0 for no intervals; 2000 is the default."
        )
    if given.seed < 0:
        raise InputError(f"seed {given.seed}: must not be negative.")
    for column in columns_of(given.by):
        subfield_values(cases, column)
    resampling_unit(cases, given.cluster)


def _check_task(benchmark: Benchmark, table: str, policy: str, *, has_marks: bool) -> None:
    """Raise `InputError` where a table or a policy says nothing about what the benchmark's labels are."""
    meta, spec = benchmark.meta, TABLES[table]
    silent = spec.why_no_ratings if meta.is_rating else spec.why_no_preferences
    if silent and (meta.is_rating or meta.is_preference):
        has = "ratings of one response a case" if meta.is_rating else "preferences between two responses"
        raise NotApplicable(f"table {table}: {silent}, and benchmark {meta.name} has {has}.")
    if meta.is_rating and policy in BOTH_ORDERS and "policy" in spec.parameters_read(has_marks=has_marks):
        others = _either(name for name in POLICIES if name not in BOTH_ORDERS)
        raise NotApplicable(
            f"policy {policy}: asks for a verdict in both orders, and a rating of one response has one; use {others}."
        )


def _either(names: Iterable[str]) -> str:
    """Names in a message, as "a, b or c"."""
    *first, last = names
    return f"{', '.join(first)} or {last}"


def _probes(
    benchmark: Benchmark, verdicts: GivenVerdicts, table: str, probe: str, dimensions: Sequence[str]
) -> Mapping[str, Panel]:
    """The panels a table reads, on the dimensions asked for; none for a table that reads none."""
    spec, meta = TABLES[table], benchmark.meta
    can_score = meta.is_judged and verdicts is not None and len(verdicts)
    if "verdicts" not in spec.parameters or not (spec.needs_verdicts or can_score):
        return {}
    if not meta.is_judged:
        others = _either(n for n, each in TABLES.items() if not each.needs_verdicts and "gold" not in each.parameters)
        raise NotApplicable(
            f"table {table}: the labels of benchmark {meta.name} ({', '.join(meta.categories)}) are not preferences "
            f"between two responses, so that no verdict can be scored; use {others}."
        )
    if verdicts is None or not can_score:
        raise NotApplicable(
            f"table {table}: needs verdicts and there are none; name a folder of runs, or make one with "
            "`mrb judge BENCH RUNS --judge NAME`."
        )
    found = read_panels(benchmark, [verdicts]) if isinstance(verdicts, pd.DataFrame) else verdicts
    if probe not in found:
        raise NotApplicable(f"table {table}: no verdict is of probe {probe!r}; use one of {', '.join(sorted(found))}.")
    judged = [found[probe].dimensions[i] for i in np.flatnonzero(found[probe].takes_part().any(axis=0))]
    if len(dimensions) == 1 and dimensions[0] not in (*judged, *meta.labels):
        raise NotApplicable(f"table {table}: no verdict is on {dimensions[0]!r}; use one of {', '.join(judged)}.")
    names = [name for name in dimensions if name not in meta.labels]
    return {name: panel.of_dimensions(names) for name, panel in found.items()}


def _with_seen_reasons(frame: pd.DataFrame, panel: Panel) -> pd.DataFrame:
    """The rows of judges that were trained on all that they judged say so, in whichever table."""
    named = [name for name in _JUDGES if name in frame]
    pairs = {
        (each.judges[i], each.dimensions[j].partition("\n")[0])  # a label follows its dimension
        for each in (panel, panel.labels)
        if each is not None and each.seen is not None
        for i, j in np.argwhere(each.takes_part() & ~each.judged().any(axis=2)).tolist()
    }
    if not pairs or not named:
        return frame
    dimensions = frame["dimension"] if "dimension" in frame else pd.Series(panel.dimensions[0], frame.index)
    said = [
        [ALL_SEEN.format(each[0]) if each in pairs else "" for each in zip(frame[name], dimensions, strict=True)]
        for name in named
    ]
    reasons = [join_reasons(*dict.fromkeys(texts)) for texts in zip(*said, frame["reason"].fillna(""), strict=True)]
    return frame.assign(reason=pd.Series(reasons, index=frame.index, dtype="str"))
