"""The work of reviewers: the form that judges a gold label, the history of a case, the cases that a query leaves."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import pandas as pd

from mrb_lib.review.explorer.data import ExplorerData, judges_of
from mrb_lib.review.failures.query import REVIEWS, Query, axes, facets, select
from mrb_lib.review.records.exchange import guarded, regions_from
from mrb_lib.review.records.marks import Adjudication, CaseTag, Region, case_fingerprint, current, current_tags
from mrb_lib.review.records.questions import QUESTIONS, adjudication_columns
from mrb_lib.review.records.store import REVIEW, Store, open_store
from mrb_lib.stats.options import BoolArray, IntArray
from mrb_lib.stats.where import cases_where, values_by_case
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.schema import CHOICES

LABELS = {
    "gold_right": "Gold is right",
    "gold_wrong": "Gold is wrong",
    "ambiguous": "Ambiguous",
    "image_unusable": "Image unusable",
    "withdrawn": "Withdrawn",
}
NO_STORE = "Nothing is stored here: this view was opened without a store of reviews."
NOT_JUDGED = "The labels of this benchmark are neither preferences nor ratings; there is nothing to adjudicate."
_TEXTS = ("reviewer", "verdict", "choice", "dimension", "judge", "note", "supersedes", "adjudication_id")
_WRITTEN = ("case_id", "organ", "department", "modality", "question", "before", "response_a", "response_b", "reference")
_SHOWN = ("reviewer", "verdict", "choice", "dimension", "judge", "note", "created")
Scope = tuple[str, int, int]
"""For whom a selection is made, and how many adjudications and rows of tags count in it."""
_NOBODY: Scope = ("", 0, 0)
_COLUMNS = {"adjudications": adjudication_columns(), "tags": CaseTag.columns()}


@dataclass
class Reviews:
    """The reviews of a benchmark in a store that is opened when it is needed, and again after it failed.

    Parameters
    ----------
    benchmark : the benchmark's name
    where : a path or a URL; None where nothing is stored
    why_not : the reason, where nothing is stored
    categories : what the right label may be
    """

    benchmark: str
    where: str | Path | None
    why_not: str = NO_STORE
    categories: Sequence[str] = CHOICES
    _store: Store | None = field(default=None, repr=False)
    _kept: dict[str, tuple[int, pd.DataFrame]] = field(default_factory=dict, repr=False)
    _adding: Lock = field(default_factory=Lock, repr=False)

    def store(self) -> Store:
        """The store, opened.

        Raises
        ------
        InputError
            There is none, or it cannot be used.
        """
        if self.where is None:
            raise InputError(self.why_not)
        if self._store is None:
            self._store = open_store(self.where)
        return self._store

    def trouble(self) -> str:
        """Why nothing can be stored; empty where it can."""
        try:
            self.store()
        except InputError as error:
            return str(error)
        return ""

    def history(self, table: str = "adjudications") -> pd.DataFrame:
        """All `adjudications`, or all `tags`, ever made, see `Store`; read again only when something was added."""
        store = self.store()
        state = store.latest_change(self.benchmark)
        if self._kept.get(table, (-1,))[0] != state:
            self._kept[table] = state, getattr(store, table)(self.benchmark, history=True)
        return self._kept[table][1]

    def readable(self, table: str = "adjudications") -> pd.DataFrame:
        """The table `history`; an empty one where no store can be read."""
        try:
            return self.history(table)
        except InputError:
            return pd.DataFrame(columns=list(_COLUMNS[table]), dtype="str")

    def people(self) -> list[str]:
        """The names of reviewers: who has cases assigned or has reviewed some."""
        assigned = self.store().assignments(self.benchmark, task=REVIEW)["annotator"]
        return sorted({*assigned, *self.history()["reviewer"]})

    def add(self, adjudication: Adjudication) -> str | None:
        """Store an adjudication, or return the id of what it would replace unseen, in which case nothing is stored.

        Two that come at once are stored one after the other: a withdrawal that arrives late takes back nothing newer.
        """
        with self._adding:
            unseen = self.unseen_by(adjudication)
            if unseen is None:
                self.store().add(adjudication)
            return unseen

    def unseen_by(self, adjudication: Adjudication) -> str | None:
        """The id of what counts now and would be replaced, though the adjudication does not name it as superseded."""
        history = self.history()
        history = history[history["case_id"] == adjudication.case_id]
        if not len(history) or adjudication.adjudication_id in set(history["adjudication_id"]):
            return None
        mine = current(history)
        for name in ("reviewer", "dimension", "judge"):
            value = getattr(adjudication, name)
            mine = mine[mine[name].isna() if value is None else mine[name] == value]
        mine = mine[mine["adjudication_id"] != adjudication.supersedes]
        return None if mine.empty else str(mine["adjudication_id"].iloc[-1])


def adjudication_from(
    entries: Mapping[str, Any], benchmark: str, case: pd.Series, categories: Sequence[str] = CHOICES
) -> Adjudication:
    """An adjudication of a case, from the entries of the form.

    Parameters
    ----------
    entries : `reviewer, verdict, choice, dimension, judge, answers` (to `QUESTIONS`, by name), `regions, note,
        supersedes, adjudication_id`; a region has the index of its image; the page makes the id, so that the same click
        sent twice is one adjudication. `judge_in_view` is the judge whose verdicts the page shows; empty or missing for
        all judges
    categories : what the right label may be

    Raises
    ------
    InputError
        Judges are shown and none is named, or a value is missing or is not one that the form offers.
    """
    given = {name: str(entries.get(name) or "") for name in _TEXTS}
    if given["verdict"] == "gold_wrong" and given["choice"] not in categories:
        raise InputError("gold is wrong: choose the right label of this benchmark too.")
    regions, version = _regions(entries.get("regions") or (), case), version_of(case)
    about = {"benchmark": benchmark, "case_id": str(case["case_id"]), "case_fingerprint": version}
    made = Adjudication(answers=entries.get("answers") or {}, regions=regions, **about, **given)
    if made.judge is None and entries.get("judge_in_view"):
        raise InputError("no judge is named; choose the judge that your review is about.")
    for one in QUESTIONS if made.judge is None else ():
        if one.of_judge and one.name in made.answers:  # earlier versions stored such answers
            raise InputError(f"{one.name} is about a judge; name the judge.")
    return made


def _regions(items: Any, case: pd.Series) -> tuple[Region, ...]:
    """The regions that a page sends: each with the index of its image among those of the case."""
    images = dict(enumerate(map(str, case["images"])))
    try:
        return regions_from([{**item, "image": images[item["image"]]} for item in items])
    except (KeyError, TypeError):
        raise InputError("a region is in no image of the case; load the page again.") from None


def version_of(case: pd.Series) -> str:
    """Return what a page sends back with a verdict, so that it is about the case as it was in sight."""
    return case_fingerprint({str(name): value for name, value in case.items()})


def history_of(history: pd.DataFrame, case: pd.Series) -> list[dict[str, object]]:
    """The adjudications of one case, the newest first, for a page.

    Parameters
    ----------
    history : all adjudications, see `Reviews.history`

    Returns
    -------
    list of dict
        `id, reviewer, verdict, label, choice, dimension, judge, answers` (to `QUESTIONS`, by name), `regions` (each
        with the index of its image; those in images that the case no longer has are left out and counted in `said`),
        `note, supersedes, created`, `counts` (whether it counts now), `changed` (whether the case has changed since),
        and `said` (see `answers_in_words`).
    """
    rows = history[history["case_id"] == str(case["case_id"])]
    counting = set(current(rows)["adjudication_id"]) if len(rows) else set()
    mark = version_of(case)
    images = {str(name): index for index, name in reversed(list(enumerate(case["images"])))}
    entries = []
    for row in rows.astype(object).where(rows.notna(), None).to_dict("records"):
        regions = [one | {"image": images[one["image"]]} for one in row["regions"] if one["image"] in images]
        entries.append(
            {name: row[name] for name in (*_SHOWN, "supersedes")}
            | {
                "id": row["adjudication_id"],
                "label": LABELS.get(str(row["verdict"]), str(row["verdict"])),
                "answers": {one.name: row[one.name] for one in QUESTIONS},
                "regions": regions,
                "said": answers_in_words(row, len(row["regions"]) - len(regions)),
                "counts": row["adjudication_id"] in counting,
                "changed": bool(row["case_fingerprint"]) and row["case_fingerprint"] != mark,
            }
        )
    return entries[::-1]


def answers_in_words(row: Mapping[Any, Any], lost: int = 0) -> list[tuple[str, list[str]]]:
    """Return what an adjudication answers, each with a label, and its regions, with an empty one; only what is given.

    Parameters
    ----------
    row : of the table of adjudications, with None where nothing is answered
    lost : regions in images that the case no longer has
    """
    said = []
    for one in QUESTIONS:
        chosen = row[one.name] if one.several else filter(None, [row[one.name]])
        words = [str(name) if one.is_open else str(name).replace("_", " ") for name in chosen]
        said += [(one.label or one.name.replace("_", " "), words)] if words else []
    if marked := len(row["regions"]):
        frames = sorted({int(region["frame"]) for region in row["regions"]})
        where = f" in frame {', '.join(map(str, frames))}" if frames != [1] else ""
        gone = f", {lost} in an image that is gone" if lost else ""
        said.append(("", [f"{marked} region{'' if marked == 1 else 's'} marked{where}{gone}"]))
    return said


def disagreed_on(history: pd.DataFrame) -> set[str]:
    """The cases on which reviewers, on the same dimension, now say different things."""
    now = current(history)
    said = now.assign(said=now["verdict"].str.cat(now["choice"].fillna("")), dimension=now["dimension"].fillna(""))
    different = said.groupby(["case_id", "dimension"])[["reviewer", "said"]].nunique().gt(1).all(axis=1)
    return set(different.index[different].get_level_values("case_id"))


class Selections:
    """The cases that queries leave, and who has reviewed them.

    Parameters
    ----------
    blind : what others say of a case is kept from a reviewer until their own is stored, and so is that they disagree
    """

    def __init__(self, data: ExplorerData, reviews: Reviews, *, blind: bool) -> None:
        self.data, self.reviews, self.blind = data, reviews, blind
        self._selected = lru_cache(maxsize=16)(self._select)
        self._marks_of = lru_cache(maxsize=4)(lambda n: values_by_case(current(reviews.history().iloc[:n]), "reviewer"))
        self._tags_of = lru_cache(maxsize=4)(self._current_tags)

    def of(self, query: Query, scope: Scope = _NOBODY) -> IntArray:
        """The positions of the cases that a query leaves, in its order, kept for the questions that follow."""
        return self._selected(query, scope if query.review or query.where else _NOBODY)

    def _select(self, query: Query, scope: Scope) -> IntArray:
        return select(self.data.kinds, self.data.benchmark.cases, query, within=self.within(query, scope))

    def scope(self, question: Mapping[str, Any]) -> Scope:
        """For whom a selection is made, and as of when: now, unless the question says `as_of`."""
        reviewer, as_of = str(question.get("reviewer") or ""), question.get("as_of")
        if isinstance(as_of, list | tuple) and len(as_of) == 2 and all(isinstance(n, int) and n >= 0 for n in as_of):
            return reviewer, as_of[0], as_of[1]
        return reviewer, len(self.reviews.readable()), len(self.reviews.readable("tags"))

    def within(self, query: Query, scope: Scope) -> BoolArray | None:
        """The cases that a query's `where` and `review` leave; None for all."""
        cases = self.data.benchmark.cases
        within = np.ones(len(cases), dtype=bool)
        if query.where:
            within &= cases_where(
                query.where,
                cases,
                gold=self.data.labels.frame,
                outcomes=lambda: self.data.kinds.outcomes,
                reviewers=lambda: self.marks(scope),
                dimensions=self.data.kinds.dimensions,
                tags=lambda: names_of(self.tagged(scope[0], scope)),
            )
        if query.review:
            within &= self._reviewed(query.review, scope)
        return within if query.where or query.review else None

    def _reviewed(self, review: str, scope: Scope) -> BoolArray:
        """The cases that a state of review leaves for a reviewer."""
        reviewer, mine = scope[0], self.reviewed(scope[0], scope)
        cases = self.data.benchmark.cases["case_id"]
        if review == "queue":
            assigned = self.reviews.store().assignments(self.reviews.benchmark, reviewer, task=REVIEW)
            return np.asarray(cases.isin(assigned["case_id"]), dtype=bool)
        if review == "disagree":
            differ = disagreed_on(self.reviews.readable().iloc[: scope[1]])
            return np.asarray(cases.isin(differ & mine if self.blind else differ), dtype=bool)
        return np.asarray(cases.isin(mine) == (review == "mine"), dtype=bool)

    def reviewed(self, reviewer: str, scope: Scope | None = None) -> set[str]:
        """The cases that somebody has reviewed, as of a scope or by now."""
        return {case for case, names in self.marks(scope).items() if reviewer in names}

    def _current_tags(self, n: int) -> list[tuple[str, str, str]]:
        rows = current_tags(self.reviews.history("tags").iloc[:n])[["case_id", "tag", "reviewer"]]
        return list(rows.itertuples(index=False, name=None))

    def tagged(self, reviewer: str | None, scope: Scope | None = None) -> dict[str, list[tuple[str, str]]]:
        """By case, the tags that a reviewer may see, each with who gave it; for nobody in particular (None), all."""
        seen: dict[str, list[tuple[str, str]]] = {}
        n = len(self.reviews.readable("tags").iloc[: scope and scope[2]])
        reviewed = self.reviewed(reviewer, scope) if self.blind and reviewer is not None else set()
        for case, tag, by in self._tags_of(n) if n else ():
            if not self.blind or reviewer in (None, by) or case in reviewed:
                seen.setdefault(str(case), []).append((str(tag), str(by)))
        return seen

    def facets(self, query: Query, scope: Scope) -> dict[str, list[tuple[str, int]]]:
        """Count the cases that each further filter would leave, see `mrb_lib.review.failures.query.facets`.

        With them comes the state of `review`, where somebody is signed in and reviews can be stored.
        """
        found = facets(self.data.kinds, self.data.benchmark.cases, query, within=self.within(query, scope))
        if scope[0] and not self.reviews.trouble():
            every = self.of(replace(query, review=""), scope)
            found["review"] = [(name, int(self._reviewed(name, scope)[every].sum())) for name in REVIEWS]
        return found

    def marks(self, scope: Scope | None = None) -> dict[str, list[str]]:
        """By case, the reviewers with a current adjudication, as of a scope or now; none where no store can be read."""
        n = len(self.reviews.readable().iloc[: scope and scope[1]])
        return self._marks_of(n) if n else {}


def names_of(tagged: Mapping[str, Sequence[tuple[str, str]]]) -> dict[str, list[str]]:
    """By case, the names of its tags, see `Selections.tagged`."""
    return {case: sorted({tag for tag, _ in tags}) for case, tags in tagged.items()}


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
    frame = cases[[name for name in _WRITTEN if name in cases.columns and not (one and name == "response_b")]].copy()
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
        values = kinds.grids.get(name, np.full((1, 1, len(kinds.case_ids)), np.nan))
        best = np.fmax.reduce(values[at if name in kinds.grids else ...][..., positions], axis=(0, 1), initial=np.nan)
        frame[name] = [f"{value:.6g}" if np.isfinite(value) else "" for value in best]
    if kinds.probes:
        changed = [[name for name, _, n in data.probes_of(position, query) if n] for position in positions.tolist()]
        frame["changed by"] = ["; ".join(names) for names in changed]
    frame["reviews"] = ids.map(_reviews(history))
    frame["tags"] = ids.map({case: "; ".join(names) for case, names in tags.items()})
    frame["data"] = "SIMULATED" if data.benchmark.meta.kind == "simulated" else data.benchmark.meta.kind
    texts = frame.astype(object).where(frame.notna(), "").map(lambda cell: guarded(str(cell)))
    return "\ufeff" + texts.rename(columns=guarded).to_csv(index=False, lineterminator="\n")


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
