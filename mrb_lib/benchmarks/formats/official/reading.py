"""Reading the published layout: a folder of pairs with images, ground truth, and result files.

The ground truth is read here, pairs in `cases` and `images`, results in `results`. The notes beside each part say how
the published script reads it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from mrb_lib.benchmarks.formats.base import Imported, import_tables, reads
from mrb_lib.benchmarks.formats.official.cases import OrganFile, combine, read_organ
from mrb_lib.benchmarks.formats.official.results import read_results, result_files
from mrb_lib.benchmarks.formats.sources import SourceRow, by_id, read_jsonl
from mrb_lib.benchmarks.meta import BenchmarkMeta, meta_from
from mrb_lib.replies.reading import plain_choice
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.schema import CONSENSUS, DIMENSIONS
from mrb_lib.tables.validation import Finding, counted

DATA = "pair_gt_all"
_META: Mapping[str, object] = {
    "kind": "clinical",
    "description": "Imported from the published Med-RewardBench layout",
    "citation": "Med-RewardBench, arXiv 2508.21430",
}


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
    findings: list[Finding] = []
    files, truths = _read_organs(data, findings)
    cases, images, case_ids = combine(files, findings)
    labels = {case_ids[key]: label for key, label in truths.items() if key in case_ids}
    _check_match(files, truths, data, findings)
    rows = [
        (case_id, CONSENSUS, dimension, labels[case_id][dimension])
        for case_id in cases["case_id"]
        for dimension in DIMENSIONS
        if dimension in labels.get(case_id, {})
    ]
    ties = sum(row[3] == "tie" for row in rows)
    findings += counted(ties, "warning", data, "labels are ties", "the published script counts every judge wrong there")
    meta = _meta(files, data, ("A", "tie", "B") if ties else ("A", "B"))
    results = result_files(src, {file.organ for file in files}, findings)
    verdicts = read_results(results, case_ids, cases, src, findings)
    return import_tables(meta, cases, rows, verdicts, findings, source=data, images=images)


def _read_organs(data: Path, findings: list[Finding]) -> tuple[list[OrganFile], dict[tuple[str, str], dict[str, str]]]:
    pairs = {path.stem: path for path in sorted((data / "parquet").glob("*.parquet"))}
    labels = {path.stem: path for path in sorted(data.glob("*.jsonl"))}
    if not pairs:
        raise InputError(f"{data / 'parquet'}: holds no .parquet file; restore the data from its source.")
    for organ in sorted(labels.keys() - pairs.keys()):
        path = data / "parquet" / f"{organ}.parquet"
        raise InputError(f"{path}: the file is missing; restore it, or remove {organ}.jsonl.")
    files, truths = [], {}
    for organ, path in pairs.items():
        files.append(read_organ(path, findings))
        if organ not in labels:
            missing = str(data / f"{organ}.jsonl")
            findings.append(Finding("warning", missing, None, None, "there is no ground truth", "restore the file"))
            continue
        truth = read_ground_truth(labels[organ], findings)
        truths.update({(organ, question): label for question, label in truth.items()})
    return files, truths


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
        takes the last and shrinks its denominators), or a label is unknown.
    """
    truth: dict[str, dict[str, str]] = {}
    absent = 0
    for question, record in by_id(read_jsonl(path), "question_id").items():
        truth[question] = _labels(record)
        absent += len(DIMENSIONS) - len(truth[question])
    if not truth:
        raise InputError(f"{path}: is empty; restore it from its source.")
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


def _check_match(
    files: list[OrganFile], truths: Mapping[tuple[str, str], Mapping[str, str]], data: Path, findings: list[Finding]
) -> None:
    for file in files:
        labelled = {question for organ, question in truths if organ == file.organ}
        matched = labelled & set(file.ids)
        if labelled and not matched:
            raise InputError(
                f"{file.path}, column question_id: no id occurs in {file.organ}.jsonl ({file.ids[0]!r} here, "
                f"{min(labelled)!r} there); write the ids the same way."
            )
        if labelled:
            unlabelled = len(file.ids) - len(matched)
            cure = "they are cases without annotations"
            findings += counted(unlabelled, "warning", file.path, "pairs have no ground truth", cure, "question_id")
        lost = len(labelled) - len(matched)
        path = data / f"{file.organ}.jsonl"
        cure = "they are left out"
        findings += counted(lost, "warning", path, "labelled questions have no pair", cure, "question_id")


def _meta(files: list[OrganFile], data: Path, categories: tuple[str, ...]) -> BenchmarkMeta:
    """The metadata; what our own export noted goes before the defaults, and simulated stays simulated."""
    notes = [note for note in (file.note.get("meta") for file in files) if isinstance(note, dict)]
    raw: dict[str, object] = {"name": data.resolve().parent.name or DATA, **_META, **(notes[0] if notes else {})}
    if any(note.get("kind") == "simulated" for note in notes):
        raw["kind"] = "simulated"
    raw["dimensions"], raw["categories"] = list(DIMENSIONS), list(categories)
    return meta_from(raw, str(data))
