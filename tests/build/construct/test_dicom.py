"""A DICOM file comes along as the same picture, and as nothing else of it; text burnt into a picture is suspected."""

import io
from pathlib import Path

import numpy as np
import pydicom
import pytest

from mrb_lib.benchmarks.images.dicom import facts, without_patient
from mrb_lib.benchmarks.images.pictures import read_pixels
from mrb_lib.build.construct.intake.pictures import NOT_THE_SAME, PictureIntake
from mrb_lib.build.construct.layouts import SourceImage

from .sources import NAME, dicom, drawing

FILES = Path(pydicom.__file__).parent / "data" / "test_files"
NAMES = ("CT_small.dcm", "MR_small.dcm", "MR_small_RLE.dcm", "693_J2KI.dcm", "examples_palette.dcm", "US1_UNCR.dcm",
         "image_dfl.dcm", "MR_small_bigendian.dcm")  # fmt: skip
ABOUT_PEOPLE = ("PatientName", "PatientID", "PatientBirthDate", "StudyDate", "InstitutionName", "StudyInstanceUID",
                "ReferringPhysicianName", "AccessionNumber", "OperatorsName")  # fmt: skip


def palettes(entries: int, bits: int, stored_bits: int, *, segmented: bool) -> dict[str, object]:
    """The elements of a palette: red falls, green rises, blue stays."""
    top, kind = 2**bits - 1, f"<u{stored_bits // 8}"
    tables: dict[str, object] = {}
    for colour, (first, last) in {"Red": (top, 0), "Green": (0, top), "Blue": (7, 7)}.items():
        # One discrete segment of one value, then a straight line to the last (DICOM PS3.3, C.7.9.2).
        segments, plain = [0, 1, first, 1, entries - 1, last], np.linspace(first, last, entries).round()
        name = f"{colour}PaletteColorLookupTable"
        tables[f"{name}Descriptor"] = [entries, 30, bits]
        tables[f"{'Segmented' * segmented}{name}Data"] = np.array(segments if segmented else plain, kind).tobytes()
    return tables


@pytest.mark.parametrize(
    ("bits", "stored_bits", "segmented"), [(8, 8, False), (16, 16, False), (8, 16, False), (8, 8, True), (16, 16, True)]
)
def test_a_palette_comes_along(bits: int, stored_bits: int, segmented: bool, tmp_path: Path) -> None:
    elements = palettes(200, bits, stored_bits, segmented=segmented) | {
        "PixelData": np.asarray(drawing(5), "<u2").tobytes()
    }
    content = dicom(drawing(5), PhotometricInterpretation="PALETTE COLOR", PatientName=NAME, Modality="US", **elements)
    pixels = read_pixels(content)
    assert not pixels.grey and np.ptp(pixels.values[..., 1]) > 100
    np.testing.assert_array_equal(read_pixels(without_patient(content)).values, pixels.values)
    picture = PictureIntake(tmp_path, 64, lambda *_: None).take(SourceImage("us.dcm", content=content))
    assert picture.problem is None
    np.testing.assert_array_equal(read_pixels((tmp_path / picture.name).read_bytes()).values, pixels.values)


def test_a_copy_that_shows_another_picture_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy is decoded, and a window that the removal lost would be noticed."""
    another = "mrb_lib.build.construct.intake.pictures.without_patient"
    monkeypatch.setattr(another, lambda *_: dicom(drawing(6), WindowCenter=9, WindowWidth=9))
    intake = PictureIntake(tmp_path, 64, lambda *_: None)
    assert intake.take(SourceImage("ct.dcm", content=dicom(drawing(6)))).problem == NOT_THE_SAME
    assert not list(tmp_path.iterdir())


def test_the_picture_is_the_same_and_its_patient_is_gone() -> None:
    found = [name for name in NAMES if (FILES / name).is_file()]
    assert len(found) >= 5
    for name in found:
        content = (FILES / name).read_bytes()
        stripped = without_patient(content, name)
        before, after = read_pixels(content, name), read_pixels(stripped, name)
        np.testing.assert_array_equal(after.values, before.values, err_msg=name)
        assert (after.centre, after.width, after.unit, after.spacing) == (
            before.centre, before.width, before.unit, before.spacing,
        ), name  # fmt: skip
        assert stripped == without_patient(content, name)
        dataset = pydicom.dcmread(io.BytesIO(stripped))
        assert not [tag for tag in ABOUT_PEOPLE if tag in dataset]
        assert not [element for element in dataset if element.tag.is_private]
        assert facts(stripped).identifying == () and facts(stripped).modality == facts(content).modality
