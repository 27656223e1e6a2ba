"""What a failure explorer answers to its page: selections with their counts, cases, and adjudications.

Every answer follows from the question and the data alone, so that several pages may ask at once; a case is named by
its position in the benchmark, which no text of the data can break.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, fields
from functools import cached_property
from itertools import count
from typing import Any

import numpy as np
import pandas as pd

from mrb_lib.errors import InputError
from mrb_lib.schema import NO_PROBE
from mrb_lib.stats.core.options import IntArray
from mrb_lib.stats.failures.failure_kinds import Kinds
from mrb_lib.stats.failures.query import PLACES, SORTS, Query, from_fragment, to_fragment
from mrb_lib.stats.failures.selection import facets, searchable, select
from mrb_lib.widgets.case.view import verdicts_html
from mrb_lib.widgets.explorer.adjudicate import LABELS, Reviews, adjudication_from, history_of, reviewed_by
from mrb_lib.widgets.explorer.data import KIND_WORDS, ExplorerData, message_text
from mrb_lib.widgets.explorer.export import csv_pieces, page_pieces

PIECE = 1_000_000
ROWS = 60
_KEPT_CASES, _KEPT_SELECTIONS, _KEPT_EXPORTS = 24, 16, 4
_TITLE = 160


class ExplorerAnswers:
    """The answers of one explorer; see `of`.

    Parameters
    ----------
    start : the query and the case to begin with where the page's address names none
    reviewer : the name to offer at sign-in
    """

    def __init__(
        self, data: ExplorerData, reviews: Reviews, *, start: tuple[Query, str] = (Query(), ""), reviewer: str = ""
    ) -> None:
        self.data, self.reviews, self.start, self.reviewer = data, reviews, start, reviewer
        self._cases: OrderedDict[int, str] = OrderedDict()
        self._selections: OrderedDict[Query, IntArray] = OrderedDict()
        self._exports: OrderedDict[str, Iterator[str]] = OrderedDict()
        self._marks: tuple[pd.DataFrame, dict[str, list[str]]] | None = None
        self._numbers = count(1)

    @cached_property
    def _texts(self) -> list[str]:
        return searchable(self.data.benchmark.cases)

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {str(name): i for i, name in enumerate(self.data.benchmark.cases["case_id"])}

    def of(self) -> dict[str, Callable[[Mapping[str, Any]], Mapping[str, Any]]]:
        """By the `what` of a question, the function that answers it."""
        functions = (
            self.initial_state, self.select, self.rows, self.case, self.rest, self.history, self.save, self.reasons,
            self.store, self.export, self.more,
        )  # fmt: skip
        return {function.__name__: function for function in functions}

    def initial_state(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """All that a page shows first, from the part of its address after `#`."""
        meta = self.data.benchmark.meta
        fragment, trouble = str(question.get("fragment") or ""), ""
        query, case = self.start
        if fragment.strip("#"):
            try:
                query, case = from_fragment(fragment)
                self.selected(query)
            except InputError as error:
                query, trouble = Query(), f"The address asks for what is not here ({error}); all cases are shown."
        first = self.select({"query": asdict(query)}, case)
        return (
            first
            | {
                "name": message_text(meta.name),
                "note": self.data.note,
                "n_cases": self.data.kinds.n_cases,
                "judges": [message_text(name) for name in self.data.judges],
                "dimensions": [message_text(name) for name in self.data.kinds.dimensions],
                "categories": list(meta.categories),
                "kinds": KIND_WORDS,
                "labels": LABELS,
                "reviewer": message_text(self.reviewer),
                "trouble": trouble,
            }
            | self.store({})
        )

    def select(self, question: Mapping[str, Any], case: str = "") -> dict[str, Any]:
        """The cases a query leaves: how many, the counts of each filter, the first rows, and where `case` is."""
        query = query_from(question.get("query") or {})
        selected = self.selected(query)
        wanted = self._positions.get(case)
        trouble = f"There is no case {message_text(case)} in this benchmark." if case and wanted is None else ""
        indices = [] if wanted is None else np.flatnonzero(selected == wanted).tolist()
        index = int(indices[0]) if indices else -1
        start = max(0, index - ROWS // 2)
        table = facets(self.data.kinds, self.data.benchmark.cases, query, texts=self._texts_for(query))
        return {
            "query": {name: message_value(value) for name, value in asdict(query).items()},
            "fragment": to_fragment(query),
            "n": len(selected),
            "facets": facet_counts(table),
            "index": index,
            "position": wanted,
            "start": start,
            "rows": self._rows(query, selected[start : start + ROWS]),
            "missing": trouble,
        }

    def selected(self, query: Query) -> IntArray:
        """The positions of the cases that a query leaves, in its order, kept for the questions that follow."""
        if query not in self._selections:
            selected = select(self.data.kinds, self.data.benchmark.cases, query, texts=self._texts_for(query))
            _keep(self._selections, query, selected, _KEPT_SELECTIONS)
        return self._selections[query]

    def rows(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """Some rows of the list: `start` and at most `ROWS` of them."""
        query, start = query_from(question.get("query") or {}), max(0, _number(question, "start"))
        return {"start": start, "rows": self._rows(query, self.selected(query)[start : start + ROWS])}

    def case(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """One case as HTML, with its gold labels and what the judges in view say; a long one goes on with `rest`."""
        position = self._position(question)
        html = self._case_html(position)
        judges = [str(name) for name in (question.get("judge"), question.get("other")) if name]
        labels = self.data.labels.of(position)
        gold = zip(labels["dimension"], labels["choice"], strict=True)
        verdicts = self.data.verdicts(position) if judges else None
        return {
            "position": position,
            "case_id": message_text(self.data.benchmark.cases["case_id"].iloc[position]),
            "html": html[:PIECE],
            "next": _next(html, 0),
            "view": "" if verdicts is None else in_view_html(verdicts, labels, judges, question.get("dimension")),
            "gold": {message_text(d): message_value(c) for d, c in gold},
        }

    def rest(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """The piece of a long case from `from` on, which is the `next` of the piece before; the last one has none."""
        html, start = self._case_html(self._position(question)), max(0, _number(question, "from"))
        return {"html": html[start : start + PIECE], "next": _next(html, start)}

    def history(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """The adjudications of a case, the newest first."""
        case = self.data.benchmark.cases.iloc[self._position(question)]
        return {"position": question["position"], "entries": history_of(self.reviews.history(), case, message_text)}

    def save(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """Store what a reviewer says of a case, and answer with its history, which is read from the store."""
        case = self.data.benchmark.cases.iloc[self._position(question)]
        adjudication = adjudication_from(question, self.reviews.benchmark, case)
        dimension = adjudication.dimension
        if dimension is not None and dimension not in self.data.kinds.dimensions:
            raise InputError(f"dimension {dimension!r} is not one of this benchmark; choose another.")
        self.reviews.save(adjudication)
        return self.history(question) | {"saved": adjudication.adjudication_id}

    def reasons(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """Change the list of reasons; those of before stay in the store."""
        names = question.get("names")
        if not isinstance(names, list):
            raise InputError("the reasons are not a list; load the page again.")
        return {"reasons": [message_text(name) for name in self.reviews.set_reasons([str(name) for name in names])]}

    def store(self, _question: Mapping[str, Any]) -> dict[str, Any]:
        """What keeps a review from being stored, asked anew: `store`, and `again`, whether to ask later may help."""
        trouble = self.reviews.trouble()
        reasons = [message_text(name) for name in self.reviews.reasons()]
        return {"store": trouble, "again": self.reviews.where is not None, "reasons": reasons}

    def export(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """Begin to write the selection as a file, `csv` or `html`; its pieces follow by `more`."""
        query, kind = query_from(question.get("query") or {}), question.get("format")
        selected = self.selected(query)
        try:
            history = self.reviews.history()
        except InputError:
            history = None
        if kind == "csv":
            pieces = csv_pieces(self.data, query, selected, history)
        elif kind == "html":
            pieces = page_pieces(self.data, query, selected)
        else:
            raise InputError(f"format {kind!r} is unknown; use csv or html.")
        name = str(next(self._numbers))
        _keep(self._exports, name, _in_pieces(pieces), _KEPT_EXPORTS)
        return {"export": name}

    def more(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """The next piece of a file; `done` after the last."""
        pieces = self._exports.get(str(question.get("export")))
        if pieces is None:
            raise InputError("this file is not being written any more; export again.")
        piece = next(pieces, None)
        return {"piece": piece or "", "done": piece is None}

    def marks(self) -> dict[str, list[str]]:
        """By case, the reviewers with a current adjudication; empty where no store can be read."""
        try:
            history = self.reviews.history()
        except InputError:
            return {}
        if self._marks is None or self._marks[0] is not history:
            self._marks = history, reviewed_by(history)
        return self._marks[1]

    def _texts_for(self, query: Query) -> Sequence[str] | None:
        return self._texts if query.text else None

    def _position(self, question: Mapping[str, Any]) -> int:
        position = _number(question, "position")
        if not 0 <= position < self.data.kinds.n_cases:
            raise InputError("there is no such case; load the page again.")
        return position

    def _case_html(self, position: int) -> str:
        if position not in self._cases:
            _keep(self._cases, position, self.data.case_html(position, level=2), _KEPT_CASES)
        return self._cases[position]

    def _rows(self, query: Query, positions: IntArray) -> list[dict[str, Any]]:
        cases, marks = self.data.benchmark.cases.iloc[positions], self.marks()
        columns = [name for name in PLACES if name in cases.columns]
        values = value_of(self.data.kinds, query, positions)
        return [
            {
                "position": int(position),
                "id": message_text(row["case_id"]),
                "title": _title(str(row["question"])),
                "place": " · ".join(message_text(row[name]) for name in columns if isinstance(row[name], str)),
                "value": value,
                "by": [message_text(name) for name in marks.get(str(row["case_id"]), [])],
            }
            for position, row, value in zip(positions, cases.to_dict("records"), values, strict=True)
        ]


def _next(html: str, start: int) -> int | None:
    """Where the next piece begins. Python says so: a page counts an emoji as two."""
    return start + PIECE if len(html) > start + PIECE else None


def _title(text: str) -> str:
    line = message_text(" ".join(text[: 4 * _TITLE].split()))
    return line if len(line) <= _TITLE else line[: _TITLE - 1] + "…"


def _number(question: Mapping[str, Any], name: str) -> int:
    value = question.get(name, 0)
    if not isinstance(value, int):
        raise InputError(f"{name} {value!r} is not a number; load the page again.")
    return value


def _keep(kept: OrderedDict[Any, Any], key: object, value: object, most: int) -> None:
    kept[key] = value
    while len(kept) > most:
        kept.popitem(last=False)


def _in_pieces(texts: Iterator[str]) -> Iterator[str]:
    """The texts in pieces that one message can carry, small ones together."""
    held = ""
    for text in texts:
        held += text
        while len(held) >= PIECE:
            yield held[:PIECE]
            held = held[PIECE:]
    if held:
        yield held


def value_of(kinds: Kinds, query: Query, positions: IntArray) -> list[str]:
    """What a row of the list says beside the case: the value it is sorted by, or what became of the judge's verdict."""
    judges = slice(None) if query.judge is None else _only(kinds.judges, query.judge)
    dimensions = slice(None) if query.dimension is None else _only(kinds.dimensions, query.dimension)
    if not query.sort:
        return [""] * len(positions)
    if query.sort == "confidence":
        values = kinds.confidence[judges, dimensions][:, :, positions].reshape(-1, len(positions))
    else:
        table = kinds.disagreement if query.sort == "disagreement" else kinds.difficulty
        values = table[dimensions][:, positions]
    empty = -np.inf if query.desc else np.inf
    filled = np.where(np.isnan(values), empty, values)
    best = filled.max(axis=0, initial=empty) if query.desc else filled.min(axis=0, initial=empty)
    return [f"{query.sort} {value:.2f}" if np.isfinite(value) else "" for value in best]


def in_view_html(verdicts: pd.DataFrame, labels: pd.DataFrame, judges: Sequence[str], dimension: object = None) -> str:
    """What the judges in view say of a case, one below the other, on one dimension or all: where two differ is seen."""
    plain = verdicts[(verdicts["probe"].fillna(NO_PROBE) == NO_PROBE) & verdicts["judge"].isin(list(judges))]
    if dimension:
        plain, labels = (table[table["dimension"] == dimension] for table in (plain, labels))
    if plain.empty:
        return "<p>No verdict of the chosen judges on this case.</p>"
    return verdicts_html(plain, labels)


def query_from(parameters: Mapping[str, Any]) -> Query:
    """The query that a page sends as a dictionary of its fields.

    Raises
    ------
    InputError
        A field has no value that it can have.
    """
    values: dict[str, Any] = {}
    for name in (field.name for field in fields(Query)):
        value = parameters.get(name)
        if name == "kind":
            values[name] = tuple(str(kind) for kind in value or ())
        elif name == "desc":
            values[name] = value is not False
        elif name in ("text", "sort"):
            values[name] = str(value or "")
        elif value is not None:
            values[name] = str(value)
    if values["sort"] not in SORTS:
        raise InputError(f"sort {values['sort']!r} is unknown; use one of {', '.join(filter(None, SORTS))}.")
    return Query(**values)


def message_value(value: object) -> object:
    """A value as a message can hold it: nulls, lists, and text without half characters."""
    if isinstance(value, tuple):
        return [message_text(one) for one in value]
    if value is None or (isinstance(value, float) and value != value):
        return None
    return message_text(value) if isinstance(value, str) else value


def facet_counts(table: pd.DataFrame) -> dict[str, Any]:
    """By facet: `total`, `adds_up`, and the `values` with their counts; an empty value stands for cases without one."""
    out: dict[str, Any] = {}
    for row in table.to_dict("records"):
        value = message_text(row["value"]) if isinstance(row["value"], str) else ""
        empty = {"total": int(row["n_total"]), "adds_up": bool(row["adds_up"]), "values": []}
        out.setdefault(str(row["facet"]), empty)["values"].append([value, int(row["n"])])
    return out


def _only(names: Sequence[str], name: str) -> slice:
    index = list(names).index(name)
    return slice(index, index + 1)
