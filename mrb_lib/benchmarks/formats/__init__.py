"""How are somebody else's files read as a benchmark, and written back? One file, or one package, a format.

A reader or writer registers itself with `@reads` or `@writes` where it is written; `READERS` and `WRITERS` find it by
name. The other names here are what a format is built with: `base` makes tables of rows, `sources` reads the files.
"""

from mrb_lib.benchmarks.formats.base import READERS, WRITERS, Imported, import_tables, read_source, reads, writes
from mrb_lib.benchmarks.formats.mapping import column_map
from mrb_lib.benchmarks.formats.sources import SourceRow, read_json, read_rows

__all__ = ["READERS", "WRITERS", "Imported", "SourceRow", "column_map", "import_tables", "read_json", "read_rows",
           "read_source", "reads", "writes"]  # fmt: skip
