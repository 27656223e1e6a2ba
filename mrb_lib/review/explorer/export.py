"""The selection of a failure explorer as files: a table for a spreadsheet, a page for the printer."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from io import StringIO

import numpy as np
import pandas as pd

from mrb_lib.review.case.view import STYLES
from mrb_lib.review.explorer.adjudicate import answers_in_words
from mrb_lib.review.explorer.data import KIND_WORDS, REVIEW_WORDS, ExplorerData, message_text
from mrb_lib.review.failures.kinds import ANY_PROBE
from mrb_lib.review.failures.query import Query, axes
from mrb_lib.review.page import closing, opening
from mrb_lib.review.records.exchange import guarded
from mrb_lib.review.records.marks import current
from mrb_lib.review.text import escaped, isolated
from mrb_lib.stats.options import IntArray

MOST_PRINTED = 100
_SIDE = 640
_TEXTS = ("case_id", "organ", "department", "modality", "question", "before", "response_a", "response_b", "reference")


def csv_pieces(
    data: ExplorerData,
    query: Query,
    positions: IntArray,
    history: pd.DataFrame | None,
    tags: Mapping[str, Sequence[str]] | None = None,
) -> Iterator[str]:
    """The selection as a table, a case a row, piece by piece.

    Parameters
    ----------
    history : the adjudications, whose current ones are written; None where there is no store
    tags : of the cases; None for none

    Yields
    ------
    str
        Lines of CSV, the head first: the case's texts, `gold <dimension>`, for each judge in view
        `<judge>: <dimension>` (mixed where its verdicts tie), `kinds` of failure, `confidence`, `disagreement`,
        `difficulty` (the highest over the judges and dimensions in view), `changed by` (where verdicts are under
        probes, those that changed one in view), `reviews`, `tags`, and `data`, which says SIMULATED where they are.
    """
    kinds, cases = data.kinds, data.benchmark.cases
    one = data.kinds.scale is not None
    texts = [name for name in _TEXTS if name in cases.columns and not (one and name == "response_b")]
    dimensions = [query.dimension] if query.dimension else list(kinds.dimensions)
    judges = [name for name in (query.judge, query.other) if name]
    head = [*texts, *(f"gold {name}" for name in dimensions)]
    head += [f"{judge}: {name}" for judge in judges for name in dimensions]
    head += ["kinds", "confidence", "disagreement", "difficulty", *(["changed by"] if kinds.probes else [])]
    yield "\ufeff" + _line([*head, "reviews", "tags", "data"])
    reviews = _reviews(history)
    for position in positions.tolist():
        labels = data.labels.of(position)
        gold = dict(zip(labels["dimension"], labels["choice"], strict=True))
        row: list[object] = [cases[name].iloc[position] for name in texts]
        row += [gold.get(name) for name in dimensions]
        row += [_choice_text(data, judge, name, position) for judge in judges for name in dimensions]
        row += [_kinds_of(data, query, position), *_values(data, query, position)]
        if kinds.probes:
            row.append("; ".join(name for name, _, n_changed in data.probes_of(position, query) if n_changed))
        case_id = str(cases["case_id"].iloc[position])
        row += [reviews.get(case_id, ""), "; ".join((tags or {}).get(case_id, ()))]
        yield _line([*row, "SIMULATED" if data.note else data.benchmark.meta.kind])


def page_pieces(data: ExplorerData, query: Query, positions: IntArray) -> Iterator[str]:
    """The selection as a page of its own for the printer, at most `MOST_PRINTED` cases, piece by piece."""
    meta = data.benchmark.meta
    judges = [name for name in (query.judge, query.other) if name]
    title = f"{meta.name}: {len(positions)} cases"
    yield opening(title, *STYLES)
    yield f"<h1>{isolated(meta.name)}: {len(positions):,} cases</h1>"
    if data.note:
        yield f'<p class="mrb-simulated">{escaped(data.note)}</p>'
    yield f'<p class="mrb-lead">{in_words(query)}</p>'
    if len(positions) > MOST_PRINTED:
        yield f'<p class="mrb-lead">These are the first {MOST_PRINTED} of {len(positions):,} cases.</p>'
    for position in positions[:MOST_PRINTED].tolist():
        yield data.case_html(position, judges=judges, level=2, side=_SIDE)
        if query.changed_by is not None and query.changed_by != ANY_PROBE:
            yield data.probed_html(position, query.changed_by, judges=judges, dimension=query.dimension)
    yield closing()


def in_words(query: Query) -> str:
    """What a query asks for, as a sentence of HTML; no value reaches out of its place in it."""
    parts = [
        f"{name} {isolated(value) if value else 'none'}"
        for name in ("judge", "dimension", "organ", "department", "modality")
        if (value := getattr(query, name)) is not None
    ]
    parts += [f"where {isolated(query.judge)} and {isolated(query.other)} differ"] if query.other else []
    parts += [" or ".join(KIND_WORDS[kind][0].lower() for kind in query.kind)] if query.kind else []
    parts += [" or ".join(query.outcome)] if query.outcome else []
    under = "any probe" if query.changed_by == ANY_PROBE else f"the probe {isolated(query.changed_by)}"
    parts += [f"changed by {under}"] if query.changed_by is not None else []
    parts += [f"where {isolated(query.where)}"] if query.where else []
    parts += [REVIEW_WORDS[query.review].lower()] if query.review else []
    parts += [f"with the words {isolated(query.text)}"] if query.text else []
    order = f"{'highest' if query.desc else 'lowest'} {query.sort} first" if query.sort else "in the benchmark's order"
    return f"Selected: {', '.join(parts) or 'all cases'}; {order}."


def _line(cells: list[object]) -> str:
    out = StringIO()
    texts = ["" if cell is None or (isinstance(cell, float) and cell != cell) else message_text(cell) for cell in cells]
    csv.writer(out, lineterminator="\n").writerow([guarded(text) for text in texts])
    return out.getvalue()


def _choice_text(data: ExplorerData, judge: str, dimension: str, position: int) -> str:
    kinds = data.kinds
    said = kinds.grid("said")[kinds.judges.index(judge), kinds.dimensions.index(dimension), position]
    return kinds.choice_name(int(said))


def _kinds_of(data: ExplorerData, query: Query, position: int) -> str:
    at = axes(data.kinds, query)
    return "; ".join(kind for kind in data.kinds.names if data.kinds.grid(kind)[at][..., position].any())


def _values(data: ExplorerData, query: Query, position: int) -> list[object]:
    at = axes(data.kinds, query)
    values = [data.kinds.grids.get(name) for name in ("confidence", "disagreement", "difficulty")]
    tables = [np.array(np.nan) if grid is None else grid[at][..., position] for grid in values]
    return ["" if np.isnan(table).all() else f"{np.nanmax(table):.6g}" for table in tables]


def _reviews(history: pd.DataFrame | None) -> dict[str, str]:
    """By case, its current adjudications in words."""
    if history is None or history.empty:
        return {}
    rows = current(history)
    out: dict[str, list[str]] = {}
    for row in rows.astype(object).where(rows.notna(), None).to_dict("records"):
        words = f"{row['reviewer']}: {row['verdict']}" + (f" ({row['choice']})" if row["choice"] else "")
        words += f" on {row['dimension']}" if row["dimension"] else ""
        words += "".join(f"; {label}{': ' * bool(label)}{', '.join(given)}" for label, given in answers_in_words(row))
        out.setdefault(str(row["case_id"]), []).append(words)
    return {case: " | ".join(words) for case, words in out.items()}
