"""What a filter may ask of a case beyond its own columns: the gold labels, what judges say, who reviewed it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.benchmarks.where import Lookup, Mask, Several, case_lookup, matching
from mrb_lib.stats.analysis import GivenVerdicts as Verdicts
from mrb_lib.stats.analysis import labels, read_panels
from mrb_lib.stats.failures.failure_kinds import OUTCOMES, Kinds, failure_kinds, scale_of
from mrb_lib.stats.options import check_choice
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.schema import NO_PROBE

OVERALL = "overall"
TAG = "tag"
_NO_STORE = "there is no store of reviews; `mrb review BENCH` makes one there, and MRB_STORE names another"
_BESIDE = ("gold", "outcome['a judge']", "says['a judge']", "reviewers", "reviewed_by['a name']", TAG)


def cases_where(
    text: str,
    cases: pd.DataFrame,
    *,
    gold: pd.DataFrame,
    kinds: Callable[[], Kinds],
    reviewers: Callable[[], Mapping[str, Sequence[str]]],
    dimensions: Sequence[str],
    tags: Callable[[], Mapping[str, Sequence[str]]] = dict,
) -> Mask:
    """Which cases a filter leaves, see `mrb_lib.benchmarks.where.matching`.

    Beside the columns of the cases and their lengths: `gold` (the label on "overall", or on the last dimension where
    there is none) and `gold['accuracy']`; `outcome['a judge']` and `outcome['a judge', 'accuracy']`, one of `OUTCOMES`;
    `says['a judge']`, A, B, tie or mixed, of ratings a category or mixed; `reviewers`, how many reviewed the case, and
    `reviewed_by['a name']`; `tag`, any of the tags that reviewers gave it: `tag == 'artefact'`, `tag is None`.

    Parameters
    ----------
    gold : the gold labels
    kinds : makes the outcomes, where the filter asks for them
    reviewers : gives, where the filter asks for it, who reviewed each case
    dimensions : of the benchmark
    tags : gives, where the filter asks for them, the tags of each case
    """
    usual = OVERALL if OVERALL in dimensions else dimensions[-1]
    ids = cases["case_id"].reset_index(drop=True)

    def of_judge(name: str, keys: tuple[str, ...]) -> pd.Series:
        found = kinds()
        check_choice("judge", keys[0], found.judges)
        judge, dimension = found.judges.index(keys[0]), found.dimensions.index(_dimension(keys[1:]))
        if name == "outcome":
            return pd.Series(np.array(OUTCOMES, dtype=object)[found.outcome[judge, dimension]])
        said = [found.choice_name(code) or None for code in found.said[judge, dimension].tolist()]
        return pd.Series(said, dtype=object)

    def _dimension(keys: tuple[str, ...]) -> str:
        if len(keys) > 1:
            raise InputError("where: name a judge and a dimension at most.")
        check_choice("dimension", keys[0] if keys else usual, dimensions)
        return keys[0] if keys else usual

    own = case_lookup(cases, _BESIDE)

    def look(name: str, keys: tuple[str, ...]) -> pd.Series | Several:
        if name == TAG and not keys and TAG not in cases:
            by_case = tags()
            return Several(pd.Series([tuple(by_case.get(case, ())) for case in ids], dtype=object))
        if name == "gold" and "gold" not in cases:
            labels = gold[gold["dimension"] == _dimension(keys)].set_index("case_id")["choice"]
            return ids.map(labels)
        if name in ("outcome", "says") and keys:
            return of_judge(name, keys)
        if name == "reviewers" and not keys:
            return ids.map({case: len(names) for case, names in reviewers().items()}).fillna(0).astype("int64")
        if name == "reviewed_by" and len(keys) == 1:
            marked = {case for case, names in reviewers().items() if keys[0] in names}
            return ids.isin(marked)
        return own(name, keys)

    lookup: Lookup = look
    return matching(text, lookup)


def restricted(
    benchmark: Benchmark,
    verdicts: Verdicts,
    where: str,
    *,
    policy: str = "balanced",
    adjudications: pd.DataFrame | None = None,
    tags: pd.DataFrame | None = None,
) -> tuple[Benchmark, Verdicts]:
    """A benchmark and its verdicts without the cases that a filter does not leave; see `cases_where`.

    Parameters
    ----------
    adjudications, tags : what reviewers said and tagged, see `store.Store`; None where nobody did

    Raises
    ------
    InputError
        The filter cannot be read, or leaves no case.
    """
    cases, meta = benchmark.cases, benchmark.meta
    gold = labels(benchmark)

    def kinds() -> Kinds:
        plain = None
        if isinstance(verdicts, Mapping):
            plain = verdicts.get(NO_PROBE)
        elif verdicts is not None and len(verdicts):
            plain = read_panels(benchmark, [verdicts[verdicts["probe"] == NO_PROBE]]).get(NO_PROBE)
        if plain is None:
            raise InputError(f"where {where!r}: asks what judges say, and there are no verdicts.")
        return failure_kinds(plain, gold, cases, policy=policy, scale=scale_of(meta))

    def reviewers() -> dict[str, list[str]]:
        if adjudications is None:
            raise InputError(f"where {where!r}: asks who reviewed, and {_NO_STORE}.")
        return {str(case): sorted(set(rows["reviewer"])) for case, rows in adjudications.groupby("case_id")}

    def tagged() -> dict[str, list[str]]:
        if tags is None:
            raise InputError(f"where {where!r}: asks for tags, and {_NO_STORE}.")
        return tags_by_case(tags)

    kept = cases_where(
        where, cases, gold=gold, kinds=kinds, reviewers=reviewers, dimensions=meta.dimensions, tags=tagged
    )
    if not kept.any():
        raise InputError(f"where {where!r}: leaves none of {len(cases)} cases.")
    ids = cases.loc[kept, "case_id"]
    of_cases = benchmark.annotations["case_id"].isin(ids)
    smaller = replace(
        benchmark,
        cases=cases[kept].reset_index(drop=True),
        annotations=benchmark.annotations[of_cases].reset_index(drop=True),
    )
    if isinstance(verdicts, Mapping):
        return smaller, {name: panel.of_cases(kept) for name, panel in verdicts.items()}
    return smaller, None if verdicts is None else verdicts[verdicts["case_id"].isin(ids)].reset_index(drop=True)


def asks_for_tags(text: str) -> bool:
    """Whether a filter may ask for tags, which somebody then has to read; wrong only where a text holds the word."""
    return re.search(rf"\b{TAG}\b", text) is not None


def asks_for_reviews(text: str) -> bool:
    """Whether a filter may ask what reviewers did, likewise: for tags, or who reviewed."""
    return asks_for_tags(text) or re.search(r"\b(reviewers|reviewed_by)\b", text) is not None


def tags_by_case(tags: pd.DataFrame) -> dict[str, list[str]]:
    """By case, its tags in alphabetical order, from rows of `case_id` and `tag`."""
    return {str(case): sorted(set(rows["tag"])) for case, rows in tags.groupby("case_id")}
