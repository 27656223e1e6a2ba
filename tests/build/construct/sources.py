"""A folder of images with questions, as a hospital might hand it over, and what is wrong with some of them."""

import json
from pathlib import Path

import numpy as np
from PIL import Image, ImageOps

from ...benchmarks import near_copies
from ...benchmarks.near_copies import stored as stored

NAME = "Doe^Jane"


def drawing(seed: int, side: int = 96) -> Image.Image:
    """See `near_copies.drawing`."""
    return near_copies.drawing(seed, side, side // 20)


def dicom(picture: Image.Image, **tags: object) -> bytes:
    """A CT slice of a patient with a name."""
    about = {"Modality": "CT", "BodyPartExamined": "CHEST", "RescaleIntercept": -1024, "RescaleSlope": 1}
    window = {"WindowCenter": 40, "WindowWidth": 400}
    return near_copies.dicom(np.asarray(picture, dtype="<u2") * 8, **{**about, **window, **tags})


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
