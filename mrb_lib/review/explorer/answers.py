"""What a failure explorer answers to its page: selections with their counts, cases, and adjudications.

Every answer follows from the question and the data alone, so that several pages may ask at once; a case is named by
its position in the benchmark, which no text of the data can break.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import lru_cache
from io import BytesIO
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
from pydantic import TypeAdapter, ValidationError

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.benchmarks.images.pictures import thumbnail
from mrb_lib.probes.from_file import file_probes
from mrb_lib.review.app import App, File, Handler, sent
from mrb_lib.review.case.verdicts import chose_html, gold_of, verdicts_html
from mrb_lib.review.case.view import SCRIPTS as CASE_SCRIPTS
from mrb_lib.review.case.view import STYLES as CASE_STYLES
from mrb_lib.review.case.view import image_asked, whole
from mrb_lib.review.explorer.adjudicate import (
    LABELS,
    NO_STORE,
    NOT_JUDGED,
    Reviews,
    Scope,
    Selections,
    adjudication_from,
    history_of,
    names_of,
    table_of,
    version_of,
)
from mrb_lib.review.explorer.data import ExplorerData, explorer_data, judges_of, page_of, static_view
from mrb_lib.review.failures.index import POLICY, CaseIndex
from mrb_lib.review.failures.kinds import KINDS, Kinds
from mrb_lib.review.failures.query import PLACES, REVIEWS, Query, check_words, from_fragment, sort_value, to_fragment
from mrb_lib.review.pages import kind_note, template, visible
from mrb_lib.review.records.marks import ADDED, REMOVED, CaseTag, SavedView
from mrb_lib.review.records.questions import ORDER_EFFECT, QUESTIONS, REASONS
from mrb_lib.stats.options import IntArray
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.schema import NO_PROBE

_OWN = ("list", "filters", "form", "tags", "views", "probed", "explorer")
SCRIPTS: Final = (*CASE_SCRIPTS, *(f"explorer/{name}" for name in _OWN))
STYLES: Final = (*CASE_STYLES, "explorer/explorer")
ROWS = 60
SIDE = 80  # of a thumbnail: twice what a row shows, for dense screens
_SUGGESTED_TAGS = 100
_QUERY = TypeAdapter(Query)
_TITLE = 160
_FREE_KEYS = "ABDEFHILOPQRTUY"  # the letters that do nothing else where one response is rated


class ExplorerAnswers:
    """The answers of one explorer; see `of`.

    Parameters
    ----------
    start : the query to begin with where the page's address names none
    blind : what others say of a case is kept from a reviewer until their own is stored
    """

    def __init__(
        self,
        data: ExplorerData,
        reviews: Reviews,
        *,
        start: Query | None = None,
        blind: bool = False,
    ) -> None:
        self.data, self.reviews, self.start, self.blind = data, reviews, start or Query(), blind
        self._positions = {str(name): i for i, name in enumerate(data.benchmark.cases["case_id"])}
        self.selections = Selections(data, reviews, blind=blind)
        self._thumbnail = lru_cache(maxsize=4000)(lambda name: _small(name, data.benchmark.images))
        self._case_html = lru_cache(maxsize=24)(lambda position: data.case_html(position, level=2))
        self._picture = lru_cache(maxsize=2)(lambda name, frame: whole(name, data.benchmark.images, frame))

    def of(self) -> dict[str, Handler]:
        """By the `what` of a question, the function that answers it."""
        functions = (
            self.initial_state, self.select, self.rows, self.case, self.probed, self.image, self.history, self.save,
            self.export, self.thumbnail, self.tag, self.views, self.keep_view, self.remove_view,
        )  # fmt: skip
        return {function.__name__: function for function in functions}

    def initial_state(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """All that a page shows first, from the part of its address after `#`."""
        meta = self.data.benchmark.meta
        fragment, trouble = str(question.get("fragment") or ""), ""
        query, case = self.start, ""
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
                "name": meta.name,
                "note": kind_note(meta.kind),
                "judges": self.data.kinds.judges,
                "dimensions": list(self.data.kinds.dimensions),
                "choices": self._choices(),
                "rated": self.data.kinds.scale is not None,
                "sorts": list(self.data.kinds.sorts),
                "kinds": {name: KINDS[name] for name in self.data.kinds.names},
                "labels": LABELS,
                "questions": [asdict(one) | {"options": list(one.options)} for one in QUESTIONS],
                "review_words": REVIEWS,
                "trouble": trouble,
            }
            | self.store({})
        )

    def select(self, question: Mapping[str, Any], case: str = "") -> dict[str, Any]:
        """The cases a query leaves: how many, the counts of each filter, the first rows, and where `case` is.

        What reviewers did is taken as it was when so many adjudications were stored as the answer's `as_of` says; the
        questions that follow bring it along, so that nothing leaves a list while somebody works on it.
        """
        query, selected, scope = self._asked({**question, "as_of": None})
        case = case or str(question.get("case") or "")
        wanted, ids = self._positions.get(case), self.data.benchmark.cases["case_id"]
        trouble = f"There is no case {case} in this benchmark." if case and wanted is None else ""
        indices = [] if wanted is None else np.flatnonzero(selected == wanted).tolist()
        index = int(indices[0]) if indices else -1
        start = max(0, index - ROWS // 2)
        return {
            "query": asdict(query),
            "fragment": to_fragment(query),
            "n": len(selected),
            "facets": self.selections.facets(query, scope),
            "as_of": list(scope[1:]),
            "done": len(self.selections.reviewed(scope[0]) & set(ids.iloc[selected])),
            "index": index,
            "position": wanted,
            "start": start,
            "rows": self._rows(query, selected[start : start + ROWS], scope[0]),
            "missing": trouble,
        }

    def rows(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """Some rows of the list: `start` and at most `ROWS` of them."""
        (query, selected, scope), start = self._asked(question), max(0, sent({"start": 0, **question}, "start", int))
        return {"start": start, "rows": self._rows(query, selected[start : start + ROWS], scope[0])}

    def case(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """One case as HTML, with its gold labels and what the judges in view say."""
        position, query = self._in_view(question)
        judges, labels, case = judges_of(query), self.data.labels.of(position), self.data.benchmark.cases.iloc[position]
        view, on = "", [query.dimension] if query.dimension else self.data.kinds.dimensions
        if judges:
            said = self.data.verdicts(position)
            said = said[(said["probe"] == NO_PROBE) & said["judge"].isin(judges) & said["dimension"].isin(on)]
            view = "<p>No verdict of the chosen judges on this case.</p>"
        if judges and len(said):
            view = verdicts_html(said, labels[labels["dimension"].isin(on)], self.data.kinds.scale)
        return {
            "position": position,
            "case_id": case["case_id"],
            "version": version_of(case),
            "html": self._case_html(position),
            "view": view,
            "chose": chose_html(self.data.kinds, position, judges, query.dimension, gold_of(labels)) if judges else "",
            "images": len(case["images"]),
            "gold": labels.set_index("dimension")["choice"].astype(object).replace(np.nan, None).to_dict(),
            "probes": self.data.probes_of(position, query),
        }

    def probed(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """The case as a `probe` changes it, with the verdicts in view."""
        (position, query), probe = self._in_view(question), str(question.get("probe") or "")
        return {"html": self.data.probed_html(position, probe, judges=judges_of(query), dimension=query.dimension)}

    def image(self, question: Mapping[str, Any]) -> File:
        """A frame of an image of a case with every pixel it has; see `mrb_lib.review.case.view.whole`."""
        case = self.data.benchmark.cases.iloc[self._position(question)]
        return self._picture(image_asked(question, case), sent({"frame": 1, **question}, "frame", int))

    def history(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """Return the adjudications of a case, the newest first, their `html`, and its `tags` as `tags` has them.

        Where `hidden` counts those of others, only the reviewer's own are among them.
        """
        case = self.data.benchmark.cases.iloc[self._position(question)]
        entries, me = history_of(self.reviews.history(), case), str(question.get("reviewer") or "")
        own = [one for one in entries if one["reviewer"] == me]
        blinded = self.blind and not any(one["counts"] for one in own)
        hidden = len({one["reviewer"] for one in entries} - {me}) if blinded else 0
        shown = own if blinded else entries
        html = template("history").render(entries=shown, hidden=hidden)
        tags = self.tags(question)
        return {"position": question["position"], "entries": shown, "hidden": hidden, "html": html, "tags": tags}

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
        if adjudication.judge is not None and adjudication.judge not in self.data.kinds.judges:
            raise InputError(f"judge {adjudication.judge!r} has no verdict in these runs; choose another.")
        if (unseen := self.reviews.add(adjudication)) is not None:
            answer = self.history(question)
            return answer | {"replaces": next(one for one in answer["entries"] if one["id"] == unseen)}
        return self.history(question) | {"saved": adjudication.adjudication_id}

    def thumbnail(self, question: Mapping[str, Any]) -> File:
        """The first image of a case, small, as a JPEG; the list shows a row without it.

        Raises
        ------
        InputError
            The case has no image, or it cannot be shown.
        """
        names = self.data.benchmark.cases["images"].iloc[self._position(question)]
        if not len(names):
            raise InputError("the case has no image.")
        return self._thumbnail(str(names[0]))

    def tags(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """The tags of a case that a reviewer may see.

        Returns
        -------
        dict
            `tags`, each with its `tag`, `seen` as a page may show it, whether it is `mine`, and `by` whom it is; how
            many are `hidden` until one's own review is stored; and `known`, tags to choose from, the usual ones first.
        """
        position, me = self._position(question), str(question.get("reviewer") or "")
        case_id = str(self.data.benchmark.cases["case_id"].iloc[position])
        seen, every = self.selections.tagged(me), self.selections.tagged(None)
        here, usual = seen.get(case_id, []), Counter(tag for tags in seen.values() for tag, _ in tags)
        names = sorted({tag for tag, _ in here})
        return {
            "position": position,
            "tags": [
                {"tag": name, "seen": visible(name), "mine": (name, me) in here,
                 "by": [visible(by) for tag, by in here if tag == name]}
                for name in names
            ],
            "hidden": len({tag for tag, _ in every.get(case_id, [])}) - len(names),
            "known": [tag for tag, _ in usual.most_common(_SUGGESTED_TAGS)],
        }  # fmt: skip

    def tag(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """Add a tag to the case in sight, or take one's own away; answers as `tags`.

        Raises
        ------
        InputError
            The case in sight is not the one at that position, or has another version; nobody is signed in; or the text
            is no tag.
        """
        case_id, me = str(self._in_sight(question)["case_id"]), str(question.get("reviewer") or "")
        action = REMOVED if question.get("removed") is True else ADDED
        tag = CaseTag(self.reviews.benchmark, case_id, str(question.get("tag") or ""), me, action)
        self.reviews.store().add(tag)
        return self.tags(question)

    def views(self, _question: Mapping[str, Any]) -> dict[str, Any]:
        """The `views` there are: `name`, `fragment` to open, who saved it, and `created`.

        The name and who saved it are also there as a page may show them: `seen` and `by`.

        Raises
        ------
        InputError
            There is no store, or it cannot be used.
        """
        rows = self.reviews.store().views(self.reviews.benchmark)[["name", "fragment", "reviewer", "created"]]
        return {
            "views": [
                {"name": name, "fragment": fragment, "seen": visible(name), "by": visible(by), "created": created}
                for name, fragment, by, created in rows.itertuples(index=False)
            ]
        }

    def keep_view(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """Keep the page's query under a name, and answer with the views there are.

        Raises
        ------
        InputError
            Nobody is signed in, the name is none, or it has another query already.
        """
        fragment = to_fragment(query_from(question.get("query") or {}))
        name, me = (str(question.get(field) or "") for field in ("name", "reviewer"))
        view = SavedView(self.reviews.benchmark, name, me, fragment)
        for one in self.views(question)["views"]:
            if one["name"] == view.name and one["fragment"] != fragment:
                raise InputError(f"{one['seen']} is there already, by {one['by']}; remove it, or choose another name.")
        self.reviews.store().add(view)
        return self.views(question)

    def remove_view(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """Remove the view of a name; its rows stay in the store."""
        name, reviewer = str(question.get("name") or ""), str(question.get("reviewer") or "")
        self.reviews.store().add(SavedView(self.reviews.benchmark, name, reviewer, None))
        return self.views(question)

    def store(self, _question: Mapping[str, Any]) -> dict[str, Any]:
        """Return what keeps a review from being stored, as `store`.

        With it come the `reasons` to choose from and the `people` who review here.
        """
        trouble, of_orders = self.reviews.trouble(), {ORDER_EFFECT} if self.data.kinds.scale is not None else set()
        reasons, people = (list(REASONS), []) if trouble else (self.reviews.store().reasons(), self.reviews.people())
        reasons = [name for name in reasons if name not in of_orders]
        return {"store": trouble, "reasons": reasons, "people": people}

    def export(self, question: Mapping[str, Any]) -> File:
        """The selection as a file, `csv` or `html`."""
        (query, selected, scope), kind = self._asked(question), question.get("format")
        history = self.reviews.readable()
        if self.blind:
            seen = history["case_id"].isin(self.selections.reviewed(scope[0])) | (history["reviewer"] == scope[0])
            history = history[seen]
        if kind == "csv":
            text = table_of(self.data, query, selected, history, names_of(self.selections.tagged(scope[0])))
        elif kind == "html":
            text = page_of(self.data, query, selected)
        else:
            raise InputError(f"format {kind!r} is unknown; use csv or html.")
        return File(text.encode("utf-8", "replace"), f"text/{kind}; charset=utf-8", {"name": f"cases.{kind}"})

    def _choices(self) -> list[dict[str, str]]:
        """What the right label may be: `value`, `shown`, what it means (empty where nobody says), and its `key`."""
        meta, keys = self.data.benchmark.meta, {"A": "A", "B": "B", "tie": "T"}
        if self.data.kinds.scale is not None:
            free = [key for key in _FREE_KEYS if not any(key in question.keys for question in QUESTIONS)]
            keys = dict(zip(meta.choices, free, strict=False))
        meanings = {name: visible(meta.definitions.get(name, "")) for name in meta.choices}
        return [
            {"value": name, "shown": visible(name), "meaning": meanings[name], "key": keys.get(name, "")}
            for name in meta.choices
        ]

    def _in_sight(self, question: Mapping[str, Any]) -> pd.Series:
        """The case that a page shows, which has to be the one at its position here."""
        case = self.data.benchmark.cases.iloc[self._position(question)]
        if (question.get("case_id"), question.get("version")) != (case["case_id"], version_of(case)):
            raise InputError("the case in your window is not the one that is stored here now; load the page again.")
        return case

    def _asked(self, question: Mapping[str, Any]) -> tuple[Query, IntArray, Scope]:
        """The query, the cases that it leaves, and for whom."""
        query, scope = query_from(question.get("query") or {}), self.selections.scope(question)
        return query, self.selections.of(query, scope), scope

    def _in_view(self, question: Mapping[str, Any]) -> tuple[int, Query]:
        """The position of a case, and the judges and the dimension that are looked at."""
        seen = {name: question.get(name) for name in ("judge", "other", "dimension")}
        return self._position(question), query_from(seen)

    def _position(self, question: Mapping[str, Any]) -> int:
        position = sent(question, "position", int)
        if not 0 <= position < len(self.data.kinds.case_ids):
            raise InputError("there is no such case; load the page again.")
        return position

    def _rows(self, query: Query, positions: IntArray, reviewer: str) -> list[dict[str, Any]]:
        cases, marks = self.data.benchmark.cases.iloc[positions], self.selections.marks()
        tags = names_of(self.selections.tagged(reviewer))
        columns = [name for name in PLACES if name in cases.columns]
        values = value_of(self.data.kinds, query, positions)
        return [
            {
                "position": int(position),
                "pictured": len(row["images"]) > 0,
                "id": row["case_id"],
                "title": _title(str(row["question"])),
                "place": " · ".join(row[name] for name in columns if isinstance(row[name], str)),
                "value": value,
                "by": marks.get(str(row["case_id"]), []),
                "tags": [visible(tag) for tag in tags.get(str(row["case_id"]), [])],
            }
            for position, row, value in zip(positions, cases.to_dict("records"), values, strict=True)
        ]


def _small(name: str, images: Mapping[str, bytes]) -> File:
    if name not in images:
        raise InputError(f"{name}: there is no such image.")
    content = BytesIO()
    thumbnail(images[name], SIDE, name).save(content, format="JPEG", quality=70)
    return File(content.getvalue(), "image/jpeg")


def _title(text: str) -> str:
    line = " ".join(text[: 4 * _TITLE].split())
    return line if len(line) <= _TITLE else line[: _TITLE - 1] + "…"


def value_of(kinds: Kinds, query: Query, positions: IntArray) -> list[str]:
    """What a row of the list says beside the case: the value it is sorted by, or what became of the judge's verdict."""
    if not query.sort:
        return [""] * len(positions)
    best = sort_value(kinds, query)[positions]
    words = "{:.0f} off" if query.sort == "distance" else f"{query.sort} {{:.2f}}"
    return [words.format(value) if np.isfinite(value) else "" for value in best]


def query_from(parameters: Mapping[str, Any]) -> Query:
    """The query that a page sends as a dictionary of its fields.

    Raises
    ------
    InputError
        A field has no value that it can have.
    """
    try:
        query = _QUERY.validate_python(dict(parameters))
    except ValidationError as error:
        first = error.errors()[0]
        raise InputError(f"filter {first['loc'][0]} cannot be read ({first['msg']}); load the page again.") from None
    check_words(query)
    return query


def explore(
    benchmark: Benchmark,
    verdicts: pd.DataFrame | CaseIndex | None = None,
    *,
    store: str | Path | None = None,
    query: Query | None = None,
    blind: bool = False,
    policy: str = POLICY,
    probe_files: Sequence[str | Path] = (),
) -> App:
    """Look at the cases that judges got wrong, and say what is wrong with them.

    Parameters
    ----------
    benchmark : the cases, annotations and images
    verdicts : the verdicts table (with `reply`, the judges' reasoning is shown), or the index of
        `mrb_lib.review.failures.index`; None where nobody judged
    store : where reviewers' marks are kept, a path of an SQLite file or a URL; None stores nothing
    query : the filters, search and sort to begin with
    blind : what others say of a case is shown once one's own review is stored, and not before
    policy : the scoring policy that says what is wrong
    probe_files : the files of `mrb judge --probe-file`, whose changed texts are shown beside the stored ones

    Returns
    -------
    App
        Shown by a notebook; where no kernel runs, a plain list of the selection and its first cases.

    Raises
    ------
    InputError
        The query or the policy is unknown, the verdicts are not of this benchmark, or a file is not one of a probe.

    Notes
    -----
    Validated by tests/review/explorer/test_explorer.py and tests/browser/test_review.py.
    """
    data = explorer_data(benchmark, verdicts, policy=policy, files=file_probes([Path(file) for file in probe_files]))
    start = query or Query()
    kept = (store, NO_STORE) if benchmark.meta.is_judged else (None, NOT_JUDGED)
    reviews = Reviews(benchmark.meta.name, *kept, categories=benchmark.meta.choices)
    answers = ExplorerAnswers(data, reviews, start=start, blind=blind)
    answers.selections.of(start)

    def static() -> str:
        return static_view(data, start, answers.selections.of(start).tolist())

    title = f"Failures: {benchmark.meta.name}"
    return App(title, answers.of(), SCRIPTS, STYLES, static)
