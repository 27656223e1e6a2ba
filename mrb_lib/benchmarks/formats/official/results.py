"""The result files of the official pipeline as verdicts.

`.../<organ>/pair_<judge>.jsonl` and `.../all/pair_<judge>.jsonl`; a slash in the
judge's name makes a subfolder. A raw file's `chosen_answer` is the judge's reply, a
normalized file's an object of choices. The same verdicts stand in several trees. A raw
reply is read anew, because the published parser takes the article "a" for a verdict,
and drops a reply for one unreadable dimension; how many choices differ from those of the
normalized file is counted. Only a case without a raw reply is taken from there.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from mrb_lib.benchmarks.formats.sources import SourceRow, read_jsonl
from mrb_lib.replies.reading import choices_in_object, parse
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.schema import DIMENSIONS
from mrb_lib.tables.validation import Finding, counted

PREFIX, ALL = "pair_", "all"


class ResultFile(NamedTuple):
    """A result file, the judge its name states, and its group: an organ, or `all`."""

    path: Path
    judge: str
    group: str


@dataclass
class _JudgeResults:
    """Replies, and objects of choices, by case, each with the record it came from."""

    replies: dict[str, tuple[object, SourceRow]] = field(default_factory=dict)
    choices: dict[str, tuple[object, SourceRow]] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)


def result_files(folder: Path, organs: Collection[str], findings: list[Finding]) -> list[ResultFile]:
    """Return the result files under a folder; those in a folder that is not an organ are counted and left out."""
    files = []
    for path in sorted(folder.rglob("*.jsonl")):
        parts = path.relative_to(folder).parts
        start = next((i for i, folder in enumerate(parts) if i and folder.startswith(PREFIX)), None)
        if start is None or "pair_gt_all" in parts:
            continue
        if parts[start - 1] not in organs and parts[start - 1] != ALL:
            problem = f"{parts[start - 1]} is not an organ of this data, so its results are left out"
            findings.append(Finding("warning", str(path), None, None, problem, "add the organ's files or remove it"))
            continue
        judge = "/".join(parts[start:]).removeprefix(PREFIX).removesuffix(".jsonl")
        if not judge:
            raise InputError(f"{path}: the name states no judge; name the file pair_<judge>.jsonl.")
        files.append(ResultFile(path, judge, parts[start - 1]))
    return files


def read_results(
    files: Iterable[ResultFile],
    case_ids: Mapping[tuple[str, str], str],
    cases: pd.DataFrame,
    source: Path,
    findings: list[Finding],
) -> list[tuple[str | None, ...]]:
    """Return the verdicts of all result files in the order AB, as rows for `import_tables`.

    Parameters
    ----------
    case_ids : the case id by organ and question id
    cases : the cases table, whose order the verdicts follow

    Returns
    -------
    list of tuples
        Six rows a judge and case that has a row in a result file. Where there is a raw
        reply, choice and status are what `mrb_lib.replies.reading` reads in it, whatever
        the normalized file says. Where there is only a normalized object, its choices are
        `ok`, and a dimension without one is `unparsed`.

    Raises
    ------
    InputError
        A file is damaged, two files give different verdicts of a judge on a case, or
        none of a judge's rows is about a case of this data.
    """
    owners: dict[str, list[str]] = defaultdict(list)
    for organ, question in case_ids:
        owners[question].append(organ)
    judges: dict[str, _JudgeResults] = defaultdict(_JudgeResults)
    for file in files:
        records = read_jsonl(file.path)
        if not records and "normalized" not in str(file.path.relative_to(source)):
            problem = "is empty (the published script empties it before it judges)"
            findings.append(Finding("warning", str(file.path), None, None, problem, "judge again or restore it"))
        for record in records:
            _take(record, file, judges[file.judge], owners, case_ids)
    rows: list[tuple[str | None, ...]] = []
    for name, judge in sorted(judges.items()):
        if judge.counts["rows"] and judge.counts["rows"] == judge.counts["unknown"]:
            raise InputError(f"{source}: no verdict of judge {name} is about a case of this data; check the folder.")
        judge_rows = [row for case_id in cases["case_id"] for row in _rows_of(name, judge, case_id)]
        rows += judge_rows
        findings += _count(name, judge, judge_rows, len(cases), source)
    return rows


def _take(
    record: SourceRow,
    file: ResultFile,
    judge: _JudgeResults,
    owners: Mapping[str, Sequence[str]],
    case_ids: Mapping[tuple[str, str], str],
) -> None:
    """Remember the verdict of a record; a different one on the same case is refused."""
    judge.counts["rows"] += 1
    question, answer = record.id("question_id"), record.get("chosen_answer")
    organs = owners.get(question, ())
    if not organs:
        judge.counts["unknown"] += 1
        return
    stated = [organ for organ in (record.values.get("modality_type"), file.group) if organ in organs]
    if len(organs) > 1 and not stated:
        raise record.error("modality_type", f"question {question} occurs in {', '.join(organs)}", "state one of them")
    if answer is not None and not isinstance(answer, (str, dict)):
        raise record.error("chosen_answer", f"is {type(answer).__name__}, not text or an object", "restore it")
    case_id = case_ids[str(stated[0]) if len(organs) > 1 else organs[0], question]
    known = judge.choices if isinstance(answer, dict) else judge.replies
    value, first = known.setdefault(case_id, (answer, record))
    judge.counts["repeated"] += first is not record
    if value != answer:
        problem = f"differs from the verdict on the same case in {first.file}, {first.location}"
        raise record.error("chosen_answer", problem, "remove the result files of one of the two runs")


def _rows_of(name: str, judge: _JudgeResults, case_id: str) -> list[tuple[str | None, ...]]:
    if case_id not in judge.replies and case_id not in judge.choices:
        return []
    reply, published = (known.get(case_id, (None,))[0] for known in (judge.replies, judge.choices))
    choices: Mapping[str, str | None] = choices_in_object(published, DIMENSIONS) if isinstance(published, dict) else {}
    if isinstance(reply, str):
        reading = parse(reply, DIMENSIONS)
        if published is not None:
            judge.counts["changed"] += sum(choices.get(one) != reading.choices.get(one) for one in DIMENSIONS)
        return [
            (name, case_id, one, "AB", reading.choices.get(one), reading.status_of(one), reply) for one in DIMENSIONS
        ]
    shown = None if case_id in judge.replies else json.dumps(published, ensure_ascii=False)
    stated = [(one, choices.get(one)) for one in DIMENSIONS]
    return [(name, case_id, one, "AB", choice, "ok" if choice else "unparsed", shown) for one, choice in stated]


def _count(
    name: str, judge: _JudgeResults, rows: Sequence[tuple[str | None, ...]], n_cases: int, source: Path
) -> list[Finding]:
    statuses, by, stay = Counter(row[5] for row in rows), f"judge {name}", "they stay, without a choice"
    null = sum(reply is None and case not in judge.choices for case, (reply, _) in judge.replies.items())
    absent = n_cases - len(rows) // len(DIMENSIONS)
    changed = f"verdicts of {by} differ from the normalized file"
    findings = counted(
        judge.counts["repeated"], "info", source, f"rows of {by} repeat another's verdict", "one is read"
    )
    for n, problem, cure in (
        (judge.counts["unknown"], f"rows of {by} are about no case of this data", "they are left out"),
        (judge.counts["changed"], changed, "the choice in the reply counts"),
        (null, f"chosen_answer values of {by} are null", "they are read as unparsed"),
        (statuses["unparsed"], f"verdicts of {by} are unparsed", stay),
        (statuses["refused"], f"verdicts of {by} are refused", stay),
        (absent, f"cases have no row of {by}", "the published script counts them wrong"),
    ):
        findings += counted(n, "warning", source, problem, cure)
    return findings
