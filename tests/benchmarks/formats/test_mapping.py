"""Columns that a user's files call otherwise are read in every format, and never lost or confused."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from mrb_lib.benchmarks.formats import Imported, read_source
from mrb_lib.tables.errors import InputError

from .conftest import PANDALM, Tree


def pandalm(folder: Path, records: Iterable[Mapping[str, object]]) -> Path:
    folder.mkdir(parents=True)
    (folder / "testset-v1.json").write_text(json.dumps(list(records)))
    return folder


def renamed(row: Mapping[str, object], **names: str) -> dict[str, object]:
    """A record with some fields under other names, and a field that no format knows."""
    return {names.get(name, name): value for name, value in row.items()} | {"body part": "eye"}


def same_but(carried: str, format_: str, before: Imported, folder: Path, *pairs: str) -> None:
    """Read the renamed files as before, and the unknown field into a column of the cases."""
    after = read_source(format_, folder, map_=[*pairs, f"body part={carried}"])
    cases = after.benchmark.cases
    assert cases[carried].tolist() == ["eye"] * len(cases)
    pd.testing.assert_frame_equal(
        cases.drop(columns=carried), before.benchmark.cases.drop(columns=carried, errors="ignore")
    )
    pd.testing.assert_frame_equal(after.benchmark.annotations, before.benchmark.annotations)
    assert dict(after.benchmark.images) == dict(before.benchmark.images)
    columns = dict(pair.split("=") for pair in pairs) | {"body part": carried}
    assert after.benchmark.meta.extra["import"] == {"format": format_, "columns": columns}


def test_a_field_of_json_with_another_name_and_an_unknown_one_are_read(tmp_path: Path) -> None:
    folder = pandalm(tmp_path / "renamed", [renamed(PANDALM, instruction="prompt")])
    with pytest.raises(InputError, match="instruction"):
        read_source("pandalm", folder)
    same_but(
        "organ", "pandalm", read_source("pandalm", pandalm(tmp_path / "plain", [PANDALM])), folder, "prompt=instruction"
    )


def test_columns_and_images_of_the_published_layout_may_have_another_name(tree: Tree) -> None:
    before = read_source("official", tree.write())
    pictures = dict(before.benchmark.images)  # read before the file is another
    assert len(pictures) == 2
    before = before._replace(benchmark=replace(before.benchmark, images=pictures))
    tree.pairs["brain"] = [renamed(row, answer1_text="first", image="picture") for row in tree.pairs["brain"]]
    with pytest.raises(InputError, match="answer1_text"):
        read_source("official", tree.write())
    same_but("modality", "official", before, tree.root, "first=answer1_text", "picture=image")


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
