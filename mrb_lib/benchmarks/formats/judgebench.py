"""JudgeBench's response pairs with objectively known labels (Tan et al., ICLR 2025, arXiv 2410.12784).

One JSONL file a responder; both responses of a pair are by the same responder.
Pairs are known by `pair_id`: questions repeat, and `original_id` is often null.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from mrb_lib.benchmarks.formats.base import Imported, annotation_table, import_tables, reads
from mrb_lib.benchmarks.formats.sources import SourceRow, by_id, read_jsonl, text_id
from mrb_lib.benchmarks.meta import BenchmarkMeta
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.schema import CONSENSUS
from mrb_lib.tables.validation import Finding, counted

CATEGORY: dict[str, str] = {
    "mmlu-pro": "knowledge",
    "livebench-reasoning": "reasoning",
    "livebench-math": "math",
    "livecodebench": "coding",
}
META = BenchmarkMeta(
    name="judgebench",
    kind="general",
    dimensions=("overall",),
    categories=("A", "B"),
    description="JudgeBench response pairs labelled by objective correctness",
    source="https://github.com/ScalerLab/JudgeBench",
    licence="MIT",
    citation="Tan et al., JudgeBench: A Benchmark for Evaluating LLM-Based Judges, ICLR 2025, arXiv 2410.12784",
)
_LABELS: Mapping[str | int | None, str] = {"A>B": "A", "B>A": "B"}


@reads("judgebench", about="JudgeBench's response pairs, labelled by objective correctness")
def read(src: Path) -> Imported:
    """Read JudgeBench's pairs; the source publishes no verdicts that may be passed on.

    Parameters
    ----------
    src : the folder that holds the `dataset=judgebench,...jsonl` files, or one file

    Returns
    -------
    Imported
        Dimension `overall`, annotator `consensus`. `dataset` is the pair's source
        (such as mmlu-pro-law) and `question_type` its category: knowledge,
        reasoning, math or coding. `question_id` is equal for pairs that share a
        question, so that one can resample by question.

    Raises
    ------
    InputError
        There is no such file, or a line has another shape; names line and field.

    Notes
    -----
    Validated by tests/benchmarks/formats/test_published_sets.py against the published split sizes.
    """
    src = Path(src)
    paths = [src] if src.is_file() else sorted(src.glob("*.jsonl"))
    if not paths:
        raise InputError(
            f"{src}: there is no .jsonl file; give the folder that holds JudgeBench's files, or one of them."
        )
    findings: list[Finding] = []
    records = [record for path in paths for record in read_jsonl(path)]
    cases = pd.DataFrame([_case(record) for record in records])
    labels = [(r.text("pair_id"), CONSENSUS, "overall", r.label("label", _LABELS)) for r in records]
    unknown = sum(_category(record.text("source")) is None for record in records)
    findings += counted(unknown, "warning", src, "pairs have an unknown category", "correct the source", "source")
    by_id(records, "pair_id")
    annotations = annotation_table(labels, src, META)
    return import_tables(META, cases, annotations, findings=findings, source=src)


def _case(record: SourceRow) -> dict[str, object]:
    original = record.get("original_id")
    question, source = record.text("question"), record.text("source")
    fields = {
        "case_id": record.text("pair_id"),
        "question": question,
        "response_a": record.text("response_A"),
        "response_b": record.text("response_B"),
        "question_type": _category(source),
        "dataset": source,
        "model_a": record.text("response_model"),
        "model_b": record.text("response_model"),
        "original_id": None if original is None else record.id("original_id"),
        "question_id": text_id(question),
    }
    return record.case(fields)


def _category(source: str) -> str | None:
    return next((category for prefix, category in CATEGORY.items() if source.startswith(prefix)), None)
