"""The tables of `mrb analyze`: from a benchmark and verdicts to one frame."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypedDict, cast

import pandas as pd

from mrb_lib.data.benchmark import GOLD_RULES, Benchmark, GoldRule
from mrb_lib.data.benchmark import gold as gold_labels
from mrb_lib.errors import InputError
from mrb_lib.schema import LEVELS, NO_PROBE
from mrb_lib.stats.accuracy import accuracy
from mrb_lib.stats.agreement import agreement, annotator_pairs
from mrb_lib.stats.ceiling import annotator_ceiling
from mrb_lib.stats.composition import composition
from mrb_lib.stats.consistency import consistency
from mrb_lib.stats.options import check_policy
from mrb_lib.stats.paired import CORRECTIONS, omnibus, significance

_ORDERED_PREFERENCE = ("A", "tie", "B")


class _Common(TypedDict):
    """The options that every table with intervals takes."""

    by: str | None
    dimensions: Sequence[str]
    cluster: str | None
    resamples: int
    seed: int


@dataclass(frozen=True)
class _Request:
    """What was asked for, checked; the parameters of `analyze`."""

    benchmark: Benchmark
    verdicts: pd.DataFrame
    policy: str
    gold: GoldRule
    correction: str
    level: str
    common: _Common

    @property
    def cases(self) -> pd.DataFrame:
        return self.benchmark.cases

    @property
    def categories(self) -> tuple[str, ...]:
        """The labels in their order of measurement: a tie lies between A and B."""
        declared = self.benchmark.meta.categories
        if self.level == "nominal" or not self.benchmark.meta.is_preference:
            return declared
        return tuple(name for name in _ORDERED_PREFERENCE if name in declared)

    def labels(self) -> pd.DataFrame:
        return gold_labels(self.benchmark, self.gold)


def _composition(request: _Request) -> pd.DataFrame:
    return composition(request.cases, by=request.common["by"])


def _agreement(request: _Request) -> pd.DataFrame:
    return agreement(
        request.benchmark.annotations,
        request.cases,
        categories=request.categories,
        level=request.level,
        **request.common,
    )


def _annotator_pairs(request: _Request) -> pd.DataFrame:
    return annotator_pairs(
        request.benchmark.annotations,
        request.cases,
        categories=request.categories,
        **request.common,
    )


def _ceiling(request: _Request) -> pd.DataFrame:
    return annotator_ceiling(
        request.benchmark.annotations,
        request.cases,
        categories=request.categories,
        policy=request.policy,
        **request.common,
    )


def _accuracy(request: _Request) -> pd.DataFrame:
    return accuracy(
        request.verdicts,
        request.labels(),
        request.cases,
        policy=request.policy,
        **request.common,
    )


def _consistency(request: _Request) -> pd.DataFrame:
    return consistency(
        request.verdicts,
        request.cases,
        **request.common,
    )


def _significance(request: _Request) -> pd.DataFrame:
    labels = request.labels()
    pairs = significance(
        request.verdicts,
        labels,
        request.cases,
        policy=request.policy,
        correction=request.correction,
        **request.common,
    )
    together = omnibus(
        request.verdicts,
        labels,
        request.cases,
        policy=request.policy,
        by=request.common["by"],
        dimensions=request.common["dimensions"],
    )
    extra = ["statistic", "df", "judges"]
    columns = [*pairs.columns[:-1], *extra, "reason"]
    out = pd.concat([pairs.reindex(columns=columns), together.reindex(columns=columns)], ignore_index=True)
    counts = dict.fromkeys(("only_1", "only_2", "family", "judges"), "Int64")
    text = dict.fromkeys(("judge_1", "judge_2", "subfield", "by", "correction", "reason"), "str")
    return out.astype(counts | text)


_MAKERS: dict[str, Callable[[_Request], pd.DataFrame]] = {
    "composition": _composition,
    "agreement": _agreement,
    "accuracy": _accuracy,
    "consistency": _consistency,
    "significance": _significance,
    "ceiling": _ceiling,
    "annotator_pairs": _annotator_pairs,
}
TABLES: tuple[str, ...] = tuple(_MAKERS)
NEED_VERDICTS = ("accuracy", "consistency", "significance")


def analyze(
    benchmark: Benchmark,
    verdicts: pd.DataFrame | None,
    table: str,
    *,
    policy: str = "balanced",
    by: str | None = None,
    dimension: str | None = None,
    gold: str = "majority",
    correction: str = "holm",
    resamples: int = 2000,
    seed: int = 0,
    cluster: str | None = None,
    level: str | None = None,
    probe: str = NO_PROBE,
) -> pd.DataFrame:
    """Make one of the tables of `TABLES`.

    Parameters
    ----------
    verdicts : the verdicts table; may be None or empty for tables about the annotators or the cases
    table : its name
    policy : the scoring policy, for `accuracy`, `significance` and `ceiling`
    by : a cases column to break down by, or `model_pair`; None gives overall rows only
    dimension : one dimension; None gives all the benchmark's
    gold : the rule that makes gold labels from the annotations
    correction : for multiple tests, in `significance`
    resamples, seed : of the cluster bootstrap
    cluster : the cases column to resample by; None takes the column `cluster` where there
        is one, else resamples cases
    level : of measurement, in `agreement`; None takes the benchmark's own. Above the nominal
        level preferences are ordered A, tie, B.
    probe : the verdicts to read

    Returns
    -------
    DataFrame
        See the function of the same name: `mrb_lib.stats.composition.composition`,
        `agreement.agreement`, `agreement.annotator_pairs`, `accuracy.accuracy`,
        `consistency.consistency`, `ceiling.annotator_ceiling`. In `significance` the rows of
        `paired.omnibus` follow those of `paired.significance`, with null judges.

    Raises
    ------
    InputError
        An option is unknown, or the table needs verdicts or preferences that are not there.
    """
    meta = benchmark.meta
    _check("table", table, TABLES)
    _check("gold rule", gold, GOLD_RULES)
    _check("correction", correction, CORRECTIONS)
    _check("level", level or meta.level, LEVELS)
    check_policy(policy)
    if dimension is not None:
        _check("dimension", dimension, meta.dimensions)
    if resamples < 0:
        raise InputError(f"resamples {resamples}: must not be negative; 2000 is the default, 0 gives no intervals.")
    if seed < 0:
        raise InputError(f"seed {seed}: must not be negative.")
    request = _Request(
        benchmark=benchmark,
        verdicts=_verdicts_for(benchmark, verdicts, table, probe, dimension),
        policy=policy,
        gold=cast(GoldRule, gold),
        correction=correction,
        level=level or meta.level,
        common={
            "by": by,
            "dimensions": meta.dimensions if dimension is None else [dimension],
            "cluster": cluster,
            "resamples": resamples,
            "seed": seed,
        },
    )
    return _MAKERS[table](request)


def _check(what: str, value: str, known: Sequence[str]) -> None:
    if value not in known:
        raise InputError(f"{what} {value!r} is unknown; use one of {', '.join(known)}.")


def _verdicts_for(
    benchmark: Benchmark, verdicts: pd.DataFrame | None, table: str, probe: str, dimension: str | None
) -> pd.DataFrame:
    """The verdicts of one probe; an empty frame for a table that needs none."""
    if table not in NEED_VERDICTS:
        return pd.DataFrame()
    meta = benchmark.meta
    if not meta.is_preference:
        raise InputError(
            f"table {table}: the labels of benchmark {meta.name} ({', '.join(meta.categories)}) are not "
            "preferences between two responses, so that no verdict can be scored; use agreement, annotator_pairs, "
            "ceiling or composition."
        )
    if verdicts is None or not len(verdicts):
        raise InputError(
            f"table {table}: needs verdicts and there are none; name a folder of runs, or make one with "
            "`mrb judge BENCH RUNS --judge NAME`."
        )
    if "probe" not in verdicts.columns:
        kept = verdicts if probe == NO_PROBE else verdicts.iloc[:0]
        found = [NO_PROBE]
    else:
        kept = verdicts[verdicts["probe"] == probe]
        found = sorted(map(str, verdicts["probe"].unique()))
    if not len(kept):
        raise InputError(f"table {table}: no verdict is of probe {probe!r}; use one of {', '.join(found)}.")
    judged = sorted(map(str, kept["dimension"].unique()))
    unknown = [name for name in judged if name not in meta.dimensions]
    if unknown:
        raise InputError(
            f"table {table}: verdicts are on dimension {unknown[0]!r}, which benchmark {meta.name} does not have; "
            "declare it in benchmark.toml or remove the run."
        )
    if dimension is not None and dimension not in judged:
        raise InputError(f"table {table}: no verdict is on dimension {dimension!r}; use one of {', '.join(judged)}.")
    return kept
