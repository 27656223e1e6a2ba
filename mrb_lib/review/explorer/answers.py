"""What a failure explorer answers to its page: selections with their counts, cases, and adjudications.

Every answer follows from the question and the data alone, so that several pages may ask at once; a case is named by
its position in the benchmark, which no text of the data can break.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import pandas as pd

from mrb_lib.review.app import File, Handler
from mrb_lib.review.case.images import whole
from mrb_lib.review.case.verdicts import verdicts_html
from mrb_lib.review.explorer.adjudicate import LABELS, Reviews, adjudication_from, history_of, version_of
from mrb_lib.review.explorer.data import REVIEW_WORDS, ExplorerData, message_text
from mrb_lib.review.explorer.export import csv_pieces, page_pieces
from mrb_lib.review.explorer.selections import Selections
from mrb_lib.review.explorer.thumbnails import MOST_ASKED, Thumbnails
from mrb_lib.review.explorer.views import keep_view, kept_views
from mrb_lib.review.failures.kinds import Kinds, Scale
from mrb_lib.review.failures.query import PLACES, SORTS, Query, check_words, from_fragment, sort_value, to_fragment
from mrb_lib.review.text import visible
from mrb_lib.stats.options import IntArray
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.questions import ORDER_EFFECT, QUESTIONS
from mrb_lib.tables.schema import NO_PROBE

ROWS = 60
_KEPT_CASES = 24
_TITLE = 160
_KEYS = {"A": "A", "B": "B", "tie": "T"}
_FREE_KEYS = "ABDEFHILOPQRTUY"  # the letters that do nothing else where one response is rated


class ExplorerAnswers:
    """The answers of one explorer; see `of`.

    Parameters
    ----------
    start : the query and the case to begin with where the page's address names none
    reviewer : the name to offer at sign-in
    blind : what others say of a case is kept from a reviewer until their own is stored
    """

    def __init__(
        self,
        data: ExplorerData,
        reviews: Reviews,
        *,
        start: tuple[Query, str] = (Query(), ""),
        reviewer: str = "",
        blind: bool = False,
    ) -> None:
        self.data, self.reviews, self.start, self.reviewer, self.blind = data, reviews, start, reviewer, blind
        self.selections = Selections(data, reviews, blind=blind)
        self._thumbnails = Thumbnails(data.benchmark)
        self._case_html = lru_cache(maxsize=_KEPT_CASES)(lambda position: data.case_html(position, level=2))
        self._picture = lru_cache(maxsize=2)(lambda name, frame: whole(name, data.benchmark.images, frame))

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {str(name): i for i, name in enumerate(self.data.benchmark.cases["case_id"])}

    def of(self) -> dict[str, Handler]:
        """By the `what` of a question, the function that answers it."""
        functions = (
            self.initial_state, self.select, self.rows, self.case, self.probed, self.image, self.history, self.save,
            self.progress, self.reasons, self.store, self.export, self.thumbnails, self.tags, self.tag, self.views,
            self.keep_view, self.remove_view,
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
                self.selections.of(query, self.selections.scope(question))
            except InputError as error:
                query, trouble = Query(), f"The address asks for what is not here ({error}); all cases are shown."
        first = self.select({**question, "query": asdict(query)}, case)
        return (
            first
            | {
                "name": message_text(meta.name),
                "note": self.data.note,
                "n_cases": self.data.kinds.n_cases,
                "judges": [message_text(name) for name in self.data.judges],
                "dimensions": [message_text(name) for name in self.data.kinds.dimensions],
                "choices": self._choices(),
                "rated": self.data.kinds.scale is not None,
                "sorts": list(self.data.kinds.sorts),
                "kinds": self.data.kind_words,
                "labels": LABELS,
                "questions": [asdict(one) | {"options": list(one.options)} for one in QUESTIONS],
                "review_words": REVIEW_WORDS,
                "reviewer": message_text(self.reviewer),
                "trouble": trouble,
            }
            | self.store({})
        )

    def select(self, question: Mapping[str, Any], case: str = "") -> dict[str, Any]:
        """The cases a query leaves: how many, the counts of each filter, the first rows, and where `case` is.

        What reviewers did is taken as it was when so many adjudications were stored as the answer's `as_of` says; the
        questions that follow bring it along, so that nothing leaves a list while somebody works on it.
        """
        query = query_from(question.get("query") or {})
        scope = self.selections.scope({**question, "as_of": None})
        selected = self.selections.of(query, scope)
        case = case or str(question.get("case") or "")
        wanted = self._positions.get(case)
        trouble = f"There is no case {message_text(case)} in this benchmark." if case and wanted is None else ""
        indices = [] if wanted is None else np.flatnonzero(selected == wanted).tolist()
        index = int(indices[0]) if indices else -1
        start = max(0, index - ROWS // 2)
        return {
            "query": {name: message_value(value) for name, value in asdict(query).items()},
            "fragment": to_fragment(query),
            "n": len(selected),
            "facets": facet_counts(self.selections.facets(query, scope)) | self.selections.review_counts(query, scope),
            "as_of": list(scope[1:]),
            "done": self.selections.n_reviewed(selected, scope[0]),
            "index": index,
            "position": wanted,
            "start": start,
            "rows": self._rows(query, selected[start : start + ROWS], scope[0]),
            "missing": trouble,
        }

    def progress(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """How many cases of the selection the reviewer has reviewed."""
        query, scope = query_from(question.get("query") or {}), self.selections.scope(question)
        return {"done": self.selections.n_reviewed(self.selections.of(query, scope), scope[0])}

    def rows(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """Some rows of the list: `start` and at most `ROWS` of them."""
        query, start = query_from(question.get("query") or {}), max(0, _number(question, "start"))
        scope = self.selections.scope(question)
        selected = self.selections.of(query, scope)
        return {"start": start, "rows": self._rows(query, selected[start : start + ROWS], scope[0])}

    def case(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """One case as HTML, with its gold labels and what the judges in view say."""
        position = self._position(question)
        query = query_from({name: question.get(name) for name in ("judge", "other", "dimension")})
        judges = [name for name in (query.judge, query.other) if name]
        labels = self.data.labels.of(position)
        gold = zip(labels["dimension"], labels["choice"], strict=True)
        verdicts = self.data.verdicts(position) if judges else None
        return {
            "position": position,
            "case_id": message_text(self.data.benchmark.cases["case_id"].iloc[position]),
            "version": version_of(self.data.benchmark.cases.iloc[position]),
            "html": self._case_html(position),
            "view": ""
            if verdicts is None
            else in_view_html(verdicts, labels, judges, query.dimension, self.data.kinds.scale),
            "images": len(self.data.benchmark.cases["images"].iloc[position]),
            "gold": {message_text(d): message_value(c) for d, c in gold},
            "probes": [[message_text(name), *counts] for name, *counts in self.data.probes_of(position, query)],
        }

    def probed(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """The case as a `probe` changes it, with the verdicts in view."""
        position, probe = self._position(question), str(question.get("probe") or "")
        query = query_from({name: question.get(name) for name in ("judge", "other", "dimension")})
        judges = [name for name in (query.judge, query.other) if name]
        return {"html": self.data.probed_html(position, probe, judges=judges, dimension=query.dimension)}

    def image(self, question: Mapping[str, Any]) -> File:
        """A frame of an image of a case with every pixel it has; see `mrb_lib.review.case.images.whole`."""
        position, index = self._position(question), _number(question, "image")
        names = self.data.benchmark.cases["images"].iloc[position]
        if not 0 <= index < len(names):
            raise InputError("there is no such image; load the page again.")
        return self._picture(str(names[index]), _number({"frame": 1, **question}, "frame"))

    def history(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """The adjudications of a case, the newest first; where `hidden` counts others', only the reviewer's own."""
        case = self.data.benchmark.cases.iloc[self._position(question)]
        entries, me = history_of(self.reviews.history(), case, message_text), str(question.get("reviewer") or "")
        own = [one for one in entries if one["reviewer"] == message_text(me)]
        blinded = self.blind and not any(one["counts"] for one in own)
        hidden = len({one["reviewer"] for one in entries} - {message_text(me)}) if blinded else 0
        return {"position": question["position"], "entries": own if blinded else entries, "hidden": hidden}

    def save(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """Store what a reviewer says of the case in sight, and answer with its history, which is read from the store.

        Nothing is stored where the reviewer has said something else that the page does not know of, as in another
        window: the answer's `replaces` is that entry, and a page that then names it as superseded replaces it.

        Raises
        ------
        InputError
            The case in sight is not the one at that position, or has another version.
        """
        case = self._in_sight(question)
        adjudication = adjudication_from(question, self.reviews.benchmark, case, self.reviews.categories)
        dimension = adjudication.dimension
        if dimension is not None and dimension not in self.data.kinds.dimensions:
            raise InputError(f"dimension {dimension!r} is not one of this benchmark; choose another.")
        unseen = self.reviews.unseen_by(adjudication)
        if unseen is not None:
            answer = self.history(question)
            return answer | {"replaces": next(one for one in answer["entries"] if one["id"] == unseen)}
        self.reviews.store().add(adjudication)
        return self.history(question) | {"saved": adjudication.adjudication_id}

    def thumbnails(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """Small pictures of the cases at some positions, see `Thumbnails.of`; the list shows its rows without them."""
        positions = question.get("positions")
        if not isinstance(positions, list) or len(positions) > MOST_ASKED:
            raise InputError("the list asks for no such pictures; load the page again.")
        return self._thumbnails.of([self._position({"position": position}) for position in positions])

    def tags(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """The tags of a case that a reviewer may see, see `Tags.of_case`."""
        position, reviewer = self._position(question), str(question.get("reviewer") or "")
        case_id = str(self.data.benchmark.cases["case_id"].iloc[position])
        who = self.selections.beholder_now(reviewer)
        return {"position": position} | self.selections.tags.of_case(case_id, who)

    def tag(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """Add a tag to the case in sight, or take one's own away; answers as `tags`.

        Raises
        ------
        InputError
            The case in sight is not the one at that position, or has another version; or as `Tags.store`.
        """
        case_id, reviewer = str(self._in_sight(question)["case_id"]), str(question.get("reviewer") or "")
        removed = question.get("removed") is True
        self.selections.tags.store(case_id, str(question.get("tag") or ""), reviewer, removed=removed)
        return self.tags(question)

    def views(self, _question: Mapping[str, Any]) -> dict[str, Any]:
        """The views kept under a name, see `kept_views`."""
        return kept_views(self.reviews)

    def keep_view(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """Keep the page's query under a name, see `mrb_lib.review.explorer.views.keep_view`."""
        name, reviewer, replaced = (str(question.get(one) or "") for one in ("name", "reviewer", "replaced"))
        return keep_view(self.reviews, name, query_from(question.get("query") or {}), reviewer, replaced=replaced)

    def remove_view(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """Remove the view of a name; its rows stay in the store."""
        return keep_view(self.reviews, str(question.get("name") or ""), None, str(question.get("reviewer") or ""))

    def reasons(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """Change the list of reasons; those of before stay in the store."""
        names = question.get("names")
        if not isinstance(names, list):
            raise InputError("the reasons are not a list; load the page again.")
        return {"reasons": [message_text(name) for name in self.reviews.set_reasons([str(name) for name in names])]}

    def store(self, _question: Mapping[str, Any]) -> dict[str, Any]:
        """What keeps a review from being stored, asked anew: `store`, and `again`, whether to ask later may help."""
        trouble = self.reviews.trouble()
        of_orders = {ORDER_EFFECT} if self.data.kinds.scale is not None else set()
        reasons = [message_text(name) for name in self.reviews.reasons() if name not in of_orders]
        return {"store": trouble, "again": self.reviews.where is not None, "reasons": reasons}

    def export(self, question: Mapping[str, Any]) -> File:
        """The selection as a file, `csv` or `html`."""
        query, kind = query_from(question.get("query") or {}), question.get("format")
        scope = self.selections.scope(question)
        selected = self.selections.of(query, scope)
        history = None if self.reviews.trouble() else self.selections.history()
        if history is not None and self.blind:
            mine = {case for case, names in self.selections.marks().items() if scope[0] in names}
            history = history[history["case_id"].isin(mine) | (history["reviewer"] == scope[0])]
        if kind == "csv":
            tags = self.selections.tags.seen_by(self.selections.beholder_now(scope[0]))
            pieces = csv_pieces(self.data, query, selected, history, tags)
        elif kind == "html":
            pieces = page_pieces(self.data, query, selected)
        else:
            raise InputError(f"format {kind!r} is unknown; use csv or html.")
        content = "".join(pieces).encode("utf-8", "surrogatepass")
        return File(content, f"text/{kind}; charset=utf-8", {"name": f"cases.{kind}"})

    def _choices(self) -> list[dict[str, str]]:
        """What the right label may be: `value`, `shown`, what it means (empty where nobody says), and its `key`."""
        meta = self.data.benchmark.meta
        if self.data.kinds.scale is None:
            return [{"value": value, "shown": value, "meaning": "", "key": _KEYS[value]} for value in meta.choices]
        free = [key for key in _FREE_KEYS if not any(key in question.keys for question in QUESTIONS)]
        return [
            {"value": message_text(name), "shown": visible(name), "meaning": visible(meta.definitions.get(name, "")),
             "key": key}
            for name, key in zip(meta.choices, [*free, *[""] * len(meta.choices)], strict=False)
        ]  # fmt: skip

    def _in_sight(self, question: Mapping[str, Any]) -> pd.Series:
        """The case that a page shows, which has to be the one at its position here."""
        case = self.data.benchmark.cases.iloc[self._position(question)]
        if (question.get("case_id"), question.get("version")) != (message_text(case["case_id"]), version_of(case)):
            raise InputError("the case in your window is not the one that is stored here now; load the page again.")
        return case

    def _position(self, question: Mapping[str, Any]) -> int:
        position = _number(question, "position")
        if not 0 <= position < self.data.kinds.n_cases:
            raise InputError("there is no such case; load the page again.")
        return position

    def _rows(self, query: Query, positions: IntArray, reviewer: str) -> list[dict[str, Any]]:
        cases, marks = self.data.benchmark.cases.iloc[positions], self.selections.marks()
        tags = self.selections.tags.seen_by(self.selections.beholder_now(reviewer))
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
                "tags": [visible(tag) for tag in tags.get(str(row["case_id"]), [])],
            }
            for position, row, value in zip(positions, cases.to_dict("records"), values, strict=True)
        ]


def _title(text: str) -> str:
    line = message_text(" ".join(text[: 4 * _TITLE].split()))
    return line if len(line) <= _TITLE else line[: _TITLE - 1] + "…"


def _number(question: Mapping[str, Any], name: str) -> int:
    value = question.get(name, 0)
    if not isinstance(value, int):
        raise InputError(f"{name} {value!r} is not a number; load the page again.")
    return value


def value_of(kinds: Kinds, query: Query, positions: IntArray) -> list[str]:
    """What a row of the list says beside the case: the value it is sorted by, or what became of the judge's verdict."""
    if not query.sort:
        return [""] * len(positions)
    best = sort_value(kinds, query)[positions]
    if query.sort == "distance":
        return [f"{value:.0f} off" if np.isfinite(value) else "" for value in best]
    return [f"{query.sort} {value:.2f}" if np.isfinite(value) else "" for value in best]


def in_view_html(
    verdicts: pd.DataFrame,
    labels: pd.DataFrame,
    judges: Sequence[str],
    dimension: object = None,
    scale: Scale | None = None,
) -> str:
    """What the judges in view say of a case, one below the other, on one dimension or all: where two differ is seen."""
    plain = verdicts[(verdicts["probe"].fillna(NO_PROBE) == NO_PROBE) & verdicts["judge"].isin(list(judges))]
    if dimension:
        plain, labels = (table[table["dimension"] == dimension] for table in (plain, labels))
    if plain.empty:
        return "<p>No verdict of the chosen judges on this case.</p>"
    return verdicts_html(plain, labels, scale)


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
        if name in ("kind", "outcome"):
            values[name] = tuple(str(one) for one in value or ())
        elif name == "desc":
            values[name] = value is not False
        elif name in ("where", "review", "text", "sort"):
            values[name] = str(value or "")
        elif value is not None:
            values[name] = str(value)
    if values["sort"] not in SORTS:
        raise InputError(f"sort {values['sort']!r} is unknown; use one of {', '.join(filter(None, SORTS))}.")
    query = Query(**values)
    check_words(query)
    return query


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
