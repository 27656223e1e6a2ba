"""Published sets of labels: PandaLM, JudgeBench, LLMBar, LLMFAO and K-QA, each as its authors store it.

The published counts are rebuilt by tests/benchmarks/formats/test_published_sets.py and tests/published. Every reader
raises `InputError` where a file is missing or has another shape, and names the row and the field.
"""

from collections.abc import Mapping
from itertools import product
from pathlib import Path
from typing import Annotated, Any, Final

from mrb_lib.benchmarks.formats.base import Imported, import_tables, reads
from mrb_lib.benchmarks.formats.sources import SourceRow, by_id, read_json, read_rows
from mrb_lib.benchmarks.meta import BenchmarkMeta
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
def read_pandalm(
    src: Path, *, unparsed_as_tie: Annotated[bool, "read unparsed verdicts as ties, as its authors did"] = False
) -> Imported:
    """Read the PandaLM test set and the verdicts of its judges, who saw one order only.

    Parameters
    ----------
    src : the folder that holds `testset-v1.json`; a judge's file may be absent
    unparsed_as_tie : read verdicts that could not be parsed as ties with status `repaired`, which is how the published
        accuracies were computed. By default they have status `unparsed` and no choice.

    Returns
    -------
    Imported
        Dimension `overall`. The question is the instruction and, after a blank line, the input where there is one;
        `reply` of a verdict is the judge's reason.
    """
    path = src / "testset-v1.json"
    records = read_json(path)
    cases = [_pandalm_case(record) for record in records]
    people = ("annotator1", "annotator2", "annotator3")
    labels = [(one.id("idx"), name, "overall", one.label(name, _NUMBERS)) for one in records for name in people]
    findings: list[Finding] = []
    rows: list[tuple[str | None, ...]] = []
    unread = ("tie", "repaired") if unparsed_as_tie else (None, "unparsed")
    cure = "they are read as ties" if unparsed_as_tie else "--unparsed-as-tie reads them as ties, as its authors did"
    for judge, (prefix, names) in _PANDALM_JUDGES.items():
        file = src / f"{judge}-testset-v1.json"
        verdicts = by_id(read_json(file), "idx") if file.is_file() else {}
        for case_id, record in verdicts.items():
            choice, reply = record.label(f"{prefix}_result", names), record.text(f"{prefix}_reason")
            rows.append((judge, case_id, "overall", "AB", *((choice, "ok") if choice else unread), reply))
        unparsed = sum(row[0] == judge and row[5] != "ok" for row in rows)
        findings += counted(unparsed, "warning", file, "verdicts are unparsed", cure)
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
        Dimension `overall`, annotator `consensus`. `dataset` is the pair's source (such as mmlu-pro-law). Pairs share
        questions; `original_id` is often null.
    """
    paths = [src] if src.is_file() else sorted(src.glob("[!.]*.jsonl"))
    records = by_id((record for path in paths for record in read_json(path)), "pair_id").values()
    labels = [(one.text("pair_id"), CONSENSUS, "overall", one.label("label", _BETTER)) for one in records]
    return import_tables(JUDGEBENCH, [_judgebench_case(record) for record in records], labels, source=src)


def _judgebench_case(record: SourceRow) -> Case:
    return record.case({
        **record.texts(case_id="pair_id", question="question", response_a="response_A", response_b="response_B"),
        **record.texts(dataset="source", model_a="response_model", model_b="response_model"),
        "original_id": None if record.get("original_id") is None else record.id("original_id"),
    })  # fmt: skip


LLMBAR: Final = BenchmarkMeta(
    "llmbar", "general", ("overall",), ("A", "B"),
    description="LLMBar: instruction-following pairs with a label agreed on by the authors",
    source="https://github.com/princeton-nlp/LLMBar",
    licence="MIT",
    citation="Zeng et al., Evaluating Large Language Models at Evaluating Instruction Following, "
    "ICLR 2024, arXiv 2310.07641",
)  # fmt: skip
_ORDERS: Final = {"AB": "swap = False", "BA": "swap = True"}
_OUTPUTS: Labels = {1: "A", 2: "B"}
_WINNERS: Labels = {"1": "A", "2": "B", None: None}


@reads("llmbar", about="LLMBar: one subset or all below a folder, with judges in both orders")
def read_llmbar(src: Path) -> Imported:
    """Read the subsets of LLMBar: folders with `dataset.json` and `evaluators/<judge>/<prompt>/result.json`.

    The last object in an item's `results` holds the verdicts; the winner under "swap = True" is already mapped back to
    the item's own two outputs, so nothing is flipped here.

    Parameters
    ----------
    src : a folder that holds `dataset.json`, or a parent of such folders (such as CaseStudy)

    Returns
    -------
    Imported
        Dimension `overall`, annotator `consensus`; `dataset` is the subset's name and the case id
        `<subset>-<position from 0>`. A judge is `<judge>/<prompt>`, with verdicts in both orders; a null winner has
        status `unparsed`; `reply` is the judge's last text.
    """
    cases: list[Case] = []
    labels: list[tuple[str | None, ...]] = []
    verdicts: list[tuple[str | None, ...]] = []
    for path in sorted(src.rglob("dataset.json")):
        subset = path.parent.resolve().name
        for i, item in enumerate(read_json(path)):
            texts = item.texts(question="input", response_a="output_1", response_b="output_2")
            cases.append(item.case({"case_id": f"{subset}-{i}", **texts, "dataset": subset}))
            labels.append((f"{subset}-{i}", CONSENSUS, "overall", item.label("label", _OUTPUTS)))
        for file in sorted(path.parent.glob("evaluators/*/*/result.json")):
            for (i, item), order in product(enumerate(read_json(file)), _ORDERS):
                choice, reply = _llmbar_verdict(item, _ORDERS[order])
                status = "ok" if choice else "unparsed"
                verdicts.append(("/".join(file.parts[-3:-1]), f"{subset}-{i}", "overall", order, choice, status, reply))
    return import_tables(LLMBAR, cases, labels, verdicts, source=src)


def _llmbar_verdict(item: SourceRow, key: str) -> tuple[str | None, str]:
    try:
        stated: Any = item.get("results")
        judgement = stated[-1][key]
        verdict = SourceRow(item.file, f"{item.location}, {key}", judgement)
        return verdict.label("winner", _WINNERS), str(judgement["completion"][0])
    except (TypeError, LookupError):
        raise item.error("results", f"its last object holds no verdict under {key!r}", "restore the file") from None


LLMFAO: Final = BenchmarkMeta(
    "llmfao", "general", ("overall",), ("A", "tie", "B"),
    description="LLMFAO: crowd comparisons of the replies of 59 language models",
    source="https://github.com/dustalov/llmfao",
    licence="CC-BY-4.0",
    citation="D. Ustalov, Large Language Model Feedback Analysis and Optimization (LLMFAO), "
    "huggingface.co/datasets/dustalov/llmfao",
)  # fmt: skip
_SIDES: Labels = {"left": "A", "right": "B", "tie": "tie"}


@reads("llmfao", about="LLMFAO: crowd comparisons of 59 models, with two judges")
def read_llmfao(src: Path) -> Imported:
    """Read the pairs, the crowd's labels and the verdicts of the judges gpt3 and gpt4; the left response is A.

    The design is incomplete: 124 annotators saw one to five to a pair.

    Parameters
    ----------
    src : the folder that holds `pairs-crowd.jsonl` and `crowd-comparisons.csv`; a judge's file may be absent

    Returns
    -------
    Imported
        Dimension `overall`; annotators are the crowd's worker ids, `model_a` and `model_b` the names of the left and
        right responder, `prompt` is the id of one of 13 prompts.
    """
    pairs = by_id(read_json(src / "pairs-crowd.jsonl"), "id")
    crowd = read_rows(src / "crowd-comparisons.csv")
    files = {judge: src / f"{judge}-crowd-comparisons.csv" for judge in ("gpt3", "gpt4")}
    judged = [(judge, row) for judge, file in files.items() if file.is_file() for row in read_rows(file)]
    named = {row.id("id"): row.texts(model_a="left", model_b="right") for row in [*crowd, *(row for _, row in judged)]}
    cases = [
        pair.case({
            "case_id": name,
            **pair.texts(question="text", response_a="result_x", response_b="result_y", question_type="type"),
            **named.get(name, {}),
            "prompt": pair.id("prompt"),
        })
        for name, pair in pairs.items()
    ]  # fmt: skip
    labels = [(row.id("id"), row.id("worker"), "overall", row.label("winner", _SIDES)) for row in crowd]
    verdicts = [
        (judge, row.id("id"), "overall", "AB", row.label("winner", _SIDES), "ok", None) for judge, row in judged
    ]
    return import_tables(LLMFAO, cases, labels, verdicts, source=src)


KQA: Final = BenchmarkMeta(
    "kqa-nli", "clinical", ("overall",), ("Contradiction", "Neutral", "Entailment"),
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
)  # fmt: skip
_ENTAILS: Labels = {label: label for label in KQA.categories}


@reads("kqa", about="K-QA: three physicians' labels on whether an answer entails a statement")
def read_kqa(src: Path) -> Imported:
    """Read the three physicians' labels on whether an answer entails a physician's statement; there are no verdicts.

    The answer is `response_a`, and the statement stands below the question, so that annotators and judges see both.

    Parameters
    ----------
    src : the folder that holds `NLI_medical_annotator.csv`, or that file

    Returns
    -------
    Imported
        Dimension `overall`, annotators `label_0` to `label_2`; `model_a` is the answering system, `question_id` is
        equal for rows about one question, and `majority_label` is the authors' own.
    """
    path = src if src.is_file() else src / "NLI_medical_annotator.csv"
    records = read_rows(path)
    people = ("label_0", "label_1", "label_2")
    ids = {text: str(i) for i, text in enumerate(dict.fromkeys(one.text("question") for one in records))}
    labels = [(one.id("unnamed 1"), name, "overall", one.label(name, _ENTAILS)) for one in records for name in people]
    cases = [
        one.case({
            "case_id": one.id("unnamed 1"),
            "question": f"{one.text('question')}\n\nStatement: {one.text('claim')}",
            **one.texts(response_a="answer", claim="claim", model_a="llm_x", category_x="category_x"),
            "majority_label": one.label("majority_label", _ENTAILS),
            "question_id": ids[one.text("question")],
        })
        for one in records
    ]  # fmt: skip
    return import_tables(KQA, cases, labels, source=path)
