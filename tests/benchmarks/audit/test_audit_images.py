"""One defect in the images at a time: that finding, pointing at the case, and no other."""

import struct
import tracemalloc
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from mrb_lib.benchmarks.audit.folder import audit

from ..near_copies import dicom, stored
from .sound_benchmark import Sound, audit_with, picture, places, sound


def noise(*shape: int) -> Image.Image:
    return Image.fromarray(np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8))


def png_header_of(width: int, height: int) -> bytes:
    """A small PNG that announces any number of pixels, all of them black: a decompression bomb."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    body = zlib.compress(b"\0" * 1_000_000)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", body) + chunk(b"IEND", b"")


RAMP = np.arange(4096).reshape(64, 64)
SIXTEEN = Image.fromarray(np.random.default_rng(0).integers(0, 65535, (16, 24), dtype=np.uint16))
DEFECTS: dict[str, tuple[bytes | None, str, str]] = {
    "missing": (None, "error", "is missing"),
    "empty": (b"", "error", "is empty"),
    "text": (b"this is a text", "error", "not a readable image"),
    "postscript": (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n", "error", "not a readable image"),
    "half a PNG": (picture(3)[:400], "error", "not a readable image"),
    "a PNG without its end": (picture(3)[:-12], "error", "not a readable image"),
    "half a JPEG": (stored(noise(64, 64, 3), "JPEG")[:1500], "error", "not a readable image"),
    "a JPEG without its end": (stored(noise(64, 64, 3), "JPEG")[:-2], "error", "not a readable image"),
    "animated": (
        stored(noise(16, 24), "GIF", save_all=True, append_images=[noise(16, 24).rotate(180)]),
        "warning",
        "animated",
    ),
    "16-bit grey PNG": (stored(SIXTEEN, "PNG"), "warning", "8 bits a channel"),
    "16-bit TIFF": (stored(SIXTEEN, "TIFF"), "warning", "8 bits a channel"),
    "60 megapixels": (png_header_of(10_000, 6_000), "warning", "60 megapixels"),
    "a bomb": (png_header_of(60_000, 60_000), "error", "too large to show safely"),
}


def test_each_defective_image_is_one_finding(tmp_path: Path) -> None:
    """Each in a case of its own."""
    numbers = {f"{number:02d}": defect for number, defect in enumerate(DEFECTS.values(), 1)}
    images = {f"scan-{number}.png": content for number, (content, _, _) in numbers.items()}
    folder = sound().write(tmp_path / "bench")
    for name, content in images.items():
        (folder / "images" / name).unlink()
        if content is not None:
            (folder / "images" / name).write_bytes(content)
    findings = audit(folder)
    assert sorted(finding.case_id for finding in findings) == [f"case-{number}" for number in numbers]
    for finding in findings:
        number = finding.case_id.removeprefix("case-")
        _, severity, problem = numbers[number]
        assert places([finding]) == [(severity, "cases.parquet", int(number), "images")]
        assert f"images/scan-{number}.png" in finding.problem and problem in finding.problem


def test_a_bomb_costs_no_memory(tmp_path: Path) -> None:
    folder = sound().write(tmp_path / "bench")
    audit(folder)  # imports and caches are paid for here
    (folder / "images" / "scan-07.png").write_bytes(png_header_of(10_000, 6_000))
    (folder / "images" / "scan-08.png").write_bytes(png_header_of(60_000, 60_000))
    tracemalloc.start()
    findings = audit(folder)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert [finding.row for finding in findings] == [8, 7]
    assert peak < 30e6  # either of the two would take more than 170 MB decoded


def test_sound_images_of_every_format_give_no_finding(tmp_path: Path) -> None:
    formats = ("PNG", "JPEG", "BMP", "TIFF", "WEBP", "GIF", "JPEG2000")
    shapes = {f"scan-{i:02d}.png": stored(noise(16, 24 + i), name) for i, name in enumerate(formats, 1)}
    assert audit_with(tmp_path, lambda b: b.images.update(shapes)) == []


def test_a_sound_dicom_image_without_a_patient_gives_no_finding(tmp_path: Path) -> None:
    files = {
        "scan-07.png": dicom(RAMP, PatientName="", PatientID=""),
        "scan-08.png": dicom(RAMP, PatientID="7", PatientIdentityRemoved="YES"),
    }
    assert audit_with(tmp_path, lambda b: b.images.update(files)) == []


@pytest.mark.parametrize(
    ("content", "severity", "problem"),
    [
        (dicom(RAMP, PatientName="x", PatientID="7"), "warning", "identifies the patient (PatientName, PatientID"),
        (dicom(RAMP)[:2000], "error", "is not a readable DICOM image"),
        (dicom(RAMP, Rows=20_000, Columns=20_000), "error", "is too large"),
        (dicom(np.stack([RAMP, RAMP])), "warning", "holds 2 pictures"),
    ],
    ids=["a patient", "cut off", "too large", "two frames"],
)
def test_a_dicom_image_with_a_defect(tmp_path: Path, content: bytes, severity: str, problem: str) -> None:
    (finding,) = audit_with(tmp_path, lambda b: b.images.update({"scan-07.png": content}))
    assert (finding.severity, finding.row, finding.column) == (severity, 7, "images")
    assert f"images/scan-07.png {problem}" in finding.problem
    assert finding.cure


def test_an_image_of_several_cases_is_reported_once(tmp_path: Path) -> None:
    def change(b: Sound) -> None:
        b.put("images", 9, ["scan-07.png", "scan-09.png"])
        b.images["scan-07.png"] = b""

    (finding,) = audit_with(tmp_path, change)
    assert finding.row == 7 and "1 more cases" in finding.problem


def test_an_unused_image_is_named_except_in_a_work_folder_where_it_belongs_to_an_item(tmp_path: Path) -> None:
    benchmark = sound()
    benchmark.images["stray.png"] = picture(99)
    folder = benchmark.write(tmp_path / "work")
    assert places(audit(folder)) == [("warning", "images/stray.png", None, None)]
    (folder / "construction.toml").touch()
    assert audit(folder) == []


def test_a_link_out_of_the_folder_is_not_followed(tmp_path: Path) -> None:
    folder = sound().write(tmp_path / "bench")
    (tmp_path / "elsewhere.png").write_bytes(picture(7))
    (folder / "images" / "scan-07.png").unlink()
    (folder / "images" / "scan-07.png").symlink_to(tmp_path / "elsewhere.png")
    findings = audit(folder)
    assert places(findings) == [("error", "cases.parquet", 7, "images")]
    assert "link" in findings[0].problem
