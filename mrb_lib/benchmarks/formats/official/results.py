"""The result files of the official pipeline as verdicts.

`.../<organ>/pair_<judge>.jsonl` and `.../all/pair_<judge>.jsonl`; a slash in the
judge's name makes a subfolder. A raw file's `chosen_answer` is the judge's reply, a
normalized file's an object of choices. The same verdicts stand in several trees. A raw
reply is read anew, because the published parser takes the article "a" for a verdict,
and drops a reply for one unreadable dimension; how many verdicts differ from the
normalized file is counted. Only a case without a raw reply is taken from there.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import pandas as pd

from mrb_lib.benchmarks.formats.base import verdict_table
from mrb_lib.benchmarks.formats.sources import SourceRow, read_jsonl
from mrb_lib.replies.reading import choices_in_object, parse
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.schema import DIMENSIONS
from mrb_lib.tables.validation import Finding, counted

PREFIX, ALL = "pair_", "all"
NORMALIZED = "normalized"

V = TypeVar("V")


@dataclass(frozen=True)
class ResultFile:
    """A result file, the judge its name states, and its group: an organ, or `all`."""

    path: Path
    judge: str
    group: str
    normalized: bool


@dataclass
class _JudgeResults:
    """What was read of one judge; replies and choices by case, with the record they came from."""

    replies: dict[str, tuple[str | None, SourceRow]] = field(default_factory=dict)
    choices: dict[str, tuple[Mapping[str, object], SourceRow]] = field(default_factory=dict)
    models: dict[str, str] = field(default_factory=dict)
    normalized_groups: set[str] = field(default_factory=set)
    counts: Counter[str] = field(default_factory=Counter)


def result_files(folder: Path, organs: Collection[str], findings: list[Finding]) -> list[ResultFile]:
    """The result files under a folder; those in a folder that is not an organ are counted and left out."""
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
        tree = "/".join(parts[: start - 1])
        files.append(ResultFile(path, judge, parts[start - 1], NORMALIZED in tree))
    return files


def read_results(
    files: Iterable[ResultFile],
    case_ids: Mapping[tuple[str, str], str],
    cases: pd.DataFrame,
    source: Path,
    findings: list[Finding],
) -> pd.DataFrame:
    """The verdicts of all result files; order AB, repeat 0, probe none.

    Parameters
    ----------
    case_ids : the case id by organ and question id
    cases : the cases table, whose order the verdicts follow

    Returns
    -------
    DataFrame
        Six rows a judge and case that has a row in a result file. Where there is a raw
        reply, choice and status are what `mrb_lib.replies.reading` reads in it, whatever
        the normalized file says; the findings count, for each judge, the verdicts
        that differ from there. Where there is only a normalized object, its choices are
        `ok`, and a dimension without one is `unparsed`. Column `answer_model` is kept where it is not simply the
        judge's name.

    Raises
    ------
    InputError
        A file is damaged, two files give different verdicts of a judge on a case, or
        none of a judge's rows is about a case of this data.
    """
    judges = _gather(files, case_ids, findings)
    rows: list[tuple[str | None, ...]] = []
    models: list[str | None] = []
    organ_of = dict(zip(cases["case_id"], cases["organ"], strict=True))
    for name in sorted(judges):
        judge = judges[name]
        if judge.counts["rows"] and judge.counts["rows"] == judge.counts["unknown"]:
            raise InputError(f"{source}: no verdict of judge {name} is about a case of this data; check the folder.")
        judge_rows = _rows_of(name, judge, organ_of)
        rows += judge_rows
        models += [judge.models.get(str(row[1])) for row in judge_rows]
        findings += _count(name, judge, judge_rows, len(cases), source)
    table = verdict_table(rows, source)
    if any(model is not None for model in models):
        table["answer_model"] = pd.Series(models, dtype="str")
    return table


def _gather(
    files: Iterable[ResultFile], case_ids: Mapping[tuple[str, str], str], findings: list[Finding]
) -> dict[str, _JudgeResults]:
    """What the files say, by judge."""
    owners: dict[str, list[str]] = defaultdict(list)
    for organ, question in case_ids:
        owners[question].append(organ)
    judges: dict[str, _JudgeResults] = defaultdict(_JudgeResults)
    for file in files:
        judge = judges[file.judge]
        records = read_jsonl(file.path, findings)
        if file.normalized and file.group != ALL:
            judge.normalized_groups.add(file.group)
        if not records and not file.normalized:
            problem = "is empty (the published script empties it before it judges)"
            findings.append(Finding("warning", str(file.path), None, None, problem, "judge again or restore it"))
        for record in records:
            _take(record, file, judge, owners, case_ids)
    return judges


def _take(
    record: SourceRow,
    file: ResultFile,
    judge: _JudgeResults,
    owners: Mapping[str, Sequence[str]],
    case_ids: Mapping[tuple[str, str], str],
) -> None:
    judge.counts["rows"] += 1
    question = record.id("question_id")
    answer = record.get("chosen_answer")
    organs = owners.get(question, ())
    if not organs:
        judge.counts["unknown"] += 1
        return
    organ = _organ(record, file, organs, question)
    case_id = case_ids[organ, question]
    if isinstance(answer, dict):
        judge.normalized_groups.add(organ)
        judge.counts["repeated"] += _keep(judge.choices, case_id, answer, record)
    elif answer is None or isinstance(answer, str):
        judge.counts["repeated"] += _keep(judge.replies, case_id, answer, record)
    else:
        raise record.error("chosen_answer", f"is {type(answer).__name__}, not text or an object", "restore it")
    model = record.values.get("answer_model")
    if isinstance(model, str) and model != file.judge:
        judge.models[case_id] = model


def _organ(record: SourceRow, file: ResultFile, organs: Sequence[str], question: str) -> str:
    if len(organs) == 1:
        return organs[0]
    for organ in (record.values.get("modality_type"), file.group):
        if isinstance(organ, str) and organ in organs:
            return organ
    raise record.error("modality_type", f"question {question} occurs in {', '.join(organs)}", "state one of them")


def _keep(verdicts: dict[str, tuple[V, SourceRow]], case_id: str, value: V, record: SourceRow) -> bool:
    """Remember a verdict; whether there was one already. A different one is refused."""
    first = verdicts.setdefault(case_id, (value, record))
    if first[1] is record:
        return False
    if first[0] != value:
        problem = f"differs from the verdict on the same case in {first[1].file}, {first[1].location}"
        raise record.error("chosen_answer", problem, "remove the result files of one of the two runs")
    return True


def _rows_of(name: str, judge: _JudgeResults, organ_of: Mapping[str, str]) -> list[tuple[str | None, ...]]:
    rows: list[tuple[str | None, ...]] = []
    for case_id in organ_of:
        if case_id not in judge.replies and case_id not in judge.choices:
            continue
        reply = judge.replies[case_id][0] if case_id in judge.replies else None
        published = _published(judge, case_id, organ_of[case_id])
        choices: Mapping[str, str | None] = published or {}
        statuses: dict[str, str] = {}
        if reply is not None:
            reading = parse(reply, DIMENSIONS)
            choices = reading.choices
            statuses = {dimension: reading.status_of(dimension) for dimension in DIMENSIONS}
            if published is not None:
                judge.counts["changed"] += sum(published.get(name) != choices.get(name) for name in DIMENSIONS)
        elif case_id not in judge.replies:
            reply = json.dumps(judge.choices[case_id][0], ensure_ascii=False)
        for dimension in DIMENSIONS:
            choice = choices.get(dimension)
            status = statuses.get(dimension, "ok" if choice else "unparsed")
            rows.append((name, case_id, dimension, "AB", choice, status, reply))
    return rows


def _published(judge: _JudgeResults, case_id: str, organ: str) -> Mapping[str, str] | None:
    """The choices in the judge's normalized file, none where it dropped the case; None where there is no such file."""
    if case_id in judge.choices:
        return choices_in_object(judge.choices[case_id][0], DIMENSIONS)
    return {} if organ in judge.normalized_groups else None


def _count(
    name: str, judge: _JudgeResults, rows: Sequence[tuple[str | None, ...]], n_cases: int, source: Path
) -> list[Finding]:
    statuses = Counter(row[5] for row in rows)
    null = sum(reply is None and case not in judge.choices for case, (reply, _) in judge.replies.items())
    absent = n_cases - len(rows) // len(DIMENSIONS)
    by, stay = f"judge {name}", "they stay, without a choice"
    changed = f"verdicts of {by} differ from the normalized file"
    return [
        *counted(
            judge.counts["unknown"],
            "warning",
            source,
            f"rows of {by} are about no case of this data",
            "they are left out",
        ),
        *counted(
            judge.counts["repeated"], "info", source, f"rows of {by} repeat another file's verdict", "one is read"
        ),
        *counted(judge.counts["changed"], "warning", source, changed, "the choice in the reply counts"),
        *counted(null, "warning", source, f"chosen_answer values of {by} are null", "they are read as unparsed"),
        *counted(statuses["unparsed"], "warning", source, f"verdicts of {by} are unparsed", stay),
        *counted(statuses["refused"], "warning", source, f"verdicts of {by} are refused", stay),
        *counted(absent, "warning", source, f"cases have no row of {by}", "the published script counts them wrong"),
    ]
