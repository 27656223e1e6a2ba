"""Reading the published layout: a folder of pairs with images, ground truth, and result files.

Pairs are in `pair_gt_all/parquet/<organ>.parquet`, labels in `pair_gt_all/<organ>.jsonl`. Results are in
`.../<organ>/pair_<judge>.jsonl` and `.../all/pair_<judge>.jsonl`; a slash in the judge's name makes a subfolder. A raw
file's `chosen_answer` is the judge's reply, a normalized file's an object of choices. The same verdicts stand in
several trees. A raw reply is read anew, because the published parser takes the article "a" for a verdict, and drops a
reply for one unreadable dimension; how many choices differ from those of the normalized file is counted. Only a case
without a raw reply is taken from there.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import pyarrow as pa

from mrb_lib.benchmarks.benchmark import open_parquet, read_table
from mrb_lib.benchmarks.formats.base import Imported, import_tables, reads
from mrb_lib.benchmarks.formats.images import ImageIndex, ParquetImages, holds_bytes
from mrb_lib.benchmarks.formats.mapping import clash, column_map
from mrb_lib.benchmarks.formats.sources import SourceRow, by_id, id_text, read_jsonl
from mrb_lib.benchmarks.meta import BenchmarkMeta, meta_from
from mrb_lib.replies.reading import choices_in_object, parse, plain_choice
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.files import slug
from mrb_lib.tables.schema import CASES, CONSENSUS, DIMENSIONS, ORGAN_DEPARTMENT, ORGANS
from mrb_lib.tables.validation import Finding, counted

DATA, ALL = "pair_gt_all", "all"
PREFIX = "pair_"
RENAMED = {
    "question_id": "case_id",
    "question": "question",
    "answer1_text": "response_a",
    "answer2_text": "response_b",
}
IMAGE, ORGAN, ORDER, NOTE = "image", "modality_type", "mrb_order", b"mrb"
_TEXT = {column.name for column in CASES if column.type == "str"} - set(RENAMED.values())
_TAKEN = {"case_id", "response_a", "response_b", "images", "organ"}
_META: Mapping[str, object] = {
    "kind": "clinical",
    "description": "Imported from the published Med-RewardBench layout",
    "citation": "Med-RewardBench, arXiv 2508.21430",
}
Labels = Mapping[str, str]


class OrganFile(NamedTuple):
    """One organ's rows before they are put together.

    `ids` and the name of the column of images are as in the file; `labels` are those of each question and dimension.
    """

    path: Path
    organ: str
    ids: list[str]
    frame: pd.DataFrame
    note: Mapping[str, object]
    image_column: str | None
    labels: Mapping[str, Labels]


@reads("official", about="the published layout of Med-RewardBench, with every result file below the folder")
def read(src: Path) -> Imported:
    """Read a data root of the published layout, and every result file under it.

    Parameters
    ----------
    src : the folder that contains `pair_gt_all`; result files below it are read

    Returns
    -------
    Imported
        `case_id` is the question id as text (`<organ>/<question id>` for all cases
        where two organs share an id), `organ` the file's name, `department` follows
        from it. Columns the layout does not know are kept. One annotator,
        `consensus`. Labels are A and B, and tie where one occurs. Pairs without
        ground truth are cases without annotations; ground truth without a pair is
        left out and counted.

    Raises
    ------
    InputError
        A file is missing, damaged or ambiguous; names file, row and column.

    Notes
    -----
    Validated by tests/benchmarks/formats/test_official.py (round trip of the sample, the
    published metric recomputed) and test_official_traps.py (each known trap).
    """
    src = Path(src)
    data = src / DATA
    if not data.is_dir():
        raise InputError(f"{src}: holds no {DATA} folder; give the data root, the folder that contains {DATA}.")
    pairs = {path.stem: path for path in sorted((data / "parquet").glob("*.parquet"))}
    if not pairs:
        raise InputError(f"{data / 'parquet'}: holds no .parquet file; restore the data from its source.")
    for path in sorted(data.glob("*.jsonl")):
        if path.stem not in pairs:
            missing = data / "parquet" / f"{path.stem}.parquet"
            raise InputError(f"{missing}: the file is missing; restore it, or remove {path.name}.")
    findings: list[Finding] = []
    files = [read_organ(path, findings) for path in pairs.values()]
    cases, images, case_ids = combine(files, findings)
    for file in files:
        _check_match(file, data / f"{file.organ}.jsonl", findings)
    labels = {case_ids.get((file.organ, question)): own for file in files for question, own in file.labels.items()}
    rows = [
        (case_id, CONSENSUS, dimension, labels[case_id][dimension])
        for case_id in cases["case_id"]
        for dimension in DIMENSIONS
        if dimension in labels.get(case_id, {})
    ]
    ties = sum(row[3] == "tie" for row in rows)
    findings += counted(ties, "warning", data, "labels are ties", "the published script counts every judge wrong there")
    meta = _meta(files, data, ("A", "tie", "B") if ties else ("A", "B"))
    results = result_files(src, set(pairs), findings)
    verdicts = read_results(results, case_ids, cases, src, findings)
    return import_tables(meta, cases, rows, verdicts, findings, source=data, images=images)


def _ground_truth(path: Path, findings: list[Finding]) -> Mapping[str, Labels]:
    """Return the labels of one organ by question id, as text, and dimension.

    Raises
    ------
    InputError
        The file is damaged or empty, a question id occurs twice (the published script takes the last and shrinks its
        denominators), or a label is unknown.
    """
    if not path.is_file():
        findings.append(Finding("warning", str(path), None, None, "there is no ground truth", "restore the file"))
        return {}
    truth = {question: _labels(record) for question, record in by_id(read_jsonl(path), "question_id").items()}
    if not truth:
        raise InputError(f"{path}: is empty; restore it from its source.")
    absent = sum(len(DIMENSIONS) - len(labels) for labels in truth.values())
    cure = "those cases are unlabelled on those dimensions"
    findings += counted(absent, "warning", path, "labels are absent", cure, "human_answer")
    return truth


def _labels(record: SourceRow) -> dict[str, str]:
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


def _check_match(file: OrganFile, truth: Path, findings: list[Finding]) -> None:
    matched = len(file.labels.keys() & set(file.ids))
    if not file.labels:
        return
    if not matched:
        raise InputError(
            f"{file.path}, column question_id: no id occurs in {truth.name} ({file.ids[0]!r} here, "
            f"{min(file.labels)!r} there); write the ids the same way."
        )
    for count, path, problem, cure in (
        (len(file.ids) - matched, file.path, "pairs have no ground truth", "they are cases without annotations"),
        (len(file.labels) - matched, truth, "labelled questions have no pair", "they are left out"),
    ):
        findings += counted(count, "warning", path, problem, cure, "question_id")


def _meta(files: list[OrganFile], data: Path, categories: tuple[str, ...]) -> BenchmarkMeta:
    """The metadata; what our own export noted goes before the defaults, and simulated stays simulated."""
    notes = [note for note in (file.note.get("meta") for file in files) if isinstance(note, dict)]
    raw: dict[str, object] = {"name": data.resolve().parent.name or DATA, **_META, **(notes[0] if notes else {})}
    if any(note.get("kind") == "simulated" for note in notes):
        raw["kind"] = "simulated"
    raw["dimensions"], raw["categories"] = list(DIMENSIONS), list(categories)
    return meta_from(raw, str(data))


def read_organ(path: Path, findings: list[Finding]) -> OrganFile:
    """Read one organ's rows without the images, and its labels.

    Raises
    ------
    InputError
        The file is damaged, or a column is missing, has a wrong type or a missing
        value, or a question id occurs twice.
    """
    schema = open_parquet(path).schema_arrow
    renames = column_map().of(schema.names, path)
    for theirs, ours in renames.items():
        if ours in _TAKEN:
            raise clash(str(path), theirs, ours)
    column_map().reads(renames.values())
    theirs_of = {renames.get(name, name): name for name in schema.names}
    for name in RENAMED:
        if name not in theirs_of:
            raise InputError(f"{path}, column {name}: the column is missing; restore the file from its source.")
    binary = [name for name, theirs in theirs_of.items() if name != IMAGE and holds_bytes(schema.field(theirs).type)]
    cure = "only `image` is read"
    findings += [Finding("warning", str(path), None, name, "binary values are left out", cure) for name in binary]
    kept = {theirs: name for name, theirs in theirs_of.items() if name != IMAGE and name not in binary}
    frame = read_table(path, list(kept)).rename(columns=kept)[list(kept.values())]
    if frame.empty:
        raise InputError(f"{path}: has no rows; restore the file from its source.")
    ids = _text(frame["question_id"], path, "question_id", required=True)
    again = ids.duplicated()
    if again.any():
        row = int(again.to_numpy().argmax())
        first = int((ids == ids[row]).to_numpy().argmax()) + 1
        where = f"{path}, row {row + 1}, column question_id"
        raise InputError(f"{where}: {ids[row]!r} occurs again (first in row {first}); keep one of the two.")
    columns, labels = _columns(frame, path, findings), path.parents[1] / f"{path.stem}.jsonl"
    truth = _ground_truth(labels, findings)
    return OrganFile(path, path.stem, ids.tolist(), columns, _note(schema, path), theirs_of.get(IMAGE), truth)


def _columns(frame: pd.DataFrame, path: Path, findings: list[Finding]) -> pd.DataFrame:
    """Return the columns under our names, in the order: required, optional, extra."""
    columns = {
        ours: _text(frame[name], path, name, required=True) for name, ours in RENAMED.items() if ours != "case_id"
    }
    extras: dict[str, pd.Series] = {}
    for name in frame.columns.difference(list(RENAMED), sort=False):
        if name == ORGAN:
            stated = _text(frame[name], path, name)
            other = int((stated.notna() & (stated != path.stem)).sum())
            cure = (
                f"the file's name decides; what they say is kept as source_{ORGAN} (the published script fails on them)"
            )
            findings += counted(other, "warning", path, f"rows do not say {path.stem}", cure, ORGAN)
            extras |= {f"source_{ORGAN}": stated} if other else {}
        elif name in _TEXT:
            columns[name] = _text(frame[name], path, name)
        elif name in _TAKEN:
            cure = "the name has another meaning here"
            findings.append(Finding("info", str(path), None, name, f"is kept as source_{name}", cure))
            extras[f"source_{name}"] = frame[name]
        else:
            extras[name] = frame[name]
    if twice := columns.keys() & extras.keys():
        raise InputError(f"{path}, column {min(twice)}: occurs twice under our names; rename one of the two.")
    return pd.DataFrame(columns | extras)


def _text(values: pd.Series, path: Path, name: str, *, required: bool = False) -> pd.Series:
    """Return a column as text; whole numbers are text where the column is an id or may be missing."""
    numbers = not required or name == "question_id"
    texts = values.astype(object).map(
        lambda value: value if isinstance(value, str) else id_text(value) if numbers else None, na_action="ignore"
    )
    wrong = texts.isna() if required else texts.isna() & values.notna()
    if wrong.any():
        row = int(wrong.to_numpy().argmax())
        stated = repr(str(values.iloc[row])[:60]) if values.notna().iloc[row] else "missing"
        what = f"is {stated} where text belongs; write plain text, or remove the row"
        raise InputError(f"{path}, row {row + 1}, column {name}: {what}.")
    return texts.astype("str")


def _note(schema: pa.Schema, path: Path) -> Mapping[str, object]:
    """Return the notes of our own export; empty for other files."""
    try:
        note = json.loads((schema.metadata or {}).get(NOTE, b"{}"))
    except ValueError as error:
        raise InputError(f"{path}: the note of the export is damaged ({error}); export again.") from error
    return note if isinstance(note, dict) else {}


def combine(
    files: list[OrganFile], findings: list[Finding]
) -> tuple[pd.DataFrame, ParquetImages, dict[tuple[str, str], str]]:
    """Put the organs together.

    Where a question id occurs in two organs, every case id becomes
    `<organ>/<question id>`, so that none hides another.

    Returns
    -------
    cases : the cases table, organs in alphabetical order (or as our own export noted)
    images : the images of the cases
    case_ids : the case id by organ and question id
    """
    owners = Counter(question for file in files for question in file.ids)
    shared = sum(count > 1 for count in owners.values())
    case_ids = {(file.organ, q): f"{file.organ}/{q}" if shared else q for file in files for q in file.ids}
    folder = files[0].path.parent
    problem = "question ids occur in several organs, so each case id is <organ>/<question_id>"
    findings += counted(shared, "info", folder, problem, "use those ids in your own tables", "question_id")
    index = ImageIndex()
    parts = []
    for file in files:
        ids = [case_ids[file.organ, question] for question in file.ids]
        names: list[list[str]] = [[] for _ in ids]
        if file.image_column is None:
            problem = "the column is missing, so no case has an image"
            findings.append(Finding("warning", str(file.path), None, IMAGE, problem, "judges see the text only"))
        else:
            case_names = [f"{file.organ}/{slug(case_id)}" for case_id in ids]
            names = index.add(file.path, file.image_column, case_names, findings)
        images = pd.Series(names, dtype=object)
        parts.append(file.frame.assign(images=images, case_id=pd.Series(ids, dtype="str"), organ=file.organ))
        if file.organ not in ORGANS:
            problem = f"{file.organ} is not one of the 13 organs, so its department is unknown"
            findings.append(Finding("warning", str(file.path), None, None, problem, f"use one of {', '.join(ORGANS)}"))
    frame = pd.concat(parts, ignore_index=True).infer_objects()
    frame["organ"] = frame["organ"].astype("str")
    default = frame["organ"].map(ORGAN_DEPARTMENT).astype("str")
    frame["department"] = frame["department"].fillna(default) if "department" in frame else default
    return _arranged(frame, files), ParquetImages(index.positions), case_ids


def _arranged(frame: pd.DataFrame, files: list[OrganFile]) -> pd.DataFrame:
    """Columns in the order of the plan, extras behind; rows and columns as our own export noted them."""
    if ORDER in frame.columns:
        frame = frame.sort_values(ORDER, kind="stable", ignore_index=True).drop(columns=ORDER)
    planned = [column.name for column in CASES if column.name in frame.columns]
    order = [*planned, *(name for name in frame.columns if name not in planned)]
    noted = files[0].note.get("columns")
    if isinstance(noted, list) and {"case_id", *RENAMED.values()} <= set(noted):
        order = [name for name in noted if name in frame.columns]
    return frame[order]


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
        if start is None or DATA in parts:
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
    cases_of: dict[str, dict[str, str]] = defaultdict(dict)
    for (organ, question), case_id in case_ids.items():
        cases_of[question][organ] = case_id
    judges: dict[str, _JudgeResults] = defaultdict(_JudgeResults)
    for file in files:
        records = read_jsonl(file.path)
        if not records and "normalized" not in str(file.path.relative_to(source)):
            problem = "is empty (the published script empties it before it judges)"
            findings.append(Finding("warning", str(file.path), None, None, problem, "judge again or restore it"))
        for record in records:
            _take(record, file, judges[file.judge], cases_of)
    rows: list[tuple[str | None, ...]] = []
    for name, judge in sorted(judges.items()):
        if judge.counts["rows"] and judge.counts["rows"] == judge.counts["unknown"]:
            raise InputError(f"{source}: no verdict of judge {name} is about a case of this data; check the folder.")
        judge_rows = [row for case_id in cases["case_id"] for row in _rows_of(name, judge, case_id)]
        rows += judge_rows
        findings += _count(name, judge, judge_rows, len(cases), source)
    return rows


def _take(record: SourceRow, file: ResultFile, judge: _JudgeResults, cases_of: Mapping[str, Mapping[str, str]]) -> None:
    """Remember the verdict of a record; a different one on the same case is refused."""
    judge.counts["rows"] += 1
    question, answer = record.id("question_id"), record.get("chosen_answer")
    organs = cases_of.get(question)
    if not organs:
        judge.counts["unknown"] += 1
        return
    stated = [organ for organ in (str(record.values.get(ORGAN)), file.group) if organ in organs]
    if len(organs) > 1 and not stated:
        raise record.error(ORGAN, f"question {question} occurs in {', '.join(organs)}", "state one of them")
    if answer is not None and not isinstance(answer, (str, dict)):
        raise record.error("chosen_answer", f"is {type(answer).__name__}, not text or an object", "restore it")
    case_id = organs[stated[0] if len(organs) > 1 else next(iter(organs))]
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
    repeated = f"rows of {by} repeat another's verdict"
    null = sum(reply is None and case not in judge.choices for case, (reply, _) in judge.replies.items())
    absent = n_cases - len(rows) // len(DIMENSIONS)
    changed = f"verdicts of {by} differ from the normalized file"
    findings = counted(judge.counts["repeated"], "info", source, repeated, "one is read")
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
