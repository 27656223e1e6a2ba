"""Every probe of pictures changes any picture, the same way each time, and the more the more severe it is."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from mrb_lib.benchmarks.benchmark import load
from mrb_lib.benchmarks.images.pictures import open_image, png
from mrb_lib.demo import write_demo
from mrb_lib.demo.build import simulate_case
from mrb_lib.probes import PROBES, Case, ProbedImages, ProbeId, Probing
from mrb_lib.probes.apply import generator
from mrb_lib.probes.expectation import known
from mrb_lib.probes.image_content import INSTRUCTION
from mrb_lib.probes.probe import as_case
from tests.pictures import contrast

from ..benchmarks.near_copies import dicom

PICTURES = [name for name, probe in PROBES.items() if probe.picture is not None]
# Where the whole picture moves, the difference from the original says nothing about how far.
GRADED = [n for n in PICTURES if PROBES[n].severities > 1 and n not in ("image/rotated", "image/cropped")]
EDITS = [name for name, probe in PROBES.items() if probe.changes == "image" and probe.edit is not None]
SEVERAL = ["image/frames-dropped", "image/frames-shuffled"]
SHAPES = [(1, 1), (1, 300), (300, 1), (97, 61)]
CASE = Case("c", "q", "a", "b", ("x.png",), "CT", box=(0.4, 0.3, 0.6, 0.55))


def changed(name: str, picture: Image.Image, severity: int, case: Case = CASE, seed: int = 0) -> Image.Image:
    edit = PROBES[name].picture
    assert edit is not None
    return edit(picture.copy(), severity, generator(seed, ProbeId(name), case.case_id), case)


def drawing(mode: str, width: int, height: int) -> Image.Image:
    """An ellipse with structure on black; in colour the channels differ."""
    y, x = np.mgrid[:height, :width]
    u, v = (x + 0.5) / width * 2 - 1, (y + 0.5) / height * 2 - 1
    values = np.where(u**2 + v**2 < 0.8, 110 + 60 * np.sin(5 * u) * np.cos(7 * v + u), 0)
    channels = [values, values * 0.7, values * 0.5] if mode == "RGB" else [values]
    return Image.fromarray(np.squeeze(np.stack(channels, axis=2), axis=2 if mode == "L" else ()).astype(np.uint8))


def difference(one: Image.Image, other: Image.Image) -> float:
    return float(np.abs(np.asarray(one, dtype=float) - np.asarray(other, dtype=float)).mean())


@pytest.fixture(scope="module")
def ct() -> Image.Image:
    cases = (simulate_case(0, i) for i in range(40))
    return open_image(next(one.picture for one in cases if one.case["modality"] == "CT"))


def table(n_images: int = 1, **columns: list[object]) -> pd.DataFrame:
    """Six cases of two organs and two modalities, the first with several images where asked."""
    names = [[f"{i}-{k}.png" for k in range(n_images if i == 0 else 1)] for i in range(6)]
    return pd.DataFrame(
        {
            "case_id": [f"c{i}" for i in range(6)], "question": "q", "response_a": "a", "response_b": "b",
            "images": names, "modality": ["CT", "CT", "CT", "MRI", "CT", "CT"],
            "organ": ["lung", "lung", "lung", "lung", "brain", "brain"], **columns,
        }
    )  # fmt: skip


@pytest.mark.parametrize("name", PICTURES)
@pytest.mark.parametrize("mode", ["L", "RGB"])
def test_size_and_mode_stay_a_picture_changes_and_a_seed_fixes_how(name: str, mode: str) -> None:
    for shape in SHAPES:
        for picture in (drawing(mode, *shape), Image.new(mode, shape), Image.new(mode, shape, "white")):
            for severity in {1, PROBES[name].severities}:
                made = changed(name, picture, severity)
                assert (made.size, made.mode) == (picture.size, mode)
    picture = drawing(mode, 97, 61)
    for severity in {1, PROBES[name].severities}:
        made = changed(name, picture, severity)
        assert difference(made, picture) > 0
        assert made.tobytes() == changed(name, picture, severity).tobytes()


@pytest.mark.parametrize("name", GRADED)
def test_more_severe_is_further_from_the_original(name: str, ct: Image.Image) -> None:
    away = [difference(changed(name, ct, severity), ct) for severity in range(1, 6)]
    assert away[0] > 0
    assert all(more > 1.05 * less for less, more in pairwise(away)), away


@pytest.mark.parametrize("name", [name for name in PICTURES if name not in ("image/blank", "image/instruction")])
def test_a_grey_picture_that_is_stored_in_colour_stays_grey(name: str) -> None:
    made = np.asarray(changed(name, drawing("L", 97, 61).convert("RGB"), PROBES[name].severities), dtype=int)
    assert (made.max(axis=2) - made.min(axis=2)).max() <= 2


def test_half_a_turn_twice_and_a_mirror_twice_are_nothing() -> None:
    picture = drawing("RGB", 97, 61)
    for name, severity in (("image/rotated", 5), ("image/mirrored", 1)):
        twice = changed(name, changed(name, picture, severity), severity)
        assert twice.tobytes() == picture.tobytes()


def test_only_the_place_of_the_lesion_is_filled() -> None:
    values = np.full((100, 120), 90, dtype=np.uint8)
    values[30:55, 48:72] = 230
    made = np.asarray(changed("image/lesion-hidden", Image.fromarray(values), 1))
    assert abs(made[30:55, 48:72].astype(int) - 90).max() < 15
    outside = np.ones_like(values, dtype=bool)
    outside[24:62, 42:79] = False
    assert (made[outside] == values[outside]).all()


def test_a_lesion_that_fills_the_picture_leaves_grey() -> None:
    made = changed("image/lesion-hidden", drawing("L", 20, 20), 1, replace(CASE, box=(0.0, 0.0, 1.0, 1.0)))
    assert abs(np.asarray(made, dtype=float).mean() - 128) < 25


@pytest.mark.parametrize(
    ("value", "box"),
    [
        ("[0.1, 0.2, 0.3, 0.4]", (0.1, 0.2, 0.3, 0.4)), ([0, 0, 1, 1], (0.0, 0.0, 1.0, 1.0)),
        (np.array([0.1, 0.2, 0.3, 0.4]), (0.1, 0.2, 0.3, 0.4)), (None, None), (float("nan"), None), ("", None),
        ("[1, 2]", None), ("[30, 40, 90, 100]", None), ("[0.3, 0.2, 0.1, 0.4]", None), ("[NaN, 0, 1, 1]", None),
        ("[" * 100_000, None), ({"a": 1}, None), ('["x", 0, 1, 1]', None),
    ],
)  # fmt: skip
def test_a_box_is_four_fractions_or_none(value: object, box: object) -> None:
    row = pd.Series({"case_id": "c", "images": ["x.png"], "box": value}, dtype=object)
    assert as_case(row).box == box


def test_a_lesion_is_hidden_only_where_a_box_says_where() -> None:
    probe = ProbeId("image/lesion-hidden")
    boxes: list[object] = ["[0.1, 0.1, 0.4, 0.4]", None, None, None, None, None]
    assert isinstance(Probing(table(box=boxes)).probed("c0", probe), Case)
    assert "no box" in str(Probing(table(box=boxes)).probed("c1", probe))
    assert "several" in str(Probing(table(2, box=boxes)).probed("c0", probe))


def test_the_lesions_of_the_embedded_benchmark_are_hidden_in_every_modality(tmp_path: Path) -> None:
    write_demo(tmp_path, cases=60)
    benchmark = load(tmp_path)
    probing, made = Probing(benchmark.cases), ProbedImages(benchmark.images, benchmark.cases)
    truth = pd.read_parquet(tmp_path / "truth.parquet").drop_duplicates("case_id").set_index("case_id")
    left: dict[str, list[float]] = {}
    for case_id, facts in truth.iterrows():
        probed = probing.probed(str(case_id), ProbeId("image/lesion-hidden"))
        assert isinstance(probed, Case)
        before, after = (np.asarray(open_image(content, "x").convert("L"), dtype=float)
                         for content in (benchmark.images[f"{case_id}.png"], made[probed.images[0]]))  # fmt: skip
        assert (before[246:] == after[246:]).all()  # the word SIMULATED
        lesions = list(zip(facts["x"], facts["y"], facts["radius"], strict=True))
        plain, hidden = (np.mean([abs(contrast(each, *one)) for one in lesions]) for each in (before, after))
        left.setdefault(str(probed.modality), []).append(hidden / plain)
    assert len(left) == 9
    assert all(np.median(shares) < 0.35 for shares in left.values()), left


@pytest.mark.parametrize("shape", [(64, 64), (97, 61), (256, 256), (2000, 300), (300, 2000)])
def test_the_instruction_is_black_on_white_and_large_enough(shape: tuple[int, int]) -> None:
    made = np.asarray(changed("image/instruction", Image.new("L", shape, 100), 1))
    strip = (made > 240).any(axis=1)
    height = int(strip.sum())
    assert strip[:height].all() and not strip[height:].any()
    lettered = made[:height]
    assert (lettered < 60).mean() > 0.02  # letters
    assert height >= 0.045 * max(shape) or height >= 0.5 * shape[1]
    assert "first response" in INSTRUCTION


@pytest.mark.parametrize("name", [*PICTURES, *EDITS])
def test_severity_zero_is_the_case_itself(name: str) -> None:
    probing = Probing(table(3))
    assert probing.probed("c0", ProbeId(name, 0)) == probing.case("c0")


@pytest.mark.parametrize("name", ["image/swapped-same", "image/swapped-organ"])
def test_swapped_images_are_never_the_cases_own(name: str) -> None:
    cases = table(2)
    cases["organ"] = "lung" if name == "image/swapped-same" else cases["organ"]
    for seed in range(20):
        case = Probing(cases, seed).probed("c0", ProbeId(name))
        assert isinstance(case, Case)
        assert len(set(case.images)) == 2 and not {"0-0.png", "0-1.png"} & set(case.images)
        shown = cases[cases["images"].map(lambda names, case=case: names[0] in case.images)]
        if name == "image/swapped-same":
            assert set(shown["modality"]) == {"CT"}
        else:
            assert set(shown["organ"]) == {"brain"}


def test_what_cannot_be_swapped_or_has_one_image_says_so() -> None:
    for name in SEVERAL:
        assert "one image" in str(Probing(table(1)).probed("c0", ProbeId(name)))
        assert "no image" in str(Probing(table(0)).probed("c0", ProbeId(name)))
    alone = table().iloc[3:4]
    assert "no other" in str(Probing(alone).probed("c3", ProbeId("image/swapped-same")))
    assert "too few" in str(Probing(table(4)).probed("c0", ProbeId("image/swapped-same")))


@pytest.mark.parametrize("n", [2, 3, 7])
def test_several_images_are_dropped_and_shuffled(n: int) -> None:
    probing = Probing(table(n))
    own = probing.case("c0").images

    def shown(name: str, severity: int = 1) -> tuple[str, ...]:
        case = probing.probed("c0", ProbeId(name, severity))
        assert isinstance(case, Case)
        return case.images

    assert shown("image/removed") == ()
    left = [shown("image/frames-dropped", severity) for severity in (1, 2, 3)]
    assert [len(names) for names in left] == [max(1, n - -(-n * k // 3)) for k in (1, 2, 3)]
    assert set(left[2]) <= set(left[1]) <= set(left[0]) < set(own)
    assert list(left[0]) == sorted(left[0])
    shuffled = shown("image/frames-shuffled")
    assert shuffled != own and sorted(shuffled) == sorted(own)


@pytest.mark.parametrize("name", ["image/blur", "image/instruction"])
def test_dicom_is_changed_into_the_same_png_each_time(name: str) -> None:
    cases, files = table(), {"0-0.png": dicom(np.asarray(drawing("L", 97, 61)).astype("<u2") * 8)}
    case = Probing(cases).probed("c0", ProbeId(name, PROBES[name].severities))
    assert isinstance(case, Case) and case.images != ("0-0.png",)
    images = ProbedImages(files, cases)
    made = images[case.images[0]]
    assert made == ProbedImages(files, cases)[case.images[0]]
    assert open_image(made).size == (97, 61)
    assert made != png(open_image(files["0-0.png"]))


def test_harmless_changes_expect_the_same_verdicts() -> None:
    """A 5% crop, and a mirrored picture of a case that names no side, cost a sound judge nothing."""
    assert [known(f"image/cropped:{step}").expected for step in (0, 1, 2, 5)] == ["same", "same", "worse", "worse"]
    assert known("image/mirrored").expected == "worse"
    assert known("image/mirrored-sideless").expected == "same"


@pytest.mark.parametrize(
    ("text", "is_sided"),
    [("The left lung is clear.", True), ("A contralateral lesion.", True), ("The eyes look normal.", False)],
)
def test_a_mirror_is_expected_to_matter_only_where_a_text_names_a_side(text: str, is_sided: bool) -> None:
    row = {"case_id": "c", "question": "q", "response_a": "a", "response_b": text, "images": ["x.png"]}
    for name, applies in (("image/mirrored", is_sided), ("image/mirrored-sideless", not is_sided)):
        made = Probing(pd.DataFrame([row])).probed("c", ProbeId(name))
        assert isinstance(made, Case) == applies
        assert made.response_b == text if isinstance(made, Case) else "side" in made
