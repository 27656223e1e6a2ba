"""The ground truth files of the official layout: `pair_gt_all/<organ>.jsonl`."""

from __future__ import annotations

from pathlib import Path

from mrb_lib.data.formats.base import counted
from mrb_lib.data.formats.sources import Record, read_jsonl
from mrb_lib.errors import InputError
from mrb_lib.replies.parse import plain_choice
from mrb_lib.schema import DIMENSIONS
from mrb_lib.validation import Finding


def read_ground_truth(path: Path, findings: list[Finding]) -> dict[str, dict[str, str]]:
    """The consensus labels of one organ.

    Returns
    -------
    dict
        For each question id, as text, the label (A, B or tie) of each dimension that has one.

    Raises
    ------
    InputError
        The file is damaged or empty, a question id occurs twice (the published script
        takes the last and shrinks its denominators), or a label is no label.
    """
    truth: dict[str, dict[str, str]] = {}
    places: dict[str, str] = {}
    absent = 0
    for record in read_jsonl(path, findings):
        question = record.id("question_id")
        if question in places:
            problem = f"{question!r} occurs again (first in {places[question]})"
            raise record.error("question_id", problem, "keep one of the two")
        places[question] = record.place
        truth[question] = _labels(record)
        absent += len(DIMENSIONS) - len(truth[question])
    if not truth:
        raise InputError(f"{path}: is empty; restore it from its source.")
    cure = "those cases are unlabelled on those dimensions"
    findings += counted(absent, "warning", path, "labels are absent", cure, "human_answer")

    return truth


def _labels(record: Record) -> dict[str, str]:
    answer = record.get("human_answer")
    if not isinstance(answer, dict):
        raise record.error("human_answer", "is not an object with a label for each dimension", "restore the line")
    labels = {}
    for dimension in DIMENSIONS:
        value = answer.get(dimension)
        if value is None:
            continue
        choice = plain_choice(value)
        if choice is None:
            raise record.error(f"human_answer.{dimension}", f"{str(value)[:60]!r} is not a label", "use A, B or tie")
        labels[dimension] = choice
    return labels
