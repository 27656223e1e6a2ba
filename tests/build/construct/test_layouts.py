"""Items are read from the layouts of medical visual question answering sets, as their public cards describe them."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mrb_lib.benchmarks.formats.mapping import mapped_columns
from mrb_lib.build.construct.layouts import LAYOUTS, SourceItem, find_layout
from mrb_lib.tables.errors import InputError

from .sources import drawing, stored

PICTURE = stored(drawing(0))


def as_json(path: Path, rows: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(rows), encoding="utf-8")


def as_csv(path: Path, rows: list[dict[str, object]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pd.DataFrame(rows).to_csv(path, index=False)


ASKED = {"question": "Is there a mass?", "answer": "Yes"}
SLAKE = {**ASKED, "img_id": 1, "img_name": "xmlab1/source.jpg", "qid": 0, "location": "Abdomen", "modality": "MRI",
         "content_type": "Abnormality", "q_lang": "en"}  # fmt: skip
SHARD = {"data/train-00000-of-00001.parquet": [{**ASKED, "image": {"bytes": PICTURE, "path": None}}]}
MADE: dict[str, tuple[str, dict[str, object]]] = {
    "vqa_rad": ("vqa_rad", {
        "VQA_RAD Dataset Public.json": [{**ASKED, "qid": 5, "image_name": "synpic1.jpg", "image_organ": "HEAD",
                                         "question_type": "PRES", "answer_type": "CLOSED", "phrase_type": "freeform"}],
        "VQA_RAD Image Folder/synpic1.jpg": PICTURE}),
    "slake": ("slake", {"train.json": [SLAKE], "test.json": [SLAKE], "imgs/xmlab1/source.jpg": PICTURE}),
    "pmc_vqa": ("pmc_vqa", {
        "test_2.csv": [{"index": 0, "Figure_path": "PMC1_F1.jpg", "Caption": "c", "Question": "Is there a mass?",
                        "Choice A": " A:Yes ", "Choice B": " B:No ", "Choice C": "C: Maybe", "Choice D": "D:Two",
                        "Answer": "A"}],
        "figures/PMC1_F1.jpg": PICTURE}),
    "omnimedvqa": ("omnimedvqa", {
        "QA_information/Open-access/ACRIMA.json": [
            {"dataset": "ACRIMA", "question_id": "ACRIMA_0", "question_type": "Modality Recognition",
             "question": "Is there a mass?", "image_path": "Images/ACRIMA/1.png", "option_A": "Yes", "option_B": "No",
             "gt_answer": "Yes", "modality_type": "Fundus Photography"}],
        "Images/ACRIMA/1.png": PICTURE}),
    "shards": ("huggingface", SHARD),
    "image folder": ("huggingface", {"train/metadata.csv": [{**ASKED, "file_name": "1.png"}], "train/1.png": PICTURE}),
    "own table": ("table", {
        "items.parquet": [{"item_id": "a", "images": ["1.png"], "question": "Is there a mass?", "reference": "Yes",
                           "choices": ["Yes", "No"], "organ": "lung"}],
        "images/1.png": PICTURE}),
}  # fmt: skip


def write(src: Path, files: dict[str, object]) -> None:
    """Write pictures, and rows in the form that the name of their file says."""
    for name, content in files.items():
        path = src / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, bytes):
            path.write_bytes(content)
        elif path.suffix == ".parquet":
            pd.DataFrame(content).to_parquet(path)
        else:
            (as_csv if path.suffix == ".csv" else as_json)(path, content)


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
    layout, files = MADE[name]
    src = tmp_path / name
    write(src, files)
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
    assert {layout for layout, _ in MADE.values()} == set(LAYOUTS)
    stated = {name: layout.licence for name, layout in LAYOUTS.items() if layout.licence}
    assert stated == {"vqa_rad": "CC0-1.0", "slake": "CC-BY-4.0", "pmc_vqa": "CC-BY-SA"}


def test_references_with_a_decimal_comma_are_numbers(tmp_path: Path) -> None:
    """An answer of 2.5 would be marked wrong by "2,5", which is a set of two."""
    write(tmp_path, {"1.png": PICTURE})
    (tmp_path / "items.csv").write_text("image;question;reference\n1.png;How long?;2,5\n1.png;How wide?;3\n")
    assert [item.reference for item in read(tmp_path)] == ["2.5", "3"]


@pytest.mark.parametrize(("name", "separator"), [("Items.CSV", ","), ("items.tsv", "\t")])
def test_a_table_may_be_typed_as_people_type_it(tmp_path: Path, name: str, separator: str) -> None:
    write(tmp_path, {"1.png": PICTURE})
    text = f"Question, answer,Image,Options,File Name\nSide?,left,.{chr(92)}1.png,left;right,\n"
    (tmp_path / name).write_text(text.replace(",", separator))
    [item] = read(tmp_path)
    assert (item.question, item.reference, item.choices) == ("Side?", "left", ("left", "right"))
    assert item.images[0].read()


def test_json_has_typed_headers_ids_and_columns_to_map_as_other_tables_have(tmp_path: Path) -> None:
    (tmp_path / "1.png").write_bytes(PICTURE)
    as_json(tmp_path / "items.json", [{"Case ID": "p7", "Question": "Side?", "film": "1.png", "Answer": "left"}])
    with mapped_columns(["film=image"]) as columns:
        [item] = read(tmp_path)
        columns.check("table")
    assert (item.item_id, item.question, item.reference) == ("p7", "Side?", "left")
    assert item.images[0].read()


def test_choices_may_be_stated_by_letter(tmp_path: Path) -> None:
    as_json(tmp_path / "items.json", [{"question": "Side?", "answer": "A", "options": {"B": "right", "A": "left"}}])
    assert read(tmp_path)[0].choices == ("left", "right")


def test_columns_are_mapped_and_a_folder_stands_for_its_images(tmp_path: Path) -> None:
    row = {**ASKED, "picture": "ct", "options": "Yes; No"}
    write(tmp_path, {"ct/1.png": PICTURE, "ct/2.png": PICTURE, "fragen.csv": [row]})
    with mapped_columns(["picture=image"]) as columns:
        [item] = read(tmp_path)
        columns.check("table")
    assert [each.name for each in item.images] == ["ct/1.png", "ct/2.png"] and item.choices == ("Yes", "No")


@pytest.mark.parametrize(
    ("names", "order"),
    [
        (["im-10.png", "im-9.png", "im-100.png"], ["im-9.png", "im-10.png", "im-100.png"]),
        (["7.png", "10.png", "axial.png", "8b.png", "8a.png"], ["7.png", "8a.png", "8b.png", "10.png", "axial.png"]),
    ],
)
def test_a_series_is_in_the_order_of_its_numbers(names: list[str], order: list[str], tmp_path: Path) -> None:
    write(tmp_path, {**{f"mr/{name}": PICTURE for name in names}, "q.csv": [{**ASKED, "image": "mr"}]})
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
