"""The selection of a failure explorer as files: a table for a spreadsheet, a page for the printer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from mrb_lib.review.explorer.adjudicate import answers_in_words
from mrb_lib.review.explorer.data import ExplorerData, judges_of
from mrb_lib.review.failures.kinds import ANY_PROBE
from mrb_lib.review.failures.query import PLACES, Query, axes
from mrb_lib.review.pages import template
from mrb_lib.review.records.exchange import guarded
from mrb_lib.review.records.marks import current
from mrb_lib.stats.options import IntArray

MOST_PRINTED = 100
_SIDE, _STATIC_SIDE = 640, 480
_STATIC_CASES, _STATIC_ROWS = 3, 200
_TEXTS = ("case_id", "organ", "department", "modality", "question", "before", "response_a", "response_b", "reference")


def table_of(
    data: ExplorerData,
    query: Query,
    positions: IntArray,
    history: pd.DataFrame,
    tags: Mapping[str, Sequence[str]],
) -> str:
    """The selection as CSV, a case a row.

    Parameters
    ----------
    history : the adjudications, whose current ones are written
    tags : of the cases

    Returns
    -------
    str
        The case's texts, `gold <dimension>`, for each judge in view `<judge>: <dimension>` (mixed where its verdicts
        tie), `kinds` of failure, `confidence`, `disagreement`, `difficulty` (the highest over the judges and dimensions
        in view), `changed by` (where verdicts are under probes, those that changed one in view), `reviews`, `tags`, and
        `data`, which says SIMULATED where they are.
    """
    kinds, cases, at = data.kinds, data.benchmark.cases.iloc[positions], axes(data.kinds, query)
    dimensions = [query.dimension] if query.dimension else list(kinds.dimensions)
    one = kinds.scale is not None
    frame = cases[[name for name in _TEXTS if name in cases.columns and not (one and name == "response_b")]].copy()
    ids, labels = frame["case_id"], data.labels.frame
    for name in dimensions:
        own = labels[labels["dimension"] == name]
        frame[f"gold {name}"] = ids.map(dict(zip(own["case_id"], own["choice"], strict=True)))
    for judge in judges_of(query):
        for name in dimensions:
            said = kinds.grid("said")[kinds.judges.index(judge), kinds.dimensions.index(name), positions]
            frame[f"{judge}: {name}"] = [kinds.choice_name(int(code)) for code in said]
    there = {kind: np.asarray(kinds.grid(kind)[at][..., positions].any(axis=(0, 1))) for kind in kinds.names}
    frame["kinds"] = ["; ".join(kind for kind in there if there[kind][row]) for row in range(len(frame))]
    for name in ("confidence", "disagreement", "difficulty"):
        values = kinds.grids.get(name, np.full((1, 1, kinds.n_cases), np.nan))
        best = np.fmax.reduce(values[at if name in kinds.grids else ...][..., positions], axis=(0, 1), initial=np.nan)
        frame[name] = [f"{value:.6g}" if np.isfinite(value) else "" for value in best]
    if kinds.probes:
        changed = [[name for name, _, n in data.probes_of(position, query) if n] for position in positions.tolist()]
        frame["changed by"] = ["; ".join(names) for names in changed]
    frame["reviews"] = ids.map(_reviews(history))
    frame["tags"] = ids.map({case: "; ".join(names) for case, names in tags.items()})
    frame["data"] = "SIMULATED" if data.note else data.benchmark.meta.kind
    texts = frame.astype(object).where(frame.notna(), "").map(lambda cell: guarded(str(cell)))
    return "\ufeff" + texts.rename(columns=guarded).to_csv(index=False, lineterminator="\n")


def page_of(data: ExplorerData, query: Query, positions: IntArray) -> str:
    """The selection as a page of its own for the printer, at most `MOST_PRINTED` cases."""
    judges, cases = judges_of(query), list[str]()
    for position in positions[:MOST_PRINTED].tolist():
        cases.append(data.case_html(position, judges=judges, level=2, side=_SIDE))
        if query.changed_by is not None and query.changed_by != ANY_PROBE:
            cases.append(data.probed_html(position, query.changed_by, judges=judges, dimension=query.dimension))
    n, most = len(positions), MOST_PRINTED
    return template("explorer_print").render(
        name=data.benchmark.meta.name, note=data.note, n=f"{n:,}", words=in_words(query),
        is_part=n > most, most=most, cases=cases,
    )  # fmt: skip


def static_view(data: ExplorerData, query: Query, positions: list[int], case: str) -> str:
    """The plain view of a notebook: the query in words, the list, and the first cases, or `case`, whole."""
    listed = data.benchmark.cases.iloc[positions][["case_id", "question"]]
    first = [position for position in positions if case and data.benchmark.cases["case_id"].iloc[position] == case]
    return template("explorer_static").render(
        note=data.note, n=f"{len(positions):,}", words=in_words(query),
        rows=listed.head(_STATIC_ROWS).astype(str).values.tolist(), more=len(positions) - _STATIC_ROWS,
        cases=[data.case_html(position, side=_STATIC_SIDE) for position in first or positions[:_STATIC_CASES]],
    )  # fmt: skip


def in_words(query: Query) -> list[tuple[str, str]]:
    """Return the filters of a query with their values, and its order, as words to show."""
    asked = {name.replace("_", " "): value for name, value in vars(query).items() if name not in ("sort", "desc")}
    words = [
        (name, (" or ".join(value) if isinstance(value, tuple) else value) or "none")
        for name, value in asked.items()
        if value not in (None, ()) and (value or name in PLACES)
    ]
    return words + [("sort", f"{'highest' if query.desc else 'lowest'} {query.sort} first")] * bool(query.sort)


def _reviews(history: pd.DataFrame) -> dict[str, str]:
    """By case, its current adjudications in words."""
    rows = current(history)
    out: dict[str, list[str]] = {}
    for row in rows.astype(object).where(rows.notna(), None).to_dict("records"):
        words = f"{row['reviewer']}: {row['verdict']}" + (f" ({row['choice']})" if row["choice"] else "")
        words += f" on {row['dimension']}" if row["dimension"] else ""
        words += "".join(f"; {label}{': ' * bool(label)}{', '.join(given)}" for label, given in answers_in_words(row))
        out.setdefault(str(row["case_id"]), []).append(words)
    return {case: " | ".join(words) for case, words in out.items()}
