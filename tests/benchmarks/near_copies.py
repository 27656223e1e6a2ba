"""Small benchmarks of plain rows, and copies of pictures as other programs store them."""

from collections.abc import Iterable, Mapping
from io import BytesIO

import numpy as np
import pandas as pd
from PIL import Image, ImageDraw
from pydicom.dataset import Dataset, FileMetaDataset
from pydicom.uid import UID, ExplicitVRLittleEndian, SecondaryCaptureImageStorage

from mrb_lib.benchmarks.benchmark import Benchmark, empty_annotations
from mrb_lib.benchmarks.meta import BenchmarkMeta
from mrb_lib.tables.validation import conform

WORDS = np.array([f"word{i}" for i in range(400)])


def sentence(seed: int, n: int = 30) -> str:
    """Words that no other seed puts in this order."""
    return " ".join(np.random.default_rng(seed).choice(WORDS, n))


def bench(rows: Iterable[Mapping[str, object]], images: Mapping[str, bytes] | None = None) -> Benchmark:
    """A benchmark of these rows; what a row leaves out differs from every other row."""
    filled = [
        {
            "case_id": f"c{i}",
            "question": sentence(3 * i),
            "response_a": sentence(3 * i + 1),
            "response_b": sentence(3 * i + 2),
            **row,
        }
        for i, row in enumerate(rows)
    ]
    cases = conform(pd.DataFrame(filled), "cases", "cases")
    return Benchmark(BenchmarkMeta("b", "general", ("overall",)), cases, empty_annotations(), images or {})


def drawing(seed: int, side: int = 200, smallest: int = 8) -> Image.Image:
    """A grey picture of discs, unlike that of any other seed and unlike its own mirror image."""
    rng = np.random.default_rng(seed)
    picture = Image.new("L", (side, side), 40)
    draw = ImageDraw.Draw(picture)
    for _ in range(12):
        x, y = rng.integers(0, side, 2)
        radius = int(rng.integers(smallest, side // 4))
        draw.ellipse((x - radius, y - radius, x + radius, y + radius), fill=int(rng.integers(40, 230)))
    return picture


def stored(picture: Image.Image, format_: str = "PNG", **options: object) -> bytes:
    """The bytes of a picture in a format."""
    stream = BytesIO()
    picture.save(stream, format_, **options)
    return stream.getvalue()


def dicom(values: np.ndarray, syntax: UID = ExplicitVRLittleEndian, **tags: object) -> bytes:
    """A file with one or several frames of unsigned values, and the given tags besides."""
    dataset = Dataset()
    dataset.file_meta = FileMetaDataset()
    dataset.file_meta.TransferSyntaxUID = syntax
    dataset.file_meta.MediaStorageSOPClassUID = dataset.SOPClassUID = SecondaryCaptureImageStorage
    dataset.file_meta.MediaStorageSOPInstanceUID = dataset.SOPInstanceUID = UID("1.2.3")
    dataset.Rows, dataset.Columns = values.shape[-2:]
    dataset.SamplesPerPixel, dataset.PhotometricInterpretation = 1, "MONOCHROME2"
    dataset.BitsAllocated, dataset.BitsStored, dataset.HighBit, dataset.PixelRepresentation = 16, 12, 11, 0
    dataset.PixelData = values.astype("<u2").tobytes()
    if values.ndim == 3:
        dataset.NumberOfFrames = len(values)
    for name, value in tags.items():
        setattr(dataset, name, value)
    if "PatientName" in tags:
        dataset.add_new(0x00091001, "LO", f"private {tags['PatientName']}")
    stream = BytesIO()
    dataset.save_as(stream, enforce_file_format=True)
    return stream.getvalue()


def stored_again(picture: Image.Image) -> bytes:
    """The same picture, as it comes back from other programs: in colour, with losses."""
    return stored(picture.convert("RGB"), "JPEG", quality=40)
