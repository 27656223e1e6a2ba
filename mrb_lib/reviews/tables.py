"""The tables of a store of reviews: rows are added and never changed, which the database itself enforces."""

from __future__ import annotations

from typing import Any

try:
    import sqlalchemy as sa
    from sqlalchemy.ext.compiler import compiles
except ImportError as error:
    from mrb_lib.errors import InputError

    raise InputError(
        "a store of reviews needs SQLAlchemy; install it with `pip install 'mrb-workbench[lab]'`."
    ) from error

SCHEMA_VERSION = "1"
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
    _created(),
)

_REFUSAL = "reviews are added to, never changed"
_FUNCTION = f"""CREATE OR REPLACE FUNCTION mrb_refuse() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION '{_REFUSAL}'; END $$"""


def _after(table: sa.Table, statement: str, dialect: str) -> None:
    made = sa.DDL(statement)  # type: ignore[no-untyped-call]  # SQLAlchemy's own lack
    sa.event.listen(table, "after_create", made.execute_if(dialect=dialect))


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


for _table in (adjudications, reason_lists, assignments, answers):
    _guard(_table)
