"""How a format registers itself, what its reader returns, and how its rows become tables that keep the contract."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Generic, NamedTuple, TypeVar

import pandas as pd

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.benchmarks.formats.mapping import mapped_columns
from mrb_lib.benchmarks.meta import BenchmarkMeta
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.registry import Registry
from mrb_lib.tables.schema import TableName
from mrb_lib.tables.validation import Finding, check_references

ANNOTATION_COLUMNS = ("case_id", "annotator", "dimension", "choice")
VERDICT_COLUMNS = ("judge", "case_id", "dimension", "order", "choice", "status", "reply")


class Imported(NamedTuple):
    """What an importer made of its source.

    Attributes
    ----------
    benchmark : lives in memory; its images are read from the source when asked for
    verdicts : the verdicts table, without rows where the source has none
    findings : what was counted on the way and is not an error
    understood : how the files were read, a line each, for the user to confirm
    """

    benchmark: Benchmark
    verdicts: pd.DataFrame
    findings: list[Finding]
    understood: tuple[str, ...] = ()


Rows = pd.DataFrame | Iterable[Mapping[str, object]] | Iterable[Sequence[object]]
Read = Callable[..., Imported]
Write = Callable[..., list[Finding]]
F = TypeVar("F", Read, Write)


@dataclass(frozen=True)
class Format(Generic[F]):
    """A format that `mrb import` reads or `mrb export` writes.

    Attributes
    ----------
    convert : a reader is called with the path of the source; a writer with the benchmark, the verdicts table and an
        empty folder, and returns what the format could not hold; both take the options of the format as keywords
    about : what the format is, for a list of formats
    has_verdicts : a writer keeps verdicts, so that `mrb export` gives it those of the benchmark's own runs
    """

    convert: F
    about: str
    has_verdicts: bool = False


READERS: Final[Registry[Format[Read]]] = Registry("format", "mrb_lib.benchmarks.formats")
WRITERS: Final[Registry[Format[Write]]] = Registry(
    "format", "mrb_lib.benchmarks.formats", "mrb_lib.build.training.formats"
)


def reads(name: str, *, about: str) -> Callable[[Read], Read]:
    """Register the decorated function as the reader of a format.

    Its keyword-only parameters become options of `mrb import`; each is annotated `Annotated[type, "what it does"]`.
    """

    def register(convert: Read) -> Read:
        READERS.add(name, Format(convert, about))
        return convert

    return register


def writes(name: str, *, about: str, has_verdicts: bool = False) -> Callable[[Write], Write]:
    """Register the decorated function as the writer of a format; its options are declared as those of `reads`."""

    def register(convert: Write) -> Write:
        WRITERS.add(name, Format(convert, about, has_verdicts))
        return convert

    return register


def read_source(format_: str, src: Path, *, map_: Sequence[str] = (), **options: object) -> Imported:
    """Read somebody else's files in a format, whatever they call their columns.

    Parameters
    ----------
    format_ : one of `READERS`
    src : the folder or file
    map_ : "theirs=ours" of each column that is to be read as if it were called `ours`; see `mapping`
    options : of the format

    Returns
    -------
    Imported
        The benchmark's metadata name the columns that were renamed, under `import`.

    Raises
    ------
    InputError
        As the format's reader, or as `mapping.ColumnMap`.

    Notes
    -----
    Validated by tests/benchmarks/formats/test_mapping.py.
    """
    with mapped_columns(map_) as columns:
        imported = READERS[format_].convert(src, **options)
        columns.check(format_)
    if not columns.names:
        return imported
    meta = imported.benchmark.meta
    extra = {**meta.extra, "import": {"format": format_, "columns": columns.names}}
    return imported._replace(benchmark=replace(imported.benchmark, meta=replace(meta, extra=extra)))


def import_tables(
    meta: BenchmarkMeta,
    cases: Rows,
    annotations: Rows = (),
    verdicts: Rows = (),
    findings: Iterable[Finding] = (),
    *,
    source: object,
    images: Mapping[str, bytes] | None = None,
    understood: Sequence[str] = (),
    files: Mapping[TableName, str] | None = None,
) -> Imported:
    """Validate the tables, or the rows that a format made of its source, and put them together.

    Parameters
    ----------
    cases : the table, or its rows as `SourceRow.case` makes them
    annotations : the table, or rows in the order of `ANNOTATION_COLUMNS`
    verdicts : the table, or rows in the order of `VERDICT_COLUMNS`; of rows, repeat is 0 and probe none
    findings, understood : see `Imported`
    source : the file to name in messages
    images : the bytes of each image by name, read when asked for
    files : those of tables that `source` does not hold

    Raises
    ------
    InputError
        There are no cases, a table breaks its contract, or it names a case that does not exist.
    """
    columns = {"annotations": ANNOTATION_COLUMNS, "verdicts": VERDICT_COLUMNS}
    frames: dict[TableName, pd.DataFrame] = {}
    rows: dict[TableName, Rows] = {"cases": cases, "annotations": annotations, "verdicts": verdicts}
    for table, given in rows.items():
        file = (files or {}).get(table, str(source))
        if not isinstance(given, pd.DataFrame):
            given = pd.DataFrame(list(given), columns=columns.get(table), dtype="str" if table in columns else None)
        if table == "cases" and given.empty:
            raise InputError(f"{source}: holds no cases; check that it is the folder you mean.")
        frames[table] = meta.conform(given, table, file)
        check_references(given, frames["cases"], file)
    benchmark = Benchmark(meta, frames["cases"], frames["annotations"], {} if images is None else images)
    return Imported(benchmark, frames["verdicts"], list(findings), tuple(understood))
