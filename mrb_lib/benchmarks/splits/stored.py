"""The split of a benchmark where it is kept: in `cases.parquet`, with its rule and digest in `benchmark.toml`."""

import hashlib
import io
from typing import Final

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.benchmarks.meta import meta_text
from mrb_lib.benchmarks.table_digests import MARK, SUMS, digests_with
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.files import replace_files

SPLIT: Final = "split"
FOLD: Final = "fold"


def split_digest(cases: pd.DataFrame) -> str:
    """SHA-256 over the sorted lines `case_id, split`, and `fold` where the cases have that column, between tabs."""
    columns = ["case_id", SPLIT, *([FOLD] if FOLD in cases else [])]
    lines = cases[columns].astype("str").fillna("").agg("\t".join, axis=1)
    return hashlib.sha256("\n".join(sorted(lines)).encode("utf-8", "surrogatepass")).hexdigest()


def is_split(benchmark: Benchmark) -> bool:
    """Whether the cases have a split, given or made."""
    return SPLIT in benchmark.cases and bool(benchmark.cases[SPLIT].notna().any())


def check_replaceable(benchmark: Benchmark) -> None:
    """Refuse to replace a split that the cases have.

    Raises
    ------
    InputError
        They have one.
    """
    if is_split(benchmark) or FOLD in benchmark.cases:
        counts = benchmark.cases[SPLIT].value_counts().items() if SPLIT in benchmark.cases else ()
        there = ", ".join(f"{n:,} {name}" for name, n in counts) or "folds only"
        raise InputError(f"{benchmark.path}: the cases are split already ({there}); pass --overwrite to replace that.")


def write_split(benchmark: Benchmark) -> None:
    """Write the split of a benchmark into its folder: `cases.parquet` and `benchmark.toml`, both or neither.

    Every other column of the cases keeps its values and its type.

    Raises
    ------
    InputError
        The benchmark was not loaded from a folder.
    """
    folder = benchmark.path
    if folder is None:
        raise InputError(f"benchmark {benchmark.meta.name}: has no folder yet; save it first.")
    stored = pq.ParquetFile(folder / "cases.parquet").read()
    for name in (SPLIT, FOLD):
        place = stored.schema.get_field_index(name)
        if name not in benchmark.cases:
            stored = stored if place < 0 else stored.remove_column(place)
            continue
        values = pa.array(benchmark.cases[name].astype(object).where(benchmark.cases[name].notna(), None), pa.string())
        stored = stored.append_column(name, values) if place < 0 else stored.set_column(place, name, values)
    buffer = io.BytesIO()
    marked = stored.replace_schema_metadata({**(stored.schema.metadata or {}), **MARK})
    pq.write_table(marked, buffer, compression="zstd")
    contents = {"cases.parquet": buffer.getvalue(), "benchmark.toml": meta_text(benchmark.meta).encode("utf-8")}
    contents[SUMS] = digests_with(folder, {"cases.parquet": hashlib.sha256(buffer.getvalue()).hexdigest()})
    replace_files(folder, contents)
