"""The store of reviews: what people said about cases, as events in a database that many write to at once.

Rows are added and never changed, which SQLite and PostgreSQL themselves enforce.
"""

from __future__ import annotations

import hashlib
import json
import logging
import re
import shutil
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any
from uuid import uuid4

import pandas as pd
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.pool import NullPool, StaticPool

from mrb_lib.review.records.marks import (
    AnnotatorAnswer,
    CaseTag,
    Comment,
    Entry,
    SavedView,
    current,
    current_tags,
)
from mrb_lib.review.records.questions import QUESTIONS, REASONS, adjudication_columns, list_columns
from mrb_lib.tables.errors import InputError

ANNOTATE, REVIEW = "annotate", "review"
_ASSIGNMENT_COLUMNS = ("benchmark", "case_id", "annotator", "position", "order", "created")
_NUMBERS = {"seconds": "float64", "position": "int64"}
_OF_ALL = ""  # the benchmark of what is for every benchmark in the store
_INSERT: dict[str, Any] = {"sqlite": sqlite.insert, "postgresql": postgresql.insert}
_WRITES = "mrb_writes"
SCHEMA_VERSION = 5
_LOCK = 7_266_105_230  # any number will do: all stores agree on it while one of them makes its tables
_SECONDS_TO_WAIT = 60
_PASSWORD = re.compile(r"(://[^:/@\s]*:)[^@\s]*@")
_log = logging.getLogger(__name__)

_metadata = sa.MetaData()
_meta = sa.Table(
    "mrb_meta",
    _metadata,
    sa.Column("key", sa.String(40), primary_key=True),
    sa.Column("value", sa.Text(), nullable=False),
)
_events = sa.Table(
    "mrb_events",
    _metadata,
    sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), sa.Identity(always=False), primary_key=True),
    sa.Column("kind", sa.String(40), nullable=False),
    sa.Column("event_id", sa.String(255), nullable=False),
    sa.Column("benchmark", sa.String(255), nullable=False),
    sa.Column("case_id", sa.Text()),
    sa.Column("person", sa.Text()),
    sa.Column("content", sa.JSON(), nullable=False),
    sa.Column("created", sa.String(40), nullable=False),
    sa.UniqueConstraint("kind", "event_id"),
    sa.Index("mrb_events_of", "benchmark", "kind", "person"),
)
_REFUSAL = "reviews are added to, never changed"
_GUARDS = {
    "sqlite": [
        f"CREATE TRIGGER mrb_events_{what} BEFORE {what} ON mrb_events BEGIN SELECT RAISE(ABORT, '{_REFUSAL}'); END"
        for what in ("UPDATE", "DELETE")
    ],
    "postgresql": [
        f"""CREATE OR REPLACE FUNCTION mrb_refuse() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE EXCEPTION '{_REFUSAL}'; END $$""",
        "CREATE TRIGGER mrb_events_kept BEFORE UPDATE OR DELETE OR TRUNCATE ON mrb_events "
        "FOR EACH STATEMENT EXECUTE FUNCTION mrb_refuse()",
    ],
}
_NOW = {
    "sqlite": "SELECT strftime('%Y-%m-%dT%H:%M:%fZ', 'now')",
    "postgresql": """SELECT to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')""",
}
_EARLIER = ("adjudication", "reason_list", "assignment", "answer", "comment", "view", "tag")
"""The kinds of event of which version 4 had a table each."""


def open_store(where: str | Path, *, create: bool = True) -> Store:
    """Open the store at a URL, or in an SQLite file; one of the version before is migrated, a file after a backup.

    Parameters
    ----------
    where : a path, or a URL such as postgresql://user:password@host/name. SQLite is unsafe on a drive that several
        computers share: use PostgreSQL for a team.
    create : make what is missing; otherwise a missing store is an error

    Raises
    ------
    InputError
        The store is not there, cannot be reached, or is of another version. No message shows a password.
    """
    url = database_url(where)
    shown, kind = url.render_as_string(hide_password=True), url.get_backend_name()
    if kind not in _GUARDS:
        raise InputError(f"{shown}: is not a kind of database that keeps reviews; use sqlite or postgresql.")
    path = Path(url.database) if kind == "sqlite" and url.database else None
    if path and not create and not path.is_file():
        raise InputError(f"{path}: there is no store of reviews; make one with `mrb review`, or name another.")
    if path and not path.parent.is_dir():
        raise InputError(f"{path}: its folder does not exist; make it, or name another.")
    options: dict[str, Any] = {"pool_pre_ping": True, "pool_size": 2}
    if kind == "sqlite":
        pool = NullPool if path else StaticPool
        options = {"poolclass": pool, "connect_args": {"timeout": _SECONDS_TO_WAIT, "isolation_level": None}}
    try:
        engine = sa.create_engine(url, hide_parameters=True, **options)
    except ModuleNotFoundError:
        raise InputError(f"{shown}: the driver is missing; run `pip install 'mrb-workbench[team]'`.") from None
    if kind == "sqlite":
        sa.event.listen(engine, "connect", lambda raw, _: raw.execute("PRAGMA synchronous=FULL"))
    sa.event.listen(engine, "begin", _begin)
    try:
        with _database_errors(url):
            _prepare(engine, shown, create=create)
    except BaseException:
        engine.dispose()
        raise
    return Store(engine)


class Store(AbstractContextManager["Store"]):
    """What people said about the cases; events are added, and never changed. See `open_store`.

    Every method raises `InputError` where the database cannot be used. What a method stores is on disk when it returns.
    """

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine
        self._writer = engine.execution_options(**{_WRITES: True})

    def __exit__(self, *_: object) -> None:
        self.close()

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
        return self._add([entry.event(created) for entry, created in entries])

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
        frame = _frame(rows, adjudication_columns())
        return frame if history else current(frame).reset_index(drop=True)

    def reasons(self) -> list[str]:
        """Why a judge may have failed: the last list that reviewers of an earlier version made, or else `REASONS`."""
        lists = self._read("reason_list", _OF_ALL)
        return list(lists[-1]["names"] if lists else REASONS)

    def assign(self, benchmark: str, assignments: pd.DataFrame, *, task: str = ANNOTATE) -> int:
        """Add assignments (`case_id, annotator, position, order`), and return how many were new.

        `task` is `ANNOTATE`, or `REVIEW` for the cases whose failures somebody is to look at. A case that an annotator
        already has keeps its place and order; new ones come after the last.
        """
        with _database_errors(self._engine.url), self._writer.begin() as connection:
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
        frame = self._frame(AnnotatorAnswer, benchmark, case_id=case_id, person=annotator)
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
        return self._frame(Comment, benchmark, case_id=case_id, person=annotator)

    def tags(self, benchmark: str, *, history: bool = False) -> pd.DataFrame:
        """The tags that cases have now, or with `history` all that was ever added and removed; see `CaseTag`."""
        frame = self._frame(CaseTag, benchmark)
        return frame if history else current_tags(frame).reset_index(drop=True)

    def views(self, benchmark: str) -> pd.DataFrame:
        """The views there are now, in the order of their names: of each name the last, unless that removes it."""
        last = self._frame(SavedView, benchmark).drop_duplicates("name", keep="last").sort_values("name", kind="stable")
        return last.dropna(subset="fragment").reset_index(drop=True)

    def latest_change(self, benchmark: str) -> int:
        """A number that grows whenever anything is added that concerns the benchmark: the events in the store."""
        # Not the greatest id: of two writers, the one with the smaller id may be the later to finish.
        counted = sa.select(sa.func.count()).where(_events.c.benchmark.in_([benchmark, _OF_ALL]))
        with _database_errors(self._engine.url), self._engine.connect() as connection:
            return int(connection.execute(counted).scalar_one())

    def _add(self, rows: Sequence[dict[str, Any]]) -> Counter[str]:
        with _database_errors(self._engine.url), self._writer.begin() as connection:
            return _insert(connection, rows)

    def _read(self, kind: str, benchmark: str, **where: str | None) -> list[dict[str, Any]]:
        with _database_errors(self._engine.url), self._engine.connect() as connection:
            return _rows(connection, kind, benchmark, **where)

    def _frame(self, of: type[Entry], benchmark: str, **where: str | None) -> pd.DataFrame:
        return _frame(self._read(of.KIND, benchmark, **where), of.columns())


def _rows(connection: sa.Connection, kind: str, benchmark: str, **where: str | None) -> list[dict[str, Any]]:
    """The events of a kind in the order in which they were stored, each with what it holds, its id and its person."""
    wanted = {"kind": kind, "benchmark": benchmark, **where}
    asked = sa.select(_events).filter_by(**{name: value for name, value in wanted.items() if value is not None})
    return [
        {**row.content, f"{kind}_id": row.event_id, "reviewer": row.person, "annotator": row.person}
        | {"benchmark": row.benchmark, "case_id": row.case_id, "created": row.created}
        for row in connection.execute(asked.order_by(_events.c.id))
    ]


def _assigned(rows: Sequence[Mapping[str, Any]], task: str) -> pd.DataFrame:
    frame = _frame([row for row in rows if row.get("task", ANNOTATE) == task], _ASSIGNMENT_COLUMNS)
    return frame.sort_values(["annotator", "position"], kind="stable", ignore_index=True)


def _frame(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> pd.DataFrame:
    types = {name: _NUMBERS.get(name, "str") for name in columns if name not in list_columns()}
    return pd.DataFrame(rows, columns=list(columns)).astype(types)


def _insert(connection: sa.Connection, rows: Sequence[dict[str, Any]]) -> Counter[str]:
    """Add the events that are not there yet, all or none, and count them by kind; two writers may bring the same."""
    if not rows:
        return Counter()
    now = connection.exec_driver_sql(_NOW[connection.dialect.name]).scalar_one()  # one clock for all who write
    insert = _INSERT[connection.dialect.name](_events).on_conflict_do_nothing()
    timed = [{**row, "created": row.get("created") or now} for row in rows]
    new = set(map(tuple, connection.execute(insert.returning(_events.c.kind, _events.c.event_id), timed)))
    added = Counter(kind for kind, _ in new)
    for row in rows:
        key = row["kind"], row["event_id"]
        if key in new:
            new.remove(key)  # another of the same id is compared with it
            continue
        same = sa.select(_events).where(_events.c.kind == key[0], _events.c.event_id == key[1])
        kept = connection.execute(same).mappings().one()
        if any(kept[name] != value for name, value in row.items() if name != "created"):
            raise InputError(f"{' '.join(key)}: is already in the store with another content; give it a new id.")
    return added


def database_url(where: str | Path) -> sa.URL:
    """The URL of a store that is named by URL or by the path of an SQLite file.

    Raises
    ------
    InputError
        It is not the URL of a database.
    """
    if isinstance(where, Path) or "://" not in where:
        return sa.URL.create("sqlite", database=str(Path(where).absolute()))
    try:
        url = sa.make_url(where)
    except (sa.exc.ArgumentError, ValueError):
        shown = without_password(where)
        raise InputError(f"{shown}: is not the URL of a database; write postgresql://user@host/name.") from None
    # The driver that the extra `team` installs, whatever the default of the installed SQLAlchemy.
    return url.set(drivername="postgresql+psycopg") if url.drivername == "postgresql" else url


def without_password(where: str) -> str:
    """The text of a URL without its password."""
    return _PASSWORD.sub(r"\1***@", where)


@contextmanager
def _database_errors(url: sa.URL) -> Iterator[None]:
    """Errors of the database as one plain message, without the password and without what was being stored."""
    try:
        yield
    except (sa.exc.SQLAlchemyError, sqlite3.Error) as error:
        cause = str(getattr(error, "orig", None) or error).strip()
        if url.password:
            cause = cause.replace(str(url.password), "***")
        first = without_password(cause).splitlines()[0] if cause else type(error).__name__
        shown, todo = url.render_as_string(hide_password=True), "check that it is there and may be written"
        raise InputError(f"{shown}: the store of reviews cannot be used ({first}); {todo}.") from None


def _prepare(engine: sa.Engine, shown: str, *, create: bool) -> None:
    """Make the table, or bring along what an earlier version kept; of two processes one does, and the other waits."""
    with engine.connect() as connection:
        version = _version(connection)
    if version == SCHEMA_VERSION:
        return
    if version is None and not create:
        raise InputError(f"{shown}: holds no store of reviews; name the one that `mrb review` uses.")
    if version is None and engine.dialect.name == "sqlite":
        # Write-ahead logging, so that readers never wait; where the disk or another process is against it, without.
        with suppress(sqlite3.OperationalError), closing(engine.raw_connection()) as raw:
            raw.cursor().execute("PRAGMA journal_mode=WAL")
    with engine.execution_options(**{_WRITES: True}).begin() as connection:
        version = _version(connection)
        if version == SCHEMA_VERSION:  # another process was faster
            return
        if version not in (None, SCHEMA_VERSION - 1):
            other = f"this store has version {version} and the workbench reads versions {SCHEMA_VERSION - 1} and"
            raise InputError(f"{shown}: {other} {SCHEMA_VERSION}; use a workbench that reads it.")
        kept = "" if version is None else _backup(engine.url, version)
        _metadata.create_all(connection)
        for statement in _GUARDS[connection.dialect.name]:
            connection.exec_driver_sql(statement)
        if version is not None:
            _bring_along(connection, version)
        connection.execute(_meta.delete())
        connection.execute(_meta.insert().values(key="schema", value=str(SCHEMA_VERSION)))
    if version is not None:
        _log.warning("%s: migrated from version %s to %s; its earlier rows: %s", shown, version, SCHEMA_VERSION, kept)


def _version(connection: sa.Connection) -> int | None:
    """The version of the store; None without one."""
    if not sa.inspect(connection).has_table(_meta.name):
        return None
    return int(connection.execute(sa.select(_meta.c.value).where(_meta.c.key == "schema")).scalar_one())


def _backup(url: sa.URL, version: int) -> str:
    """Copy an SQLite store beside itself, under a name that is free; returns where the earlier rows will be."""
    if url.get_backend_name() != "sqlite":
        return f"its tables mrb_*_v{version}"
    path = Path(str(url.database))
    names = (path.with_name(f"{path.name}.v{version}-backup{n or ''}") for n in count())
    backup = next(name for name in names if not name.exists())
    with closing(sqlite3.connect(path, timeout=_SECONDS_TO_WAIT)) as connection:
        connection.execute("VACUUM INTO ?", (str(backup),))
    shutil.copymode(path, backup)
    return str(backup)


def _bring_along(connection: sa.Connection, version: int) -> None:
    """Add the rows of an earlier version's tables as events; the tables are dropped, or, without a backup, renamed."""
    for kind in _EARLIER:
        table, rows = f"mrb_{kind}s", []
        # The first column is the id, by which rows were stored one after the other.
        for old in connection.exec_driver_sql(f"SELECT * FROM {table} ORDER BY 1").mappings():  # noqa: S608  # ours
            content = {name: value for name, value in old.items() if name != "id"}
            event_id = content.pop(f"{kind}_id", None) or content.pop("key", None) or str(uuid4())
            row = {"kind": kind, "event_id": event_id, "benchmark": content.pop("benchmark", "")}
            row["person"] = content.pop("reviewer", None) or content.pop("annotator", None)
            rows.append(row | {name: content.pop(name, None) for name in ("case_id", "created")} | {"content": content})
            for name in {"reasons", "regions", "names"} & content.keys():
                content[name] = json.loads(content[name])
            if kind == "adjudication":
                given = {name: content.pop(name, None) for name in ("reasons", "severity", "reasoning")}
                content["answers"] = {name: answer for name, answer in given.items() if answer}
        if rows:
            connection.execute(_events.insert(), rows)
        drop, rename = f"DROP TABLE {table}", f"ALTER TABLE {table} RENAME TO {table}_v{version}"
        connection.exec_driver_sql(drop if connection.dialect.name == "sqlite" else rename)


def _begin(connection: sa.Connection) -> None:
    """Start a transaction; one that writes first waits until no other writer is left in one."""
    writes = connection.get_execution_options().get(_WRITES, False)
    if connection.dialect.name == "sqlite":  # which refuses a transaction that reads, then writes, while another writes
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
    elif writes:
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK)))
