"""What a source holds becomes items, kept or left out for a reason; nothing that names a patient comes along."""

import json
from pathlib import Path

import numpy as np
import pydicom
import pytest

from mrb_lib.benchmarks.images.pictures import read_pixels
from mrb_lib.build.construct.layouts import LAYOUTS, SourceImage, SourceItem, find_layout
from mrb_lib.build.construct.start import CLUTTER, PLACE, PLACE_UNCLEAR, SEVERAL, StartOptions, StartReport, start
from mrb_lib.build.construct.work import Work, begin, create_work
from mrb_lib.tables.errors import InputError

from .sources import NAME, dicom, drawing, stored, write_source


def started(src: Path, work: Path, layout: str | None = None, **options: object) -> tuple[Work, StartReport]:
    """A work folder of a source."""
    made = create_work(work, "mine", "clinical")
    chosen = LAYOUTS[layout] if layout else find_layout(src)
    with begin(made, "start", {}, seed=0) as step:
        report = start(step, {src.name: chosen.read(src)}, StartOptions(**options))
    return made, report


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_source(tmp_path_factory.mktemp("source") / "hospital")


@pytest.fixture(scope="module")
def begun(source: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Work, StartReport]:
    return started(source, tmp_path_factory.mktemp("work") / "work", licence="hospital")


def test_every_item_is_counted_with_its_reason(begun: tuple[Work, StartReport]) -> None:
    work, report = begun
    assert [(row.reason, row.n) for row in work.funnel().itertuples()] == [
        ("kept", 50),
        ("the question of another item about a copy of its image", 3),
        ("the image cannot be read", 2),
        ("a copy of another item", 1),
    ]
    dropped = work.decisions().query("not kept").set_index("item_id")["reason"]
    assert list(dropped.index) == [f"q{i}" for i in range(50, 56)]
    assert not report.without


def test_what_an_item_is_about_is_what_its_source_states(begun: tuple[Work, StartReport]) -> None:
    items = begun[0].items().set_index("item_id")
    about = items[["organ", "department", "modality"]].loc
    assert about["q30"].tolist() == ["eye", "Ophthalmology", "Fundus photography"]
    assert about["q49"].tolist() == ["chest", "Pulmonology", "CT"]
    assert items.loc["q49", "left_behind"] == "PatientID, PatientName"
    assert items.loc["q0", ["licence", "source"]].tolist() == ["CC0-1.0", "hospital: questions.jsonl, line 1"]
    assert items.loc["q30", "licence"] == "hospital"


def test_a_series_is_in_its_order_and_names_nobody(source: Path, begun: tuple[Work, StartReport]) -> None:
    work, report = begun
    names = work.items().set_index("item_id").loc["q49", "images"]
    assert len(names) == 6 and report.left_behind == {"PatientID": 1, "PatientName": 1}
    for path in work.path.rglob("*"):
        if path.is_file():
            assert NAME.encode() not in path.read_bytes() and b"Jane" not in path.read_bytes(), path
    pixels = read_pixels((work.images / names[0]).read_bytes())
    assert (pixels.unit, pixels.width) == ("HU", 399)
    slices = [read_pixels((work.images / name).read_bytes()).values.tobytes() for name in names]
    original = read_pixels((source / "images/series/5.dcm").read_bytes()).values.tobytes()
    assert slices[0] == original, "the file with the instance number 1 is first"
    assert "PatientIdentityRemoved" in pydicom.dcmread(work.images / names[0])


def test_items_that_share_a_picture_are_one_cluster(tmp_path: Path) -> None:
    pictures = {"a": stored(drawing(1)), "b": stored(drawing(1), "JPEG", quality=60), "c": stored(drawing(2))}
    items = [
        SourceItem(f"row {name}", (SourceImage(name, content=content),), f"What is {name}?", item_id=name)
        for name, content in pictures.items()
    ]
    work = create_work(tmp_path / "work", "mine", "clinical")
    with begin(work, "start", {}, seed=0) as step:
        start(step, {"s": items}, StartOptions())
    assert work.items()["cluster"].tolist() == ["a", "a", "c"]


def test_bad_sources_are_refused_in_one_line(source: Path, tmp_path: Path) -> None:
    twice = [SourceItem("row 1", (), "q", item_id="a"), SourceItem("row 2", (), "q", item_id="a")]
    for items, message in ((twice, "the id 'a' occurs again"), ([], "holds no items")):
        work = create_work(tmp_path / message[:9], "mine", "clinical")
        with pytest.raises(InputError, match=message), begin(work, "start", {}, seed=0) as step:
            start(step, {"s": items}, StartOptions())
    hostile = tmp_path / "hostile"
    hostile.mkdir()
    rows = [{"image": "../../etc/passwd", "question": "q", "item_id": "../x"}, {"image": "gone.png", "question": "q"}]
    (hostile / "questions.json").write_text(json.dumps(rows))
    work, _ = started(hostile, tmp_path / "hostile-work")
    assert work.funnel().iloc[1].tolist()[3:] == ["the image is missing", 2]
    assert "/" not in work.items()["item_id"][0]


def test_several_sources_share_one_work_folder(source: Path, tmp_path: Path) -> None:
    """Ids of two sources may be the same; a picture of one that the other has is a copy all the same."""
    made, chosen = create_work(tmp_path / "work", "mine", "clinical"), find_layout(source)
    with begin(made, "start", {}, seed=0) as step:
        start(step, {"first": chosen.read(source), "second": chosen.read(source)}, StartOptions())
    items = made.items()
    assert len(items) == 112 and set(items["item_id"].str.partition("-")[0]) == {"first", "second"}
    assert made.funnel().set_index("reason").loc["kept", "n"] == 50
    again = items[items["item_id"].str.startswith("second") & items["images"].map(len).gt(0)]
    assert again["copy_of"].str.startswith("first").all()


def test_files_that_no_item_uses_are_named(tmp_path: Path) -> None:
    series = tmp_path / "src" / "mr"
    series.mkdir(parents=True)
    for number in (1, 2, 11):
        (series / f"slice_{number}.png").write_bytes(stored(drawing(number)))
    for name in (".DS_Store", "Thumbs.db", "._slice_1.png"):
        (series / name).write_bytes(b"\0\5\x16\7")
    cine = np.stack([np.asarray(drawing(seed), dtype="<u2") * 8 for seed in (20, 21, 22)])
    (tmp_path / "src" / "cine.dcm").write_bytes(dicom(drawing(20), NumberOfFrames=3, PixelData=cine.tobytes()))
    drawing(30).save(tmp_path / "src" / "pages.tif", save_all=True, append_images=[drawing(31)])
    (tmp_path / "src" / "cut.png").write_bytes(stored(drawing(40))[:200])
    rows = [
        {"item_id": name, "images": names, "question": f"What does {name} show?", "answer": "a lesion"}
        for name, names in {
            "series": ["mr"], "cine": ["cine.dcm"], "pages": ["pages.tif"], "broken": ["mr/slice_2.png", "cut.png"],
        }.items()
    ]  # fmt: skip
    (tmp_path / "src" / "items.json").write_text(json.dumps(rows), encoding="utf-8")
    work, report = started(tmp_path / "src", tmp_path / "work")
    assert report.notes == {
        CLUTTER: ["mr/._slice_1.png", "mr/.DS_Store", "mr/Thumbs.db"],
        SEVERAL: ["cine.dcm (3)", "pages.tif (2)"],
        "the image cannot be read": ["cut.png"],
    }
    items = work.items().set_index("item_id")
    assert len(items.loc["series", "images"]) == 3
    assert items.loc["broken", "notes"] == "cut.png: the image cannot be read"
    decisions = work.decisions().set_index("item_id")["kept"]
    assert decisions.to_dict() == {"series": True, "cine": True, "pages": True, "broken": False}


VESSELS = ["aorta", "vena cava", "azygos", "carotid"]


@pytest.mark.parametrize(
    ("answers", "choices", "references", "note"),
    [
        ([0, 3, 1], VESSELS, ["aorta", "carotid", "vena cava"], PLACE.format(0)),
        (["4", "1", "2"], VESSELS, ["carotid", "aorta", "vena cava"], PLACE.format(1)),
        ([1, 2, 3], VESSELS, ["1", "2", "3"], PLACE_UNCLEAR),
        ([0, 3, "azygos"], VESSELS, ["0", "3", "azygos"], PLACE_UNCLEAR),
        (["B", "azygos", "D"], VESSELS, ["B", "azygos", "D"], None),
        ([1, 2, 3], ["1 node", "2 nodes", "3 nodes"], ["1", "2", "3"], None),
        ([0, 2, 3], ["0", "1", "2", "3"], ["0", "2", "3"], None),
        ([2, 0, 7], None, ["2", "0", "7"], None),
    ],
)
def test_an_answer_that_is_a_place_among_the_options(
    answers: list[object], choices: list[str] | None, references: list[str], note: str | None, tmp_path: Path
) -> None:
    src = tmp_path / "src"
    src.mkdir()
    for number, answer in enumerate(answers):
        (src / f"{number}.png").write_bytes(stored(drawing(number)))
        row = {"item_id": f"v{number}", "image": f"{number}.png", "question": "Which vessel?", "answer": answer}
        with (src / "items.jsonl").open("a", encoding="utf-8") as lines:
            lines.write(json.dumps(row | ({} if choices is None else {"choices": choices})) + "\n")
    work, report = started(src, tmp_path / "work")
    assert work.items()["reference"].tolist() == references
    assert list(report.notes) == ([] if note is None else [note])
