"""The pictures: readable, marked, and showing what the truth says where it says so."""

import io
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from mrb_lib.benchmarks.benchmark import load
from mrb_lib.demo import scenes
from mrb_lib.demo.canvas import FIELD, _lettering
from mrb_lib.demo.pictures import DRAWINGS
from mrb_lib.demo.scenes import draw_scene
from tests.pictures import contrast

COLOUR = {"Fundus photography", "Endoscopy", "Photography"}


def _pixels(content: bytes) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(content)).convert("L"), dtype=float)


def test_every_picture_decodes_in_its_size_and_mode(small: Path) -> None:
    benchmark = load(small)
    sizes = []
    for names, modality in zip(benchmark.cases["images"], benchmark.cases["modality"], strict=True):
        content = benchmark.images[names[0]]
        with Image.open(io.BytesIO(content)) as image:
            image.load()
            assert (image.format, image.size) == ("PNG", (256, 256))
            assert image.mode == ("RGB" if modality in COLOUR else "L")
        sizes.append(len(content))
    assert np.mean(sizes) < 16_000


def test_every_picture_carries_the_word_simulated_in_its_margin(small: Path) -> None:
    mark = _lettering("SIMULATED")
    benchmark = load(small)
    for name in benchmark.images:
        margin = _pixels(benchmark.images[name])[FIELD:]
        assert ((margin[2 : 2 + mark.shape[0], 2 : 2 + mark.shape[1]] > 127) == mark).all()


def test_finding_is_in_the_picture_where_the_truth_says(small: Path) -> None:
    benchmark = load(small)
    truth = pd.read_parquet(small / "truth.parquet").drop_duplicates("case_id")
    for row in truth.itertuples():
        pixels = _pixels(benchmark.images[f"{row.case_id}.png"])
        assert len(row.x) == row.count
        for x, y, radius in zip(row.x, row.y, row.radius, strict=True):
            found = contrast(pixels, x, y, radius, FIELD)
            assert found > 8 if row.bright else found < -8, (row.case_id, row.site, found)


def test_the_box_of_a_case_is_the_smallest_around_its_lesions(small: Path) -> None:
    cases = load(small).cases.set_index("case_id")
    for row in pd.read_parquet(small / "truth.parquet").drop_duplicates("case_id").itertuples():
        left, top, right, bottom = (256 * share for share in json.loads(cases.loc[row.case_id, "box"]))
        edges = (min(row.x - row.radius), min(row.y - row.radius), max(row.x + row.radius), max(row.y + row.radius))
        assert (left, top, right, bottom) == pytest.approx(edges, abs=0.02), row.case_id


@pytest.mark.parametrize("name", sorted(scenes.views()))
def test_left_is_left_in_the_picture(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The patient's right is on the left of the picture; one-sided views are mirrored and labelled instead."""
    view = scenes.views()[name]
    monkeypatch.setattr(scenes, "views_of", lambda organ: (view,))
    for k in range(40):
        main = draw_scene(view.organ, np.random.default_rng(k)).main
        if main.side is None:
            continue
        if view.canonical is None:
            assert all((spot.x < 128) == (main.side == "right") for spot in main.spots)
        else:
            expected = main.site.x if main.side == view.canonical else 256 - main.site.x
            assert abs(main.spots[0].x - expected) < main.site.rx + 8


def test_every_view_has_a_drawing_and_every_organ_a_view() -> None:
    assert set(DRAWINGS) == set(scenes.views())
    assert all(scenes.views_of(organ) for organ in scenes.ORGAN_SHARES)
    assert sum(scenes.ORGAN_SHARES.values()) == scenes.CASES_PER_CYCLE
