"""The images of a benchmark that no item of another may show."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PIL import Image

from mrb_lib.benchmarks.benchmark import FolderImages, load
from mrb_lib.benchmarks.images import open_image
from mrb_lib.build.construct.record import RECORD
from mrb_lib.build.construct.work import open_work
from mrb_lib.tables.errors import InputError


def add_images_of(bench: Path, keep: Callable[[str, Image.Image | None], None]) -> list[str]:
    """Hand over the images of a benchmark or work folder; the names under which it was done.

    What cannot be seen cannot be recognised, and is handed over as None.

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
            picture = open_image(images[name], name)
        except (KeyError, InputError):
            picture = None
        added.append(f"{bench}\n{name}")
        keep(added[-1], picture)
    return added
