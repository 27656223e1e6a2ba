"""How are somebody else's files read as a benchmark, and written back? One file, or one package, a format.

A reader or writer registers itself with `@reads` or `@writes` where it is written; `READERS` and `WRITERS` find it by
name. The other names here are what a format is built with: `base` makes tables of rows, `sources` reads JSON and CSV.
"""

from mrb_lib.benchmarks.formats.base import (
    READERS,
    WRITERS,
    Imported,
    import_tables,
    read_source,
    reads,
    writes,
)
from mrb_lib.benchmarks.formats.cells import read_csv
from mrb_lib.benchmarks.formats.sources import SourceRow, csv_records, read_json_array, read_jsonl
from mrb_lib.tables.validation import counted

__all__ = [
    "READERS",
    "WRITERS",
    "Imported",
    "SourceRow",
    "counted",
    "csv_records",
    "import_tables",
    "read_csv",
    "read_json_array",
    "read_jsonl",
    "read_source",
    "reads",
    "writes",
]
