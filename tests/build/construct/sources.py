"""A folder of images with questions, as a hospital might hand it over, and what is wrong with some of them."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pydicom
from PIL import Image, ImageDraw, ImageOps
from pydicom.dataset import Dataset, FileMetaDataset
from pydicom.uid import CTImageStorage, ExplicitVRLittleEndian

NAME = "Doe^Jane"


def drawing(seed: int, side: int = 96) -> Image.Image:
    """A grey picture of discs, unlike that of any other seed and unlike its own mirror image."""
    rng = np.random.default_rng(seed)
    picture = Image.new("L", (side, side), 40)
    draw = ImageDraw.Draw(picture)
    for _ in range(12):
        x, y = rng.integers(0, side, 2)
        radius = int(rng.integers(side // 20, side // 4))
        draw.ellipse((x - radius, y - radius, x + radius, y + radius), fill=int(rng.integers(40, 230)))
    return picture


def stored(picture: Image.Image, format_: str = "PNG", **options: int) -> bytes:
    """The bytes of a picture in a format."""
    stream = io.BytesIO()
    picture.save(stream, format_, **options)
    return stream.getvalue()


def dicom(picture: Image.Image, **tags: object) -> bytes:
    """A CT slice of a patient with a name."""
    dataset = Dataset()
    dataset.file_meta = FileMetaDataset()
    dataset.file_meta.TransferSyntaxUID = ExplicitVRLittleEndian
    dataset.file_meta.MediaStorageSOPClassUID = dataset.SOPClassUID = CTImageStorage
    dataset.file_meta.MediaStorageSOPInstanceUID = dataset.SOPInstanceUID = pydicom.uid.UID("1.2.3")
    values = np.asarray(picture, dtype="<u2") * 8
    dataset.Rows, dataset.Columns = values.shape
    dataset.SamplesPerPixel, dataset.PhotometricInterpretation = 1, "MONOCHROME2"
    dataset.BitsAllocated, dataset.BitsStored, dataset.HighBit, dataset.PixelRepresentation = 16, 12, 11, 0
    dataset.Modality, dataset.BodyPartExamined, dataset.RescaleIntercept, dataset.RescaleSlope = "CT", "CHEST", -1024, 1
    dataset.WindowCenter, dataset.WindowWidth = 40, 400
    dataset.PixelData = values.tobytes()
    for name, value in tags.items():
        setattr(dataset, name, value)
    dataset.add_new(0x00091001, "LO", f"private {tags.get('PatientName', '')}")
    stream = io.BytesIO()
    dataset.save_as(stream, enforce_file_format=True)
    return stream.getvalue()


def write_source(folder: Path, half: int = 25) -> Path:
    """60 images with 56 questions: three modalities, a DICOM series, four copies, two files that cannot be read.

    Parameters
    ----------
    half : how many X-rays, and one more than there are fundus photographs; what follows is said of 25

    Returns
    -------
    Path
        Of the folder: `questions.jsonl` and `images/`. Items 0 to 24 are X-rays, 25 to 48 fundus photographs, 49 a
        series of six CT slices whose patient is named, 50 to 53 copies of items 0 to 3 (the same bytes, stored as JPEG,
        mirrored, at another size), 54 and 55 unreadable.
    """
    images = folder / "images"
    (images / "series").mkdir(parents=True)
    rows: list[dict[str, object]] = []

    def add(name: str, content: bytes | None, number: int, **more: object) -> None:
        if content is not None:
            (images / name).write_bytes(content)
        asked = f"What does finding {number} in this picture suggest?"
        rows.append(
            {"item_id": f"q{len(rows)}", "image": name, "question": asked, "answer": f"reading {number}", **more}
        )

    for i in range(half):
        add(f"x{i}.png", stored(drawing(i)), i, modality="X-ray", organ="chest", licence="CC0-1.0")
    for i in range(half, 2 * half - 1):
        colour = ImageOps.colorize(drawing(i), "black", "orange")
        add(f"f{i}.jpg", stored(colour, "JPEG", quality=90), i, modality="Fundus photography", organ="Eye")
    for i in range(6):
        content = dicom(drawing(100 + i), PatientName=NAME, PatientID="77", InstanceNumber=6 - i)
        (images / "series" / f"{i}.dcm").write_bytes(content)
    add("series", None, 2 * half - 1)
    small = drawing(3).resize((80, 80), Image.Resampling.LANCZOS)
    add("copy0.png", stored(drawing(0)), 0)
    add("copy1.jpg", stored(drawing(1), "JPEG", quality=60), 1)
    add("copy2.png", stored(ImageOps.mirror(drawing(2))), 2)
    add("copy3.png", stored(small), 3)
    add("cut.png", stored(drawing(200))[:300], 54)
    add("text.png", b"not an image", 55)
    (folder / "questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return folder
