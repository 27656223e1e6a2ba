"""Faults of images: unreadable, cut off, too large, of several frames, or with texts that may name a patient."""

import hashlib
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from mrb_lib.benchmarks.benchmark import FolderImages
from mrb_lib.benchmarks.images.dicom import facts, is_dicom, read_dicom
from mrb_lib.benchmarks.images.metadata import without_texts
from mrb_lib.benchmarks.images.pictures import Progress, raster
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.schema import WORK_RECORD
from mrb_lib.tables.validation import Finding, Severity, case_finding

MAX_PIXELS = 50_000_000

Problem = tuple[Severity, str, str]


def image_findings(
    folder: Path, cases: pd.DataFrame, progress: Progress | None = None
) -> tuple[list[Finding], dict[str, str]]:
    """Audit the images of a benchmark folder, one at a time.

    Every image is decoded in full, except one whose header announces more than 50
    megapixels: that one is never decoded.

    Parameters
    ----------
    folder : the benchmark's `images` folder; it may be absent. That of a work folder also has the images of items
        without a case, which is no finding
    cases : the cases table; `images` holds lists of safe names
    progress : called with "images", how many are done, and of how many

    Returns
    -------
    findings : list of Finding
        Those about an image that a case names point at the case's row.
    digests : dict
        The digest of the bytes of every file that could be read, by image name.

    Notes
    -----
    Tested by tests/benchmarks/audit/test_audit_images.py.
    """
    users: dict[str, list[int]] = {}
    for i, names in enumerate(cases["images"]):
        for name in names:
            users.setdefault(name, []).append(i)
    findings: list[Finding] = []
    digests: dict[str, str] = {}
    files = FolderImages(folder)
    is_work = (folder.parent / WORK_RECORD).is_file()
    composed = {unicodedata.normalize("NFC", name) for name in users}
    unused = {name for name in files if unicodedata.normalize("NFC", name) not in composed}
    names = sorted(users.keys() | (set() if is_work else unused))
    for done, name in enumerate(names, start=1):
        problems: list[Problem] = []
        try:
            path = files.path(name)
            if path.is_dir():
                problems = [("error", "is a folder", "name the files in it, or put the image there")]
            elif not path.is_file():
                problems = [("error", "is missing", "restore the file, or remove its name from the case")]
            elif name not in users:
                problems = [("warning", "is named by no case", "remove it, or add its name to its case")]
            else:
                content = path.read_bytes()
                problems = list(_problems(content))
                digests[name] = hashlib.blake2b(content).hexdigest()
        except InputError:
            problems = [("error", "is a link out of the folder", "put the file itself there")]
        findings += [_finding(name, users.get(name, []), cases, problem) for problem in problems]
        if progress is not None:
            progress("images", done, len(names))
    return findings, digests


def _finding(name: str, rows: list[int], cases: pd.DataFrame, problem: Problem) -> Finding:
    """Return a finding about an image that points at the first of the cases that name it."""
    severity, what, cure = problem
    if not rows:
        return Finding(severity, f"images/{name}", None, None, f"the image {what}", cure)
    others = f" (and {len(rows) - 1} more cases name it)" if len(rows) > 1 else ""
    return case_finding(cases, rows[0], "images", f"images/{name} {what}{others}", cure, severity=severity)


def _problems(content: bytes) -> Iterator[Problem]:
    if not content:
        yield "error", "is empty", "restore the file from its source"
        return
    try:
        yield from _of_dicom(content) if is_dicom(content) else _of_raster(content)
    except InputError as error:  # "image: problem; cure."
        problem, _, cure = str(error).removeprefix("image: ").removesuffix(".").rpartition("; ")
        yield "error", problem, cure


def _of_dicom(content: bytes) -> Iterator[Problem]:
    read_dicom(content)
    stated = facts(content)
    if stated.frames > 1:
        problem = f"holds {stated.frames} pictures, and a judge sees the first only"
        yield "warning", problem, "store the frame that counts"
    if stated.identifying:
        cure = "empty these elements, or set PatientIdentityRemoved to YES if what they hold is a pseudonym"
        yield "warning", f"identifies the patient ({', '.join(stated.identifying)})", cure


def _of_raster(content: bytes) -> Iterator[Problem]:
    with raster(content) as image:
        if (pixels := image.width * image.height) > MAX_PIXELS:
            size = f"{image.width} x {image.height} pixels ({pixels / 1e6:.0f} megapixels, over {MAX_PIXELS / 1e6:.0f})"
            yield "warning", f"has {size} and was not decoded", "store it smaller"
            return
        if getattr(image, "is_animated", False) and image.format != "MPO":
            yield "warning", "is animated, and a judge sees the first frame only", "store the frame that counts"
        if image.mode.startswith(("I", "F")):
            yield "warning", "has more than 8 bits a channel, which readers cut off", "window it and store 8 bits"
        if texts := without_texts(content)[1]:
            problem = f"holds texts beside its pixels, which may name a patient ({', '.join(texts[:6])})"
            yield "warning", problem, "remove them, or import the benchmark again, which does"
        image.load()
    if image.format == "PNG":
        # The decoder stops at the last pixel: a file cut off in the chunks behind it is found only here.
        with raster(content) as reopened:
            reopened.verify()
