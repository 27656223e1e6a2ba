"""Published sets of labels: PandaLM, JudgeBench, LLMBar, LLMFAO and K-QA, each as its authors store it.

The published counts are rebuilt by tests/benchmarks/formats/test_published_sets.py and tests/published. Every reader
raises `InputError` where a file is missing or has another shape, and names the row and the field.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Final

from mrb_lib.benchmarks.formats.base import Imported, import_tables, reads
from mrb_lib.benchmarks.formats.sources import SourceRow, by_id, csv_records, read_json_array, read_jsonl, text_id
from mrb_lib.benchmarks.meta import BenchmarkMeta
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.schema import CONSENSUS
from mrb_lib.tables.validation import Finding, counted

Labels = Mapping[str | int | None, str]
Case = dict[str, object]
Verdict = tuple[str | None, ...]
_DIMENSIONS: Final = ("overall",)
_PREFERENCE: Final = ("A", "tie", "B")

PANDALM: Final = BenchmarkMeta(
    "pandalm-testset-v1", "general", _DIMENSIONS, _PREFERENCE,
    description="PandaLM test set v1: instruction-following pairs with three annotators",
    source="https://github.com/WeOpenML/PandaLM",
    licence="Apache-2.0",
    citation="Wang et al., PandaLM: An Automatic Evaluation Benchmark for LLM Instruction Tuning Optimization, "
    "ICLR 2024, arXiv 2306.05087",
)  # fmt: skip
_NUMBERS: Labels = {1: "A", 2: "B", 0: "tie"}
_PANDALM_JUDGES: Mapping[str, tuple[str, Mapping[str | int | None, str | None]]] = {
    "gpt-3.5-turbo": ("gpt", {"1": "A", "2": "B", "Tie": "tie", "garbage": None}),
    "pandalm-7b": ("pandalm", _NUMBERS),
}
"""The prefix of each judge's fields, and how it writes its verdicts. PandaLM's own parser read garbage as a tie."""


@reads("pandalm", about="PandaLM's test set: 999 pairs, three annotators, two judges")
def read_pandalm(
    src: Path,
    *,
    unparsed_as_tie: Annotated[bool, "read unparsed verdicts as ties, as its authors did"] = False,
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
    records = read_json_array(path)
    cases = [_pandalm_case(record) for record in records]
    people = ("annotator1", "annotator2", "annotator3")
    labels = [(one.id("idx"), name, "overall", one.label(name, _NUMBERS)) for one in records for name in people]
    booleans = sum(isinstance(record.get(name), bool) for record in records for name in ("response1", "response2"))
    findings = counted(booleans, "info", path, "responses are JSON booleans", "they are read as text")
    unparsed = ("tie", "repaired") if unparsed_as_tie else (None, "unparsed")
    what, cure = "verdicts are unparsed", "unparsed_as_tie reads them as ties"
    if unparsed_as_tie:
        what, cure = "unparsed verdicts are read as ties", "drop the option unparsed_as_tie to tell them apart"
    rows: list[Verdict] = []
    for judge, file in _judge_files(src, "{}-testset-v1.json", _PANDALM_JUDGES, findings):
        prefix, names = _PANDALM_JUDGES[judge]
        verdicts = by_id(read_json_array(file), "idx")
        for case_id, record in verdicts.items():
            choice, reply = record.label(f"{prefix}_result", names), record.optional_text(f"{prefix}_reason")
            rows.append((judge, case_id, "overall", "AB", *((choice, "ok") if choice else unparsed), reply))
        n_unparsed = sum(row[0] == judge and row[5] != "ok" for row in rows)
        findings += counted(n_unparsed, "warning", file, what, cure, f"{prefix}_result")
        absent = len(cases) - len(verdicts)
        findings += counted(absent, "warning", file, f"cases have no verdict of {judge}", "restore the file")
    return import_tables(PANDALM, cases, labels, rows, findings, source=path)


def _judge_files(folder: Path, name: str, judges: Iterable[str], findings: list[Finding]) -> Iterator[tuple[str, Path]]:
    """Yield the judges whose file is there; the others are findings."""
    for judge in judges:
        path, cure = folder / name.format(judge), "add the file if you want them"
        if path.is_file():
            yield judge, path
        else:
            findings.append(Finding("info", str(path), None, None, f"there are no verdicts of {judge}", cure))


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
    "judgebench", "general", _DIMENSIONS, ("A", "B"),
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
        `question_type` its category: knowledge, reasoning, math or coding. `question_id` is equal for pairs that share
        a question, so that one can resample by question; `original_id` is often null.
    """
    paths = [src] if src.is_file() else sorted(src.glob("*.jsonl"))
    if not paths:
        raise InputError(
            f"{src}: there is no .jsonl file; give the folder that holds JudgeBench's files, or one of them."
        )
    records = by_id((record for path in paths for record in read_jsonl(path)), "pair_id").values()
    cases = [_judgebench_case(record) for record in records]
    labels = [(one.text("pair_id"), CONSENSUS, "overall", one.label("label", _BETTER)) for one in records]
    unknown = sum(case["question_type"] is None for case in cases)
    findings = counted(unknown, "warning", src, "pairs have an unknown category", "correct the source", "source")
    return import_tables(JUDGEBENCH, cases, labels, findings=findings, source=src)


def _judgebench_case(record: SourceRow) -> Case:
    source = record.text("source")
    return record.case({
        **record.texts(case_id="pair_id", question="question", response_a="response_A", response_b="response_B"),
        "question_type": next((name for prefix, name in _CATEGORIES.items() if source.startswith(prefix)), None),
        **record.texts(dataset="source", model_a="response_model", model_b="response_model"),
        "original_id": None if record.get("original_id") is None else record.id("original_id"),
        "question_id": text_id(record.text("question")),
    })  # fmt: skip


LLMBAR: Final = BenchmarkMeta(
    "llmbar", "general", _DIMENSIONS, ("A", "B"),
    description="LLMBar: instruction-following pairs with a label agreed on by the authors",
    source="https://github.com/princeton-nlp/LLMBar",
    licence="MIT",
    citation="Zeng et al., Evaluating Large Language Models at Evaluating Instruction Following, "
    "ICLR 2024, arXiv 2310.07641",
)  # fmt: skip
_ITEMS: Final = "dataset.json"
_ORDERS: Final = {"AB": "swap = False", "BA": "swap = True"}
_OUTPUTS: Labels = {1: "A", 2: "B"}
_WINNERS: Mapping[str | int | None, str | None] = {"1": "A", "2": "B", None: None}


@reads("llmbar", about="LLMBar: one subset or all below a folder, with judges in both orders")
def read_llmbar(src: Path) -> Imported:
    """Read one subset of LLMBar, or every subset below a folder.

    A subset is a folder with `dataset.json` and `evaluators/<judge>/<prompt>/result.json`. The last object in an item's
    `results` holds the verdicts; the winner under "swap = True" is already mapped back to the item's own two outputs,
    so nothing is flipped here.

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
    paths = sorted(path.parent for path in src.rglob(_ITEMS))
    if not paths:
        raise InputError(f"{src}: there is no {_ITEMS}; give a subset of LLMBar, or a folder of subsets.")
    names = [path.resolve().name for path in paths]
    findings: list[Finding] = []
    cases: list[Case] = []
    labels, verdicts = [], list[Verdict]()
    for name, path in zip(names, paths, strict=True):
        subset = name if names.count(name) == 1 else path.relative_to(src).as_posix()
        items = {f"{subset}-{i}": item for i, item in enumerate(read_json_array(path / _ITEMS))}
        for case_id, item in items.items():
            texts = item.texts(question="input", response_a="output_1", response_b="output_2")
            cases.append(item.case({"case_id": case_id, **texts, "dataset": subset}))
            labels.append((case_id, CONSENSUS, "overall", item.label("label", _OUTPUTS)))
        for result in sorted((path / "evaluators").glob("*/*/result.json")):
            rows = list(_llmbar_verdicts(result, items))
            unparsed = sum(row[4] is None for row in rows)
            findings += counted(unparsed, "info", result, "verdicts are unparsed", "they stay, without a choice")
            verdicts += rows
    return import_tables(LLMBAR, cases, labels, verdicts, findings, source=src)


def _llmbar_verdicts(path: Path, items: Mapping[str, SourceRow]) -> Iterator[Verdict]:
    results = read_json_array(path)
    if len(results) != len(items):
        raise InputError(f"{path}: has {len(results)} items where {_ITEMS} has {len(items)}; restore both files.")
    for (case_id, item), result in zip(items.items(), results, strict=True):
        for name in ("input", "output_1", "output_2", "label"):
            if result.get(name) != item.get(name):
                raise result.error(name, f"differs from {item.file}, {item.location}", "restore both files")
        stated = result.get("results")
        objects = [value for value in stated if isinstance(value, dict)] if isinstance(stated, list) else []
        for order, key in _ORDERS.items():
            stated = objects[-1].get(key) if objects else None
            judgement = stated if isinstance(stated, dict) else {}
            replies = judgement.get("completion")
            if not isinstance(replies, list) or not replies or not isinstance(replies[0], str):
                raise result.error("results", f"its last object holds no text under {key!r}", "restore the file")
            choice = SourceRow(result.file, f"{result.location}, {key}", judgement).label("winner", _WINNERS)
            judge, status = "/".join(path.parts[-3:-1]), "ok" if choice else "unparsed"
            yield judge, case_id, "overall", order, choice, status, replies[0]


LLMFAO: Final = BenchmarkMeta(
    "llmfao", "general", _DIMENSIONS, _PREFERENCE,
    description="LLMFAO: crowd comparisons of the replies of 59 language models",
    source="https://github.com/dustalov/llmfao",
    licence="CC-BY-4.0",
    citation="D. Ustalov, Large Language Model Feedback Analysis and Optimization (LLMFAO), "
    "huggingface.co/datasets/dustalov/llmfao",
)  # fmt: skip
_PAIRS: Final = "pairs-crowd.jsonl"
_COLUMNS: Final = ("id", "prompt", "model_x", "model_y", "winner", "left", "right")
_SIDES: Labels = {"left": "A", "right": "B", "tie": "tie"}


@reads("llmfao", about="LLMFAO: crowd comparisons of 59 models, with two judges")
def read_llmfao(src: Path) -> Imported:
    """Read the pairs, the crowd's labels and the verdicts of the judges gpt3 and gpt4.

    The design is incomplete: 124 annotators saw one to five to a pair. The left response is A, the right one B.

    Parameters
    ----------
    src : the folder that holds `pairs-crowd.jsonl` and `crowd-comparisons.csv`; a judge's file may be absent

    Returns
    -------
    Imported
        Dimension `overall`; annotators are the crowd's worker ids. `model_a` and `model_b` are the names of the left
        and right responder; their ids are kept as `model_x`, `model_y`, the prompt's as `prompt` (13 prompts, to
        resample by).

    Raises
    ------
    InputError
        Two files disagree on a pair.
    """
    findings: list[Finding] = []
    pairs = by_id(read_jsonl(src / _PAIRS), "id")
    named: dict[str, SourceRow] = {}
    crowd = src / "crowd-comparisons.csv"
    labels = [
        (_llmfao_pair(r, pairs, named), r.id("worker"), "overall", r.label("winner", _SIDES))
        for r in csv_records(crowd, (*_COLUMNS, "worker"))
    ]
    rows = [
        (judge, _llmfao_pair(r, pairs, named), "overall", "AB", r.label("winner", _SIDES), "ok", None)
        for judge, file in _judge_files(src, "{}-crowd-comparisons.csv", ("gpt3", "gpt4"), findings)
        for r in by_id(csv_records(file, _COLUMNS), "id").values()
    ]
    cases = [_llmfao_case(case_id, pair, named.get(case_id)) for case_id, pair in pairs.items()]
    unlabelled = len(pairs.keys() - {label[0] for label in labels})
    findings += counted(unlabelled, "warning", crowd, "pairs have no annotator", "restore the file")
    return import_tables(LLMFAO, cases, labels, rows, findings, source=crowd)


def _llmfao_pair(record: SourceRow, pairs: Mapping[str, SourceRow], named: dict[str, SourceRow]) -> str:
    """Return the pair that a row of a CSV file is about, after comparing what both files say about it."""
    case_id = record.id("id")
    if case_id not in pairs:
        raise record.error("id", f"the pair {case_id!r} does not exist", f"correct it or restore {_PAIRS}")
    for column in ("prompt", "model_x", "model_y"):
        if record.id(column) != pairs[case_id].id(column):
            raise record.error(column, f"differs from {_PAIRS}, {pairs[case_id].location}", "restore both files")
    first = named.setdefault(case_id, record)
    for column in ("left", "right"):
        if record.get(column) != first.get(column):
            raise record.error(column, f"differs from {first.file}, {first.location}", "restore both files")
    return case_id


def _llmfao_case(case_id: str, pair: SourceRow, named: SourceRow | None) -> Case:
    return pair.case({
        "case_id": case_id,
        **pair.texts(question="text", response_a="result_x", response_b="result_y", question_type="type"),
        **(named.texts(model_a="left", model_b="right") if named else {"model_a": None, "model_b": None}),
        "prompt": pair.id("prompt"),
        "slug": pair.text("slug"),
        "note": pair.optional_text("note"),
        "model_x": pair.id("model_x"),
        "model_y": pair.id("model_y"),
    })  # fmt: skip


KQA: Final = BenchmarkMeta(
    "kqa-nli", "clinical", _DIMENSIONS, ("Contradiction", "Neutral", "Entailment"),
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
_PHYSICIANS: Final = ("label_0", "label_1", "label_2")
_KQA_COLUMNS: Final = ("unnamed 1", "Question", "llm_x", "answer", "claim", "category_x", "majority_label")
_KQA_LABELS: Labels = {label: label for label in KQA.categories}


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
        Dimension `overall`, annotators `label_0` to `label_2`. `model_a` is the answering system. The categories go
        from contradiction to entailment; the authors count them as nominal, and `level` says so. Extra columns:
        `claim`, the statement, `question_id` (equal for rows about one question, to resample by),
        `category_x` and the authors' `majority_label`.
    """
    path = src if src.is_file() else src / "NLI_medical_annotator.csv"
    records = csv_records(path, (*_KQA_COLUMNS, *_PHYSICIANS))
    labels = [
        (one.id("unnamed 1"), name, "overall", one.label(name, _KQA_LABELS)) for one in records for name in _PHYSICIANS
    ]
    return import_tables(KQA, [_kqa_case(record) for record in records], labels, source=path)


def _kqa_case(record: SourceRow) -> Case:
    question = record.text("Question")
    return record.case({
        "case_id": record.id("unnamed 1"),
        "question": f"{question}\n\nStatement: {record.text('claim')}",
        **record.texts(response_a="answer", claim="claim", model_a="llm_x", category_x="category_x"),
        "majority_label": record.label("majority_label", _KQA_LABELS),
        "question_id": text_id(question),
    })  # fmt: skip
