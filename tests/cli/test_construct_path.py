"""From films with planted trouble to a released benchmark, judged and reported; every step is killed on its way."""

import os
import shutil
import signal
import unicodedata
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image, ImageDraw, ImageFont
from PIL.PngImagePlugin import PngInfo

from mrb_lib.benchmarks.audit.splits import check_split
from mrb_lib.benchmarks.benchmark import load
from mrb_lib.build.construct.screen import CRITERIA
from mrb_lib.build.construct.work import Work, open_work
from mrb_lib.cli.app import app
from mrb_lib.report import execute
from mrb_lib.review.records.marks import AnnotatorAnswer
from mrb_lib.review.records.store import open_store
from tests.judges.endpoint.chat_server import ChatServer, message
from tests.report.conftest import run_in_this_process

from ..benchmarks.images.test_copies import ALTERATIONS, STORED, film
from ..build.construct.answerers import scripted
from ..build.construct.sources import NAME, dicom, stored
from .conftest import Mrb, Result

pytestmark = pytest.mark.slow

PLAIN, LETTERED = 22, 10
MODELS = ("small-1", "small-2", "small-3", "writer-1", "writer-2")
ODD = (unicodedata.normalize("NFD", "Thorax Ärztin.png"), "film #1 (copy).PNG", "röntgen 肺.png", "-dash.png")


def killed(arguments: Sequence[object], after: int) -> None:
    """Run a command in a process of its own that is killed with signal 9 when it renames a file for the n-th time."""
    child = os.fork()
    if child == 0:
        renamed, replace = 0, Path.replace

        def counted(self: Path, target: Path) -> Path:
            nonlocal renamed
            renamed += 1
            if renamed == after:
                os.kill(os.getpid(), signal.SIGKILL)
            return replace(self, target)

        Path.replace = counted  # type: ignore[method-assign]  # in this process, which ends
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.dup2(1, 2)
        app([str(argument) for argument in arguments], standalone_mode=False)
        os._exit(0)
    assert os.WIFSIGNALED(os.waitpid(child, 0)[1]), f"{arguments[:2]} ended before it renamed {after} files"


def check_same(one: Path, other: Path) -> None:
    first, second = ({path.name: pd.read_parquet(path) for path in folder.glob("*.parquet")} for folder in (one, other))
    assert first.keys() == second.keys()
    for name, table in first.items():
        pd.testing.assert_frame_equal(
            *(each.drop(columns="latency_s", errors="ignore") for each in (table, second[name]))
        )


def rate(store: Path, name: str, dimensions: Sequence[str], choices: Sequence[str]) -> None:
    """Store the answers of everybody with assigned cases, from a seed; each has an opinion of their own."""
    with open_store(store, create=False) as opened:
        for row in opened.assignments(name).itertuples():
            rng = np.random.default_rng([len(row.annotator), *row.case_id.encode()])
            for dimension in dimensions:
                choice = str(rng.choice(choices))
                opened.add(AnnotatorAnswer(name, row.case_id, row.annotator, dimension, choice, row.order))


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
    for i, name in enumerate(ALTERATIONS, start=12):
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


def check_planted(work: Work, table: pd.DataFrame) -> None:
    """Every planted thing is found or named, and nothing else is."""
    items = work.items().merge(table[["item_id", "planted"]]).set_index("item_id")
    reasons = work.decisions().query("step == 'start'").set_index("item_id")["reason"]
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
    assert found.pop("burnt-in text") >= 9
    assert found == {name: planted[name] for name in found}
    altered = items[named["altered copy"]]
    assert (altered["cluster"].to_numpy() == items.loc[altered["copy_of"], "cluster"].to_numpy()).all()
    false_alarms = items["suspicion"].notna() & ~items["planted"].eq("burnt-in text") & items["copy_of"].isna()
    assert false_alarms.sum() == 0


def test_from_films_with_planted_trouble_to_a_released_benchmark(
    mrb: Mrb, tiny: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Models that a test scripts, one of local weights, and one behind a server answer; each step is killed once."""
    monkeypatch.setattr(execute, "run_notebooks", run_in_this_process)
    source, work, bench = tmp_path / "films", tmp_path / "work", tmp_path / "bench"
    table = write_films(source)
    table.drop(columns="planted").to_excel(source / "questions.xlsx", index=False)
    answer = {row.item_id: row.answer for row in table.itertuples()}

    def say(model: str, item: str, sample: int) -> str:
        number = int(item.rpartition("-")[2])
        if model.startswith("small"):
            return answer[item] if number % 4 < int(model[-1]) else "another reading"
        return f"{model} sees {answer[item]} for the {sample}th time, and adds {model * (1 + number % 3)} words"

    def step(name: str, *options: object, after: int, first: Sequence[object] = ()) -> Result:
        """A step that is killed, taken up again, compared with one that nobody killed, and idle a third time."""
        apart = tmp_path / f"apart-{name}"
        if work.exists():
            shutil.copytree(work, apart)
        command = ("construct", name, *first)
        killed([*command, work, *options], after)
        done = mrb(*command, work, *options).ok
        assert mrb(*command, apart, *options).ok
        check_same(work, apart)
        assert mrb(*command, work, *options).ok
        check_same(work, apart)
        return done

    begun = step("start", "--licence", "CC0-1.0", "--kind", "general", "--name", "ours", "--preset", "paper",
                 first=[source], after=3)  # fmt: skip
    assert "patients were named in DICOM files (PatientID 1, PatientName 1)" in begun.err
    opened = open_work(work)
    check_planted(opened, table)
    with scripted(tmp_path, MODELS, say) as script, ChatServer(lambda _: message("It may be anything.")) as server:
        with script.roster.open("a") as roster:
            roster.write('[[judge]]\nname = "served"\nengine = "endpoint"\nmodel = "served"\nvision = false\n')
        plan = tmp_path / "plan.toml"
        plan.write_text(
            f'[[model]]\nname = "served"\nurl = "{server.url}"\nwithout_images = true\n'
            f'[[model]]\nname = "path:{tiny("llama")}"\nwithout_images = true\nmax_new_tokens = 2\n'
        )
        small = [option for name in MODELS[:3] for option in ("--model", name)]
        step("filter", *small, "--keep", "correct <= 2", "--roster", script.roster, after=6)
        ratings = opened.entering("screen")[["item_id"]].merge(pd.DataFrame({"clinician": ["x", "y"]}), how="cross")
        ratings = ratings.assign(**dict.fromkeys(CRITERIA, "4"))
        ratings.loc[ratings["item_id"].str.startswith("burnt"), "image_quality"] = "1"
        ratings.to_csv(tmp_path / "ratings.csv", index=False)
        assert mrb("construct", "screen", work, "--ratings", tmp_path / "ratings.csv").ok
        step("screen", "--close", after=2)
        writers = [option for name in MODELS[3:] for option in ("--responder", name)]
        step("respond", *writers, "--plan", plan, "--samples", 2, "--roster", script.roster, after=8)
        step("pair", "--exclude", "refused", after=3)
    assert mrb("annotate", work, "--annotators", "ann,beata,charlotte", "--assign-only").ok
    rate(work / "reviews.sqlite", "ours", load(work).meta.dimensions, ["A", "A", "B", "tie"])
    release = ("construct", "release", work, bench, "--version", "1.0.0", "--min-annotators", 3)
    killed(release, 3)
    assert mrb(*release, "--overwrite").ok

    made = load(bench)
    check_split(made)
    assert made.annotations.groupby(["case_id", "dimension"]).size().eq(3).all()
    assert not [one for one in bench.rglob("*") if one.is_file() and NAME.split("^")[0].encode() in one.read_bytes()]
    for command in (
        ("check", bench), ("judge", bench, bench / "runs", "--judge", "longer", "--judge", "first"),
        ("annotate", bench, "--annotators", "dora", "--overlap", 1, "--assign-only"),
        ("report", bench, bench / "runs", "--out", tmp_path / "report", "--only", "01_data_and_annotators"),
        ("export", "official", bench, bench / "runs", tmp_path / "official"), ("merge", bench, work, tmp_path / "both"),
    ):  # fmt: skip
        assert mrb(*command).ok
    status = mrb("construct", "status", work)
    assert "release" in status.out and "stale" not in status.out
