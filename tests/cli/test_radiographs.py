"""Seventy radiograph-like films with planted trouble, from `start` to a released benchmark, judged and reported."""

import unicodedata
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image, ImageDraw, ImageFont
from PIL.PngImagePlugin import PngInfo

from mrb_lib.benchmarks.benchmark import load
from mrb_lib.build.construct.screen import CRITERIA
from mrb_lib.build.construct.work import open_work

from ..benchmarks.images.test_copies import ALTERATIONS, STORED, film
from ..build.construct.answerers import scripted
from ..build.construct.sources import NAME, dicom, stored
from .conftest import Result
from .test_construct_path import rate

pytestmark = pytest.mark.slow

PLAIN, LETTERED = 40, 10
MODELS = ("small-1", "small-2", "small-3", "writer-1", "writer-2", "writer-3", "writer-4")
ODD = (unicodedata.normalize("NFD", "Thorax Ärztin.png"), "film #1 (copy).PNG", "röntgen 肺.png", "-dash.png")


def lettered(number: int) -> Image.Image:
    picture = film(300 + number).copy()
    font, place = ImageFont.load_default(11 + 2 * (number % 5)), (6 + 9 * number, 8 + 22 * number)
    ImageDraw.Draw(picture).text(place, ("DOE JANE 1957", "AP ERECT 12:30")[number % 2], fill=255, font=font)
    return picture


def write_films(folder: Path) -> pd.DataFrame:
    """Write the films, and return the table of questions: `item_id, image, question, answer, planted`."""
    rows = []

    def add(name: str, content: bytes | None, planted: str, of: int | None = None) -> None:
        if content is not None:
            (folder / name).write_bytes(content)
        item, number = f"{planted.replace(' ', '-')}-{len(rows):02d}", len(rows) if of is None else of
        rows.append((item, name, f"Which reading of film {number} is right?", f"reading {number}", planted))

    folder.mkdir()
    for i in range(PLAIN):
        add(f"film_{i}.png", stored(film(i)), "plain")
    add("again.png", stored(film(0)), "exact copy", of=0)
    for i, name in enumerate(STORED, start=1):
        add(f"stored {name}.png", stored(STORED[name](film(i)).convert("L")), "stored copy", of=i)
    for i, name in enumerate(ALTERATIONS, start=20):
        add(f"altered {name}.png", stored(ALTERATIONS[name](film(i)).convert("L")), "altered copy")
    for i in range(LETTERED):
        add(f"lettered_{i}.png", stored(lettered(i)), "burnt-in text")
    for i, name in enumerate(ODD):
        add(name, stored(film(400 + i)), "odd name")
    add("cut.png", stored(film(500))[:900], "corrupt")
    add("text.png", b"no picture", "corrupt")
    add("empty.png", b"", "corrupt")
    add("gone.png", None, "missing")
    deep = Image.fromarray(np.asarray(film(501)).astype(np.uint16) * 16)
    add("deep.png", stored(deep), "16 bits")
    add("slice.dcm", dicom(film(502), PatientName=NAME, PatientID="77"), "DICOM")
    add("grey.png", stored(Image.new("L", (256, 256), 90)), "blank")
    add("stamp.png", stored(film(503).resize((40, 40))), "tiny")
    text = PngInfo()
    text.add_text("Comment", f"patient {NAME}")
    film(504).save(folder / "named.png", pnginfo=text)
    add("named.png", None, "patient in PNG text")
    (folder / ".DS_Store").write_bytes(b"\0")
    return pd.DataFrame(rows, columns=["item_id", "image", "question", "answer", "planted"])


def test_every_planted_thing_is_found_or_named_and_the_rest_is_released(
    mrb: Callable[..., Result], tmp_path: Path
) -> None:
    source, path, bench = tmp_path / "films", tmp_path / "work", tmp_path / "bench"
    table = write_films(source)
    table.drop(columns="planted").to_excel(source / "questions.xlsx", index=False)

    def run(*arguments: object) -> Result:
        return mrb(*arguments).ok

    begun = run("construct", "start", source, path, "--licence", "CC0-1.0", "--kind", "general", "--preset", "paper")
    work = open_work(path)
    items = work.items().merge(table[["item_id", "planted"]]).set_index("item_id")
    reasons = work.decisions().set_index("item_id")["reason"]
    named = {
        "exact copy": reasons.eq("a copy of another item"),
        "stored copy": reasons.str.contains("the question of another item about a copy of its image"),
        "altered copy": items["copy_of"].notna() & items["planted"].eq("altered copy"),
        "burnt-in text": items["suspicion"].notna() & items["planted"].eq("burnt-in text"),
        "corrupt": reasons.isin(["the image cannot be read", "the image is an empty file"]),
        "missing": reasons.eq("the image is missing"),
        "blank": reasons.eq("the image is of one grey"),
        "tiny": reasons.eq("the image is smaller than 64 pixels"),
        "DICOM": items["left_behind"].eq("PatientID, PatientName"),
    }
    kept = {one: items["planted"].eq(one) & reasons.isna() for one in ("plain", "odd name", "16 bits")}
    planted = table["planted"].value_counts()
    found = {name: int(mask.reindex(items.index, fill_value=False).sum()) for name, mask in (named | kept).items()}
    assert {name: n for name, n in found.items() if name != "burnt-in text"} == {
        name: planted[name] for name in found if name != "burnt-in text"
    }
    assert found["burnt-in text"] >= 9
    false_alarms = items["suspicion"].notna() & ~items["planted"].eq("burnt-in text") & items["copy_of"].isna()
    assert false_alarms.sum() == 0
    assert "patients were named in DICOM files (PatientID 1, PatientName 1)" in begun.err

    answer = {row.item_id: row.answer for row in table.itertuples()}

    def say(model: str, item: str, sample: int) -> str:
        number = int(item.rpartition("-")[2])
        if model.startswith("small"):
            return answer[item] if number % 4 < int(model[-1]) else "another reading"
        return f"{model} sees {answer[item]} for the {sample}th time, and adds {model * (1 + number % 3)} words"

    with scripted(tmp_path, MODELS, say) as script:
        small = [option for name in MODELS[:3] for option in ("--model", name)]
        run("construct", "filter", path, *small, "--keep", "correct <= 2", "--roster", script.roster)
        ratings = pd.DataFrame({"item_id": work.entering("screen")["item_id"]}).merge(
            pd.Series(["x", "y"], name="clinician"), how="cross"
        )
        ratings = ratings.assign(**dict.fromkeys(CRITERIA, "4"))
        ratings.loc[ratings["item_id"].str.startswith("burnt"), "image_quality"] = "1"
        ratings.to_csv(tmp_path / "ratings.csv", index=False)
        run("construct", "screen", path, "--ratings", tmp_path / "ratings.csv", "--close")
        writers = [option for name in MODELS[3:] for option in ("--responder", name)]
        run("construct", "respond", path, *writers, "--samples", 2, "--roster", script.roster)
    run("construct", "pair", path)
    run("annotate", path, "--annotators", "ann,beata,charlotte", "--assign-only")
    rate(path / "reviews.sqlite", "work", load(path).meta.dimensions, ["A", "A", "B", "tie"])
    run("construct", "release", path, bench, "--min-annotators", 3)
    made = load(bench)
    assert made.annotations.groupby(["case_id", "dimension"]).size().eq(3).all()
    assert not [one for one in bench.rglob("*") if one.is_file() and NAME.split("^")[0].encode() in one.read_bytes()]
    run("check", bench)
    run("judge", bench, bench / "runs", "--judge", "longer", "--judge", "first")
    run("report", bench, bench / "runs", "--out", tmp_path / "report", "--only", "01_data_and_annotators")
