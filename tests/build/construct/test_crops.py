"""A part of a picture is known as its part, at any size and stored again; pictures of the same view are not."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageOps

from mrb_lib.build.construct.intake.crops import Keypoints, _features, _mirror
from mrb_lib.build.construct.intake.same_pictures import SamePictures
from mrb_lib.demo.build import simulate_case
from mrb_lib.tables.errors import InputError

from .sources import drawing, stored

N = 12


def part_of(picture: Image.Image, share: float, rng: np.random.Generator) -> Image.Image:
    """Cut up to a share off each side, at another size, through JPEG."""
    (left, right), (top, bottom) = (side * rng.uniform(0, share, 2) for side in picture.size)
    cut = picture.crop((int(left), int(top), int(picture.width - right), int(picture.height - bottom)))
    scale = rng.uniform(0.7, 1.2)
    resized = cut.resize((int(cut.width * scale), int(cut.height * scale)))
    return Image.open(io.BytesIO(stored(resized.convert("L"), "JPEG", quality=70)))


def with_arrow(picture: Image.Image, rng: np.random.Generator) -> Image.Image:
    """A copy on which a white arrow, 18 pixels long, points at something near the middle."""
    marked = picture.copy()
    x, y = (float(side) for side in rng.uniform(0.35, 0.65, 2) * picture.width)
    draw = ImageDraw.Draw(marked)
    draw.line((x - 18, y, x, y), fill=255, width=2)
    draw.polygon([(x, y), (x - 6, y - 4), (x - 6, y + 4)], fill=255)
    return marked


def test_the_descriptors_of_a_mirrored_picture_are_the_same_numbers_in_another_order() -> None:
    pytest.importorskip("cv2", reason="the search for parts needs OpenCV")
    picture = Image.open(io.BytesIO(simulate_case(0, 3).picture)).convert("L")
    turned, again = _mirror(_features(picture)), _features(ImageOps.mirror(picture))
    assert (turned.values == again.values).all()
    near = np.linalg.norm(turned.points[:, None] - again.points, axis=2) < 1
    same = near & (turned.descriptors @ again.descriptors.T > 0.95)
    assert same.any(axis=1).mean() > 0.8


def test_parts_are_found_and_nothing_else(tmp_path: Path) -> None:
    pytest.importorskip("cv2", reason="the search for parts needs OpenCV")
    rng = np.random.default_rng(1)
    pictures = {str(i): Image.open(io.BytesIO(simulate_case(0, i).picture)).convert("L") for i in range(N)}
    parts = {f"{i} part": part_of(pictures[str(i)], 0.25, rng) for i in range(0, N, 2)}
    parts |= {f"{i} part": ImageOps.mirror(part_of(pictures[str(i)], 0.25, rng)) for i in (1, 3, 5)}
    parts |= {f"{i} part": ImageOps.flip(part_of(pictures[str(i)], 0.25, rng)) for i in (7, 9)}
    shown = pictures | parts
    with SamePictures(tmp_path, crops=True) as same:
        for name, picture in shown.items():
            same.add(name, picture)
        same.add("unseen", None)
        groups = same.groups(lambda name: shown[name])
    assert len(parts) == N - 1
    assert [name for name in parts if groups[name] != groups[name.removesuffix(" part")]] == []
    assert len(set(groups.values())) == N + 1


def groups_of(shown: dict[str, Image.Image], folder: Path) -> dict[str, int]:
    with SamePictures(folder, crops=True) as same:
        for name, picture in shown.items():
            same.add(name, picture)
        return same.groups(lambda name: shown[name])


def test_parts_of_small_flat_drawings_are_found(tmp_path: Path) -> None:
    """Of a picture 96 pixels wide a part may have 40, and what is finer than these is not compared."""
    pytest.importorskip("cv2", reason="the search for parts needs OpenCV")
    rng = np.random.default_rng(1)
    drawings = {str(i): drawing(i) for i in range(16)}
    parts = {f"{i} part": part_of(picture, 0.3, rng) for i, picture in drawings.items()}
    groups = groups_of(drawings | parts, tmp_path)
    found = [groups[name] == groups[name.removesuffix(" part")] for name in parts]
    assert sum(found) >= 13
    assert len(set(groups.values())) == len(drawings) + len(parts) - sum(found), "none is like another's"


def test_two_pictures_of_one_view_differ_by_a_lesion_only_and_are_two(tmp_path: Path) -> None:
    pytest.importorskip("cv2", reason="the search for parts needs OpenCV")
    rng = np.random.default_rng(1)
    of_one_view = (1, 14, 27, 44, 51, 59)
    pictures = {str(i): Image.open(io.BytesIO(simulate_case(0, i).picture)).convert("L") for i in of_one_view}
    parts = {f"{i} part": part_of(picture, 0.15, rng) for i, picture in pictures.items()}
    groups = groups_of(pictures | parts, tmp_path)
    assert [groups[name] == groups[name.removesuffix(" part")] for name in parts] == [True] * len(parts)
    assert len(set(groups.values())) == len(pictures)


def test_an_arrow_on_a_copy_makes_no_other_picture_of_it(tmp_path: Path) -> None:
    pytest.importorskip("cv2", reason="the search for parts needs OpenCV")
    rng = np.random.default_rng(3)
    pictures = {str(i): Image.open(io.BytesIO(simulate_case(0, i).picture)).convert("L") for i in range(N)}
    parts = {f"{i} part": part_of(with_arrow(picture, rng), 0.15, rng) for i, picture in pictures.items()}
    groups = groups_of(pictures | parts, tmp_path)
    assert sum(groups[name] == groups[name.removesuffix(" part")] for name in parts) >= 6


def test_without_opencv_it_is_said_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mrb_lib.build.construct.intake.crops.can_find_crops", lambda: False)
    with pytest.raises(InputError, match=r"pip install .*construct.* --no-crops"):
        Keypoints(tmp_path)
