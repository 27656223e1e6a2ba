"""The database of a store of reviews: its table, how it is opened and migrated, and what its errors say.

Rows are added and never changed, which SQLite and PostgreSQL themselves enforce.
"""

from __future__ import annotations

import json
import logging
import re
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any
from uuid import uuid4

from mrb_lib.tables.errors import InputError

try:
    import sqlalchemy as sa
    from sqlalchemy.pool import NullPool, StaticPool
except ImportError as error:
    raise InputError(
        "a store of reviews needs SQLAlchemy; install it with `pip install 'mrb-workbench[report]'`."
    ) from error

WRITES = "mrb_writes"
SCHEMA_VERSION = 5
_LOCK = 7_266_105_230  # any number will do: all stores agree on it while one of them makes its tables
_SECONDS_TO_WAIT = 60
_PASSWORD = re.compile(r"(://[^:/@\s]*:)[^@\s]*@")
_log = logging.getLogger(__name__)

metadata = sa.MetaData()
meta = sa.Table(
    "mrb_meta",
    metadata,
    sa.Column("key", sa.String(40), primary_key=True),
    sa.Column("value", sa.Text(), nullable=False),
)
events = sa.Table(
    "mrb_events",
    metadata,
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
"""The kinds of event of which versions 1 to 4 had a table each."""


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


def open_engine(url: sa.URL, *, create: bool) -> sa.Engine:
    """Connect to a store, make or migrate its tables; connections wait for each other rather than fail.

    Raises
    ------
    InputError
        The driver is not installed or the database unknown; there is no store and none may be made; or a newer
        workbench wrote it.
    """
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
        sa.event.listen(engine, "begin", _begin_sqlite)
    try:
        _prepare(engine, shown, create=create)
    except BaseException:
        engine.dispose()
        raise
    return engine


def now(connection: sa.Connection) -> str:
    """The database's own time, UTC to the millisecond: one clock for all who write."""
    return str(connection.exec_driver_sql(_NOW[connection.dialect.name]).scalar_one())


def one_at_a_time(connection: sa.Connection) -> None:
    """Wait in a transaction until no other writer is left in one; in SQLite there is never a second."""
    if connection.dialect.name == "postgresql":
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK)))


@contextmanager
def database_errors(url: sa.URL) -> Iterator[None]:
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
    with engine.execution_options(**{WRITES: True}).begin() as connection:
        one_at_a_time(connection)
        version = _version(connection)
        if version == SCHEMA_VERSION:  # another process was faster
            return
        if version is not None and version > SCHEMA_VERSION:
            newer = f"this store has version {version} and the workbench reads version {SCHEMA_VERSION}"
            raise InputError(f"{shown}: {newer}; update the workbench.")
        kept = "" if version is None else _backup(engine.url, version)
        metadata.create_all(connection)
        for statement in _GUARDS[connection.dialect.name]:
            connection.exec_driver_sql(statement)
        if version is not None:
            _bring_along(connection, version)
        connection.execute(meta.delete())
        connection.execute(meta.insert().values(key="schema", value=str(SCHEMA_VERSION)))
    if version is not None:
        _log.warning("%s: migrated from version %s to %s; its earlier rows: %s", shown, version, SCHEMA_VERSION, kept)


def _version(connection: sa.Connection) -> int | None:
    """The version of the store; None without one."""
    if not sa.inspect(connection).has_table(meta.name):
        return None
    return int(connection.execute(sa.select(meta.c.value).where(meta.c.key == "schema")).scalar_one())


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
        if not sa.inspect(connection).has_table(table):
            continue
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
            connection.execute(events.insert(), rows)
        drop, rename = f"DROP TABLE {table}", f"ALTER TABLE {table} RENAME TO {table}_v{version}"
        connection.exec_driver_sql(drop if connection.dialect.name == "sqlite" else rename)


def _begin_sqlite(connection: sa.Connection) -> None:
    # A transaction that reads, then writes, is refused at once where another writes: take the lock at the start.
    writes = connection.get_execution_options().get(WRITES, False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
