"""A patient's name beside the pixels of an image never gets into a benchmark; the pixels stay as they are."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, PngImagePlugin

from mrb_lib.benchmarks.audit.folder import audit
from mrb_lib.benchmarks.benchmark import save
from mrb_lib.benchmarks.images.metadata import without_texts
from mrb_lib.benchmarks.images.pictures import open_image
from mrb_lib.tables.errors import InputError

from ..near_copies import bench, drawing, stored

NAME = "Mustermann^Erika"


def exif(orientation: int = 6) -> Image.Exif:
    tags = Image.Exif()
    tags[0x0112] = orientation
    tags[0x010E] = NAME
    return tags


def info() -> PngImagePlugin.PngInfo:
    texts = PngImagePlugin.PngInfo()
    texts.add_text("Patient", NAME)
    texts.add_itxt("Comment", NAME, zip=True)
    return texts


def written(format_: str, **options: object) -> bytes:
    return stored(drawing(3, 64).convert("RGB"), format_, **options)


FILES: dict[str, tuple[Callable[[], bytes], str]] = {
    "a PNG's texts": (lambda: written("PNG", pnginfo=info()), "PNG text Patient"),
    "a PNG's EXIF": (lambda: written("PNG", exif=exif()), "EXIF ImageDescription"),
    "a JPEG's EXIF": (lambda: written("JPEG", exif=exif()), "EXIF ImageDescription"),
    "a JPEG's comment": (lambda: written("JPEG", comment=NAME), "JPEG comment"),
    "a TIFF's tags": (lambda: written("TIFF", tiffinfo={270: NAME, 315: NAME}), "TIFF ImageDescription"),
    "a WebP's EXIF": (lambda: written("WEBP", lossless=True, exif=exif()), "EXIF ImageDescription"),
}


@pytest.mark.parametrize("kind", FILES)
def test_texts_are_removed_and_pixels_stay(kind: str) -> None:
    make, removed = FILES[kind]
    content = make()
    assert NAME.encode() in content or kind == "a PNG's texts"
    plain, names = without_texts(content)
    assert removed in names
    assert NAME.encode() not in plain
    np.testing.assert_array_equal(np.asarray(open_image(plain)), np.asarray(open_image(content)))
    assert without_texts(plain) == (plain, [])


@pytest.mark.parametrize(("format_", "options"), [("PNG", {}), ("JPEG", {"quality": 80}), ("TIFF", {}), ("WEBP", {})])
def test_a_file_without_texts_stays_the_very_same(format_: str, options: dict[str, object]) -> None:
    content = written(format_, **options)
    assert without_texts(content) == (content, [])
    assert without_texts(content[: len(content) // 2])[0] == content[: len(content) // 2]


def test_what_cannot_be_removed_is_refused() -> None:
    with pytest.raises(InputError, match=r"x\.gif: may hold texts that name a patient and cannot be removed"):
        without_texts(written("GIF", comment=NAME.encode()), "x.gif")


def test_a_benchmark_is_written_without_them_and_check_finds_those_put_there(tmp_path: Path) -> None:
    content = FILES["a JPEG's EXIF"][0]()
    made = bench([{"images": ["x.jpg"]}], {"x.jpg": content})
    [finding] = save(made, tmp_path / "b")
    assert "1 images held texts beside their pixels, which were removed (EXIF ImageDescription)" in str(finding)
    assert NAME.encode() not in (tmp_path / "b" / "images" / "x.jpg").read_bytes()
    assert not [each for each in audit(tmp_path / "b") if "beside its pixels" in each.problem]
    (tmp_path / "b" / "images" / "x.jpg").write_bytes(content)
    assert [each.severity for each in audit(tmp_path / "b") if "beside its pixels" in each.problem] == ["warning"]
