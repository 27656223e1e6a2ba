"""K-QA's natural-language-inference labels by three physicians (Manes et al., 2024, arXiv 2401.14493).

Each row asks whether an answer entails a statement that physicians wrote: a rating of one
response by three categories. The answer is `response_a`, and the statement stands below the
question, so that annotators and judges see both.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from mrb_lib.benchmarks.formats.base import Imported, annotation_table, import_tables, reads
from mrb_lib.benchmarks.formats.sources import SourceRow, csv_records, text_id
from mrb_lib.benchmarks.meta import BenchmarkMeta

FILE_NAME = "NLI_medical_annotator.csv"
ANNOTATORS = ("label_0", "label_1", "label_2")
META = BenchmarkMeta(
    name="kqa-nli",
    kind="clinical",
    dimensions=("overall",),
    categories=("Contradiction", "Neutral", "Entailment"),
    level="nominal",
    task="rating",
    acceptable=("Neutral", "Entailment"),
    definitions={
        "overall": "whether the answer entails the statement",
        "Contradiction": "the answer says something that cannot be true together with the statement",
        "Neutral": "the answer leaves open whether the statement is true",
        "Entailment": "who believes the answer must believe the statement",
    },
    description="K-QA: does an answer entail a physician's statement? Three physicians' labels",
    source="https://github.com/Itaymanes/K-QA",
    licence="MIT",
    citation="Manes et al., K-QA: A Real-World Medical Q&A Benchmark, 2024, arXiv 2401.14493",
)
_COLUMNS = ("unnamed 1", "Question", "llm_x", "answer", "claim", "category_x", "majority_label", *ANNOTATORS)
_LABELS: dict[str | int | None, str] = {label: label for label in META.categories}


@reads("kqa", about="K-QA: three physicians' labels on whether an answer entails a statement")
def read(src: Path) -> Imported:
    """Read the three physicians' labels; there are no verdicts.

    Parameters
    ----------
    src : the folder that holds `NLI_medical_annotator.csv`, or that file

    Returns
    -------
    Imported
        Dimension `overall`, annotators `label_0` to `label_2`. `response_a` is the
        answer, `model_a` the answering system. The categories go from contradiction to
        entailment; the authors count them as nominal, and `level` says so. Extra columns:
        `claim`, the statement, `question_id` (equal for rows about the same of the 50
        questions, to resample by), `category_x` and the authors' `majority_label`.

    Raises
    ------
    InputError
        The file is missing or has another shape; names row and column.

    Notes
    -----
    Validated by tests/benchmarks/formats/test_published_sets.py: the authors' majority is rebuilt for 399 of 399 rows.
    """
    src = Path(src)
    path = src if src.is_file() else src / FILE_NAME
    records = csv_records(path, _COLUMNS)
    labels = [
        (record.id("unnamed 1"), annotator, "overall", record.label(annotator, _LABELS))
        for record in records
        for annotator in ANNOTATORS
    ]
    annotations = annotation_table(labels, path, META)
    cases = pd.DataFrame([_case(record) for record in records])
    return import_tables(META, cases, annotations, source=path)


def _case(record: SourceRow) -> dict[str, object]:
    question, claim = record.text("Question"), record.text("claim")
    fields = {
        "case_id": record.id("unnamed 1"),
        "question": f"{question}\n\nStatement: {claim}",
        "response_a": record.text("answer"),
        "claim": claim,
        "model_a": record.text("llm_x"),
        "category_x": record.text("category_x"),
        "majority_label": record.label("majority_label", _LABELS),
        "question_id": text_id(question),
    }
    return record.case(fields)
