"""Pictures keep their depth, and a window shows of it what its formula says."""

import numpy as np
import pytest
from PIL import Image

from mrb_lib.benchmarks.images.pictures import read_pixels, shrunk
from mrb_lib.benchmarks.images.pixels import Pixels, windowed

from ..near_copies import stored


def real(pixels: Pixels) -> np.ndarray:
    return pixels.offset + pixels.step * pixels.values.astype(float)


@pytest.mark.parametrize("kind", ["PNG", "TIFF"])
def test_16_bits_are_kept(kind: str) -> None:
    values = np.arange(0, 60_000, 15, dtype="uint16").reshape(50, 80)
    pixels = read_pixels(stored(Image.fromarray(values), kind))
    assert pixels.grey
    assert pixels.deep
    np.testing.assert_array_equal(real(pixels), values)
    assert (pixels.low, pixels.high) == (0, 59_985)


def test_real_numbers_of_any_range_are_kept_to_a_65535th_of_it() -> None:
    values = np.random.default_rng(0).normal(0, 1e6, (40, 40)).astype("float32")
    pixels = read_pixels(stored(Image.fromarray(values), "TIFF"))
    np.testing.assert_allclose(real(pixels), values, atol=np.ptp(values) / 65_535)


@pytest.mark.parametrize("value", [0.0, 0.5, np.nan, np.inf])
def test_a_picture_of_one_value_is_black(value: float) -> None:
    pixels = read_pixels(stored(Image.fromarray(np.full((3, 3), value, dtype="float32")), "TIFF"))
    assert pixels.width > 0
    assert windowed(pixels).tolist() == [[0] * 3] * 3


def test_8_bits_and_colour_are_themselves() -> None:
    grey = np.arange(200, dtype="uint8").reshape(10, 20)
    colour = np.random.default_rng(1).integers(0, 256, (10, 20, 3), dtype="uint8")
    for values in (grey, colour):
        pixels = read_pixels(stored(Image.fromarray(values)))
        assert not pixels.deep
        np.testing.assert_array_equal(windowed(pixels), values)


@pytest.mark.parametrize(
    ("value", "expected"),
    [(-1000, 0), (-160, 0), (-60, 64), (40, 128), (140, 191), (240, 255), (3000, 255)],
)
@pytest.mark.parametrize("inverted", [False, True])
def test_a_window_is_a_line_from_black_to_white(value: int, expected: int, inverted: bool) -> None:
    # The usual window of the abdomen: centre 40, width 400, so -160 is black and 240 white.
    values = np.array([[value + 1024]], dtype="uint16")
    pixels = Pixels(values, -1024, 3071, 40.0, 400.0, inverted, -1024.0)
    assert windowed(pixels)[0, 0] == (255 - expected if inverted else expected)


@pytest.mark.parametrize("depth", ["uint8", "uint16"])
def test_a_shrunk_picture_keeps_its_kind_its_shape_and_its_mean(depth: str) -> None:
    top = np.iinfo(depth).max
    values = np.tile(np.linspace(0, top, 200), (100, 1)).astype(depth)
    small = shrunk(Pixels(values), 50)
    assert small.values.dtype == depth
    assert small.values.shape == (25, 50)
    assert abs(small.values.mean() - values.mean()) < top / 200
    assert shrunk(small, 50) is small
