"""A folder of rows as `datasets.load_dataset(FOLDER)` reads it: a parquet file, its images, and what they are."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import tomli_w

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.benchmarks.case_digests import case_digests, image_digests
from mrb_lib.benchmarks.images.dicom import is_dicom
from mrb_lib.benchmarks.images.pictures import open_image, png, raster
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.files import write_atomic
from mrb_lib.tables.schema import SIMULATED
from mrb_lib.tables.validation import Finding, counted
from mrb_lib.verdicts.training import cases_digest

IMAGES: Final = "images_file_names"
MESSAGES: Final = ("prompt", "completion", "chosen", "rejected")
_TURNED: Final = 0x0112  # the EXIF tag of the orientation
_KEPT: Final = {"PNG": "png", "JPEG": "jpg"}


@dataclass(frozen=True)
class RowFormat:
    """The form of a row.

    Attributes
    ----------
    name : of the format
    columns : what each column holds, in order, by its name
    """

    name: str
    columns: Mapping[str, str]


def write_rows(
    out: Path,
    benchmark: Benchmark,
    rows: pd.DataFrame,
    form: RowFormat,
    *,
    stated: Mapping[str, object],
    left_out: Mapping[str, int],
) -> list[Finding]:
    """Write rows, their images and `rows.toml` into an empty folder.

    Parameters
    ----------
    rows : a row an example, with `case_id` and the columns of the format
    stated : what shaped the rows besides the benchmark
    left_out : how many labels or cases are not among them, by the reason

    Returns
    -------
    list of Finding
        How many rows there are, and what was left out.

    Raises
    ------
    InputError
        No row is left.

    Notes
    -----
    Where the cases have images, these are written once, named by their content, and `metadata.parquet` names them in
    `images_file_names`, which `datasets` reads as the column `images` that TRL's trainers take. Names in a `.json`
    file would make it read that file instead, hence `rows.toml`. Validated by tests/build/training/test_export.py.
    """
    left_out = {reason: n for reason, n in left_out.items() if n}
    if rows.empty:
        reasons = "; ".join(f"{n:,} {reason}" for reason, n in left_out.items()) or "no case has a label"
        raise InputError(f"{form.name}: no row is left to write ({reasons}); name another split or other dimensions.")
    cases = benchmark.cases[benchmark.cases["case_id"].isin(rows["case_id"])]
    names = _write_images(out, benchmark, cases) if cases["images"].map(len).any() else {}
    columns = [name for name in form.columns if name in rows]
    table = pa.Table.from_pylist(rows[columns].to_dict("records"), _schema(columns))
    if names:
        shown = cases.set_index("case_id")["images"]
        of_rows = [[names[name] for name in shown[case]] for case in rows["case_id"]]
        table = table.add_column(0, IMAGES, pa.array(of_rows, pa.list_(pa.string())))
    file = "metadata.parquet" if names else "rows.parquet"
    pq.write_table(table, out / file, compression="zstd")
    digests = case_digests(benchmark)[cases["case_id"]]
    meta, mark = benchmark.meta, {"warning": SIMULATED} if benchmark.meta.kind == "simulated" else {}
    record = {
        **mark,
        "format": form.name,
        "benchmark": {"name": meta.name, "kind": meta.kind, "split": meta.extra.get("split", {})},
        **{name: value for name, value in stated.items() if value is not None},
        "n_rows": len(rows),
        "n_cases": len(cases),
        "left_out": left_out,
        "columns": {name: form.columns[name] for name in columns},
        "cases": list(digests.index),
        "digests": list(digests),
        "cases_digest": cases_digest(digests),
    }
    write_atomic(out / "rows.toml", tomli_w.dumps(record))
    written = f"{len(rows):,} rows of {len(cases):,} cases"
    cure = "nothing to do if that is what you want"
    lost = [one for reason, n in left_out.items() for one in counted(n, "info", file, f"left out: {reason}", cure)]
    return [Finding("info", file, None, None, written, "rows.toml says what shaped them"), *lost]


def _schema(columns: Sequence[str]) -> pa.Schema:
    message = pa.list_(pa.struct([("role", pa.string()), ("content", pa.string())]))
    kinds = {**dict.fromkeys(MESSAGES, message), "weight": pa.float64()}
    return pa.schema([(name, kinds.get(name, pa.string())) for name in columns])


def readable(benchmark: Benchmark, case_ids: Sequence[str]) -> tuple[list[str], int]:
    """The cases whose images are all there and can be read, and how many are not among them."""
    shown = benchmark.cases.set_index("case_id")["images"]
    names = dict.fromkeys(name for case in case_ids for name in shown[case])
    sound = {name for name in names if _is_readable(benchmark.images, name)}
    kept = [case for case in case_ids if sound.issuperset(shown[case])]
    return kept, len(case_ids) - len(kept)


def _is_readable(images: Mapping[str, bytes], name: str) -> bool:
    try:
        open_image(images[name], name)
    except (KeyError, InputError):
        return False
    return True


def _write_images(out: Path, benchmark: Benchmark, cases: pd.DataFrame) -> dict[str, str]:
    """Write each image once, and its name in the folder by its name in the benchmark."""
    (out / "images").mkdir()
    names = {}
    digests = image_digests(benchmark.images, (name for shown in cases["images"] for name in shown))
    for name, digest in digests.items():
        content, ending = _plain(benchmark.images[name], name)
        names[name] = f"images/{digest}.{ending}"
        (out / names[name]).write_bytes(content)
    return names


def _plain(content: bytes, name: str) -> tuple[bytes, str]:
    """The bytes of an image that every reader sees as judges do, as they are where that holds, and their ending."""
    if not is_dicom(content):
        with raster(content, name) as opened:
            turned = opened.getexif().get(_TURNED, 1) not in (0, 1)
            if opened.format in _KEPT and opened.mode == "RGB" and not turned:
                return content, _KEPT[opened.format]
    return png(open_image(content, name).convert("RGB")), "png"
