"""A small data root in the published layout, to be damaged in one way at a time."""

import json
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from mrb_lib.benchmarks.formats import Imported, read_source
from mrb_lib.replies.reading import parse
from mrb_lib.tables.schema import CHOICES, DIMENSIONS
from mrb_lib.tables.validation import conform

from ..near_copies import stored

PANDALM: dict[str, object] = {
    "idx": 1, "motivation_app": "m", "cmp_key": "x_y", "instruction": "Say.", "input": "", "response1": "a",
    "response2": "b", "annotator1": 1, "annotator2": 1, "annotator3": 0,
}  # fmt: skip
PLAIN = "case_id,question,response_a,response_b"


def imported(path: Path, content: str | bytes | Mapping[str, str | bytes], **options: object) -> Imported:
    """What format `table` makes of a file of this content, or of a folder of files by their names."""
    files = {path / name: each for name, each in content.items()} if isinstance(content, Mapping) else {path: content}
    for file, each in files.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(each.encode() if isinstance(each, str) else each)
    return read_source("table", path, **options)


def said(imported: Imported) -> str:
    """What an import found, a line each."""
    return "\n".join(map(str, imported.findings))


IMAGE = pa.struct([("bytes", pa.binary()), ("path", pa.string())])


def judged(
    case_ids: Sequence[str], replies: Sequence[str | None], judge: str = "J", offered: Sequence[str] = CHOICES
) -> pd.DataFrame:
    """Verdicts in the order AB as our parser reads them from a reply to each case."""
    rows = []
    for case_id, reply in zip(case_ids, replies, strict=True):
        reading = parse(reply or "", DIMENSIONS, offered)
        read = [(name, reading.choices.get(name), reading.status_of(name)) for name in DIMENSIONS]
        rows += [(judge, case_id, name, "AB", choice, status, reply) for name, choice, status in read]
    names = ["judge", "case_id", "dimension", "order", "choice", "status", "reply"]
    return conform(pd.DataFrame(rows, columns=names), "verdicts", "made")


def png(shade: int) -> bytes:
    return stored(Image.new("L", (4, 3), shade))


def pair(question_id: object, organ: str, **changes: object) -> dict[str, object]:
    """A row of a parquet file."""
    row: dict[str, object] = {
        "question_id": question_id,
        "image": {"bytes": png(zlib.crc32(str(question_id).encode()) % 250), "path": f"{organ}_{question_id}.png"},
        "question": "What is seen?",
        "answer1_text": "One.",
        "answer2_text": "Two.",
        "modality_type": organ,
        "dataset": "invented",
        "question_type": "open",
        "image_id": "i1",
        "body_part": organ,
    }
    return row | changes


def truth(question_id: object, **changes: object) -> dict[str, object]:
    """A line of a ground truth file: A for every dimension but for the changes."""
    return {"question_id": question_id, "human_answer": dict.fromkeys(DIMENSIONS, "A") | changes}


@dataclass
class Tree:
    """Builds a data root; one organ, brain, with two pairs unless told otherwise."""

    root: Path
    pairs: dict[str, list[dict[str, object]]] = field(default_factory=dict)
    truths: dict[str, list[dict[str, object]]] = field(default_factory=dict)

    def organ(self, organ: str, ids: Iterable[object]) -> None:
        self.pairs[organ] = [pair(i, organ) for i in ids]
        self.truths[organ] = [truth(i) for i in ids]

    def labels_path(self, organ: str = "brain") -> Path:
        return self.root / "pair_gt_all" / f"{organ}.jsonl"

    def pairs_path(self, organ: str = "brain") -> Path:
        return self.root / "pair_gt_all" / "parquet" / f"{organ}.parquet"

    def write(self) -> Path:
        self.pairs_path().parent.mkdir(parents=True, exist_ok=True)
        for organ, rows in self.pairs.items():
            table = pa.Table.from_pylist(rows)
            if "image" in table.column_names:
                i = table.column_names.index("image")
                if pa.types.is_null(table["image"].type) or pa.types.is_struct(table["image"].type):
                    table = table.set_column(i, "image", table["image"].cast(IMAGE))
            pq.write_table(table, self.pairs_path(organ), row_group_size=3)
        for organ, lines in self.truths.items():
            self.labels_path(organ).write_text("".join(json.dumps(line) + "\n" for line in lines))
        return self.root

    def results(
        self, judge: str, rows: Iterable[Mapping[str, object]], group: str = "brain", *, normalized: bool = False
    ) -> Path:
        tree = "benchmark_result_parquet" + ("_normalized1" if normalized else "1")
        path = self.root / "data" / tree / group / f"pair_{judge}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return path


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    built = Tree(tmp_path / "src")
    built.organ("brain", [1, 2])
    return built


@pytest.fixture(scope="session")
def sample(reference_data: Path) -> Imported:
    return read_source("official", reference_data / "official_sample")
