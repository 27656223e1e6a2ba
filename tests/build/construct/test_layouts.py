"""Items are read from the layouts of medical visual question answering sets, as their public cards describe them."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mrb_lib.benchmarks.formats.mapping import mapped_columns
from mrb_lib.build.construct.layouts import LAYOUTS, SourceItem, find_layout
from mrb_lib.tables.errors import InputError

from .sources import drawing, stored

PICTURE = stored(drawing(0))


def image(folder: Path, name: str) -> None:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(PICTURE)


def as_json(path: Path, rows: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(rows), encoding="utf-8")


def as_csv(path: Path, rows: list[dict[str, object]]) -> None:
    pd.DataFrame(rows).to_csv(path, index=False)


def vqa_rad(src: Path) -> None:
    row = {"qid": 5, "image_name": "synpic1.jpg", "image_organ": "HEAD", "question": "Is there a mass?",
           "answer": "Yes", "question_type": "PRES", "answer_type": "CLOSED", "phrase_type": "freeform"}  # fmt: skip
    as_json(src / "VQA_RAD Dataset Public.json", [row])
    image(src / "VQA_RAD Image Folder", "synpic1.jpg")


def slake(src: Path) -> None:
    row = {"img_id": 1, "img_name": "xmlab1/source.jpg", "question": "Is there a mass?", "answer": "Yes", "qid": 0,
           "location": "Abdomen", "modality": "MRI", "content_type": "Abnormality", "q_lang": "en"}  # fmt: skip
    as_json(src / "train.json", [row])
    as_json(src / "test.json", [row])
    image(src / "imgs", "xmlab1/source.jpg")


def pmc_vqa(src: Path) -> None:
    row = {"index": 0, "Figure_path": "PMC1_F1.jpg", "Caption": "c", "Question": "Is there a mass?",
           "Choice A": " A:Yes ", "Choice B": " B:No ", "Choice C": "C: Maybe", "Choice D": "D:Two",
           "Answer": "A"}  # fmt: skip
    as_csv(src / "test_2.csv", [row])
    image(src / "figures", "PMC1_F1.jpg")


def omnimedvqa(src: Path) -> None:
    row = {"dataset": "ACRIMA", "question_id": "ACRIMA_0", "question_type": "Modality Recognition", "gt_answer": "Yes",
           "question": "Is there a mass?", "image_path": "Images/ACRIMA/1.png", "option_A": "Yes", "option_B": "No",
           "modality_type": "Fundus Photography"}  # fmt: skip
    as_json(src / "QA_information" / "Open-access" / "ACRIMA.json", [row])
    image(src, "Images/ACRIMA/1.png")


def hub_shards(src: Path) -> None:
    (src / "data").mkdir(parents=True)
    table = {"image": [{"bytes": PICTURE, "path": None}], "question": ["Is there a mass?"], "answer": ["Yes"]}
    pq.write_table(pa.table(table), src / "data" / "train-00000-of-00001.parquet")


def hub_image_folder(src: Path) -> None:
    image(src / "train", "1.png")
    as_csv(src / "train" / "metadata.csv", [{"file_name": "1.png", "question": "Is there a mass?", "answer": "Yes"}])


def own_table(src: Path) -> None:
    image(src / "images", "1.png")
    rows = {"item_id": ["a"], "images": [["1.png"]], "question": ["Is there a mass?"], "reference": ["Yes"],
            "choices": [["Yes", "No"]], "organ": ["lung"]}  # fmt: skip
    pd.DataFrame(rows).to_parquet(src / "items.parquet")


def folder_of_images(src: Path) -> None:
    image(src, "ct/1.png")
    image(src, "ct/2.png")
    as_csv(
        src / "fragen.csv", [{"picture": "ct", "question": "Is there a mass?", "answer": "Yes", "options": "Yes; No"}]
    )


MADE: dict[str, tuple[Callable[[Path], None], str]] = {
    "vqa_rad": (vqa_rad, "vqa_rad"), "slake": (slake, "slake"), "pmc_vqa": (pmc_vqa, "pmc_vqa"),
    "omnimedvqa": (omnimedvqa, "omnimedvqa"), "shards": (hub_shards, "huggingface"),
    "image folder": (hub_image_folder, "huggingface"), "own table": (own_table, "table"),
}  # fmt: skip


def read(src: Path) -> list[SourceItem]:
    return list(find_layout(src).read(src))


STATED = {
    "vqa_rad": {"body_part": "HEAD", "question_type": "PRES"},
    "slake": {"body_part": "Abdomen", "modality": "MRI", "question_type": "Abnormality", "language": "en"},
    "omnimedvqa": {"modality": "Fundus Photography", "source_set": "ACRIMA"},
    "shards": {"dataset": "shards"},
    "own table": {"organ": "lung"},
}
CHOICES = {"pmc_vqa": ("Yes", "No", "Maybe", "Two"), "omnimedvqa": ("Yes", "No"), "own table": ("Yes", "No")}


@pytest.mark.parametrize("name", MADE)
def test_every_layout_is_recognised_and_read_with_what_it_states(name: str, tmp_path: Path) -> None:
    """Choices are in order and without their letters; files that a desktop left are no tables."""
    make, layout = MADE[name]
    src = tmp_path / name
    src.mkdir()
    make(src)
    for path in [each for each in src.rglob("*") if each.suffix in (".csv", ".json", ".parquet")]:
        path.with_name(f"._{path.name}").write_bytes(b"\0\5\x16\7Mac OS X")
    assert find_layout(src).name == layout
    items = read(src)
    for item in items:
        assert (item.question, item.reference) == ("Is there a mass?", "Yes")
        assert [each.read() for each in item.images] == [PICTURE]
        assert not Path(item.location).is_absolute()
    assert STATED.get(name, {}).items() <= items[0].about.items()
    assert name not in CHOICES or items[0].choices == CHOICES[name]
    assert len({item.item_id for item in items}) == len(items)


def test_every_layout_is_tried_and_published_ones_have_a_licence() -> None:
    assert {layout for _, layout in MADE.values()} == set(LAYOUTS)
    stated = {name: layout.licence for name, layout in LAYOUTS.items() if layout.licence}
    assert stated == {"vqa_rad": "CC0-1.0", "slake": "CC-BY-4.0", "pmc_vqa": "CC-BY-SA"}


def test_references_with_a_decimal_comma_are_numbers(tmp_path: Path) -> None:
    """An answer of 2.5 would be marked wrong by "2,5", which is a set of two."""
    image(tmp_path, "1.png")
    (tmp_path / "items.csv").write_text("image;question;reference\n1.png;How long?;2,5\n1.png;How wide?;3\n")
    assert [item.reference for item in read(tmp_path)] == ["2.5", "3"]


@pytest.mark.parametrize(("name", "separator"), [("Items.CSV", ","), ("items.tsv", "\t")])
def test_a_table_may_be_typed_as_people_type_it(tmp_path: Path, name: str, separator: str) -> None:
    image(tmp_path, "1.png")
    text = f"Question, answer,Image,Options,File Name\nSide?,left,.{chr(92)}1.png,left;right,\n"
    (tmp_path / name).write_text(text.replace(",", separator))
    [item] = read(tmp_path)
    assert (item.question, item.reference, item.choices) == ("Side?", "left", ("left", "right"))
    assert item.images[0].read()


def test_json_has_typed_headers_ids_and_columns_to_map_as_other_tables_have(tmp_path: Path) -> None:
    image(tmp_path, "1.png")
    as_json(tmp_path / "items.json", [{"Case ID": "p7", "Question": "Side?", "film": "1.png", "Answer": "left"}])
    with mapped_columns(["film=image"]) as columns:
        [item] = read(tmp_path)
        columns.check("table")
    assert (item.item_id, item.question, item.reference) == ("p7", "Side?", "left")
    assert item.images[0].read()


def test_findings_of_a_table_are_kept(tmp_path: Path) -> None:
    text = "question,image\nFröhlich?,1.png\n\n"
    (tmp_path / "items.csv").write_bytes(text.encode("cp1252"))
    with mapped_columns([]) as columns:
        read(tmp_path)
    assert ["Windows-1252" in str(one) or "blank lines" in str(one) for one in columns.findings] == [True, True]


def test_choices_may_be_stated_by_letter(tmp_path: Path) -> None:
    as_json(tmp_path / "items.json", [{"question": "Side?", "answer": "A", "options": {"B": "right", "A": "left"}}])
    assert read(tmp_path)[0].choices == ("left", "right")


def test_the_pictures_within_one_parquet_file_are_its_items(tmp_path: Path) -> None:
    hub_shards(tmp_path)
    [item] = LAYOUTS["table"].read(tmp_path / "data" / "train-00000-of-00001.parquet")
    assert [picture.read() for picture in item.images] == [PICTURE]


def test_columns_are_mapped_and_a_folder_stands_for_its_images(tmp_path: Path) -> None:
    folder_of_images(tmp_path)
    with mapped_columns(["picture=image"]) as columns:
        [item] = read(tmp_path)
        columns.check("table")
    assert [each.name for each in item.images] == ["ct/1.png", "ct/2.png"] and item.choices == ("Yes", "No")


@pytest.mark.parametrize(
    ("names", "order"),
    [
        (["im-10.png", "im-9.png", "im-100.png"], ["im-9.png", "im-10.png", "im-100.png"]),
        (["t1_s2.png", "t1_s11.png", "T1_s3.png"], ["t1_s2.png", "T1_s3.png", "t1_s11.png"]),
        (
            ["007.png", "10.png", "axial.png", "8b.png", "8a.png"],
            ["007.png", "8a.png", "8b.png", "10.png", "axial.png"],
        ),
    ],
)
def test_a_series_is_in_the_order_of_its_numbers(names: list[str], order: list[str], tmp_path: Path) -> None:
    for name in names:
        image(tmp_path, f"mr/{name}")
    as_csv(tmp_path / "q.csv", [{"image": "mr", "question": "Is there a mass?", "answer": "Yes"}])
    assert [each.name for each in read(tmp_path)[0].images] == [f"mr/{name}" for name in order]


@pytest.mark.parametrize("word", ["None", "nan", "NULL", "n/a"])
def test_an_option_or_answer_may_say_none(word: str, tmp_path: Path) -> None:
    """A word that means nothing to a program means something to a clinician; letters of options do not move."""
    asked, options = "Which lead is in the right ventricle?", ["Two", word, "One", "All"]
    lettered = dict(zip("ABCD", options, strict=True))
    sources: dict[str, tuple[str, object]] = {
        "slake": ("train.json", [{"img_name": "a.png", "question": asked, "answer": word, "qid": 1}]),
        "vqa_rad": ("VQA_RAD_1.json", [{"image_name": "a.png", "question": asked, "answer": word, "qid": 1}]),
        "omnimedvqa": (
            "QA_information/x.json",
            [{"question": asked, "gt_answer": word, **{f"option_{letter}": text for letter, text in lettered.items()}}],
        ),
        "table": ("items.json", [{"question": asked, "answer": word, "choices": options, "organ": word}]),
    }
    for name, (path, rows) in sources.items():
        as_json(tmp_path / name / path, rows)
    choices = {f"Choice {letter}": text for letter, text in lettered.items()}
    row = {"Figure_path": "a.png", "Question": asked, "Answer": "B", **choices}
    (tmp_path / "pmc_vqa").mkdir()
    as_csv(tmp_path / "pmc_vqa" / "train.csv", [row, {**row, "Answer": "D", "Choice A": ""}])
    (tmp_path / "parquet").mkdir()
    frame = pd.DataFrame({"question": asked, "answer": [word, None], "choices": [options, None], "age": [1.0, np.nan]})
    frame.to_parquet(tmp_path / "parquet" / "items.parquet")
    for name in (*sources, "pmc_vqa", "parquet"):
        layout = LAYOUTS["table" if name == "parquet" else name]
        item = next(layout.read(tmp_path / name))
        assert item.reference == word, name
        assert item.choices is None or list(item.choices) == options, name
    assert [item.reference for item in LAYOUTS["pmc_vqa"].read(tmp_path / "pmc_vqa")] == [word, "All"]
    assert [item.reference for item in LAYOUTS["table"].read(tmp_path / "parquet")] == [word, None]


def test_sources_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        find_layout(tmp_path / "nowhere")
    with pytest.raises(InputError, match="no file of questions"):
        read(tmp_path)
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text("question\nq\n")
    with pytest.raises(InputError, match="could both be"):
        read(tmp_path)
    (tmp_path / "imgs").mkdir()
    (tmp_path / "QA_information").mkdir()
    (tmp_path / "train.json").write_text("[")
    with pytest.raises(InputError, match="say which with --layout"):
        find_layout(tmp_path)
    with pytest.raises(InputError, match="is not valid JSON"):
        list(LAYOUTS["slake"].read(tmp_path))


def test_a_name_never_leads_out_of_the_source(tmp_path: Path) -> None:
    outside = tmp_path / "secret.png"
    outside.write_bytes(PICTURE)
    src = tmp_path / "src"
    src.mkdir()
    (src / "link.png").symlink_to(outside)
    names = ["../secret.png", str(outside), "link.png", "a\x00b", ".."]
    as_json(src / "questions.json", [{"image": name, "question": "q"} for name in names])
    for item in read(src):
        for each in item.images:
            with pytest.raises(FileNotFoundError):
                each.read()
