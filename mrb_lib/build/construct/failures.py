"""From failures to a benchmark: the cases that judges get wrong, as the items of a new work folder."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.benchmarks.formats import csv_records
from mrb_lib.benchmarks.votes import gold
from mrb_lib.build.construct.layouts import SourceImage, SourceItem
from mrb_lib.build.construct.tables import ABOUT
from mrb_lib.review.failures.kinds import failure_kinds
from mrb_lib.review.failures.query import Query, from_fragment, select
from mrb_lib.stats.panel import as_panel
from mrb_lib.stats.where import cases_where
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.files import inside
from mrb_lib.tables.schema import NO_PROBE
from mrb_lib.verdicts.store import load_verdicts

_CARRIED: Final = tuple(name for name in ABOUT if name not in ("source", "cluster"))


def selected_cases(benchmark: Benchmark, runs: Path, kinds: tuple[str, ...], selection: str | None) -> list[str]:
    """The cases of a selection in the failure explorer, or all of some kinds of failure.

    Parameters
    ----------
    runs : the verdicts
    kinds : of failure (`mrb_lib.review.failures.kinds.Kinds`), any of which will do
    selection : what stands after `#` in the explorer's address, or the path of a table that the explorer exported;
        None for all cases of `kinds`. A selection that names kinds is not narrowed by `kinds`.

    Raises
    ------
    InputError
        The selection cannot be read, depends on reviews, or leaves no case; a kind is unknown.
    """
    if selection is not None and Path(selection).suffix == ".csv":
        ids = {row.id("case_id") for row in csv_records(Path(selection), ("case_id",))}
        unknown = sorted(ids - set(benchmark.cases["case_id"]))
        if unknown:
            raise InputError(f"{selection}, column case_id: {unknown[0]!r} is not a case of {benchmark.path}.")
        chosen = [case for case in benchmark.cases["case_id"] if case in ids]
    else:
        query = Query() if selection is None else from_fragment(selection.rpartition("#")[2])[0]
        chosen = _matching(benchmark, runs, query if query.kind else replace(query, kind=kinds))
    if not chosen:
        what = f"no case is {' or '.join(kinds)}" if selection is None else "the selection leaves no case"
        raise InputError(f"{runs}: {what}; choose another --kind or --selection.")
    return chosen


def _matching(benchmark: Benchmark, runs: Path, query: Query) -> list[str]:
    if query.review:
        raise InputError(f"--selection: depends on reviews ({query.review}); export it from the explorer as a table.")
    cases, labels = benchmark.cases, gold(benchmark)
    verdicts = load_verdicts(runs, cases)
    panel = as_panel(verdicts[verdicts["probe"] == NO_PROBE], cases["case_id"], list(benchmark.meta.dimensions))
    kinds = failure_kinds(panel, labels, cases)
    within = None
    if query.where:
        within = cases_where(
            query.where,
            cases,
            gold=labels,
            outcomes=lambda: kinds.outcomes,
            reviewers=dict,
            dimensions=benchmark.meta.dimensions,
        )
    positions = np.sort(select(kinds, cases, query, within=within))
    return cases["case_id"].iloc[positions].tolist()


def items_of_cases(benchmark: Benchmark, case_ids: Collection[str]) -> Iterator[SourceItem]:
    """The items behind cases: each question with its images once, however many pairs of responses are about it.

    Responses, labels and verdicts stay behind: the new benchmark makes its own.
    """
    cases = benchmark.cases[benchmark.cases["case_id"].isin(set(case_ids))]
    shown = cases["images"].map("\n".join)
    named = cases["item"] if "item" in cases else cases["case_id"]
    first = ~cases.assign(shown=shown).duplicated(["question", "shown"])
    folder = (benchmark.path or Path()) / "images"
    for record, item_id in zip(cases[first].to_dict("records"), named[first], strict=True):
        about = {name: _text(record.get(name)) for name in _CARRIED}
        images = tuple(SourceImage(name, inside(folder, name)) for name in record["images"])
        yield SourceItem(
            f"case {record['case_id']}",
            images,
            str(record["question"]),
            _text(record.get("reference")),
            item_id=_text(item_id) or str(record["case_id"]),
            about={**about, "cluster": _text(record.get("cluster")), "failed_case": str(record["case_id"])},
        )


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
