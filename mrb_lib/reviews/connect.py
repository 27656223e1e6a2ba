"""Connecting to the database of a store: where it is, how it is opened, and what its errors say."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.pool import NullPool

from mrb_lib.errors import InputError
from mrb_lib.reviews import tables

WRITES = "mrb_writes"
_SECONDS_TO_WAIT = 60
_PASSWORD = re.compile(r"(://[^:/@\s]*:)[^@\s]*@")


def database(where: str | Path) -> sa.URL:
    """The URL of a store that is named by URL or by the path of an SQLite file.

    Raises
    ------
    InputError
        It is no URL of a database.
    """
    if isinstance(where, Path) or "://" not in where:
        return sa.URL.create("sqlite", database=str(Path(where).absolute()))
    try:
        url = sa.make_url(where)
    except (sa.exc.ArgumentError, ValueError):
        raise InputError(
            f"{hidden(where)}: is no URL of a database; write postgresql://user@host/name, or a path."
        ) from None
    # The driver that the extra `team` installs, whatever the default of the SQLAlchemy at hand.
    return url.set(drivername="postgresql+psycopg") if url.drivername == "postgresql" else url


def hidden(where: str) -> str:
    """The text of a URL without its password."""
    return _PASSWORD.sub(r"\1***@", where)


def engine_for(url: sa.URL, *, create: bool) -> sa.Engine:
    """The engine; its connections wait for each other rather than fail.

    Raises
    ------
    InputError
        The driver is not installed, the dialect unknown, or a file is missing that may not be created.
    """
    shown = url.render_as_string(hide_password=True)
    lite = url.get_backend_name() == "sqlite"
    if lite and url.database:
        path = Path(url.database)
        if not create and not path.is_file():
            raise InputError(
                f"{path}: there is no store of reviews; `mrb adjudications import` makes one, or name another."
            )
        if not path.parent.is_dir():
            raise InputError(f"{path}: its folder does not exist; make it, or name another.")
    try:
        if not lite:
            return sa.create_engine(url, pool_pre_ping=True, pool_size=2, hide_parameters=True)
        engine = sa.create_engine(
            url, poolclass=NullPool, hide_parameters=True, connect_args={"timeout": _SECONDS_TO_WAIT}
        )
    except ModuleNotFoundError:
        raise InputError(f"{shown}: its driver is missing; `pip install 'mrb-workbench[team]'` brings that of "
                         "PostgreSQL.") from None  # fmt: skip
    except (sa.exc.ArgumentError, sa.exc.NoSuchModuleError):
        raise InputError(f"{shown}: is no kind of database that SQLAlchemy knows; use sqlite or postgresql.") from None
    sa.event.listen(engine, "connect", _prepare_sqlite)
    sa.event.listen(engine, "begin", _begin_sqlite)
    return engine


def make_tables(engine: sa.Engine, *, create: bool) -> None:
    """Make the tables that are missing, one process at a time.

    Raises
    ------
    InputError
        The database holds no store and may not get one, or one of another version.
    """
    shown = engine.url.render_as_string(hide_password=True)
    if create:
        if engine.dialect.name == "sqlite":
            _keep_log_ahead(engine)
        with engine.execution_options(**{WRITES: True}).begin() as connection:
            if engine.dialect.name == "postgresql":
                connection.execute(sa.select(sa.func.pg_advisory_xact_lock(tables.LOCK)))
            tables.metadata.create_all(connection)
            if connection.execute(sa.select(tables.meta.c.value)).first() is None:
                connection.execute(tables.meta.insert().values(key="schema", value=tables.SCHEMA_VERSION))
    elif not sa.inspect(engine).has_table(tables.meta.name):
        raise InputError(f"{shown}: holds no store of reviews; name the one that `mrb adjudications import` wrote to.")
    with engine.connect() as connection:
        version = connection.execute(sa.select(tables.meta.c.value).where(tables.meta.c.key == "schema")).scalar()
    if version != tables.SCHEMA_VERSION:
        raise InputError(
            f"{shown}: is a store of version {version}, not {tables.SCHEMA_VERSION}; update the workbench."
        )


@contextmanager
def explained(url: sa.URL) -> Iterator[None]:
    """Errors of the database as one plain message, without the password and without what was being stored."""
    try:
        yield
    except (sa.exc.SQLAlchemyError, sqlite3.Error) as error:
        cause = str(getattr(error, "orig", None) or error).strip()
        if url.password:
            cause = cause.replace(str(url.password), "***")
        first = hidden(cause).splitlines()[0] if cause else type(error).__name__
        shown = url.render_as_string(hide_password=True)
        raise InputError(
            f"{shown}: the store of reviews cannot be used ({first}); check that it is there and may be written."
        ) from None


def _keep_log_ahead(engine: sa.Engine) -> None:
    """Write-ahead logging, so that readers never wait; where the disk or another process is against it, do without."""
    raw = engine.raw_connection()
    try:
        cursor = raw.cursor()
        if cursor.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
            cursor.execute("PRAGMA journal_mode=WAL")
        cursor.close()
    except sqlite3.OperationalError as error:
        if "locked" not in str(error):
            raise
    finally:
        raw.close()


def _prepare_sqlite(connection: sqlite3.Connection, _: object) -> None:
    connection.isolation_level = None  # transactions begin where `_begin_sqlite` says
    cursor = connection.cursor()
    cursor.execute("PRAGMA synchronous=FULL")
    cursor.close()


def _begin_sqlite(connection: sa.Connection) -> None:
    # A transaction that reads, then writes, is refused at once where another writes: take the lock at the start.
    writes = connection.get_execution_options().get(WRITES, False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
