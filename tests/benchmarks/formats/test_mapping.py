"""Columns that a user's files call otherwise are read in every format, and never lost or confused."""

import json
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mrb_lib.benchmarks.formats import READERS, read_source
from mrb_lib.tables.errors import InputError

from .conftest import PANDALM

Change = Callable[[dict[str, object]], dict[str, object]]


def renaming(**names: str) -> Change:
    """Rename fields, and give each record a body part."""

    def change(record: dict[str, object]) -> dict[str, object]:
        return {names.get(name, name): value for name, value in record.items()} | {"body part": "eye"}

    return change


def change_json(path: Path, change: Change) -> None:
    text = path.read_text()
    records = json.loads(text) if text.startswith("[") else [json.loads(line) for line in text.splitlines()]
    path.write_text(json.dumps([change(record) for record in records]))


def change_parquet(path: Path, change: Change) -> None:
    table = pq.read_table(path)
    names = list(change(dict.fromkeys(table.column_names)))
    table = table.append_column("body part", pa.array(["eye"] * table.num_rows))
    pq.write_table(table.rename_columns(names), path)


# Of each format: a folder of the reference data, the files of the cases, how to change one, and a field of it with
# another name.
FORMATS: dict[str, tuple[str, str, Callable[[Path, Change], None], str, str]] = {
    "pandalm": ("pandalm", "testset-v1.json", change_json, "instruction", "prompt"),
    "judgebench": ("judgebench_pairs", "*.jsonl", change_json, "question", "prompt"),
    "official": ("official_sample", "pair_gt_all/parquet/*.parquet", change_parquet, "answer1_text", "first"),
}
ORGAN_OF = dict.fromkeys(FORMATS, "organ") | {"official": "modality"}  # the file's name is the organ there


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_a_field_with_another_name_and_an_unknown_column_are_read(
    name: str, reference_data: Path, tmp_path: Path
) -> None:
    source, files, change, ours, theirs = FORMATS[name]
    folder = tmp_path / "src"
    shutil.copytree(reference_data / source, folder)
    before = READERS[name].convert(folder)
    for path in sorted(folder.glob(files)):
        change(path, renaming(**{ours: theirs}))
    carried = ORGAN_OF[name]
    with pytest.raises(InputError, match=ours):
        READERS[name].convert(folder)
    after = read_source(name, folder, map_=[f"{theirs}={ours}", f"body part={carried}"])
    cases = after.benchmark.cases
    assert cases[carried].tolist() == ["eye"] * len(cases)
    same = [column for column in before.benchmark.cases.columns if column != carried]
    pd.testing.assert_frame_equal(cases[same], before.benchmark.cases[same])
    pd.testing.assert_frame_equal(after.benchmark.annotations, before.benchmark.annotations)
    pd.testing.assert_frame_equal(after.verdicts, before.verdicts)
    noted = {"format": name, "columns": {theirs: ours, "body part": carried}}
    assert after.benchmark.meta.extra["import"] == noted


def pandalm(folder: Path, records: Iterable[dict[str, object]]) -> Path:
    folder.mkdir(parents=True)
    (folder / "testset-v1.json").write_text(json.dumps(list(records)))
    return folder


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        (["topic=instruction"], "column instruction: would be there twice; leave out --map topic=instruction"),
        (["topic=organ", "motivation_app=organ"], "column organ: would be there twice"),
        (["topic=organ", "topic=modality"], "--map topic=modality: topic is mapped to organ as well; keep one"),
        (["topic=question"], "column topic: pandalm has no use for a column question there"),
        (["topic=nothing"], r"no use for a column nothing there; .*\(annotator1, .*to one such"),
        (["instruction=question"], "column instruction: the field is missing"),
        (["instructon=organ"], "there is no column instructon; the columns are .* Did you mean instruction?"),
        (["topic="], "--map 'topic=': is not a pair; write their_column=our_column"),
    ],
)
def test_a_mapping_that_would_confuse_or_lose_a_column_is_refused(
    pairs: list[str], message: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=message):
        read_source("pandalm", pandalm(tmp_path / "src", [PANDALM | {"topic": "heart"}]), map_=pairs)


def test_a_value_of_some_records_is_missing_in_the_others_and_unmapped_fields_are_left(tmp_path: Path) -> None:
    rows = [PANDALM | change for change in ({"topic": "heart"}, {"idx": 2}, {"idx": 3, "topic": ""})]
    folder = pandalm(tmp_path / "src", rows)
    cases = read_source("pandalm", folder, map_=["topic=organ"]).benchmark.cases
    assert cases["organ"].isna().tolist() == [False, True, True]
    plain = read_source("pandalm", folder).benchmark
    assert "organ" not in plain.cases and "import" not in plain.meta.extra


def test_the_organ_of_the_published_layout_is_the_files_own(reference_data: Path) -> None:
    with pytest.raises(InputError, match="column question_type: the format fills organ; leave out"):
        read_source("official", reference_data / "official_sample", map_=["question_type=organ"])


def test_images_of_the_published_layout_may_have_another_name(reference_data: Path, tmp_path: Path) -> None:
    folder = tmp_path / "src"
    shutil.copytree(reference_data / "official_sample", folder)
    before = dict(READERS["official"].convert(folder).benchmark.images)
    for path in sorted(folder.glob("pair_gt_all/parquet/*.parquet")):
        table = pq.read_table(path)
        pq.write_table(table.rename_columns(["picture" if n == "image" else n for n in table.column_names]), path)
    after = read_source("official", folder, map_=["picture=image"]).benchmark
    assert before
    assert dict(after.images) == before
