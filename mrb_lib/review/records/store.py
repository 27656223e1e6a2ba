"""The store of reviews: what people said about cases, as events in a database that many write to at once."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any
from uuid import uuid4

import pandas as pd
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from mrb_lib.review.records import database
from mrb_lib.review.records.database import WRITES, database_errors, database_url, events
from mrb_lib.review.records.marks import TAG_COLUMNS, VIEW_COLUMNS, Entry, current, current_tags, short_texts
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.questions import QUESTIONS, REASONS, adjudication_columns, list_columns

_ANSWER_COLUMNS = ("answer_id", "benchmark", "case_id", "annotator", "dimension", "choice", "order", "skipped_reason",
                   "seconds", "created")  # fmt: skip
_COMMENT_COLUMNS = ("comment_id", "benchmark", "case_id", "annotator", "text", "created")
_ASSIGNMENT_COLUMNS = ("benchmark", "case_id", "annotator", "position", "order", "created")
_NUMBERS = {"seconds": "float64", "position": "int64"}
_INSERT = {"sqlite": sqlite.insert, "postgresql": postgresql.insert}
_OF_ALL = ""  # the benchmark of what is for every benchmark in the store
ANNOTATE, REVIEW = "annotate", "review"


def open_store(where: str | Path, *, create: bool = True) -> Store:
    """Open the store at a URL, or in an SQLite file; one of an earlier version is migrated, a file after a backup.

    Parameters
    ----------
    where : a path, or a URL such as postgresql://user:password@host/name. SQLite is unsafe on a drive that several
        computers share: use PostgreSQL for a team.
    create : make what is missing; otherwise a missing store is an error

    Raises
    ------
    InputError
        The store is not there, cannot be reached, or is of a later version. No message shows a password.
    """
    url = database_url(where)
    with database_errors(url):
        return Store(database.open_engine(url, create=create))


class Store(AbstractContextManager["Store"]):
    """What people said about the cases; events are added, and never changed. See `open_store`.

    Every method raises `InputError` where the database cannot be used. What a method stores is on disk when it returns.
    """

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine
        self._writer = engine.execution_options(**{WRITES: True})

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def url(self) -> str:
        """Where the store is, without its password."""
        return self._engine.url.render_as_string(hide_password=True)

    def close(self) -> None:
        """Close the connections; the next call opens them again."""
        self._engine.dispose()

    def add(self, *entries: Entry) -> int:
        """Add entries, all of them or none, and return how many were new; the same one again is stored once.

        Raises
        ------
        InputError
            An id belongs to another entry.
        """
        return self.restore((entry, None) for entry in entries).total()

    def restore(self, entries: Iterable[tuple[Entry, str | None]]) -> Counter[str]:
        """Add entries as `add` does, each with the time it was created, or None for now; count the new ones by kind."""
        with database_errors(self._engine.url), self._writer.begin() as connection:
            return _insert(connection, [entry.event(created) for entry, created in entries])

    def adjudications(self, benchmark: str, *, history: bool = False) -> pd.DataFrame:
        """The adjudications of a benchmark.

        Parameters
        ----------
        history : all that were ever made, withdrawn and replaced ones included, instead of those that count now
            (see `mrb_lib.review.records.marks.current`)

        Returns
        -------
        DataFrame
            `adjudication_id, benchmark, case_fingerprint, case_id, dimension` (null: all), `reviewer, verdict, choice,
            judge`, a column per question of `QUESTIONS` (a list where it takes several answers), `regions` (a list of
            `image, x, y, width, height, frame`, see `marks.Region`), `note, supersedes, created` (UTC, by the
            database's clock); as they were stored
        """
        rows = [
            {"regions": [], **row} | {one.name: one.cell(row["answers"].get(one.name)) for one in QUESTIONS}
            for row in self._read("adjudication", benchmark)
        ]
        columns = adjudication_columns()
        frame = pd.DataFrame(rows, columns=list(columns)).astype({n: "str" for n in columns if n not in list_columns()})
        return frame if history else current(frame).reset_index(drop=True)

    def reasons(self) -> list[str]:
        """The options of the question that reviewers edit: why a judge may have failed."""
        lists = self._read("reason_list", _OF_ALL)
        return list(lists[-1]["names"] if lists else REASONS)

    def set_reasons(self, names: Sequence[str]) -> None:
        """Change the list of reasons; earlier lists stay in the store, and so do the reasons given from them.

        Raises
        ------
        InputError
            The list is empty, or a name in it is.
        """
        plain = short_texts("reasons", names)
        if not plain or not all(map(str.strip, names)):
            raise InputError("reasons: at least one is needed, and none may be empty.")
        row = {"kind": "reason_list", "event_id": str(uuid4()), "benchmark": _OF_ALL, "content": {"names": plain}}
        with database_errors(self._engine.url), self._writer.begin() as connection:
            _insert(connection, [row])

    def assign(self, benchmark: str, assignments: pd.DataFrame, *, task: str = ANNOTATE) -> int:
        """Add assignments (`case_id, annotator, position, order`), and return how many were new.

        `task` is `ANNOTATE`, or `REVIEW` for the cases whose failures somebody is to look at. A case that an annotator
        already has keeps its place and order; new ones come after the last.
        """
        with database_errors(self._engine.url), self._writer.begin() as connection:
            database.one_at_a_time(connection)
            earlier = _assigned(_rows(connection, "assignment", benchmark), task)
            last = earlier.groupby("annotator")["position"].max()
            given = set(zip(earlier["annotator"], earlier["case_id"], strict=True))
            new = []
            for item in assignments.sort_values("position", kind="stable").to_dict("records"):
                who, case = item["annotator"], item["case_id"]
                if (who, case) not in given:
                    key = hashlib.sha256(json.dumps([benchmark, task, who, case]).encode()).hexdigest()
                    position = int(last.get(who, -1)) + 1 + int(item["position"])
                    row = {"kind": "assignment", "event_id": key, "benchmark": benchmark, "case_id": case}
                    content = {"task": task, "position": position, "order": item["order"]}
                    new.append(row | {"person": who, "content": content})
            return _insert(connection, new).total()

    def assignments(self, benchmark: str, annotator: str | None = None, *, task: str = ANNOTATE) -> pd.DataFrame:
        """The assignments, `benchmark, case_id, annotator, position, order, created`, of everybody or of one."""
        return _assigned(self._read("assignment", benchmark, person=annotator), task)

    def answers(
        self, benchmark: str, *, annotator: str | None = None, case_id: str | None = None, history: bool = False
    ) -> pd.DataFrame:
        """The answers: the last of each annotator to each case and dimension, or with `history` all.

        Parameters
        ----------
        annotator, case_id : only theirs, only to it

        Returns
        -------
        DataFrame
            `answer_id, benchmark, case_id, annotator, dimension, choice` (null where skipped), `order,
            skipped_reason, seconds` (null where unknown; see `mrb_lib.review.records.marks.AnnotatorAnswer`), `created`
        """
        frame = _frame(self._read("answer", benchmark, case_id=case_id, person=annotator), _ANSWER_COLUMNS)
        last = ["case_id", "annotator", "dimension"]
        return frame if history else frame.drop_duplicates(last, keep="last", ignore_index=True)

    def annotations(self, benchmark: str) -> pd.DataFrame:
        """The answers as an annotations table, `case_id, annotator, dimension, choice`; skipped ones are left out."""
        chosen = self.answers(benchmark).dropna(subset="choice")
        return chosen[["case_id", "annotator", "dimension", "choice"]].reset_index(drop=True)

    def comments(self, benchmark: str, *, annotator: str | None = None, case_id: str | None = None) -> pd.DataFrame:
        """The comments, `comment_id, benchmark, case_id, annotator, text, created`, in the order they were stored.

        Parameters
        ----------
        annotator, case_id : only theirs, only on it
        """
        return _frame(self._read("comment", benchmark, case_id=case_id, person=annotator), _COMMENT_COLUMNS)

    def tags(self, benchmark: str, *, history: bool = False) -> pd.DataFrame:
        """The tags that cases have now, or with `history` all that was ever added and removed: `TAG_COLUMNS`."""
        frame = _frame(self._read("tag", benchmark), TAG_COLUMNS)
        return frame if history else current_tags(frame).reset_index(drop=True)

    def views(self, benchmark: str) -> pd.DataFrame:
        """The views there are now, in the order of their names: of each name the last, unless that removes it."""
        frame = _frame(self._read("view", benchmark), VIEW_COLUMNS)
        last = frame.drop_duplicates("name", keep="last").sort_values("name", kind="stable")
        return last.dropna(subset="fragment").reset_index(drop=True)

    def latest_change(self, benchmark: str) -> int:
        """A number that grows whenever anything is added that concerns the benchmark: the events in the store."""
        # Not the greatest id: of two writers, the one with the smaller id may be the later to finish.
        counted = sa.select(sa.func.count()).where(events.c.benchmark.in_([benchmark, _OF_ALL]))
        with database_errors(self._engine.url), self._engine.connect() as connection:
            return int(connection.execute(counted).scalar_one())

    def _read(self, kind: str, benchmark: str, **where: str | None) -> list[dict[str, Any]]:
        with database_errors(self._engine.url), self._engine.connect() as connection:
            return _rows(connection, kind, benchmark, **where)


def _rows(connection: sa.Connection, kind: str, benchmark: str, **where: str | None) -> list[dict[str, Any]]:
    """The events of a kind in the order in which they were stored, each with what it holds, its id and its person."""
    wanted = sa.select(events).where(events.c.kind == kind, events.c.benchmark == benchmark).order_by(events.c.id)
    for name, value in where.items():
        if value is not None:
            wanted = wanted.where(events.c[name] == value)
    rows = []
    for row in connection.execute(wanted):
        named = {f"{kind}_id": row.event_id, "benchmark": row.benchmark, "case_id": row.case_id, "created": row.created}
        rows.append({**row.content, **named, "reviewer": row.person, "annotator": row.person})
    return rows


def _assigned(rows: Sequence[Mapping[str, Any]], task: str) -> pd.DataFrame:
    frame = _frame([row for row in rows if row.get("task", ANNOTATE) == task], _ASSIGNMENT_COLUMNS)
    return frame.sort_values(["annotator", "position"], kind="stable", ignore_index=True)


def _frame(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=list(columns)).astype({name: _NUMBERS.get(name, "str") for name in columns})


def _insert(connection: sa.Connection, rows: Sequence[dict[str, Any]]) -> Counter[str]:
    """Add the events that are not there yet, all or none, and count them by kind; two writers may bring the same."""
    if not rows:
        return Counter()
    now, insert = database.now(connection), _INSERT[connection.dialect.name](events).on_conflict_do_nothing()
    timed = [{**row, "created": row.get("created") or now} for row in rows]
    new = set(map(tuple, connection.execute(insert.returning(events.c.kind, events.c.event_id), timed)))
    added = Counter(kind for kind, _ in new)
    for row in rows:
        key = row["kind"], row["event_id"]
        if key in new:
            new.remove(key)  # another of the same id is compared with it
            continue
        same = sa.select(events).where(events.c.kind == key[0], events.c.event_id == key[1])
        kept = connection.execute(same).mappings().one()
        if any(kept[name] != value for name, value in row.items() if name != "created"):
            raise InputError(f"{' '.join(key)}: is already in the store with another content; give it a new id.")
    return added
