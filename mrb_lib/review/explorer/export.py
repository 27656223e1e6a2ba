"""The selection of a failure explorer as files: a table for a spreadsheet, a page for the printer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from mrb_lib.review.case.view import STYLES
from mrb_lib.review.explorer.adjudicate import answers_in_words
from mrb_lib.review.explorer.data import KIND_WORDS, REVIEW_WORDS, ExplorerData
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
    for judge in filter(None, (query.judge, query.other)):
        for name in dimensions:
            said = kinds.grid("said")[kinds.judges.index(judge), kinds.dimensions.index(name), positions]
            frame[f"{judge}: {name}"] = [kinds.choice_name(int(code)) for code in said]
    there = {kind: kinds.grid(kind)[at][..., positions].any(axis=(0, 1)) for kind in kinds.names}
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
    meta = data.benchmark.meta
    judges = [name for name in (query.judge, query.other) if name]
    parts = [
        opening(f"{meta.name}: {len(positions)} cases", *STYLES),
        f"<h1>{isolated(meta.name)}: {len(positions):,} cases</h1>",
        f'<p class="mrb-simulated">{escaped(data.note)}</p>' if data.note else "",
        f'<p class="mrb-lead">{in_words(query)}</p>',
    ]
    if len(positions) > MOST_PRINTED:
        parts.append(f'<p class="mrb-lead">These are the first {MOST_PRINTED} of {len(positions):,} cases.</p>')
    for position in positions[:MOST_PRINTED].tolist():
        parts.append(data.case_html(position, judges=judges, level=2, side=_SIDE))
        if query.changed_by is not None and query.changed_by != ANY_PROBE:
            parts.append(data.probed_html(position, query.changed_by, judges=judges, dimension=query.dimension))
    return "".join([*parts, closing()])


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
