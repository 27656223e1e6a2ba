"""LLMBar: instruction-following pairs judged in both orders (Zeng et al., ICLR 2024, arXiv 2310.07641).

A subset is a folder with `dataset.json` and `evaluators/<judge>/<prompt>/result.json`.
The LAST object in an item's `results` holds the verdicts; the winner under
"swap = True" is already mapped back to the item's own two outputs, so nothing is
flipped here.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from mrb_lib.benchmarks.formats.base import Imported, annotation_table, import_tables, reads, verdict_table
from mrb_lib.benchmarks.formats.sources import SourceRow, only_folder, read_json_array
from mrb_lib.benchmarks.meta import BenchmarkMeta
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.schema import CONSENSUS
from mrb_lib.tables.validation import Finding, counted

ITEMS = "dataset.json"
META = BenchmarkMeta(
    name="llmbar",
    kind="general",
    dimensions=("overall",),
    categories=("A", "B"),
    description="LLMBar: instruction-following pairs with a label agreed on by the authors",
    source="https://github.com/princeton-nlp/LLMBar",
    licence="MIT",
    citation="Zeng et al., Evaluating Large Language Models at Evaluating Instruction Following, "
    "ICLR 2024, arXiv 2310.07641",
)
_FIELDS = ("input", "output_1", "output_2", "label")
_ORDERS = {"AB": "swap = False", "BA": "swap = True"}
_LABELS: Mapping[str | int | None, str] = {1: "A", 2: "B"}
_WINNERS: Mapping[str | int | None, str | None] = {"1": "A", "2": "B", None: None}


@reads("llmbar", about="LLMBar: one subset or all below a folder, with judges in both orders")
def read(src: Path) -> Imported:
    """Read one subset of LLMBar, or every subset below a folder.

    Parameters
    ----------
    src : a folder that holds `dataset.json`, or a parent of such folders (such as CaseStudy)

    Returns
    -------
    Imported
        Dimension `overall`, annotator `consensus`; `dataset` is the subset's name and
        the case id `<subset>-<position from 0>`. A judge is `<judge>/<prompt>`, with
        verdicts in both orders; a null winner has status `unparsed`; `reply` is the
        judge's last text.

    Raises
    ------
    InputError
        A file is missing or has another shape, or a result does not belong to its item.

    Notes
    -----
    Validated by tests/published/test_llmbar.py: the authors' own statistics are
    rebuilt for every judge, prompt and subset.
    """
    folder = only_folder(Path(src))
    subsets = _subsets(folder)
    findings: list[Finding] = []
    cases, labels, verdicts = [], [], []
    for name, path in subsets.items():
        items = read_json_array(path / ITEMS)
        ids = [f"{name}-{i}" for i in range(len(items))]
        cases += [_case(case_id, name, item) for case_id, item in zip(ids, items, strict=True)]
        labels += [
            (case_id, CONSENSUS, "overall", item.label("label", _LABELS))
            for case_id, item in zip(ids, items, strict=True)
        ]
        for result in sorted((path / "evaluators").glob("*/*/result.json")):
            judge = f"{result.parent.parent.name}/{result.parent.name}"
            rows = _verdicts(result, judge, ids, items)
            unparsed = sum(row[5] == "unparsed" for row in rows)
            findings += counted(unparsed, "info", result, "verdicts are unparsed", "they stay, without a choice")
            verdicts += rows
    annotations = annotation_table(labels, folder, META)
    return import_tables(
        META, pd.DataFrame(cases), annotations, verdict_table(verdicts, folder), findings, source=folder
    )


def _subsets(folder: Path) -> dict[str, Path]:
    """The subsets below a folder, by name; by their path where two have the same name."""
    subsets = sorted(path.parent for path in folder.rglob(ITEMS))
    if not subsets:
        raise InputError(f"{folder}: there is no {ITEMS}; give a subset of LLMBar, or a folder of subsets.")
    names = [path.resolve().name for path in subsets]
    return {
        name if names.count(name) == 1 else path.relative_to(folder).as_posix(): path
        for name, path in zip(names, subsets, strict=True)
    }


def _case(case_id: str, subset: str, item: SourceRow) -> dict[str, object]:
    fields = {
        "case_id": case_id,
        "question": item.text("input"),
        "response_a": item.text("output_1"),
        "response_b": item.text("output_2"),
        "dataset": subset,
    }
    return item.case(fields)


def _verdicts(path: Path, judge: str, ids: list[str], items: list[SourceRow]) -> list[tuple[str | None, ...]]:
    results = read_json_array(path)
    if len(results) != len(items):
        raise InputError(f"{path}: has {len(results)} items where {ITEMS} has {len(items)}; restore both files.")
    rows: list[tuple[str | None, ...]] = []
    for case_id, item, result in zip(ids, items, results, strict=True):
        for name in _FIELDS:
            if result.get(name) != item.get(name):
                raise result.error(name, f"differs from {item.file}, {item.location}", "restore both files")
        stated = result.get("results")
        objects = [value for value in stated if isinstance(value, dict)] if isinstance(stated, list) else [{}]
        for order, key in _ORDERS.items():
            judgement = objects[-1].get(key) if objects else None
            judgement = judgement if isinstance(judgement, dict) else {}
            completion = judgement.get("completion")
            if not isinstance(completion, list) or not completion or not isinstance(completion[0], str):
                raise result.error("results", f"its last object holds no text under {key!r}", "restore the file")
            choice = SourceRow(result.file, f"{result.location}, {key}", judgement).label("winner", _WINNERS)
            status = "unparsed" if choice is None else "ok"
            rows.append((judge, case_id, "overall", order, choice, status, completion[0]))
    return rows
