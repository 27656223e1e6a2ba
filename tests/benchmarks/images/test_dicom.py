"""DICOM pictures are shown as pydicom's own window function shows them, and damaged files are said to be so."""

import io
from pathlib import Path

import numpy as np
import pydicom
import pytest
from PIL import Image
from pydicom.dataset import Dataset
from pydicom.pixels.processing import apply_modality_lut, apply_voi_lut
from pydicom.uid import (
    UID,
    DeflatedExplicitVRLittleEndian,
    ExplicitVRBigEndian,
    ExplicitVRLittleEndian,
    ImplicitVRLittleEndian,
)

from mrb_lib.benchmarks.images.dicom import is_dicom, without_patient
from mrb_lib.benchmarks.images.pictures import open_image, png, read_pixels
from mrb_lib.benchmarks.images.pixels import Pixels, windowed
from mrb_lib.tables.errors import InputError

from ..near_copies import dicom as written
from ..near_copies import stored

FILES = Path(pydicom.__file__).parent / "data" / "test_files"


def sample(name: str) -> bytes:
    return (FILES / name).read_bytes()


def real(pixels: Pixels) -> np.ndarray:
    return pixels.offset + pixels.step * pixels.values.astype(float)


RAMP = np.arange(4096).reshape(64, 64)


@pytest.mark.parametrize("name", ["CT_small.dcm", "MR_small.dcm", "MR_small_RLE.dcm", "693_J2KI.dcm"])
def test_values_are_in_the_units_of_the_file(name: str) -> None:
    dataset = pydicom.dcmread(FILES / name)
    np.testing.assert_array_equal(
        real(read_pixels(sample(name), name)), apply_modality_lut(dataset.pixel_array, dataset)
    )


@pytest.mark.parametrize(("centre", "width"), [(600, 1600), (40, 400), (2048, 4096), (10.5, 3), (100, 1)])
@pytest.mark.parametrize("function", ["LINEAR", "LINEAR_EXACT"])
def test_the_first_window_of_a_file_is_the_standards(centre: float, width: float, function: str) -> None:
    content = written(RAMP, WindowCenter=[centre, 1], WindowWidth=[width, 2], VOILUTFunction=function)
    dataset = pydicom.dcmread(io.BytesIO(content))
    expected = apply_voi_lut(dataset.pixel_array, dataset) / 4095 * 255
    np.testing.assert_allclose(windowed(read_pixels(content)), expected, atol=0.501)


def test_monochrome1_is_shown_with_high_values_dark() -> None:
    light, dark = (
        windowed(read_pixels(written(RAMP, PhotometricInterpretation=f"MONOCHROME{kind}"))).astype(int)
        for kind in (2, 1)
    )
    np.testing.assert_array_equal(light + dark, 255)
    assert dark[0, 0] == 255


def test_each_frame_is_read_with_its_own_window_and_spacing() -> None:
    frames = np.stack([RAMP, RAMP[::-1], RAMP.T])
    windows, spacings = [(100, 50), (600, 300), (9, 4)], [(0.5, 0.5), (1, 1), (3, 3)]
    groups = []
    for (centre, width), spacing in zip(windows, spacings, strict=True):
        window, measures, group = Dataset(), Dataset(), Dataset()
        window.WindowCenter, window.WindowWidth, window.VOILUTFunction = centre, width, "LINEAR_EXACT"
        measures.PixelSpacing = list(spacing)
        group.FrameVOILUTSequence, group.PixelMeasuresSequence = [window], [measures]
        groups.append(group)
    content = written(frames, PerFrameFunctionalGroupsSequence=groups)
    for number, (values, window, spacing) in enumerate(zip(frames, windows, spacings, strict=True), start=1):
        pixels = read_pixels(content, "x", number)
        np.testing.assert_array_equal(real(pixels), values)
        assert (pixels.centre, pixels.width, pixels.spacing, pixels.frames) == (*window, spacing, 3)
    for number in (0, 4):
        with pytest.raises(InputError, match=f"x: has no frame {number}; use 1 to 3"):
            read_pixels(content, "x", number)
    with pytest.raises(InputError, match="only the first of its format"):
        read_pixels(png(Image.new("L", (2, 2))), "x", 2)


@pytest.mark.parametrize("name", ["rtdose.dcm", "rtdose_rle.dcm", "SC_rgb_rle_2frame.dcm"])
def test_frames_are_those_of_the_file_in_their_order(name: str) -> None:
    dataset = pydicom.dcmread(FILES / name)
    every = dataset.pixel_array
    for number in (1, 2, len(every)):
        pixels = read_pixels(sample(name), name, number)
        assert pixels.frames == len(every)
        # What spans more than 16 bits is kept to half a step of theirs.
        np.testing.assert_allclose(
            real(pixels), every[number - 1], rtol=1e-9, atol=0 if pixels.step == 1 else pixels.step / 2
        )


@pytest.mark.parametrize(
    ("element", "stated", "shape", "spacing"),
    [
        ("PixelSpacing", [1.5, 0.5], (192, 64), (0.5, 0.5)),
        ("PixelSpacing", [0.4, 0.8], (64, 128), (0.4, 0.4)),
        ("ImagerPixelSpacing", [0.2, 0.1], (128, 64), None),
        ("NominalScannedPixelSpacing", [0.1, 0.4], (64, 256), None),
        ("PixelAspectRatio", [5, 4], (80, 64), None),
        ("PixelSpacing", [0.5, 0.501], (64, 64), (0.5, 0.501)),
        ("PixelSpacing", [0, 0.5], (64, 64), None),
    ],
)
def test_pixels_that_are_not_square_are_resampled(
    element: str, stated: list[float], shape: tuple[int, int], spacing: tuple[float, float] | None
) -> None:
    content = written(RAMP, **{element: stated})
    pixels = read_pixels(content)
    assert pixels.values.shape == shape and open_image(content).size == shape[::-1]
    assert pixels.spacing == (None if spacing is None else pytest.approx(spacing))
    assert (real(pixels).min(), real(pixels).max()) == pytest.approx((0, 4095), abs=40)


@pytest.mark.parametrize("syntax", [ExplicitVRLittleEndian, ImplicitVRLittleEndian])
@pytest.mark.parametrize(
    ("fill", "kind", "padding"),
    [
        (0, "MONOCHROME2", {"PixelPaddingValue": 0}),
        (4095, "MONOCHROME2", {"PixelPaddingValue": 4095}),
        (0, "MONOCHROME1", {"PixelPaddingValue": 0}),
        (3, "MONOCHROME2", {"PixelPaddingValue": 5, "PixelPaddingRangeLimit": 0}),
    ],
)
def test_padding_has_no_part_in_the_range_and_is_dark(
    fill: int, kind: str, padding: dict[str, int], syntax: UID
) -> None:
    values = 1000 + RAMP % 500
    values[:, :20] = fill
    content = written(values, syntax=syntax, PhotometricInterpretation=kind, **padding)
    pixels = read_pixels(content)
    assert (pixels.low, pixels.high, pixels.centre, pixels.width) == (1000, 1499, 1249.5, 499)
    shown = windowed(pixels)
    assert not shown[:, :20].any() and np.ptp(shown[:, 20:]) == 255
    np.testing.assert_array_equal(windowed(read_pixels(without_patient(content))), shown)


def test_padding_may_be_stated_as_the_bits_of_a_negative_value() -> None:
    values = np.where(RAMP < 500, -2000, RAMP % 300)
    content = written(values, PixelRepresentation=1, BitsStored=16, HighBit=15, PixelPaddingValue=-2000)
    unsigned = content.replace(b"\x28\x00\x20\x01SS", b"\x28\x00\x20\x01US")
    assert unsigned != content
    assert [(each.low, each.high) for each in map(read_pixels, (content, unsigned))] == [(0, 299)] * 2


@pytest.mark.parametrize(
    ("syntax", "left_out"),
    [
        *((syntax, "preamble") for syntax in (ImplicitVRLittleEndian, DeflatedExplicitVRLittleEndian)),
        *((syntax, "meta") for syntax in (ExplicitVRLittleEndian, ImplicitVRLittleEndian, ExplicitVRBigEndian)),
    ],
)
def test_a_file_without_preamble_is_read(syntax: UID, left_out: str) -> None:
    # `written` stores little-endian numbers, whatever the syntax.
    content = written(RAMP.astype("<u2").byteswap() if syntax == ExplicitVRBigEndian else RAMP, syntax=syntax)
    length = int.from_bytes(content[140:144], "little")
    bare = content[132:] if left_out == "preamble" else content[144 + length :]
    assert is_dicom(bare)
    np.testing.assert_array_equal(real(read_pixels(bare)), RAMP)
    assert is_dicom(without_patient(bare)[:132])
    np.testing.assert_array_equal(real(read_pixels(without_patient(bare))), RAMP)


def test_pictures_of_other_formats_are_not_taken_for_dicom() -> None:
    kinds = ("PNG", "JPEG", "GIF", "BMP", "TIFF", "WEBP", "JPEG2000", "PPM")
    for kind in kinds:
        assert not is_dicom(stored(Image.new("RGB", (20, 10), "red"), kind)), kind
    assert not is_dicom(b"") and not is_dicom(b"image,question\n") and not is_dicom(b"\x08\x00")


def test_an_enhanced_file_keeps_rescaling_and_window_with_the_frame() -> None:
    frame, rescale, window = Dataset(), Dataset(), Dataset()
    rescale.RescaleSlope, rescale.RescaleIntercept = 1, -1000
    window.WindowCenter, window.WindowWidth = 50, 351
    frame.PixelValueTransformationSequence, frame.FrameVOILUTSequence = [rescale], [window]
    pixels = read_pixels(written(RAMP, SharedFunctionalGroupsSequence=[frame]))
    assert (pixels.low, pixels.centre, pixels.width) == (-1000, 49.5, 350)


@pytest.mark.parametrize("name", ["examples_palette.dcm", "examples_ybr_color.dcm", "SC_rgb_rle_16bit.dcm"])
def test_colour_is_8_bits_red_green_blue(name: str) -> None:
    pixels = read_pixels(sample(name), name)
    assert pixels.values.shape[2:] == (3,)
    assert pixels.values.dtype == np.uint8
    assert int(pixels.values.max()) - int(pixels.values.min()) > 100


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("MR_small_jpeg_ls_lossless.dcm", "compression is not supported"),
        ("MR_truncated.dcm", "not a readable DICOM image"),
        ("rtplan.dcm", "without a picture"),
    ],
)
def test_what_cannot_be_shown_is_said_by_name(name: str, why: str) -> None:
    with pytest.raises(InputError, match=why) as raised:
        read_pixels(sample(name), name)
    assert name in str(raised.value)


@pytest.mark.parametrize("tags", [{"Rows": 60_000, "Columns": 60_000}, {"PixelSpacing": [1e6, 1]}])
def test_a_picture_too_large_to_decode_is_refused_before_it_is(tags: dict[str, object]) -> None:
    with pytest.raises(InputError, match="too large to show safely"):
        read_pixels(written(RAMP, **tags), "scan.dcm")


def test_a_deflated_file_that_unpacks_to_too_much_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    content = written(RAMP, syntax=DeflatedExplicitVRLittleEndian)
    np.testing.assert_array_equal(real(read_pixels(content)), RAMP)
    assert len(content) < RAMP.size * 2
    monkeypatch.setattr("mrb_lib.benchmarks.images.dicom._INFLATED", 8192)
    with pytest.raises(InputError, match="too large to show safely"):
        read_pixels(content, "scan.dcm")
