"""Images as they are sent: PNG with the pixels alone."""

from __future__ import annotations

import base64
import io
from pathlib import Path

import numpy as np
import pydicom
import pytest
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from mrb_lib.judges.endpoint.requests import ChatRequest, data_url

PIXELS = np.random.default_rng(0).integers(0, 256, (30, 20, 3), dtype=np.uint8)


def _stored(kind: str, **more: object) -> bytes:
    stream = io.BytesIO()
    Image.fromarray(PIXELS).save(stream, format=kind, **more)
    return stream.getvalue()


def _sent(content: bytes, max_pixels: int = 10_000) -> tuple[str, bytes]:
    head, data = data_url(content, "x", max_pixels).split(",")
    return head, base64.b64decode(data)


def test_dicom_is_sent_in_its_window_as_png_that_says_nothing_of_the_patient() -> None:
    path = Path(pydicom.__file__).parent / "data" / "test_files" / "CT_small.dcm"
    head, content = _sent(path.read_bytes(), max_pixels=100_000)
    assert head == "data:image/png;base64"
    with Image.open(io.BytesIO(content)) as picture:
        assert (picture.mode, picture.size, picture.info) == ("L", (128, 128), {})
        assert np.asarray(picture).std() > 10
    assert str(pydicom.dcmread(path).PatientName).encode() not in content


def test_a_large_image_is_made_smaller_in_proportion() -> None:
    _, content = _sent(_stored("JPEG"), max_pixels=150)
    assert Image.open(io.BytesIO(content)).size == (10, 15)


def _tagged(kind: str) -> bytes:
    exif = Image.Exif()
    exif[0x010E] = "JANE DOE"
    text = PngInfo()
    text.add_text("Patient", "JANE DOE")
    return _stored(kind, exif=exif, **({"pnginfo": text} if kind == "PNG" else {"comment": b"JANE DOE"}))


@pytest.mark.parametrize("kind", ["PNG", "JPEG"])
def test_what_a_file_says_of_its_patient_is_not_sent(kind: str) -> None:
    assert b"JANE" in _tagged(kind)
    head, content = _sent(_tagged(kind))
    assert head == "data:image/png;base64"
    assert b"JANE" not in content
    if kind == "PNG":
        assert np.array_equal(np.asarray(Image.open(io.BytesIO(content))), PIXELS)


def test_an_image_is_sent_the_right_way_up() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    _, content = _sent(_stored("PNG", exif=exif))
    assert np.array_equal(np.asarray(Image.open(io.BytesIO(content))), np.rot90(PIXELS, -1))


def test_an_image_counts_as_a_token_for_each_28_by_28_pixels_as_sent() -> None:
    assert ChatRequest("12345", (data_url(_stored("PNG"), "x", 10_000),), None, 0).prompt_tokens == 2 + 1
