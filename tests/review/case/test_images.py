"""An image in a page holds what its script needs: the first window, and all 16 bits where there are more than 8."""

import base64
import io
import re
from pathlib import Path

import numpy as np
import pydicom
import pytest
from PIL import Image

from mrb_lib.review.case import SCRIPTS
from mrb_lib.review.case.view import image_html, whole
from mrb_lib.review.pages import script
from mrb_lib.tables.errors import InputError
from tests.pictures import png


def drawn(page: str, attribute: str) -> np.ndarray:
    match = re.search(rf'{attribute}="data:image/png;base64,([^"]+)"', page)
    assert match
    with Image.open(io.BytesIO(base64.b64decode(match[1]))) as image:
        return np.asarray(image)


def number(page: str, name: str) -> float:
    match = re.search(rf'data-{name}="([^"]+)"', page)
    assert match
    return float(match[1])


def test_a_deep_picture_carries_every_value_and_its_window() -> None:
    values = np.linspace(100, 4195, 4096).astype("uint16").reshape(64, 64)
    page = image_html("x.png", {"x.png": png(values)})
    packed = drawn(page, "data-packed").astype(int)
    real = number(page, "offset") + number(page, "step") * (packed[..., 0] * 256 + packed[..., 1])
    np.testing.assert_array_equal(real, values)
    assert (number(page, "centre"), number(page, "width")) == (2147.5, 4095)
    assert drawn(page, "src")[0, 0] == 0
    assert drawn(page, "src")[-1, -1] == 255


def test_an_8_bit_picture_is_not_carried_twice_and_colour_has_no_window() -> None:
    grey = image_html("x", {"x": png(np.zeros((4, 5), "uint8"))})
    colour = image_html("x", {"x": png(np.zeros((4, 5, 3), "uint8"))})
    assert "data-packed" not in grey
    assert (number(grey, "centre"), number(grey, "width")) == (127.5, 255)
    assert "data-centre" not in colour
    assert "5 × 4 · colour" in colour  # noqa: RUF001 - a size is written so


def test_a_file_with_frames_says_so_and_gives_each_with_what_its_values_stand_for() -> None:
    content = (Path(pydicom.__file__).parent / "data" / "test_files" / "rtdose.dcm").read_bytes()
    page = image_html("dose", {"dose": content})
    assert 'data-frames="15"' in page
    assert 'frame <span class="mrb-frame">1</span> of 15, of which judges see the first' in page
    every = pydicom.dcmread(io.BytesIO(content)).pixel_array
    for frame in (1, 15):
        picture = whole("dose", {"dose": content}, frame)
        with Image.open(io.BytesIO(picture.content)) as image:
            packed = np.asarray(image).astype(int)
        offset, step = (float(picture.facts["shades"][name]) for name in ("offset", "step"))
        np.testing.assert_allclose(offset + step * (packed[..., 0] * 256 + packed[..., 1]), every[frame - 1], atol=step)
        assert picture.kind == "image/png"
    with pytest.raises(InputError, match="dose: has no frame 16"):
        whole("dose", {"dose": content}, 16)


@pytest.mark.parametrize("images", [{}, {'"><svg onload=x>': b"\0" * 128 + b"DICM" + b"<script>"}])
def test_a_hostile_name_and_a_damaged_file_are_only_text(images: dict[str, bytes]) -> None:
    page = image_html('"><svg onload=x>', images)
    assert page.startswith('<p class="mrb-missing">')
    assert "<svg" not in page
    assert "<script" not in page


def test_the_script_makes_no_markup_and_can_stand_in_a_page() -> None:
    text = script(*SCRIPTS)
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|</script", text)
    assert not re.search(r"(?:document|window)\.addEventListener", text)
