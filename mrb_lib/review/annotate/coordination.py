"""The coordinator's page: progress, agreement, pace, drift, skipped cases and comments, live, and files of all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pandas as pd

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.review.annotate.forms import PREFERENCE, Form
from mrb_lib.review.file import File
from mrb_lib.review.pages import template
from mrb_lib.review.records.exchange import annotations_of, guarded_csv
from mrb_lib.review.records.people import PEOPLE, read_people
from mrb_lib.review.records.progress import (
    COMMENT,
    OPEN,
    answer_log,
    by_annotator,
    by_dimension,
    case_states,
    counting_choices,
    pace,
    skipped_cases,
)
from mrb_lib.review.records.store import Store
from mrb_lib.stats.methods.drift import drift
from mrb_lib.stats.tables.agreement import PAIR, agreement_of
from mrb_lib.stats.verdicts import ANSWERS, label_rows, names_of
from mrb_lib.tables.errors import InputError

MEASURES = {
    "percent_agreement": "agreement",
    "krippendorff_alpha": "Krippendorff's alpha",
    "fleiss_kappa": "Fleiss' kappa",
    "cohen_kappa": "Cohen's kappa",
    "gwet_ac1": "Gwet's AC1",
}
NOT_YET: Final = "not yet"
UNDEFINED: Final = "undefined"
NOT_SAID: Final = "not said"
_MOST_ROWS: Final = 200
_MOST_NAMED: Final = 3
_FILES = {"annotations": "annotations", "log": "annotation-log"}


@dataclass(frozen=True)
class Table:
    """A table of the page.

    Attributes
    ----------
    label : what it shows, for who cannot see its heading
    head : the titles of the columns
    rows : cells, the first of which names its row: a text, a number, the done and the assigned of a bar, or the lines
        of a cell of several
    notes : sentences below it
    """

    label: str
    head: Sequence[str]
    rows: Sequence[Sequence[object]]
    notes: Sequence[str] = ()


Section = tuple[str, Sequence[Table]]
"""A heading and its tables; what explains them stands in the template."""


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
        out[title] = _estimates(estimates, name)
    out["reason"] = _defined_reasons(estimates["reason"])
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
        kind = str(question.get("kind"))[:100]
        if kind not in _FILES:
            raise InputError(f"file {kind!r} is unknown; use annotations or log.")
        frame, left_out = (annotations_of if kind == "annotations" else answer_log)(self._benchmark, self._store)
        mark = "-SIMULATED" if self._benchmark.meta.kind == "simulated" else ""
        facts = {"name": f"{_FILES[kind]}{mark}.csv", "rows": len(frame), "left_out": left_out}
        return File(f"\ufeff{guarded_csv(frame)}".encode(), "text/csv; charset=utf-8", facts)

    def html(self) -> str:
        """The whole page: progress, agreement, pace, drift, skipped cases and comments as tables."""
        meta, folder = self._benchmark.meta, self._benchmark.path
        here, answers = (
            frame[frame["case_id"].isin(self._benchmark.cases["case_id"])]
            for frame in (self._store.assignments(meta.name), self._store.answers(meta.name))
        )
        states = case_states(here, answers, meta.dimensions)
        annotations, left_out = annotations_of(self._benchmark, self._store)
        log, _ = answer_log(self._benchmark, self._store)
        sections = [
            _people(states, read_people(Path() if folder is None else folder / PEOPLE)),
            _dimensions(here, answers, meta.dimensions),
            _agreement(agreement_so_far(self._benchmark, annotations)),
            _pairs(self._benchmark, annotations),
            _pace(log),
            *([_drift(self._benchmark, log)] if meta.is_preference else []),
            _skipped(answers, meta.dimensions),
            _comments(log),
        ]
        return template("coordinator").render(
            name=meta.name, simulated=meta.kind == "simulated", closed=int((states["state"] != OPEN).sum()),
            readings=len(states), answered=annotations["case_id"].nunique(), assigned=states["case_id"].nunique(),
            annotations=len(annotations), sections=sections, left_out=left_out, quiet=(NOT_YET, UNDEFINED, NOT_SAID),
        )  # fmt: skip


def _people(states: pd.DataFrame, known: pd.DataFrame) -> Section:
    """How far each annotator is, and what qualifies them where that is written down."""
    head = ["annotator", "finished", "assigned", "done", "skipped", "open", "last answer (UTC)"]
    found = by_annotator(states)
    bars = _rows(found["done"] + found["skipped"], found["assigned"])
    counts = [found[name] for name in ("assigned", "done", "skipped", "open")]
    columns: list[Iterable[object]] = [found["annotator"], bars, *counts, map(_when, found["last"])]
    if len(known):
        about = known.set_index("annotator").reindex(found["annotator"])
        head += ["qualification", "years", "consent"]
        for name in head[-3:]:
            values = about[name].map(lambda value: f"{value:g}") if name == "years" else about[name]
            columns.append(values.where(about[name].notna(), NOT_SAID))
    return "Annotators", [Table("how far each annotator is", head, _rows(*columns))]


def _dimensions(assignments: pd.DataFrame, answers: pd.DataFrame, dimensions: Sequence[str]) -> Section:
    found = by_dimension(assignments, answers, dimensions)
    rows = _rows(*(found[name] for name in found))
    return "Dimensions", [Table("how far each dimension is", list(found.columns), rows)]


def _agreement(found: pd.DataFrame) -> Section:
    head = ["dimension", "cases with two or more", "with one", *MEASURES.values()]
    rows = _rows(*(found[name] for name in ("dimension", "cases", "alone", *MEASURES.values())))
    notes = _noted(found["dimension"], found["reason"])
    return "Agreement so far", [Table("agreement on each dimension", head, rows, notes)]


def _pairs(benchmark: Benchmark, annotations: pd.DataFrame, *, resamples: int = 2000) -> Section:
    """Every two annotators on the cases that both answered, from the table `agreement`: a matrix a dimension."""
    meta, several = benchmark.meta, list(benchmark.meta.labels)
    found = agreement_of(
        annotations[~annotations["dimension"].isin(several)], benchmark.cases, categories=meta.categories,
        level=meta.level, dimensions=meta.one_choice, resamples=resamples, pairwise=True,
    )  # fmt: skip
    found = found[found["part"] == PAIR].assign(reason=lambda rows: _defined_reasons(rows["reason"]))
    left_out = [f"Without dimensions of several labels: {', '.join(several)}."] if several else []
    tables = []
    for dimension, own in found.groupby("dimension", sort=False):
        people = sorted({*own["annotator_1"], *own["annotator_2"]})
        same, kappa = (_estimates(own, name, UNDEFINED) for name in ("percent_agreement", "cohen_kappa"))
        cells: dict[tuple[str, str], object] = {}
        for one, other, n, share, beyond in zip(
            own["annotator_1"], own["annotator_2"], own["n_cases"], same, kappa, strict=True
        ):
            first, second = sorted((str(one), str(other)))
            cells[first, second], cells[second, first] = (share, f"{int(n)} case{'' if n == 1 else 's'}"), (beyond,)
        rows = [(row, *(cells.get((row, column), ()) for column in people)) for row in people]
        tables.append(Table(f"agreement of each pair of annotators: {dimension}", [str(dimension), *people], rows))
    columns = ("annotator_1", "annotator_2", "dimension")
    which = [f"{one} and {other} on {name}" for one, other, name in _rows(*(found[column] for column in columns))]
    notes = _noted(which, found["reason"]) + left_out
    return "Agreement of pairs", [*tables, *([Table("", [], [], notes)] if notes else [])]


def _pace(log: pd.DataFrame) -> Section:
    found = pace(log[log["kind"] != COMMENT])
    head = ("annotator", "answers with a time", "without", "hours", "answers an hour", "cases with every time",
            "median seconds a case")  # fmt: skip
    rows = _rows(
        found["annotator"], found["answers"], found["untimed"], _numbers(found["hours"], 2),
        _numbers(found["answers_per_hour"], 0), found["cases"], _numbers(found["median_seconds"], 0),
    )  # fmt: skip
    return "Pace", [Table("pace of each annotator", head, rows)]


def _drift(benchmark: Benchmark, log: pd.DataFrame) -> Section:
    """The halves of each annotator; see `mrb_lib.stats.methods.drift.drift`."""
    found = drift(counting_choices(log), benchmark.cases, categories=benchmark.meta.categories)
    head = ("annotator", "half of their cases", "cases", "answers", "chose A (of A or B)",
            "chose the first shown (of A or B)", "ties (of all)", "agrees with others", "answers compared")  # fmt: skip
    shares = (_numbers(found[name], 2) for name in ("share_a", "share_first", "share_tie", "agreement"))
    rows = _rows(
        found["annotator"], found["half"], found["n_cases"], found["n_answers"], *shares, found["n_compared"]
    )  # fmt: skip
    halves = [f"{who}, {half} half" for who, half in zip(found["annotator"], found["half"], strict=True)]
    notes = _noted(halves, found["reason"].fillna(""))
    return "Drift", [Table("first and second half of each annotator", head, rows, notes)]


def _skipped(answers: pd.DataFrame, dimensions: Sequence[str]) -> Section:
    found = skipped_cases(answers, dimensions)
    head = ("case", "annotator", "dimensions", "reason", "when (UTC)")
    shown = found.head(_MOST_ROWS)
    rows = _rows(*(shown[name] for name in ("case_id", "annotator", "dimensions", "reason")), map(_when, shown["last"]))
    return "Skipped", [Table("skipped cases", head, rows, _more(found))]


def _comments(log: pd.DataFrame) -> Section:
    """What annotators remarked, the latest first."""
    found = log[log["kind"] == COMMENT].iloc[::-1]
    shown = found.head(_MOST_ROWS)
    rows = _rows(*(shown[name] for name in ("case_id", "annotator", "comment")), map(_when, shown["created"]))
    head = ("case", "annotator", "comment", "when (UTC)")
    return "Comments", [Table("comments", head, rows, _more(found))]


def _rows(*columns: Iterable[object]) -> list[tuple[object, ...]]:
    return list(zip(*columns, strict=True))


def _more(found: pd.DataFrame) -> list[str]:
    return [f"and {len(found) - _MOST_ROWS} more, which the files have"] if len(found) > _MOST_ROWS else []


def _noted(names: Iterable[str], reasons: Iterable[str]) -> list[str]:
    """Each of the reasons once, with what it is about where that is not everything."""
    about: dict[str, list[str]] = {}
    names = list(names)
    for name, of_row in zip(names, reasons, strict=True):
        for reason in filter(None, of_row.split("; ")):
            about.setdefault(reason, []).append(name)
    notes = []
    for reason, own in about.items():
        which = ", ".join(own) if len(own) <= _MOST_NAMED else f"{len(own)} of {len(names)}"
        notes.append(f"{'all' if len(own) == len(names) > 1 else which}: {reason}")
    return notes


def _defined_reasons(reasons: pd.Series) -> list[str]:
    """Why values are null, without the measures that labels of the level cannot have: nobody waits for these."""
    each = reasons.fillna("").str.split("; ")
    never = ("nominal labels:", "ordinal labels:")
    return ["; ".join(why for why in of_row if not why.startswith(never)) for of_row in each]


def _estimates(frame: pd.DataFrame, name: str, missing: str = NOT_YET) -> list[str]:
    """Estimates with their intervals, where they have one, as text; `missing` where they are undefined."""
    texts = []
    for value, low, high in frame[[name, f"{name}_low", f"{name}_high"]].to_numpy(dtype=float).round(2) + 0.0:
        interval = f" ({low:.2f} to {high:.2f})" if low == low else ""
        texts.append(f"{value:.2f}{interval}" if value == value else missing)
    return texts


def _numbers(values: pd.Series, digits: int) -> list[str]:
    return [UNDEFINED if value != value else f"{value:,.{digits}f}" for value in values]


def _when(value: object) -> str:
    """A time of the store to the minute; a dash for never."""
    return value[:16].replace("T", " ") if isinstance(value, str) else "–"  # noqa: RUF001  an en dash
