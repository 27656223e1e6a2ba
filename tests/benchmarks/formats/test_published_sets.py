"""The importers of published data sets: the authors' counts are rebuilt, and what breaks a layout is named.

What the authors computed of these counts is rebuilt in tests/published.
"""

import json
from pathlib import Path

import pytest

from mrb_lib.benchmarks.formats import READERS, Imported
from mrb_lib.benchmarks.votes import gold
from mrb_lib.tables.errors import InputError

from .conftest import PANDALM, said

JUDGEBENCH = {"pair_id": "p1", "original_id": 7, "source": "livebench-math", "question": "q", "response_model": "m",
              "response_A": "a", "response_B": "b", "label": "A>B"}  # fmt: skip
TEST_SET, PAIRS, CROWD, LABELS = (
    "testset-v1.json", "pairs-crowd.jsonl", "crowd-comparisons.csv", "NLI_medical_annotator.csv",
)  # fmt: skip
LLMFAO = {"id": 0, "prompt": 8, "text": "t", "type": "code", "result_x": "x", "result_y": "y"}
LLMBAR = {"dataset.json": [{"input": "i", "output_1": "x", "output_2": "y", "label": 2}]}
KQA_HEADER = ",Question,llm_x,answer,claim,category_x,majority_label,label_0,label_1,label_2"
KQA = "0,q,gpt4,None,c,Must_have,Neutral,Neutral,Neutral,Entailment"


def read(name: str, folder: Path, **files: object) -> Imported:
    """What an importer makes of files, given as text or as a value to be written as JSON."""
    for file, content in files.items():
        path = folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        text = content if isinstance(content, str) else json.dumps(content)
        path.write_bytes(text.encode("latin-1"))
    return READERS[name].convert(folder)


def test_unparsed_verdicts_of_pandalm_are_counted_and_booleans_are_texts(reference_data: Path) -> None:
    imported = READERS["pandalm"].convert(reference_data / "pandalm")
    unparsed = imported.verdicts[imported.verdicts["status"] == "unparsed"]
    assert unparsed["judge"].value_counts().to_dict() == {"gpt-3.5-turbo": 25}
    assert unparsed["choice"].isna().all() and unparsed["reply"].notna().all()
    assert (imported.benchmark.cases[["response_a", "response_b"]] == "True").to_numpy().sum() >= 6
    assert "25 verdicts are unparsed" in said(imported)


def test_judgebench_has_the_published_split_sizes(reference_data: Path) -> None:
    """The dataset card: 350 pairs by GPT-4o, 270 by Claude 3.5 Sonnet; 308 from MMLU-Pro, all labelled A or B."""
    folder = reference_data / "judgebench_pairs"
    benchmark = READERS["judgebench"].convert(folder).benchmark
    assert sorted(benchmark.cases["model_a"].value_counts()) == [270, 350]
    assert benchmark.cases["dataset"].str.startswith("mmlu-pro").sum() == 308
    assert benchmark.cases["question"].nunique() == 528
    assert benchmark.annotations["choice"].value_counts().to_dict() == {"A": 336, "B": 284}
    assert (benchmark.annotations["annotator"] == "consensus").all()
    [alone] = folder.glob("*gpt-4o*.jsonl")
    assert len(READERS["judgebench"].convert(alone).benchmark.cases) == 350


def test_every_pair_of_llmfao_has_one_to_five_annotators(reference_data: Path) -> None:
    annotations = READERS["llmfao"].convert(reference_data / "llmfao").benchmark.annotations
    assert annotations["choice"].value_counts().to_dict() == {"tie": 3471, "A": 2911, "B": 2549}
    assert annotations.groupby("case_id").size().value_counts().to_dict() == {5: 998, 4: 658, 3: 358, 2: 110, 1: 15}


def test_kqa_has_the_authors_majority_and_its_statements_in_the_questions(reference_data: Path) -> None:
    benchmark = READERS["kqa"].convert(reference_data / "kqa").benchmark
    label = gold(benchmark).merge(benchmark.cases, on="case_id")
    assert len(label) == 399 and (label["choice"] == label["majority_label"]).all()
    assert benchmark.cases["question_id"].nunique() == 50
    assert (benchmark.meta.kind, benchmark.meta.task) == ("clinical", "rating")
    assert all(claim in question for claim, question in benchmark.cases[["claim", "question"]].to_numpy())


def test_an_answer_of_kqa_may_be_the_text_none(tmp_path: Path) -> None:
    made = read("kqa", tmp_path, **{LABELS: f"{KQA_HEADER}\n{KQA}\n"})
    assert made.benchmark.cases["response_a"].tolist() == ["None"]


def test_subsets_of_llmbar_become_datasets(reference_data: Path) -> None:
    imported = READERS["llmbar"].convert(reference_data / "llmbar_casestudy")
    assert set(imported.benchmark.cases["dataset"]) == {"Negation", "Normal"}
    assert len(imported.verdicts) == len(imported.benchmark.cases) * 24 * 2
    assert (imported.verdicts["status"] == "unparsed").sum() == imported.verdicts["choice"].isna().sum() == 33


def llmbar(*results: object) -> dict[str, object]:
    return LLMBAR | {"evaluators/J/P/result.json": [{"results": list(results)}]}


def verdicts(first: str | None, second: str | None) -> dict[str, object]:
    named = {"swap = False": first, "swap = True": second}
    return {key: {"completion": ["because", "stop"], "winner": winner} for key, winner in named.items()}


def test_the_last_object_of_llmbar_counts_and_null_is_unparsed(tmp_path: Path) -> None:
    made = read("llmbar", tmp_path, **llmbar(["text"], verdicts("1", "1"), verdicts("2", None))).verdicts
    rows = made[["judge", "order", "choice", "status", "reply"]].fillna("-").to_numpy().tolist()
    assert rows == [["J/P", "AB", "B", "ok", "because"], ["J/P", "BA", "-", "unparsed", "because"]]


WRONG: list[tuple[str, dict[str, object], str]] = [
    ("pandalm", {TEST_SET: [PANDALM | {"annotator2": "1"}]},
     r"row 1, column annotator2: \"1\" is not a known value; use one of 1, 2, 0"),
    ("pandalm", {TEST_SET: [PANDALM | {"annotator2": True}]}, "row 1, column annotator2"),
    ("pandalm", {TEST_SET: [PANDALM | {"response1": None}]}, "row 1, column response1: null where text belongs"),
    ("pandalm", {TEST_SET: [PANDALM | {"cmp_key": "one"}]}, "row 1, column cmp_key"),
    ("pandalm", {TEST_SET: [PANDALM | {"idx": None}]}, "row 1, column idx"),
    ("pandalm", {TEST_SET: [PANDALM], "pandalm-7b-testset-v1.json":
                 [{"idx": 5000, "pandalm_result": 1, "pandalm_reason": "", "pandalm_reference": ""}]}, "5000"),
    *(("pandalm", {TEST_SET: content}, r"testset-v1\.json") for content in ("", "{}", "[1]", "[", "\xff")),
    ("judgebench", {"x.jsonl": [JUDGEBENCH | {"label": "A=B"}]}, "row 1, column label"),
    ("judgebench", {"x.jsonl": [JUDGEBENCH] * 2}, r"row 2, column pair_id: .*occurs again \(first in .*row 1\)"),
    ("judgebench", {"x.jsonl": [JUDGEBENCH, {"pair_id": "x"}]}, "row 2, column .*: the field is missing"),
    ("judgebench", {"x.jsonl": []}, "holds no cases"),
    ("judgebench", {}, "holds no cases"),
    ("llmfao", {PAIRS: LLMFAO, CROWD: "id,worker,winner,left,right\n0,7,draw,L,R\n"}, "row 1, column winner"),
    ("llmfao", {PAIRS: LLMFAO, CROWD: "id,worker,winner,left,right\n9,7,tie,L,R\n"}, "the case '9' does not exist"),
    ("llmfao", {PAIRS: LLMFAO}, r"crowd-comparisons\.csv: the file is missing"),
    ("kqa", {LABELS: f"{KQA_HEADER}\n{KQA.replace('Entailment', 'Maybe')}\n"},
     r"row 1, column label_2: \"Maybe\" is not a known value"),
    ("kqa", {}, r"NLI_medical_annotator\.csv: the file is missing"),
    ("llmbar", llmbar(["text"]), "row 1, column results: its last object holds no verdict"),
    ("llmbar", llmbar({"swap = False": {"completion": ["x"], "winner": "1"}}), "swap = True"),
    ("llmbar", llmbar(verdicts("3", "1")), "row 1, swap = False, column winner"),
    ("llmbar", {}, "holds no cases"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "files", "message"), WRONG)
def test_what_breaks_a_layout_is_named(name: str, files: dict[str, object], message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        read(name, tmp_path, **files)
