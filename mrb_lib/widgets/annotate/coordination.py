"""The coordinator's page: progress, agreement and skipped cases, live."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from mrb_lib.data.benchmark import Benchmark
from mrb_lib.reviews.exchange import annotations_of
from mrb_lib.reviews.progress import OPEN, by_annotator, by_dimension, case_states, skipped_cases
from mrb_lib.reviews.store import Store
from mrb_lib.stats.agreement import agreement
from mrb_lib.widgets.annotate.answers import check_preference
from mrb_lib.widgets.text import escaped, isolated

NOT_YET = "not yet"
MEASURES = {
    "percent_agreement": "agreement",
    "krippendorff_alpha": "Krippendorff's alpha",
    "fleiss_kappa": "Fleiss' kappa",
    "cohen_kappa": "Cohen's kappa",
    "gwet_ac1": "Gwet's AC1",
}
_MOST_SKIPPED = 200


def agreement_so_far(benchmark: Benchmark, annotations: pd.DataFrame, *, resamples: int = 2000) -> pd.DataFrame:
    """Agreement on each dimension as text, from `mrb_lib.stats.agreement.agreement`.

    Parameters
    ----------
    annotations : see `mrb_lib.reviews.exchange.annotations_of`

    Returns
    -------
    DataFrame
        `dimension`; `cases` that two annotators or more have answered; `alone` with one; a column a measure (see
        `MEASURES`), an estimate with its 95% interval or "not yet"; `reason` why something is not yet there.
    """
    meta = benchmark.meta
    estimates = agreement(
        annotations, benchmark.cases, categories=meta.categories, level=meta.level, dimensions=meta.dimensions,
        resamples=resamples,
    )  # fmt: skip
    out = pd.DataFrame(
        {"dimension": estimates["dimension"], "cases": estimates["n_cases"], "alone": estimates["n_unpaired"]}
    )
    for name, title in MEASURES.items():
        columns = estimates[[name, f"{name}_low", f"{name}_high"]]
        out[title] = [_estimate(*map(float, row)) for row in columns.to_numpy(dtype=float)]
    # Measures that no nominal label has are not awaited.
    reasons = estimates["reason"].fillna("").str.split("; ")
    out["reason"] = ["; ".join(why for why in each if not why.startswith("nominal labels:")) for each in reasons]
    return out


class Coordination:
    """What the coordinator's page asks: everything anew, or that nothing has changed."""

    def __init__(self, benchmark: Benchmark, store: Store) -> None:
        check_preference(benchmark)
        self._benchmark = benchmark
        self._store = store
        self._made: tuple[int, str] = (-1, "")

    def overview(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """The page as HTML with the `change` it shows; without HTML where `change` is still that of the question."""
        change = self._store.latest_change(self._benchmark.meta.name)
        if question.get("change") == change:
            return {"change": change}
        if self._made[0] != change:
            self._made = (change, self.html())
        return {"change": change, "html": self._made[1]}

    def html(self) -> str:
        """Progress, agreement and skipped cases as three tables."""
        meta = self._benchmark.meta
        here, answers = (
            frame[frame["case_id"].isin(self._benchmark.cases["case_id"])]
            for frame in (self._store.assignments(meta.name), self._store.answers(meta.name))
        )
        states = case_states(here, answers, meta.dimensions)
        annotations, left_out = annotations_of(self._benchmark, self._store)
        mark = ' <span class="mrb-simulated">SIMULATED data</span>' if meta.kind == "simulated" else ""
        parts = [
            f'<header class="mrb-bar"><p class="mrb-what">{isolated(meta.name)}{mark}</p></header>',
            f"<h1>How far the annotation has come</h1>{_summary(states, annotations)}",
            f'<div class="mrb-two"><section><h2>Annotators</h2>{_people(states)}</section>',
            f"<section><h2>Dimensions</h2>{_dimensions(here, answers, meta.dimensions)}</section></div>",
            f"<h2>Agreement so far</h2>{_agreement(agreement_so_far(self._benchmark, annotations))}",
            f"<h2>Skipped</h2>{_skipped(answers, meta.dimensions)}",
            f'<p class="mrb-quiet">{left_out} answers are about cases or dimensions that are not in the benchmark; '
            "they do not count.</p>"
            if left_out
            else "",
        ]
        return f'<div class="mrb-overview">{"".join(parts)}</div>'


def _estimate(value: float, low: float, high: float) -> str:
    if value != value:
        return NOT_YET
    return f"{value:.2f}" + (f" ({low:.2f} to {high:.2f})" if low == low else "")


def _summary(states: pd.DataFrame, annotations: pd.DataFrame) -> str:
    closed = int((states["state"] != OPEN).sum())
    cases = f"cases with an answer: {annotations['case_id'].nunique()} of {states['case_id'].nunique()} assigned"
    return f"<p>Readings finished: {closed} of {len(states)} · {cases} · annotations: {len(annotations)}</p>"


def _people(states: pd.DataFrame) -> str:
    if states.empty:
        return "<p>Nothing is assigned yet: <kbd>mrb annotate BENCH --annotators NAME,NAME</kbd> deals cases out.</p>"
    rows = []
    for row in _records(by_annotator(states)):
        value, total = row["done"] + row["skipped"], row["assigned"]
        bar = f'<progress max="{total}" value="{value}" aria-label="{value} of {total} finished"></progress>'
        counts = (row[name] for name in ("assigned", "done", "skipped", "open"))
        rows.append((isolated(row["annotator"]), bar, *counts, _when(row["last"])))
    return _table(("annotator", "finished", "assigned", "done", "skipped", "open", "last answer (UTC)"), rows)


def _dimensions(assignments: pd.DataFrame, answers: pd.DataFrame, dimensions: Sequence[str]) -> str:
    rows = [
        (isolated(row["dimension"]), row["assigned"], row["answered"], row["skipped"])
        for row in _records(by_dimension(assignments, answers, dimensions))
    ]
    return _table(("dimension", "assigned", "answered", "skipped"), rows)


def _agreement(estimates: pd.DataFrame) -> str:
    rows = []
    for row in _records(estimates):
        counts = (row[name] for name in ("cases", "alone"))
        measures = (_muted(str(row[title])) for title in MEASURES.values())
        rows.append((isolated(row["dimension"]), *counts, *measures, isolated(row["reason"])))
    head = (
        "dimension",
        "cases with two or more",
        "with one",
        *MEASURES.values(),
        "why not yet, or how far to trust it",
    )
    note = "Estimates with 95% intervals that resample cases. They move as answers come in: stop by plan, not by them."
    return f'{_table(head, rows)}<p class="mrb-quiet">{note}</p>'


def _skipped(answers: pd.DataFrame, dimensions: Sequence[str]) -> str:
    skipped = skipped_cases(answers, dimensions)
    if skipped.empty:
        return "<p>Nothing was skipped.</p>"
    rows = [
        (*(isolated(row[name]) for name in ("case_id", "annotator", "dimensions", "reason")), _when(row["last"]))
        for row in _records(skipped.head(_MOST_SKIPPED))
    ]
    more = f'<p class="mrb-quiet">and {len(skipped) - len(rows)} more</p>' if len(skipped) > len(rows) else ""
    return _table(("case", "annotator", "dimensions", "reason", "when (UTC)"), rows) + more


def _records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    return [{str(name): value for name, value in row.items()} for row in frame.to_dict("records")]


def _muted(value: str) -> str:
    return f'<span class="mrb-quiet">{NOT_YET}</span>' if value == NOT_YET else escaped(value)


def _when(value: object) -> str:
    return escaped(value[:16].replace("T", " ")) if isinstance(value, str) else "&ndash;"


def _table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table of cells that are HTML, or numbers; the first of each row names it."""
    titles = "".join(f'<th scope="col">{escaped(name)}</th>' for name in head)
    body = "".join(
        f'<tr><th scope="row">{first}</th>{"".join(f"<td>{cell}</td>" for cell in cells)}</tr>'
        for first, *cells in rows
    )
    return (
        f'<div class="mrb-scroll" tabindex="0" role="group" aria-label="table"><table><thead><tr>{titles}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )
