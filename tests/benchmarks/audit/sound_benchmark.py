"""A small benchmark without a defect, for tests that plant one."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image

from mrb_lib.benchmarks.audit.folder import audit
from mrb_lib.benchmarks.meta import BenchmarkMeta, write_meta
from mrb_lib.tables.schema import ORGAN_DEPARTMENT, ORGANS
from mrb_lib.tables.validation import Finding

from ..near_copies import bench, stored

DIMENSIONS = ("accuracy", "overall")
ANNOTATORS = ("anna", "ben", "carla")
META = BenchmarkMeta("sound", "clinical", DIMENSIONS, ("A", "B", "tie"))


@dataclass
class Sound:
    """The parts of a sound benchmark, to be changed before `write`."""

    cases: pd.DataFrame
    annotations: pd.DataFrame
    images: dict[str, bytes]
    meta: BenchmarkMeta = META

    def write(self, folder: Path) -> Path:
        """Write without validation, as somebody else's program might."""
        (folder / "images").mkdir(parents=True)
        write_meta(self.meta, folder / "benchmark.toml")
        for name, frame in (("cases", self.cases), ("annotations", self.annotations)):
            pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), folder / f"{name}.parquet")
        for name, content in self.images.items():
            (folder / "images" / name).write_bytes(content)
        return folder

    def put(self, column: str, row: int, value: object) -> None:
        """Put a value into a row, counted from 1 as findings do."""
        values = list(self.cases[column])
        values[row - 1] = value
        self.cases[column] = values


def picture(seed: int, size: tuple[int, int] = (24, 16), mode: str = "RGB", **options: object) -> bytes:
    """A PNG (or another `format_`) of noise."""
    shape = (size[1], size[0], 3) if mode == "RGB" else (size[1], size[0])
    pixels = np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8)
    return stored(Image.fromarray(pixels).convert(mode), **options)


def sound() -> Sound:
    """Twenty-four cases, two dimensions, three annotators, an image each, and nothing wrong."""
    n, organs = 24, [ORGANS[i % len(ORGANS)] for i in range(24)]
    rows = [
        {"case_id": f"case-{i:02d}", "images": [f"scan-{i:02d}.png"], "organ": organ,
         "department": ORGAN_DEPARTMENT[organ]}
        for i, organ in enumerate(organs, 1)
    ]  # fmt: skip
    # Gold that alternates in an irregular way, half A and half B.
    side = ["A" if (i * 7) % n < n // 2 else "B" for i in range(n)]
    votes = [
        (f"case-{i + 1:02d}", annotator, dimension, side[i])
        for i in range(n)
        for annotator in ANNOTATORS
        for dimension in DIMENSIONS
    ]
    annotations = pd.DataFrame(votes, columns=["case_id", "annotator", "dimension", "choice"])
    return Sound(bench(rows).cases, annotations, {f"scan-{i + 1:02d}.png": picture(i) for i in range(n)})


def places(findings: list[Finding]) -> list[tuple[str, str, int | None, str | None]]:
    """Severity, file, row and column of each finding."""
    return [(finding.severity, finding.file, finding.row, finding.column) for finding in findings]


def audit_with(
    tmp_path: Path, change: Callable[[Sound], object], files: Mapping[str, bytes] | None = None
) -> list[Finding]:
    """The audit of a sound benchmark after one change; `files` overwrites files of its folder."""
    benchmark = sound()
    change(benchmark)
    folder = benchmark.write(tmp_path / "bench")
    for name, content in (files or {}).items():
        (folder / name).write_bytes(content)
    return audit(folder)
