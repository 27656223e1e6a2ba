"""The store of reviews: adjudications, assignments and answers in a database that many write to at once."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from types import TracebackType

import pandas as pd
import sqlalchemy as sa

from mrb_lib.review.records import database
from mrb_lib.review.records.database import WRITES, create_tables, database_errors, database_url, engine_for
from mrb_lib.review.records.marks import REASONS, Adjudication, AnnotatorAnswer, Comment, cleaned, current
from mrb_lib.review.records.tags import TAG_COLUMNS, CaseTag, current_tags
from mrb_lib.review.records.views import VIEW_COLUMNS, SavedView, current_views
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.schema import ADJUDICATION_COLUMNS

_ANSWER_COLUMNS = ("answer_id", "benchmark", "case_id", "annotator", "dimension", "choice", "order", "skipped_reason",
                   "seconds", "created")  # fmt: skip
_COMMENT_COLUMNS = ("comment_id", "benchmark", "case_id", "annotator", "text", "created")
_ASSIGNMENT_COLUMNS = ("benchmark", "case_id", "annotator", "position", "order", "created")
ANNOTATE, REVIEW = "annotate", "review"


def open_store(where: str | Path, *, create: bool = True) -> Store:
    """Open the store at a URL, or in an SQLite file.

    Parameters
    ----------
    where : a path, or any URL that SQLAlchemy knows, such as postgresql://user:password@host/name. SQLite is
        unsafe on a drive that several computers share: use PostgreSQL for a team.
    create : make what is missing; otherwise a missing store is an error

    Raises
    ------
    InputError
        The store is not there, cannot be reached, or is of another version. No message shows a password.
    """
    url = database_url(where)
    with database_errors(url):
        engine = engine_for(url, create=create)
        try:
            create_tables(engine, create=create)
        except BaseException:
            engine.dispose()
            raise
    return Store(engine)


class Store:
    """What people said about the cases; rows are added, and never changed. See `open_store`.

    Every method raises `InputError` where the database cannot be used. What a method stores is on disk when it returns.
    """

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine
        self._writer = engine.execution_options(**{WRITES: True})

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def url(self) -> str:
        """Where the store is, without its password."""
        return self._engine.url.render_as_string(hide_password=True)

    def close(self) -> None:
        """Close the connections; the next call opens them again."""
        self._engine.dispose()

    def adjudicate(self, adjudication: Adjudication) -> None:
        """Add one adjudication; the same one again, after a broken connection, is stored once.

        Raises
        ------
        InputError
            Its id belongs to another adjudication.
        """
        self._add(database.adjudications, "adjudication_id", [_row(adjudication)])

    def restore(
        self, events: Iterable[tuple[Adjudication, str | None]], tags: Iterable[tuple[CaseTag, str | None]] = ()
    ) -> tuple[int, int]:
        """Add adjudications and tags made elsewhere, all of them or none, and return how many of each were new.

        Parameters
        ----------
        events, tags : each with the time it was `created`, as in the tables of the store, or None for now
        """
        with database_errors(self._engine.url), self._writer.begin() as connection:
            reviewed = [_row(item) | _at(created) for item, created in events]
            tagged = [asdict(item) | _at(created) for item, created in tags]
            return (
                _insert(connection, database.adjudications, "adjudication_id", reviewed),
                _insert(connection, database.tags, "tag_id", tagged),
            )

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
            judge, reasons` (a list), `severity, reasoning, regions` (a list of `image, x, y, width, height, frame`, see
            `marks.Region`), `note, supersedes, created` (UTC, by the database's clock); as they were
            stored
        """
        frame = self._read(database.adjudications, ADJUDICATION_COLUMNS, benchmark)
        for name in ("reasons", "regions"):
            frame[name] = pd.Series([json.loads(items) for items in frame[name]], dtype=object)
        return frame if history else current(frame).reset_index(drop=True)

    def reasons(self) -> list[str]:
        """The reasons a reviewer may choose from."""
        newest = sa.select(database.reason_lists.c.names).order_by(database.reason_lists.c.id.desc()).limit(1)
        with database_errors(self._engine.url), self._engine.connect() as connection:
            names = connection.execute(newest).scalar()
        return list(REASONS) if names is None else list(json.loads(names))

    def set_reasons(self, names: Sequence[str]) -> None:
        """Change the list of reasons; earlier lists stay in the store, and so do the reasons given from them.

        Raises
        ------
        InputError
            The list is empty, or a name in it is.
        """
        plain = list(dict.fromkeys(cleaned(name).strip() for name in names))
        if not plain or not all(plain):
            raise InputError("reasons: at least one is needed, and none may be empty.")
        with database_errors(self._engine.url), self._writer.begin() as connection:
            connection.execute(database.reason_lists.insert().values(names=json.dumps(plain)))

    def assign(self, benchmark: str, assignments: pd.DataFrame, *, task: str = ANNOTATE) -> int:
        """Add assignments (`case_id, annotator, position, order`), and return how many were new.

        `task` is `ANNOTATE`, or `REVIEW` for the cases whose failures somebody is to look at. A case that an annotator
        already has keeps its place and order; new ones come after the last.
        """
        with database_errors(self._engine.url), self._writer.begin() as connection:
            if connection.dialect.name == "postgresql":
                connection.execute(sa.select(sa.func.pg_advisory_xact_lock(database.LOCK)))
            table = database.assignments
            of_task = sa.select(table).where(table.c.benchmark == benchmark, table.c.task == task)
            earlier = pd.DataFrame(
                connection.execute(of_task).mappings().all(),
                columns=database.assignments.columns.keys(),
            )
            last = earlier.groupby("annotator")["position"].max()
            rows = []
            for item in assignments.sort_values("position", kind="stable").to_dict("records"):
                start = int(last.get(item["annotator"], -1)) + 1
                name = json.dumps([benchmark, task, item["annotator"], item["case_id"]])
                row = {column: item[column] for column in ("case_id", "annotator", "order")}
                row |= {"key": hashlib.sha256(name.encode()).hexdigest(), "position": start + int(item["position"])}
                rows.append(row | {"benchmark": benchmark, "task": task})
            new = [row for row in rows if row["key"] not in set(earlier["key"])]
            if new:
                connection.execute(database.assignments.insert(), new)
        return len(new)

    def assignments(self, benchmark: str, annotator: str | None = None, *, task: str = ANNOTATE) -> pd.DataFrame:
        """The assignments, `benchmark, case_id, annotator, position, order, created`, of everybody or of one."""
        frame = self._read(database.assignments, _ASSIGNMENT_COLUMNS, benchmark, annotator=annotator, task=task)
        frame = frame.astype({"position": "int64"})
        return frame.sort_values(["annotator", "position"], kind="stable", ignore_index=True)

    def answer(self, answer: AnnotatorAnswer) -> None:
        """Add one answer; the same one again is stored once.

        Raises
        ------
        InputError
            Its id belongs to another answer.
        """
        self._add(database.answers, "answer_id", [asdict(answer)])

    def answer_all(self, answers: Iterable[AnnotatorAnswer]) -> int:
        """Add answers, all of them or none, and return how many were new; see `answer`."""
        return self._add(database.answers, "answer_id", [asdict(answer) for answer in answers])

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
        frame = self._read(database.answers, _ANSWER_COLUMNS, benchmark, annotator=annotator, case_id=case_id)
        frame["seconds"] = frame["seconds"].astype("float64")
        if history:
            return frame
        return frame.drop_duplicates(["case_id", "annotator", "dimension"], keep="last", ignore_index=True)

    def annotations(self, benchmark: str) -> pd.DataFrame:
        """The answers as an annotations table, `case_id, annotator, dimension, choice`; skipped ones are left out."""
        chosen = self.answers(benchmark).dropna(subset="choice")
        return chosen[["case_id", "annotator", "dimension", "choice"]].reset_index(drop=True)

    def tag(self, tag: CaseTag) -> None:
        """Add a tag to a case, or take it away; earlier rows stay, and the same one again is stored once.

        Raises
        ------
        InputError
            Its id belongs to another tag.
        """
        self._add(database.tags, "tag_id", [asdict(tag)])

    def tags(self, benchmark: str, *, history: bool = False) -> pd.DataFrame:
        """The tags that cases have now, or with `history` all that was ever added and removed: `TAG_COLUMNS`."""
        frame = self._read(database.tags, TAG_COLUMNS, benchmark)
        return frame if history else current_tags(frame).reset_index(drop=True)

    def n_tag_rows(self, benchmark: str) -> int:
        """How many tags were ever added and removed: a number that grows with every change of them."""
        counted = sa.select(sa.func.count()).where(database.tags.c.benchmark == benchmark)
        with database_errors(self._engine.url), self._engine.connect() as connection:
            return int(connection.execute(counted).scalar_one())

    def keep_view(self, view: SavedView) -> None:
        """Keep a view under its name, or remove the name where it has no fragment; earlier rows stay."""
        with database_errors(self._engine.url), self._writer.begin() as connection:
            connection.execute(database.views.insert().values(**asdict(view)))

    def views(self, benchmark: str) -> pd.DataFrame:
        """The views there are now, in the order of their names: `VIEW_COLUMNS`."""
        return current_views(self._read(database.views, VIEW_COLUMNS, benchmark)).reset_index(drop=True)

    def comment(self, comment: Comment) -> None:
        """Add one comment; the same one again is stored once.

        Raises
        ------
        InputError
            Its id belongs to another comment.
        """
        self._add(database.comments, "comment_id", [asdict(comment)])

    def comments(self, benchmark: str, *, annotator: str | None = None, case_id: str | None = None) -> pd.DataFrame:
        """The comments, `comment_id, benchmark, case_id, annotator, text, created`, in the order they were stored.

        Parameters
        ----------
        annotator, case_id : only theirs, only on it
        """
        return self._read(database.comments, _COMMENT_COLUMNS, benchmark, annotator=annotator, case_id=case_id)

    def latest_change(self, benchmark: str) -> int:
        """A number that grows whenever anything is added that concerns the benchmark: the rows in the store."""
        # Not the greatest id: of two writers, the one with the smaller id may be the later to finish.
        counts = [
            sa.select(sa.func.count()).select_from(table).where(table.c.benchmark == benchmark).scalar_subquery()
            for table in (database.adjudications, database.assignments, database.answers, database.comments)
        ]
        counts.append(sa.select(sa.func.count()).select_from(database.reason_lists).scalar_subquery())
        with database_errors(self._engine.url), self._engine.connect() as connection:
            return sum(map(int, connection.execute(sa.select(*counts)).one()))

    def _add(self, table: sa.Table, key: str, rows: Sequence[Mapping[str, object]]) -> int:
        with database_errors(self._engine.url), self._writer.begin() as connection:
            return _insert(connection, table, key, rows)

    def _read(self, table: sa.Table, columns: Sequence[str], benchmark: str, **where: str | None) -> pd.DataFrame:
        wanted = sa.select(*(table.c[name] for name in columns)).where(table.c.benchmark == benchmark)
        for name, value in where.items():
            if value is not None:
                wanted = wanted.where(table.c[name] == value)
        if "id" in table.c:
            wanted = wanted.order_by(table.c.id)
        with database_errors(self._engine.url), self._engine.connect() as connection:
            rows = connection.execute(wanted).all()
        return pd.DataFrame(rows, columns=list(columns)).astype(dict.fromkeys(columns, "str"))


def _insert(connection: sa.Connection, table: sa.Table, key: str, rows: Iterable[Mapping[str, object]]) -> int:
    """Add the rows whose key is not there yet, all or none; returns how many.

    The key is looked for after the insert was refused, not before it: two writers may bring the same one at once.
    """
    added, rows = 0, list(rows)
    if len(rows) > 1 and len(set(map(frozenset, rows))) == 1:  # which all state the same columns
        with suppress(sa.exc.IntegrityError), connection.begin_nested():
            connection.execute(table.insert(), rows)
            return len(rows)
    for row in rows:  # one of several is there already
        try:
            with connection.begin_nested():
                connection.execute(table.insert().values(**row))
            added += 1
        except sa.exc.IntegrityError:
            kept = connection.execute(sa.select(table).where(table.c[key] == row[key])).mappings().first()
            if kept is None:
                raise
            if any(kept[name] != value for name, value in row.items() if name != "created"):
                raise InputError(
                    f"{key} {row[key]}: is already in the store with another content; give it a new id."
                ) from None
    return added


def _at(created: str | None) -> dict[str, object]:
    return {} if created is None else {"created": created}


def _row(adjudication: Adjudication) -> dict[str, object]:
    row = asdict(adjudication)
    return row | {name: json.dumps(row[name]) for name in ("reasons", "regions")}
