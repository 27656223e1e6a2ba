"""The images of a benchmark that no item of another may show."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from mrb_lib.construct.intake.copies import Signatures
from mrb_lib.construct.record import RECORD
from mrb_lib.construct.work import open_work
from mrb_lib.data.benchmark import FolderImages, load
from mrb_lib.data.images import open_image
from mrb_lib.data.near_duplicates import SIGNATURE, image_signature
from mrb_lib.errors import InputError


def add_images_of(bench: Path, signatures: Signatures) -> list[str]:
    """Add the images of a benchmark or work folder; the names under which they were added.

    Raises
    ------
    InputError
        It is neither.
    """
    is_work = (bench / RECORD).is_file() and not (bench / "benchmark.toml").is_file()
    shown = open_work(bench).items()["images"] if is_work else load(bench).cases["images"]
    images, added = FolderImages(bench / "images"), []
    for name in dict.fromkeys(name for names in shown for name in names):
        try:
            signature = image_signature(open_image(images[name], name))
        except (KeyError, InputError):  # what cannot be seen cannot be recognised; `mrb check` reports it there
            signature = np.zeros(SIGNATURE, dtype=np.float32)
        added.append(f"{bench}\n{name}")
        signatures.add(added[-1], signature)
    return added
