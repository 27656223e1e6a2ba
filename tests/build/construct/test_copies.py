"""An image is known again however it was stored, mirrored or turned, and another image never is."""

from __future__ import annotations

import io
from pathlib import Path

from PIL import Image, ImageEnhance

from mrb_lib.benchmarks.near_duplicates import components, image_signature
from mrb_lib.build.construct.intake.copies import Signatures

from .sources import drawing, stored

N = 60
TURNS = list(Image.Transpose)


def groups_of(signatures: Signatures) -> dict[str, int]:
    codes = components(len(signatures.names), *signatures.alike())
    return dict(zip(signatures.names, codes.tolist(), strict=True))


def as_stored(picture: Image.Image, quality: int) -> Image.Image:
    return Image.open(io.BytesIO(stored(picture, "JPEG", quality=quality)))


def test_a_copy_is_found_in_any_orientation_and_others_are_not(tmp_path: Path) -> None:
    changed = {
        "jpeg": lambda picture: as_stored(picture, 40),
        "half": lambda picture: picture.resize((picture.width // 2, picture.height // 2)),
        "dim": lambda picture: ImageEnhance.Contrast(picture).enhance(0.7),
        "turned and stored": lambda picture: as_stored(picture.transpose(TURNS[1]), 60),
        **{turn.name: lambda picture, turn=turn: picture.transpose(turn) for turn in TURNS},
    }
    with Signatures(tmp_path) as signatures:
        for i in range(N):
            signatures.add(f"{i}", image_signature(drawing(i, 192)))
        for name, change in changed.items():
            for i in range(0, N, 6):
                signatures.add(f"{name} {i}", image_signature(change(drawing(i, 192))))
        groups = groups_of(signatures)
    assert len({groups[f"{i}"] for i in range(N)}) == N
    for name in changed:
        for i in range(0, N, 6):
            assert groups[f"{name} {i}"] == groups[f"{i}"], name
    assert not list(tmp_path.iterdir())


def test_images_of_one_grey_resemble_nothing(tmp_path: Path) -> None:
    with Signatures(tmp_path) as signatures:
        for i in range(3):
            signatures.add(str(i), image_signature(Image.new("L", (80, 80), 90)))
        assert len(set(groups_of(signatures).values())) == 3
