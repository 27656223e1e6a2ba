"""LLMFAO: crowd comparisons of 59 responders, with two judges on the same pairs (D. Ustalov, CC BY 4.0).

The design is incomplete: 124 annotators saw one to five to a pair. The left
response is A, the right one B.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from mrb_lib.benchmarks.formats.base import (
    PREFERENCE,
    Imported,
    annotation_table,
    import_tables,
    no_verdicts,
    reads,
    verdict_table,
)
from mrb_lib.benchmarks.formats.sources import SourceRow, by_id, csv_records, only_folder, read_jsonl
from mrb_lib.benchmarks.meta import BenchmarkMeta
from mrb_lib.tables.validation import Finding, counted

PAIRS, CROWD = "pairs-crowd.jsonl", "crowd-comparisons.csv"
JUDGES = {"gpt3": "gpt3-crowd-comparisons.csv", "gpt4": "gpt4-crowd-comparisons.csv"}
META = BenchmarkMeta(
    name="llmfao",
    kind="general",
    dimensions=("overall",),
    categories=PREFERENCE,
    description="LLMFAO: crowd comparisons of the replies of 59 language models",
    source="https://github.com/dustalov/llmfao",
    licence="CC-BY-4.0",
    citation="D. Ustalov, Large Language Model Feedback Analysis and Optimization (LLMFAO), "
    "huggingface.co/datasets/dustalov/llmfao",
)
_LABELS: Mapping[str | int | None, str] = {"left": "A", "right": "B", "tie": "tie"}
_COLUMNS = ("id", "prompt", "model_x", "model_y", "winner", "left", "right")


@reads("llmfao", about="LLMFAO: crowd comparisons of 59 models, with two judges")
def read(src: Path) -> Imported:
    """Read the pairs, the crowd's labels and the verdicts of the judges gpt3 and gpt4.

    Parameters
    ----------
    src : the folder that holds `pairs-crowd.jsonl` and `crowd-comparisons.csv`; a judge's file may be absent

    Returns
    -------
    Imported
        Dimension `overall`; annotators are the crowd's worker ids. `model_a` and
        `model_b` are the names of the left and right responder; their ids are kept
        as `model_x`, `model_y`, the prompt's as `prompt` (13 prompts, to resample by).

    Raises
    ------
    InputError
        A file is missing or has another shape, or two files disagree on a pair.

    Notes
    -----
    Validated by tests/benchmarks/formats/test_published_sets.py against the published counts.
    """
    folder = only_folder(Path(src))
    findings: list[Finding] = []
    pairs = by_id(read_jsonl(folder / PAIRS), "id")
    names: dict[str, SourceRow] = {}
    crowd = csv_records(folder / CROWD, (*_COLUMNS, "worker"))
    labels = [(_pair(r, pairs, names), r.id("worker"), "overall", r.label("winner", _LABELS)) for r in crowd]
    rows: list[tuple[str | None, ...]] = []
    for judge, file in JUDGES.items():
        if not (folder / file).is_file():
            findings.append(no_verdicts(folder / file, judge))
            continue
        verdicts = csv_records(folder / file, _COLUMNS)
        rows += [
            (judge, _pair(r, pairs, names), "overall", "AB", r.label("winner", _LABELS), "ok", None) for r in verdicts
        ]
    cases = pd.DataFrame([_case(case_id, pair, names.get(case_id)) for case_id, pair in pairs.items()])
    unlabelled = len(pairs.keys() - {label[0] for label in labels})
    findings += counted(unlabelled, "warning", folder / CROWD, "pairs have no annotator", "restore the file")
    annotations = annotation_table(labels, folder / CROWD, META)
    return import_tables(META, cases, annotations, verdict_table(rows, folder), findings, source=folder / PAIRS)


def _pair(record: SourceRow, pairs: Mapping[str, SourceRow], names: dict[str, SourceRow]) -> str:
    """The pair that a row of a CSV file is about, after comparing what both files say about it."""
    case_id = record.id("id")
    if case_id not in pairs:
        raise record.error("id", f"the pair {case_id!r} does not exist", f"correct it or restore {PAIRS}")
    for column in ("prompt", "model_x", "model_y"):
        if record.id(column) != pairs[case_id].id(column):
            raise record.error(column, f"differs from {PAIRS}, {pairs[case_id].location}", "restore both files")
    first = names.setdefault(case_id, record)
    for column in ("left", "right"):
        if record.get(column) != first.get(column):
            raise record.error(column, f"differs from {first.file}, {first.location}", "restore both files")
    return case_id


def _case(case_id: str, pair: SourceRow, named: SourceRow | None) -> dict[str, object]:
    fields = {
        "case_id": case_id,
        "question": pair.text("text"),
        "response_a": pair.text("result_x"),
        "response_b": pair.text("result_y"),
        "question_type": pair.text("type"),
        "model_a": None if named is None else named.text("left"),
        "model_b": None if named is None else named.text("right"),
        "prompt": pair.id("prompt"),
        "slug": pair.text("slug"),
        "note": pair.optional_text("note"),
        "model_x": pair.id("model_x"),
        "model_y": pair.id("model_y"),
    }
    return pair.case(fields)
