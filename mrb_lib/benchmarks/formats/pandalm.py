"""The PandaLM test set: 999 pairs, three annotators, two judges (Wang et al., ICLR 2024, arXiv 2306.05087).

The folder holds `testset-v1.json` and, for each judge, a file joined on `idx`.
The judges saw one order only. gpt-3.5-turbo's file codes its verdicts as text
with "garbage" where they could not be parsed; PandaLM-7B's file codes them as
numbers, and its authors' parser had already turned what it could not parse into
a tie.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

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
from mrb_lib.benchmarks.formats.sources import SourceRow, only_folder, read_json_array
from mrb_lib.benchmarks.meta import BenchmarkMeta
from mrb_lib.tables.validation import counted

TEST_SET = "testset-v1.json"
ANNOTATORS = ("annotator1", "annotator2", "annotator3")
META = BenchmarkMeta(
    name="pandalm-testset-v1",
    kind="general",
    dimensions=("overall",),
    categories=PREFERENCE,
    description="PandaLM test set v1: instruction-following pairs with three annotators",
    source="https://github.com/WeOpenML/PandaLM",
    licence="Apache-2.0",
    citation="Wang et al., PandaLM: An Automatic Evaluation Benchmark for LLM Instruction Tuning Optimization, "
    "ICLR 2024, arXiv 2306.05087",
)
_LABELS: Mapping[str | int | None, str] = {1: "A", 2: "B", 0: "tie"}


_JUDGES: Mapping[str, tuple[str, Mapping[str | int | None, str | None]]] = {
    "gpt-3.5-turbo": ("gpt", {"1": "A", "2": "B", "Tie": "tie", "garbage": None}),
    "pandalm-7b": ("pandalm", _LABELS),
}
"""The prefix of each judge's fields, and how it writes its verdicts."""


@reads("pandalm", about="PandaLM's test set: 999 pairs, three annotators, two judges")
def read(
    src: Path,
    *,
    unparsed_as_tie: Annotated[bool, "read unparsed verdicts as ties, as its authors did"] = False,
) -> Imported:
    """Read the PandaLM test set and the verdicts of its judges.

    Parameters
    ----------
    src : the folder that holds `testset-v1.json`; a judge's file may be absent
    unparsed_as_tie : read verdicts that could not be parsed as ties with status
        `repaired`, which is how the published accuracies were computed. By default
        they have status `unparsed` and no choice.

    Returns
    -------
    Imported
        Dimension `overall`. The question is the instruction and, after a blank line,
        the input where there is one; `reply` of a verdict is the judge's reason.

    Raises
    ------
    InputError
        A file is missing or has another shape; names the row and the field.

    Notes
    -----
    Validated by tests/benchmarks/formats/test_published_sets.py against the published counts.
    """
    folder = only_folder(Path(src))
    records = read_json_array(folder / TEST_SET)
    cases = pd.DataFrame([_case(record) for record in records])
    labels = [
        (record.id("idx"), annotator, "overall", record.label(annotator, _LABELS))
        for record in records
        for annotator in ANNOTATORS
    ]
    annotations = annotation_table(labels, folder / TEST_SET, META)
    booleans = sum(isinstance(record.get(name), bool) for record in records for name in ("response1", "response2"))
    findings = counted(booleans, "info", folder / TEST_SET, "responses are JSON booleans", "they are read as text")
    rows: list[tuple[str | None, ...]] = []
    for judge, (prefix, names) in _JUDGES.items():
        path = folder / f"{judge}-testset-v1.json"
        if not path.is_file():
            findings.append(no_verdicts(path, judge))
            continue
        unparsed = 0
        verdicts = read_json_array(path)
        for record in verdicts:
            choice, status = record.label(f"{prefix}_result", names), "ok"
            if choice is None:
                choice, status = ("tie", "repaired") if unparsed_as_tie else (None, "unparsed")
                unparsed += 1
            reply = record.optional_text(f"{prefix}_reason")
            rows.append((judge, record.id("idx"), "overall", "AB", choice, status, reply))
        what, cure = "verdicts are unparsed", "unparsed_as_tie reads them as ties"
        if unparsed_as_tie:
            what, cure = "unparsed verdicts are read as ties", "drop the option unparsed_as_tie to tell them apart"
        findings += counted(unparsed, "warning", path, what, cure, f"{prefix}_result")
        absent = len(cases) - len(verdicts)
        findings += counted(absent, "warning", path, f"cases have no verdict of {judge}", "restore the file")
    return import_tables(META, cases, annotations, verdict_table(rows, folder), findings, source=folder / TEST_SET)


def _case(record: SourceRow) -> dict[str, object]:
    instruction, context, models = record.text("instruction"), record.text("input"), record.text("cmp_key").split("_")
    if len(models) != 2:
        raise record.error("cmp_key", f"{record.text('cmp_key')!r} does not name two models", "write model1_model2")
    fields = {
        "case_id": record.id("idx"),
        "question": f"{instruction}\n\n{context}" if context else instruction,
        "response_a": _response(record, "response1"),
        "response_b": _response(record, "response2"),
        "model_a": models[0],
        "model_b": models[1],
        "motivation_app": record.text("motivation_app"),
        "cmp_key": record.text("cmp_key"),
    }
    return record.case(fields)


def _response(record: SourceRow, column: str) -> str:
    """A response; six of the published ones, the single word True, were stored as a JSON boolean."""
    value = record.get(column)
    return str(value) if isinstance(value, bool) else record.text(column)
