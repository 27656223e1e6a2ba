"""A DICOM file comes along as the same picture, and as nothing else of it."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pydicom

from mrb_lib.benchmarks.images import read_pixels
from mrb_lib.benchmarks.images.dicom import facts, without_patient

FILES = Path(pydicom.__file__).parent / "data" / "test_files"
NAMES = ("CT_small.dcm", "MR_small.dcm", "MR_small_RLE.dcm", "693_J2KI.dcm", "examples_palette.dcm", "US1_UNCR.dcm",
         "image_dfl.dcm", "MR_small_bigendian.dcm")  # fmt: skip
ABOUT_PEOPLE = ("PatientName", "PatientID", "PatientBirthDate", "StudyDate", "InstitutionName", "StudyInstanceUID",
                "ReferringPhysicianName", "AccessionNumber", "OperatorsName")  # fmt: skip


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
