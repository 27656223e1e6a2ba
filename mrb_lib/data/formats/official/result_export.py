"""Writing verdicts as result files of the official pipeline, raw and normalized."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TextIO

import pandas as pd

from mrb_lib.data.formats.base import counted
from mrb_lib.errors import InputError
from mrb_lib.files import inside, is_safe_name, slug
from mrb_lib.schema import DIMENSIONS, NO_PROBE
from mrb_lib.validation import Finding

RAW, NORMALIZED = "data/benchmark_result_parquet1", "data/benchmark_result_parquet_normalized1"
_FILE = "export"
_ANEW = "the reply decides it anew when it is read back"
_WRITTEN = {"judge", "case_id", "dimension", "order", "repeat", "probe", "choice", "status", "reply", "answer_model"}
_COPIED = ("dataset", "modality_type", "question_type", "question")


def write_results(verdicts: pd.DataFrame, cases: pd.DataFrame, out: Path, findings: list[Finding]) -> None:
    """Write `pair_<judge>.jsonl` under the raw and the normalized tree.

    Parameters
    ----------
    cases : the cases that are written; verdicts on others are counted and left out

    Notes
    -----
    A raw row's `chosen_answer` is the judge's reply to the case. Where the judge gave
    a reply to each dimension, or none, it is the JSON object of its choices. A
    normalized row holds the choices there are; a case without any has none, as in the
    published pipeline.
    """
    rows = _selected(verdicts, cases, findings)
    if rows.empty:
        return
    _count_lost_columns(rows, findings)
    shown = _shown(cases)
    replaced = 0
    for judge, mine in rows.groupby("judge", sort=True):
        name = _file_name(str(judge), findings)
        replaced += _write_judge(str(judge), name, mine, shown, out)
    findings += counted(
        replaced, "info", _FILE, "cases have no one reply of a judge", "its choices stand there as JSON", "reply"
    )


def _selected(verdicts: pd.DataFrame, cases: pd.DataFrame, findings: list[Finding]) -> pd.DataFrame:
    kept = pd.Series(True, index=verdicts.index)
    for column, allowed, what in (
        ("order", ["AB"], "verdicts have the order BA"),
        ("repeat", [0], "verdicts are repeats"),
        ("probe", [NO_PROBE], "verdicts are about a probed case"),
        ("dimension", list(DIMENSIONS), "verdicts are on a dimension the layout lacks"),
        ("case_id", list(cases["case_id"]), "verdicts are on cases left out"),
    ):
        fits = verdicts[column].isin(allowed)
        findings += counted(int((kept & ~fits).sum()), "warning", _FILE, what, "they are left out", column)
        kept &= fits
    rows = verdicts[kept]
    for status, cure in (("repaired", _ANEW), ("refused", _ANEW), ("error", "they read back as unparsed")):
        count = int((rows["status"] == status).sum())
        problem = f"verdicts have status {status}"
        findings += counted(count, "info", _FILE, problem, cure, "status")

    return rows


def _count_lost_columns(rows: pd.DataFrame, findings: list[Finding]) -> None:
    for name in rows.columns:
        if name not in _WRITTEN:
            count = int(rows[name].notna().sum())
            findings += counted(count, "info", _FILE, "values have no place here", "they are left out", str(name))


def _shown(cases: pd.DataFrame) -> dict[str, dict[str, object]]:
    """What a result row repeats of its case, by case id, in the order of the cases."""
    frame = cases.assign(modality_type=cases["organ"])
    names = [*_COPIED, "image_id", "body_part"]
    columns = {name: _nulled(frame[name]) if name in frame.columns else [None] * len(frame) for name in names}
    return {
        case_id: dict(zip(names, values, strict=True))
        for case_id, *values in zip(frame["case_id"], *columns.values(), strict=True)
    }


def _nulled(values: pd.Series) -> list[object]:
    return [None if missing else value for value, missing in zip(values.tolist(), values.isna(), strict=True)]


def _file_name(judge: str, findings: list[Finding]) -> str:
    """The judge's name where it can name a file (a slash makes a subfolder), else a name made from it."""
    if is_safe_name(judge) and judge.isprintable() and all(0 < len(part) <= 100 for part in judge.split("/")):
        return judge
    name = slug(judge)
    problem = f"the judge's name {judge!r} cannot name a file"
    findings.append(Finding("warning", _FILE, None, "judge", problem, f"it is written, and reads back, as {name}"))
    return name


def _write_judge(
    judge: str, name: str, rows: pd.DataFrame, shown: Mapping[str, Mapping[str, object]], out: Path
) -> int:
    """Write one judge's files; returns the number of cases whose reply is made from the choices."""
    answers = _answers(rows)
    replaced = 0
    files: dict[str, TextIO] = {}
    try:
        for case_id, case in shown.items():
            if case_id not in answers:
                continue
            reply, choices, model = answers[case_id]
            if choices and reply is None:
                reply = json.dumps(choices)
                replaced += 1
            organ = str(case["modality_type"])
            for group in ("all", organ):
                _line(_open(files, out, f"{RAW}/{group}", name), judge, case_id, case, reply, model)
            normalized = _open(files, out, f"{NORMALIZED}/{organ}", name)
            if choices:
                _line(normalized, judge, case_id, case, choices, model)
    finally:
        for stream in files.values():
            stream.close()
    return replaced


def _answers(rows: pd.DataFrame) -> dict[str, tuple[str | None, dict[str, str], str | None]]:
    """The one reply, the choices by dimension and the answer model of each case."""
    absent = pd.Series(None, index=rows.index, dtype="str")
    names = ("choice", "reply", "answer_model")
    columns = [_nulled(rows[name] if name in rows.columns else absent) for name in names]
    replies: dict[str, set[object]] = {}
    choices: dict[str, dict[str, str]] = {}
    models: dict[str, str | None] = {}
    for case_id, dimension, choice, reply, model in zip(rows["case_id"], rows["dimension"], *columns, strict=True):
        replies.setdefault(case_id, set()).add(reply)
        given = choices.setdefault(case_id, {})
        if choice is not None:
            given[dimension] = str(choice)
        models[case_id] = None if model is None else str(model)
    answers = {}
    for case_id, given in choices.items():
        only = replies[case_id].pop() if len(replies[case_id]) == 1 else None
        ordered = {name: given[name] for name in DIMENSIONS if name in given}
        answers[case_id] = (None if only is None else str(only), ordered, models[case_id])
    return answers


def _open(files: dict[str, TextIO], out: Path, folder: str, name: str) -> TextIO:
    if folder not in files:
        path = inside(out, f"{folder}/pair_{name}.jsonl")
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists():
            raise InputError(f"{path}: two judges would share this file; rename one of them.")
        files[folder] = path.open("w", encoding="utf-8", newline="\n")
    return files[folder]


def _line(
    stream: TextIO,
    judge: str,
    case_id: str,
    case: Mapping[str, object],
    answer: str | Mapping[str, str] | None,
    model: str | None,
) -> None:
    row = {
        "question_id": case_id,
        **{name: case[name] for name in _COPIED},
        "chosen_answer": answer,
        "image_id": case["image_id"],
        "body_part": case["body_part"],
        "answer_model": model or judge,
    }
    stream.write(json.dumps(row, ensure_ascii=False, default=str) + "\n")
