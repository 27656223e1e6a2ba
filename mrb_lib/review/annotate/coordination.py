"""The coordinator's page: progress, agreement, pace, drift, skipped cases and comments, live, and files of all."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pandas as pd

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.review.annotate.forms import PREFERENCE, STYLES, Form, form_of
from mrb_lib.review.app import App, File
from mrb_lib.review.pages import template
from mrb_lib.review.records.exchange import (
    COMMENT,
    OPEN,
    PEOPLE,
    annotations_of,
    answer_log,
    by_annotator,
    case_states,
    counting_choices,
    guarded_csv,
    pace,
    read_people,
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
_MOST_NAMED: Final = 3
_FILES = {"annotations": "annotations", "log": "annotation-log"}


Section = tuple[str, Mapping[str, pd.DataFrame], Sequence[str]]
"""A part of the page: its heading, by which the template `coordinator` finds its words; its tables by what each is
about ("" for the only one), whose first column names the rows and in which null is undefined; sentences below them."""


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
    meta, estimates = benchmark.meta, _agreement(benchmark, annotations, resamples)
    if meta.labels:
        has_labels = annotations["dimension"].isin(list(meta.labels))
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
        agreement = agreement_so_far(self._benchmark, annotations)
        comments = log.loc[log["kind"] == COMMENT, ["case_id", "annotator", "comment", "created"]]
        sections: list[Section] = [
            ("Annotators", {"": _people(states, read_people(Path() if folder is None else folder / PEOPLE))}, ()),
            (
                "Agreement so far", {"": agreement.drop(columns="reason")},
                _noted(agreement["dimension"], agreement["reason"]),
            ),
            _pairs(self._benchmark, annotations),
            ("Pace", {"": pace(log[log["kind"] != COMMENT])}, ()),
            *([_drift(self._benchmark, log)] if meta.is_preference else []),
            ("Skipped", {"": skipped_cases(answers, meta.dimensions)}, ()),
            ("Comments", {"": comments.iloc[::-1]}, ()),
        ]  # fmt: skip
        return template("coordinator").render(
            name=meta.name, simulated=meta.kind == "simulated", closed=int((states["state"] != OPEN).sum()),
            readings=len(states), answered=annotations["case_id"].nunique(), assigned=states["case_id"].nunique(),
            annotations=len(annotations), sections=sections, left_out=left_out, quiet=(NOT_YET, UNDEFINED),
        )  # fmt: skip


def coordinate(benchmark: Benchmark, store: Store, form: Form | None = None) -> App:
    """Progress, agreement, pace, drift, skipped cases and comments of the annotation of a benchmark, live.

    Raises
    ------
    InputError
        The benchmark's labels are not those of the form.
    """
    desk = Coordination(benchmark, store, form or form_of(benchmark.meta))
    return App(
        f"Coordination: {benchmark.meta.name}", {"overview": desk.overview, "export": desk.export},
        ("annotate/coordinator",), STYLES,
        static=lambda: template("static").render(look="mrb-annotate", styles=STYLES, html=[desk.html()]),
    )  # fmt: skip


def _people(states: pd.DataFrame, known: pd.DataFrame) -> pd.DataFrame:
    """Return how far each annotator is, and what qualifies them where that is written down."""
    found = by_annotator(states)
    closed = found["done"] + found["skipped"]
    found.insert(1, "finished", [{"done": n, "of": of} for n, of in zip(closed, found["assigned"], strict=True)])
    return found.merge(known, how="left", on="annotator") if len(known) else found


def _agreement(
    benchmark: Benchmark, annotations: pd.DataFrame, resamples: int = 2000, *, pairwise: bool = False
) -> pd.DataFrame:
    """The table `agreement` on the dimensions of one choice."""
    meta, of_one = benchmark.meta, annotations["dimension"].isin(list(benchmark.meta.one_choice))
    return agreement_of(
        annotations[of_one], benchmark.cases, categories=meta.categories, level=meta.level, dimensions=meta.one_choice,
        resamples=resamples, pairwise=pairwise,
    )  # fmt: skip


def _pairs(benchmark: Benchmark, annotations: pd.DataFrame) -> Section:
    """Every two annotators on the cases that both answered, from the table `agreement`: a matrix a dimension."""
    several, found = list(benchmark.meta.labels), _agreement(benchmark, annotations, pairwise=True)
    found = found[found["part"] == PAIR]
    tables = {}
    for dimension, own in found.groupby("dimension", sort=False):
        people = sorted({*own["annotator_1"], *own["annotator_2"]})
        same, kappa = (_estimates(own, name, UNDEFINED) for name in ("percent_agreement", "cohen_kappa"))
        cells: dict[tuple[str, str], tuple[str, ...]] = {}
        for one, other, n, share, beyond in zip(
            own["annotator_1"], own["annotator_2"], own["n_cases"], same, kappa, strict=True
        ):
            first, second = sorted((str(one), str(other)))
            cells[first, second], cells[second, first] = (share, f"{int(n)} case{'' if n == 1 else 's'}"), (beyond,)
        rows = [(row, *(cells.get((row, column), ()) for column in people)) for row in people]
        tables[str(dimension)] = pd.DataFrame(rows, columns=[str(dimension), *people])
    which = found["annotator_1"] + " and " + found["annotator_2"] + " on " + found["dimension"]
    left_out = [f"Without dimensions of several labels: {', '.join(several)}."] if several else []
    return "Agreement of pairs", tables, _noted(which, _defined_reasons(found["reason"])) + left_out


def _drift(benchmark: Benchmark, log: pd.DataFrame) -> Section:
    """The halves of each annotator; see `mrb_lib.stats.methods.drift.drift`."""
    found = drift(counting_choices(log), benchmark.cases, categories=benchmark.meta.categories)
    shown = ["annotator", "half", "n_cases", "n_answers", "share_a", "share_first", "share_tie", "agreement",
             "n_compared"]  # fmt: skip
    halves = found["annotator"] + ", " + found["half"] + " half"
    return "Drift", {"": found[shown]}, _noted(halves, found["reason"].fillna(""))


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
