"""Images of every kind become small plain pictures; bad ones say why not."""

import numpy as np
import pytest
from PIL import Image

from mrb_lib.benchmarks.images.pictures import thumbnail, within

from ..near_copies import stored


def test_sixteen_bits_are_scaled_not_cut() -> None:
    deep = Image.fromarray(np.array([[1000, 2000], [3000, 5000]], dtype="uint16"))
    shown = np.asarray(thumbnail(stored(deep), 10))
    assert shown.tolist() == [[0, 64], [128, 255]]


@pytest.mark.parametrize("mode", ["1", "L", "P", "RGB", "RGBA", "LA", "CMYK", "I", "F"])
def test_every_mode_becomes_plain(mode: str) -> None:
    kind = "TIFF" if mode in ("CMYK", "F", "I") else "PNG"
    shown = thumbnail(stored(Image.new(mode, (40, 20)), kind), 10)
    assert shown.mode in ("L", "RGB")
    assert shown.size == (10, 5)


def test_an_animation_shows_its_first_frame() -> None:
    frames = [Image.new("RGB", (8, 8), colour) for colour in ("red", "blue")]
    content = stored(frames[0], "GIF", save_all=True, append_images=frames[1:])
    assert thumbnail(content, 8).getpixel((0, 0)) == (255, 0, 0)


def test_transparency_lies_on_white() -> None:
    assert thumbnail(stored(Image.new("RGBA", (4, 4), (0, 0, 0, 0))), 4).getpixel((0, 0)) == (255, 255, 255)


def test_a_picture_within_the_limit_is_left_alone_and_a_larger_one_keeps_its_shape() -> None:
    picture = Image.new("RGB", (400, 100))
    assert within(picture, 40_000) is picture
    smaller = within(picture, 10_000)
    assert smaller.size == (200, 50)
