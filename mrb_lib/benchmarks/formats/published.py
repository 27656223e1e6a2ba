"""Published sets of labels, PandaLM and JudgeBench, each as its authors store it.

The published counts are rebuilt by tests/benchmarks/formats/test_published_sets.py and tests/published. Both readers
raise `InputError` where a file is missing or has another shape, and name the row and the field.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from mrb_lib.benchmarks.formats.base import Imported, import_tables, reads
from mrb_lib.benchmarks.formats.sources import SourceRow, by_id, read_json
from mrb_lib.benchmarks.meta import BenchmarkMeta
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.schema import CONSENSUS
from mrb_lib.tables.validation import Finding, counted

Labels = Mapping[str | int | None, str | None]
Case = dict[str, object]

PANDALM: Final = BenchmarkMeta(
    "pandalm-testset-v1", "general", ("overall",), ("A", "tie", "B"),
    description="PandaLM test set v1: instruction-following pairs with three annotators",
    source="https://github.com/WeOpenML/PandaLM",
    licence="Apache-2.0",
    citation="Wang et al., PandaLM: An Automatic Evaluation Benchmark for LLM Instruction Tuning Optimization, "
    "ICLR 2024, arXiv 2306.05087",
)  # fmt: skip
_NUMBERS: Labels = {1: "A", 2: "B", 0: "tie"}
_PANDALM_JUDGES: Mapping[str, tuple[str, Labels]] = {
    "gpt-3.5-turbo": ("gpt", {"1": "A", "2": "B", "Tie": "tie", "garbage": None}),
    "pandalm-7b": ("pandalm", _NUMBERS),
}
"""The prefix of each judge's fields, and how it writes its verdicts. PandaLM's own parser read garbage as a tie."""


@reads("pandalm", about="PandaLM's test set: 999 pairs, three annotators, two judges")
def read_pandalm(src: Path) -> Imported:
    """Read the PandaLM test set and the verdicts of its judges, who saw one order only.

    Parameters
    ----------
    src : the folder that holds `testset-v1.json`; a judge's file may be absent

    Returns
    -------
    Imported
        Dimension `overall`. The question is the instruction and, after a blank line, the input where there is one;
        `reply` of a verdict is the judge's reason. Verdicts that could not be parsed have status `unparsed`.
    """
    path = src / "testset-v1.json"
    records = read_json(path)
    cases = [_pandalm_case(record) for record in records]
    people = ("annotator1", "annotator2", "annotator3")
    labels = [(one.id("idx"), name, "overall", one.label(name, _NUMBERS)) for one in records for name in people]
    findings: list[Finding] = []
    rows: list[tuple[str | None, ...]] = []
    for judge, (prefix, names) in _PANDALM_JUDGES.items():
        file = src / f"{judge}-testset-v1.json"
        verdicts = by_id(read_json(file), "idx") if file.is_file() else {}
        for case_id, record in verdicts.items():
            choice, reply = record.label(f"{prefix}_result", names), record.text(f"{prefix}_reason")
            rows.append((judge, case_id, "overall", "AB", choice, "ok" if choice else "unparsed", reply))
        unparsed = sum(row[0] == judge and row[4] is None for row in rows)
        findings += counted(unparsed, "warning", file, "verdicts are unparsed", "they stay, without a choice")
    return import_tables(PANDALM, cases, labels, rows, findings, source=path)


def _pandalm_case(record: SourceRow) -> Case:
    instruction, context, models = (record.text(name) for name in ("instruction", "input", "cmp_key"))
    model_a, _, model_b = models.partition("_")
    if not model_b or "_" in model_b:
        raise record.error("cmp_key", f"{models!r} does not name two models", "write model1_model2")
    # Six of the published responses, the single word True, were stored as a JSON boolean.
    booleans = {one: str(record.get(one)) for one in ("response1", "response2") if isinstance(record.get(one), bool)}
    return record.case({
        "case_id": record.id("idx"),
        "question": f"{instruction}\n\n{context}" if context else instruction,
        "response_a": booleans.get("response1") or record.text("response1"),
        "response_b": booleans.get("response2") or record.text("response2"),
        "model_a": model_a,
        "model_b": model_b,
        **record.texts(motivation_app="motivation_app", cmp_key="cmp_key"),
    })  # fmt: skip


JUDGEBENCH: Final = BenchmarkMeta(
    "judgebench", "general", ("overall",), ("A", "B"),
    description="JudgeBench response pairs labelled by objective correctness",
    source="https://github.com/ScalerLab/JudgeBench",
    licence="MIT",
    citation="Tan et al., JudgeBench: A Benchmark for Evaluating LLM-Based Judges, ICLR 2025, arXiv 2410.12784",
)  # fmt: skip
_CATEGORIES: Final = {
    "mmlu-pro": "knowledge",
    "livebench-reasoning": "reasoning",
    "livebench-math": "math",
    "livecodebench": "coding",
}
_BETTER: Labels = {"A>B": "A", "B>A": "B"}


@reads("judgebench", about="JudgeBench's response pairs, labelled by objective correctness")
def read_judgebench(src: Path) -> Imported:
    """Read JudgeBench's pairs; the source publishes no verdicts that may be passed on.

    Parameters
    ----------
    src : the folder that holds the `dataset=judgebench,...jsonl` files, one per responder, or one file

    Returns
    -------
    Imported
        Dimension `overall`, annotator `consensus`. `dataset` is the pair's source (such as mmlu-pro-law) and
        `question_type` its category: knowledge, reasoning, math or coding, null for others. Pairs share questions;
        `original_id` is often null.
    """
    paths = [src] if src.is_file() else sorted(src.glob("[!.]*.jsonl"))
    if not paths:
        raise InputError(f"{src}: there is no .jsonl file; name the folder of JudgeBench's files, or one of them.")
    records = by_id((record for path in paths for record in read_json(path)), "pair_id").values()
    labels = [(one.text("pair_id"), CONSENSUS, "overall", one.label("label", _BETTER)) for one in records]
    return import_tables(JUDGEBENCH, [_judgebench_case(record) for record in records], labels, source=src)


def _judgebench_case(record: SourceRow) -> Case:
    source = record.text("source")
    return record.case({
        **record.texts(case_id="pair_id", question="question", response_a="response_A", response_b="response_B"),
        "question_type": next((name for prefix, name in _CATEGORIES.items() if source.startswith(prefix)), None),
        **record.texts(dataset="source", model_a="response_model", model_b="response_model"),
        "original_id": None if record.get("original_id") is None else record.id("original_id"),
    })  # fmt: skip
