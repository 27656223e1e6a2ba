"""An image as it comes into a work folder: readable, large enough, without its patient, under a name of its content."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from PIL import Image

from mrb_lib.benchmarks.images.dicom import DicomFacts, facts, is_dicom, without_patient
from mrb_lib.benchmarks.images.pictures import open_image, raster
from mrb_lib.build.construct.intake.lettering import looks_lettered
from mrb_lib.build.construct.layouts import SourceImage
from mrb_lib.tables.errors import InputError

MODALITIES: Final[Mapping[str, str]] = {
    "CR": "X-ray", "DX": "X-ray", "RF": "Fluoroscopy", "XA": "Angiography", "CT": "CT", "MR": "MRI", "US": "Ultrasound",
    "MG": "Mammography", "NM": "Nuclear medicine", "PT": "PET", "ES": "Endoscopy", "OP": "Fundus photography",
    "OPT": "OCT", "GM": "Microscopy", "SM": "Microscopy", "XC": "Photograph", "IO": "X-ray", "PX": "X-ray",
}  # fmt: skip
"""Our names of codes of the DICOM element Modality (DICOM PS3.3, C.7.3.1.1.1); others stay as they are."""

NOT_THE_SAME: Final = "the image without its patient's tags is another picture"
_SUFFIXES: Final = {"JPEG": ".jpg", "JPEG2000": ".jp2", "TIFF": ".tif"}
_DECODED = 512  # the side that a JPEG is decoded to at least


@dataclass(frozen=True)
class Picture:
    """An image of a source, examined.

    Attributes
    ----------
    name : of its file in the work folder, made of its content; empty where there is a problem
    problem : why no item can use it; None where it is fine
    dicom : what its file says of it; None for other formats
    lettered : whether it looks as if text were burnt into it
    frames : how many pictures its file holds, of which it is the first
    """

    name: str = ""
    problem: str | None = None
    dicom: DicomFacts | None = None
    lettered: bool = False
    frames: int = 1


class PictureIntake:
    """Examines the images of a source one at a time, each once, and writes what may be used.

    Parameters
    ----------
    folder : where to write; a file that is there already has the content of its name
    min_side : the fewest pixels on the shorter side
    keep : called with the name and the picture of each image that is new
    """

    def __init__(self, folder: Path, min_side: int, keep: Callable[[str, Image.Image], None]) -> None:
        self.folder, self.min_side, self.keep = folder, min_side, keep
        self._by_digest: dict[bytes, Picture] = {}

    def take(self, image: SourceImage) -> Picture:
        """Examine an image, and write it to the folder unless something is wrong with it."""
        try:
            content = image.read()
        except FileNotFoundError:
            return Picture(problem="the image is missing")
        except OSError:
            return Picture(problem="the image cannot be read")
        digest = hashlib.blake2b(content, digest_size=16).digest()
        if digest not in self._by_digest:
            self._by_digest[digest] = self._examined(content, image.name, digest.hex())
        return self._by_digest[digest]

    def _examined(self, content: bytes, name: str, digest: str) -> Picture:
        if not content:
            return Picture(problem="the image is an empty file")
        try:
            shown = open_image(content, name, draft=_DECODED)
            if is_dicom(content):
                size, dicom, stored, suffix = shown.size, facts(content, name), without_patient(content, name), ".dcm"
                frames = dicom.frames
                if open_image(stored, name) != shown:
                    return Picture(problem=NOT_THE_SAME)
            else:
                with raster(content, name) as opened:
                    size, dicom, stored = opened.size, None, content
                    # The second picture of a camera's MPO is a preview of the first.
                    frames = 1 if opened.format == "MPO" else getattr(opened, "n_frames", 1)
                    suffix = _SUFFIXES.get(str(opened.format), f".{str(opened.format).lower()}")
        except InputError as error:
            if "pip install" in str(error):
                raise
            return Picture(problem="the image cannot be read")
        if min(size) < self.min_side:
            return Picture(problem=f"the image is smaller than {self.min_side} pixels")
        if len(set(shown.convert("L").getextrema())) == 1:
            return Picture(problem="the image is of one grey")
        path = self.folder / f"{digest}{suffix}"
        if not path.is_file() or path.stat().st_size != len(stored):
            partial = path.with_name(f".{path.name}.partial")
            partial.write_bytes(stored)
            partial.replace(path)
        self.keep(path.name, shown)
        lettered = (dicom is not None and dicom.burnt_in) or looks_lettered(shown)
        return Picture(path.name, dicom=dicom, lettered=lettered, frames=frames)
