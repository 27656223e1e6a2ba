"""The database of a store of reviews: its tables, how it is opened, and what its errors say.

Rows are added and never changed, which SQLite and PostgreSQL themselves enforce.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mrb_lib.tables.errors import InputError

try:
    import sqlalchemy as sa
    from sqlalchemy.ext.compiler import compiles
    from sqlalchemy.pool import NullPool
except ImportError as error:
    raise InputError(
        "a store of reviews needs SQLAlchemy; install it with `pip install 'mrb-workbench[report]'`."
    ) from error

WRITES = "mrb_writes"
_SECONDS_TO_WAIT = 60
_PASSWORD = re.compile(r"(://[^:/@\s]*:)[^@\s]*@")
SCHEMA_VERSION = "4"
LOCK = 7_266_105_230  # any number will do: all stores agree on it while they make their tables

metadata = sa.MetaData()
_TEXT = sa.Text().with_variant(sa.String(255), "mysql", "mariadb", "mssql", "oracle")
_ROW = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


class utc_now(sa.sql.expression.FunctionElement[str]):  # noqa: N801  # used as a function of SQL is
    """The database's own time as text, UTC to the millisecond: one clock for all who write."""

    type = sa.Text()
    inherit_cache = True


@compiles(utc_now)
def _utc_elsewhere(element: utc_now, compiler: Any, **_: Any) -> str:
    return "CURRENT_TIMESTAMP"


@compiles(utc_now, "sqlite")
def _utc_sqlite(element: utc_now, compiler: Any, **_: Any) -> str:
    return "(strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))"


@compiles(utc_now, "postgresql")
def _utc_postgresql(element: utc_now, compiler: Any, **_: Any) -> str:
    return """to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')"""


def _row() -> sa.Column[int]:
    return sa.Column("id", _ROW, sa.Identity(always=False), primary_key=True)


def _created() -> sa.Column[str]:
    return sa.Column("created", sa.String(40), nullable=False, server_default=utc_now())


def _text(name: str, *, null: bool = False, **options: Any) -> sa.Column[str]:
    return sa.Column(name, _TEXT, nullable=null, **options)


meta = sa.Table("mrb_meta", metadata, sa.Column("key", sa.String(40), primary_key=True), _text("value"))
adjudications = sa.Table(
    "mrb_adjudications",
    metadata,
    _row(),
    _text("adjudication_id", unique=True),
    _text("benchmark", index=True),
    _text("case_fingerprint"),
    sa.Column("case_id", sa.Text(), nullable=False),
    _text("dimension", null=True),
    _text("reviewer"),
    _text("verdict"),
    _text("choice", null=True),
    _text("judge", null=True),
    sa.Column("reasons", sa.Text(), nullable=False),
    _text("severity", null=True),
    _text("reasoning", null=True),
    sa.Column("regions", sa.Text(), nullable=False),
    sa.Column("note", sa.Text(), nullable=False),
    _text("supersedes", null=True),
    _created(),
)
reason_lists = sa.Table("mrb_reason_lists", metadata, _row(), sa.Column("names", sa.Text(), nullable=False), _created())
assignments = sa.Table(
    "mrb_assignments",
    metadata,
    sa.Column("key", sa.String(64), primary_key=True),
    _text("benchmark", index=True),
    sa.Column("case_id", sa.Text(), nullable=False),
    _text("task"),
    _text("annotator"),
    sa.Column("position", sa.Integer(), nullable=False),
    sa.Column("order", sa.String(2), nullable=False),
    _created(),
)
answers = sa.Table(
    "mrb_answers",
    metadata,
    _row(),
    _text("answer_id", unique=True),
    _text("benchmark", index=True),
    sa.Column("case_id", sa.Text(), nullable=False),
    _text("annotator"),
    _text("dimension"),
    _text("choice", null=True),
    sa.Column("order", sa.String(2), nullable=False),
    sa.Column("skipped_reason", sa.Text(), nullable=False),
    sa.Column("seconds", sa.Float(53), nullable=True),
    _created(),
)
comments = sa.Table(
    "mrb_comments",
    metadata,
    _row(),
    _text("comment_id", unique=True),
    _text("benchmark", index=True),
    sa.Column("case_id", sa.Text(), nullable=False),
    _text("annotator"),
    sa.Column("text", sa.Text(), nullable=False),
    _created(),
)
views = sa.Table(
    "mrb_views",
    metadata,
    _row(),
    _text("benchmark", index=True),
    _text("name"),
    sa.Column("fragment", sa.Text(), nullable=True),
    _text("reviewer"),
    _created(),
)
tags = sa.Table(
    "mrb_tags",
    metadata,
    _row(),
    _text("tag_id", unique=True),
    _text("benchmark", index=True),
    sa.Column("case_id", sa.Text(), nullable=False),
    _text("tag"),
    _text("reviewer"),
    _text("action"),
    _created(),
)

_REFUSAL = "reviews are added to, never changed"
_FUNCTION = f"""CREATE OR REPLACE FUNCTION mrb_refuse() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION '{_REFUSAL}'; END $$"""


def _after(table: sa.Table, statement: str, dialect: str) -> None:
    ddl = sa.DDL(statement)  # type: ignore[no-untyped-call]  # SQLAlchemy's own lack
    sa.event.listen(table, "after_create", ddl.execute_if(dialect=dialect))


def _guard(table: sa.Table) -> None:
    """Have SQLite and PostgreSQL refuse to change or remove rows."""
    for what in ("UPDATE", "DELETE"):
        lite = f"CREATE TRIGGER {table.name}_{what.lower()} BEFORE {what} ON {table.name} "
        lite += f"BEGIN SELECT RAISE(ABORT, '{_REFUSAL}'); END"
        _after(table, lite, "sqlite")
    trigger = f"CREATE TRIGGER {table.name}_kept BEFORE UPDATE OR DELETE OR TRUNCATE ON {table.name} "
    trigger += "FOR EACH STATEMENT EXECUTE FUNCTION mrb_refuse()"
    for statement in (_FUNCTION, trigger):
        _after(table, statement, "postgresql")


for _table in (adjudications, reason_lists, assignments, answers, comments, views, tags):
    _guard(_table)


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
        raise InputError(
            f"{without_password(where)}: is not the URL of a database; write postgresql://user@host/name, or a path."
        ) from None
    # The driver that the extra `team` installs, whatever the default of the installed SQLAlchemy.
    return url.set(drivername="postgresql+psycopg") if url.drivername == "postgresql" else url


def without_password(where: str) -> str:
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
        raise InputError(
            f"{shown}: is not a kind of database that SQLAlchemy knows; use sqlite or postgresql."
        ) from None
    sa.event.listen(engine, "connect", _prepare_sqlite)
    sa.event.listen(engine, "begin", _begin_sqlite)
    return engine


def create_tables(engine: sa.Engine, *, create: bool) -> None:
    """Make the tables that are missing, one process at a time.

    Raises
    ------
    InputError
        The database holds no store and may not get one, or one of another version.
    """
    shown = engine.url.render_as_string(hide_password=True)
    if create:
        if engine.dialect.name == "sqlite":
            _use_write_ahead_log(engine)
        with engine.execution_options(**{WRITES: True}).begin() as connection:
            if engine.dialect.name == "postgresql":
                connection.execute(sa.select(sa.func.pg_advisory_xact_lock(LOCK)))
            metadata.create_all(connection)
            if connection.execute(sa.select(meta.c.value)).first() is None:
                connection.execute(meta.insert().values(key="schema", value=SCHEMA_VERSION))
    elif not sa.inspect(engine).has_table(meta.name):
        raise InputError(f"{shown}: holds no store of reviews; name the one that `mrb adjudications import` wrote to.")
    with engine.connect() as connection:
        version = str(connection.execute(sa.select(meta.c.value).where(meta.c.key == "schema")).scalar())
    if version != SCHEMA_VERSION:
        is_older = version.isdecimal() and int(version) < int(SCHEMA_VERSION)
        older = "export it with the version of the workbench that wrote it, and import it into a new store"
        raise InputError(
            f"{shown}: this store has version {version} and the workbench reads version {SCHEMA_VERSION}; "
            f"{older if is_older else 'update the workbench'}."
        )


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
        shown = url.render_as_string(hide_password=True)
        raise InputError(
            f"{shown}: the store of reviews cannot be used ({first}); check that it is there and may be written."
        ) from None


def _use_write_ahead_log(engine: sa.Engine) -> None:
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
    connection.isolation_level = None  # transactions start where `_begin_sqlite` says
    cursor = connection.cursor()
    cursor.execute("PRAGMA synchronous=FULL")
    cursor.close()


def _begin_sqlite(connection: sa.Connection) -> None:
    # A transaction that reads, then writes, is refused at once where another writes: take the lock at the start.
    writes = connection.get_execution_options().get(WRITES, False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
