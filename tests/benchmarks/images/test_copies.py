"""A picture is known again however it was stored, turned or altered, and another picture never is."""

import io
from collections.abc import Callable
from functools import cache
from itertools import cycle

import numpy as np
import pytest
from PIL import Image, ImageEnhance, ImageFilter, ImageOps
from scipy import ndimage

from mrb_lib.benchmarks.images.copies import SAME, Pictures
from mrb_lib.demo.build import simulate_case

from ..near_copies import stored

N = 28
TURNS = cycle(Image.Transpose)
Change = Callable[[Image.Image], Image.Image]


@cache
def film(seed: int, side: int = 256) -> Image.Image:
    """A grey picture with structure at every size, as a radiograph has, unlike that of any other seed."""
    rng = np.random.default_rng(seed)
    layers = [ndimage.gaussian_filter(rng.normal(size=(side, side)), blur) for blur in (24, 10, 4, 1.5)]
    values = sum(weight * layer / layer.std() for weight, layer in zip((3, 2, 1, 0.4), layers, strict=True))
    low, high = np.quantile(values, (0.01, 0.99))
    return Image.fromarray(np.clip((values - low) / (high - low) * 200 + 20, 0, 255).astype(np.uint8))


def as_jpeg(picture: Image.Image, quality: int) -> Image.Image:
    return Image.open(io.BytesIO(stored(picture, "JPEG", quality=quality)))


def windowed(picture: Image.Image) -> Image.Image:
    low, high = np.quantile(np.asarray(picture), (0.15, 0.85))
    return picture.point([int(np.clip((level - low) / (high - low) * 255, 0, 255)) for level in range(256)])


def noisy(picture: Image.Image) -> Image.Image:
    grain = np.random.default_rng(9).normal(0, 10, (picture.height, picture.width))
    return Image.fromarray(np.clip(np.asarray(picture) + grain, 0, 255).astype(np.uint8))


def adaptive(picture: Image.Image) -> Image.Image:
    """A picture with each region spread over all grey levels, as CLAHE does."""
    values = np.asarray(picture, dtype=float)
    mean = ndimage.gaussian_filter(values, 24)
    spread = np.sqrt(ndimage.gaussian_filter((values - mean) ** 2, 24))
    return Image.fromarray(np.clip(128 + 50 * (values - mean) / (spread + 3), 0, 255).astype(np.uint8))


STORED: dict[str, Change] = {
    "jpeg": lambda picture: as_jpeg(picture, 40),
    "half": lambda picture: picture.resize((picture.width // 2, picture.height // 2)),
    "dim": lambda picture: ImageEnhance.Contrast(picture).enhance(0.7),
    "turned and stored": lambda picture: as_jpeg(picture.transpose(Image.Transpose.ROTATE_90), 60),
    "turned": lambda picture: picture.transpose(next(TURNS)),
}
ALTERATIONS: dict[str, Change] = {
    "inverted": ImageOps.invert,
    "inverted and mirrored": lambda picture: ImageOps.mirror(ImageOps.invert(picture)),
    "equalised": ImageOps.equalize,
    "adaptive": adaptive,
    "windowed": windowed,
    "noisy": noisy,
    "cropped": lambda picture: picture.crop((18, 5, 250, 244)),
    "framed in black": lambda picture: ImageOps.expand(picture, 24, 0),
    "framed in white": lambda picture: ImageOps.expand(picture, 30, 255),
    "soft": lambda picture: picture.filter(ImageFilter.GaussianBlur(1.2)),
}


def pairs_of(pictures: dict[str, Image.Image | None], *, altered: bool = True) -> dict[frozenset[str], str]:
    index = Pictures()
    for name, picture in pictures.items():
        index.add(name, picture)
    found = index.pairs(altered=altered)
    assert (found["one"] > found["other"]).all() and not found.duplicated(["one", "other"]).any()
    return {frozenset((index.names[i], index.names[j])): kind for i, j, kind in found.itertuples(index=False)}


@pytest.mark.parametrize("name", [*STORED, *ALTERATIONS])
def test_a_copy_is_found_and_no_other_picture_is(name: str) -> None:
    change = {**STORED, **ALTERATIONS}[name]
    originals = {str(i): film(i) for i in range(N)}
    copies = {f"{i} again": change(film(i)) for i in range(0, N, 4)}
    found = pairs_of(originals | copies)
    wanted = {frozenset((f"{i} again", str(i))) for i in range(0, N, 4)}
    assert found.keys() == wanted
    if name in STORED:
        assert set(found.values()) == {SAME}


def test_altered_copies_are_left_alone_where_nobody_asks_for_them() -> None:
    shown = {str(i): film(i) for i in range(4)} | {
        "inverted": ImageOps.invert(film(0)),
        "small": STORED["half"](film(1)),
    }
    assert pairs_of(shown, altered=False) == {frozenset(("small", "1")): SAME}


def test_two_films_beside_each_other_make_no_copies_of_the_two() -> None:
    panel = Image.new("L", (512, 256))
    for i in range(2):
        panel.paste(film(i), (256 * i, 0))
    assert frozenset(("0", "1")) not in pairs_of({"0": film(0), "1": film(1), "both": panel})


def test_pictures_of_one_grey_or_none_resemble_nothing() -> None:
    shown: dict[str, Image.Image | None] = {str(i): Image.new("L", (80, 80), 90) for i in range(3)}
    assert pairs_of({**shown, "none": None, "nor this": None, "dot": Image.new("L", (1, 1))}) == {}
    assert pairs_of({}) == {}


def test_drawings_of_one_view_are_not_the_same_picture() -> None:
    drawn = {str(i): Image.open(io.BytesIO(simulate_case(0, i).picture)) for i in range(120)}
    assert pairs_of(drawn, altered=False) == {}
