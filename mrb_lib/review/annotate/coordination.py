"""The coordinator's page: progress, agreement, pace, drift, skipped cases and comments, live, and files of all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.review.annotate.forms import PREFERENCE, Form
from mrb_lib.review.annotate.quality import comments_html, defined_reasons, drift_html, pace_html, pairs_html
from mrb_lib.review.annotate.tables import NOT_SAID, estimate, muted, quiet, records, sentence, table, when
from mrb_lib.review.file import File
from mrb_lib.review.records.answer_log import answer_log
from mrb_lib.review.records.exchange import annotations_of, guarded_csv
from mrb_lib.review.records.people import PEOPLE, read_people
from mrb_lib.review.records.progress import OPEN, by_annotator, by_dimension, case_states, skipped_cases
from mrb_lib.review.records.store import Store
from mrb_lib.review.text import isolated
from mrb_lib.stats.tables.agreement import agreement_of
from mrb_lib.stats.verdicts import ANSWERS, label_rows, names_of
from mrb_lib.tables.errors import InputError

MEASURES = {
    "percent_agreement": "agreement",
    "krippendorff_alpha": "Krippendorff's alpha",
    "fleiss_kappa": "Fleiss' kappa",
    "cohen_kappa": "Cohen's kappa",
    "gwet_ac1": "Gwet's AC1",
}
_MOST_SKIPPED = 200
_FILES = {"annotations": "annotations", "log": "annotation-log"}


def agreement_so_far(benchmark: Benchmark, annotations: pd.DataFrame, *, resamples: int = 2000) -> pd.DataFrame:
    """Agreement on each dimension, and on each label where several may apply, as text.

    From the table `agreement`; a label is a yes or a no of its own, "dimension: label".

    Parameters
    ----------
    annotations : see `mrb_lib.review.records.exchange.annotations_of`

    Returns
    -------
    DataFrame
        `dimension`; `cases` that two annotators or more have answered; `alone` with one; a column a measure (see
        `MEASURES`), an estimate with its 95% interval or "not yet"; `reason` why something is not yet there.
    """
    meta, has_labels = benchmark.meta, annotations["dimension"].isin(list(benchmark.meta.labels))
    estimates = agreement_of(
        annotations[~has_labels], benchmark.cases, categories=meta.categories, level=meta.level,
        dimensions=meta.one_choice, resamples=resamples,
    )  # fmt: skip
    if meta.labels:
        of_labels = agreement_of(
            label_rows(annotations[has_labels], meta.labels), benchmark.cases, categories=ANSWERS, level="nominal",
            dimensions=names_of(meta.labels), resamples=resamples,
        )  # fmt: skip
        titles = of_labels["dimension"].str.replace("\n", ": ", regex=False)
        estimates = pd.concat([estimates, of_labels.assign(dimension=titles)], ignore_index=True)
    out = pd.DataFrame(
        {"dimension": estimates["dimension"], "cases": estimates["n_cases"], "alone": estimates["n_unpaired"]}
    )
    for name, title in MEASURES.items():
        columns = estimates[[name, f"{name}_low", f"{name}_high"]]
        out[title] = [estimate(*map(float, row)) for row in columns.to_numpy(dtype=float)]
    out["reason"] = defined_reasons(estimates["reason"])
    return out


class Coordination:
    """What the coordinator's page asks: everything anew, or that nothing has changed."""

    def __init__(self, benchmark: Benchmark, store: Store, form: Form = PREFERENCE) -> None:
        form.check(benchmark.meta)
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

    def export(self, question: Mapping[str, Any]) -> File:
        """The file of `kind` "annotations" or "log" as CSV.

        It is meant for a spreadsheet, so that no cell of it is run as a formula; the table of a benchmark folder is
        what `mrb annotate --export` writes.
        """
        kind = str(question.get("kind"))
        if kind == "annotations":
            frame, left_out = annotations_of(self._benchmark, self._store)
        elif kind == "log":
            frame, left_out = answer_log(self._benchmark, self._store)
        else:
            raise InputError(f"file {kind!r} is unknown; use annotations or log.")
        mark = "-SIMULATED" if self._benchmark.meta.kind == "simulated" else ""
        facts = {"name": f"{_FILES[kind]}{mark}.csv", "rows": len(frame), "left_out": left_out}
        return File(f"\ufeff{guarded_csv(frame)}".encode(), "text/csv; charset=utf-8", facts)

    def _known(self) -> pd.DataFrame:
        """What is written down about the annotators; see `mrb_lib.review.records.people`."""
        folder = self._benchmark.path
        return read_people(Path() if folder is None else folder / PEOPLE)

    def html(self) -> str:
        """The whole page: progress, agreement, pace, drift, skipped cases and comments as tables."""
        meta = self._benchmark.meta
        here, answers = (
            frame[frame["case_id"].isin(self._benchmark.cases["case_id"])]
            for frame in (self._store.assignments(meta.name), self._store.answers(meta.name))
        )
        states = case_states(here, answers, meta.dimensions)
        annotations, left_out = annotations_of(self._benchmark, self._store)
        log, _ = answer_log(self._benchmark, self._store)
        mark = ' <span class="mrb-simulated">SIMULATED data</span>' if meta.kind == "simulated" else ""
        parts = [
            f'<header class="mrb-bar"><p class="mrb-what">{isolated(meta.name)}{mark}</p></header>',
            f"<h1>How far the annotation has come</h1>{_summary(states, annotations)}",
            f'<div class="mrb-two"><section><h2>Annotators</h2>{_people(states, self._known())}</section>',
            f"<section><h2>Dimensions</h2>{_dimensions(here, answers, meta.dimensions)}</section></div>",
            f"<h2>Agreement so far</h2>{_agreement(agreement_so_far(self._benchmark, annotations))}",
            f"<h2>Agreement of pairs</h2>{pairs_html(self._benchmark, annotations)}",
            f"<h2>Pace</h2>{pace_html(log)}",
            f"<h2>Drift</h2>{drift_html(self._benchmark, log)}" if meta.is_preference else "",
            f"<h2>Skipped</h2>{_skipped(answers, meta.dimensions)}",
            f"<h2>Comments</h2>{comments_html(log)}",
            quiet(f"{left_out} answers are about cases or dimensions that are not in the benchmark; they do not count.")
            if left_out
            else "",
        ]
        return f'<div class="mrb-overview">{"".join(parts)}</div>'


def _summary(states: pd.DataFrame, annotations: pd.DataFrame) -> str:
    closed = int((states["state"] != OPEN).sum())
    cases = f"cases with an answer: {annotations['case_id'].nunique()} of {states['case_id'].nunique()} assigned"
    return f"<p>Readings finished: {closed} of {len(states)} · {cases} · annotations: {len(annotations)}</p>"


def _people(states: pd.DataFrame, known: pd.DataFrame) -> str:
    if states.empty:
        return "<p>Nothing is assigned yet: <kbd>mrb annotate BENCH --annotators NAME,NAME</kbd> deals cases out.</p>"
    rows = []
    for row in records(by_annotator(states)):
        value, total = row["done"] + row["skipped"], row["assigned"]
        bar = f'<progress max="{total}" value="{value}" aria-label="{value} of {total} finished"></progress>'
        counts = (row[name] for name in ("assigned", "done", "skipped", "open"))
        rows.append((isolated(row["annotator"]), bar, *counts, when(row["last"]), *_about(row["annotator"], known)))
    head = ("annotator", "finished", "assigned", "done", "skipped", "open", "last answer (UTC)",
            *(("qualification", "years", "consent") if len(known) else ()))  # fmt: skip
    return table(head, rows, "how far each annotator is")


def _about(annotator: str, known: pd.DataFrame) -> list[str]:
    """The cells that say what qualifies somebody; none where nobody has written any of it down."""
    if known.empty:
        return []
    own = known[known["annotator"] == annotator]
    if own.empty:
        return [muted(NOT_SAID)] * 3
    row = own.iloc[0]
    texts = [muted(NOT_SAID) if pd.isna(row[name]) else sentence(row[name]) for name in ("qualification", "consent")]
    years = muted(NOT_SAID) if pd.isna(row["years"]) else f"{row['years']:g}"
    return [texts[0], years, texts[1]]


def _dimensions(assignments: pd.DataFrame, answers: pd.DataFrame, dimensions: Sequence[str]) -> str:
    rows = [
        (isolated(row["dimension"]), row["assigned"], row["answered"], row["skipped"])
        for row in records(by_dimension(assignments, answers, dimensions))
    ]
    return table(("dimension", "assigned", "answered", "skipped"), rows, "how far each dimension is")


def _agreement(estimates: pd.DataFrame) -> str:
    rows = []
    for row in records(estimates):
        counts = (row[name] for name in ("cases", "alone"))
        measures = (muted(str(row[title])) for title in MEASURES.values())
        rows.append((isolated(row["dimension"]), *counts, *measures, sentence(row["reason"])))
    head = (
        "dimension",
        "cases with two or more",
        "with one",
        *MEASURES.values(),
        "why not yet, or how far to trust it",
    )
    note = "Estimates with 95% intervals that resample cases. They move as answers come in: stop by plan, not by them."
    return table(head, rows, "agreement on each dimension") + quiet(note)


def _skipped(answers: pd.DataFrame, dimensions: Sequence[str]) -> str:
    skipped = skipped_cases(answers, dimensions)
    if skipped.empty:
        return "<p>Nothing was skipped.</p>"
    rows = [
        (*(isolated(row[name]) for name in ("case_id", "annotator", "dimensions", "reason")), when(row["last"]))
        for row in records(skipped.head(_MOST_SKIPPED))
    ]
    more = quiet(f"and {len(skipped) - len(rows)} more") if len(skipped) > len(rows) else ""
    return table(("case", "annotator", "dimensions", "reason", "when (UTC)"), rows, "skipped cases") + more
