"""The importers of published data sets: the authors' counts are rebuilt, and what breaks a layout is named.

What the authors computed of these counts is rebuilt in tests/published.
"""

import json
import shutil
from pathlib import Path

import pytest

from mrb_lib.benchmarks.formats import READERS, Imported
from mrb_lib.benchmarks.votes import gold
from mrb_lib.tables.errors import InputError

from .conftest import said

PANDALM = {"idx": 0, "motivation_app": "m", "cmp_key": "x_y", "instruction": "i", "input": "", "response1": "r",
           "response2": "s", "annotator1": 1, "annotator2": 1, "annotator3": 0}  # fmt: skip
LLMFAO = {"id": 0, "prompt": 8, "text": "t", "type": "code", "slug": "s", "note": None, "model_x": 1, "result_x": "x",
          "model_y": 2, "result_y": "y"}  # fmt: skip
JUDGEBENCH = {"pair_id": "p1", "original_id": 7, "source": "livebench-math", "question": "q", "response_model": "m",
              "response_A": "a", "response_B": "b", "label": "A>B"}  # fmt: skip
KQA_HEADER = ",Question,llm_x,answer,claim,category_x,majority_label,label_0,label_1,label_2"
KQA = "0,q,gpt4,None,c,Must_have,Neutral,Neutral,Neutral,Entailment"
LLMBAR = {"input": "i", "output_1": "x", "output_2": "y", "label": 2}
TEST_SET, PAIRS, CROWD, JUDGED = (
    "testset-v1.json", "pairs-crowd.jsonl", "crowd-comparisons.csv", "evaluators/J/P/result.json",
)  # fmt: skip


def read(name: str, folder: Path, **files: object) -> Imported:
    """What an importer makes of files, given as text or as a value to be written as JSON."""
    for file, content in files.items():
        path = folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        text = content if isinstance(content, str) else json.dumps(content)
        path.write_bytes(text.encode("latin-1"))
    return READERS[name].convert(folder)


def llmfao(*rows: str) -> dict[str, object]:
    return {PAIRS: LLMFAO, CROWD: "\n".join(["id,prompt,model_x,model_y,worker,winner,left,right", *rows, ""])}


def lines(*rows: dict[str, object]) -> dict[str, object]:
    return {"pairs.jsonl": "".join(json.dumps(row) + "\n" for row in rows)}


def kqa(*rows: str) -> dict[str, object]:
    return {"NLI_medical_annotator.csv": "".join(f"{row}\n" for row in rows)}


def llmbar(result: object) -> dict[str, object]:
    return {"dataset.json": [LLMBAR], JUDGED: result}


def verdict(winner: str | None) -> dict[str, object]:
    return {"completion": ["because", "stop"], "winner": winner}


def test_unparsed_verdicts_and_booleans_of_pandalm_are_counted(reference_data: Path) -> None:
    imported = READERS["pandalm"].convert(reference_data / "pandalm")
    unparsed = imported.verdicts[imported.verdicts["status"] == "unparsed"]
    assert unparsed["judge"].value_counts().to_dict() == {"gpt-3.5-turbo": 25}
    assert unparsed["choice"].isna().all() and unparsed["reply"].notna().all()
    assert (imported.benchmark.cases[["response_a", "response_b"]] == "True").to_numpy().sum() >= 6
    assert "25 verdicts are unparsed" in said(imported) and "6 responses are JSON booleans" in said(imported)


def test_a_judge_of_pandalm_without_a_file_is_a_finding(reference_data: Path, tmp_path: Path) -> None:
    shutil.copy(reference_data / "pandalm" / TEST_SET, tmp_path)
    imported = read("pandalm", tmp_path)
    assert imported.verdicts.empty
    assert len([finding for finding in imported.findings if "no verdicts of" in finding.problem]) == 2


def test_every_pair_of_llmfao_has_one_to_five_annotators(reference_data: Path) -> None:
    annotations = READERS["llmfao"].convert(reference_data / "llmfao").benchmark.annotations
    assert annotations["choice"].value_counts().to_dict() == {"tie": 3471, "A": 2911, "B": 2549}
    assert annotations.groupby("case_id").size().value_counts().to_dict() == {5: 998, 4: 658, 3: 358, 2: 110, 1: 15}


def test_judgebench_has_the_published_split_sizes(reference_data: Path) -> None:
    """The dataset card: 350 pairs by GPT-4o, 270 by Claude 3.5 Sonnet; 308 from MMLU-Pro, all labelled A or B."""
    folder = reference_data / "judgebench_pairs"
    benchmark = READERS["judgebench"].convert(folder).benchmark
    types = benchmark.cases["question_type"].value_counts().to_dict()
    assert sorted(benchmark.cases["model_a"].value_counts()) == [270, 350]
    assert types == {"knowledge": 308, "reasoning": 149, "math": 90, "coding": 73}
    assert benchmark.cases["question_id"].nunique() == benchmark.cases["question"].nunique() == 528
    assert benchmark.annotations["choice"].value_counts().to_dict() == {"A": 336, "B": 284}
    assert (benchmark.annotations["annotator"] == "consensus").all()
    [alone] = folder.glob("*gpt-4o*.jsonl")
    assert len(READERS["judgebench"].convert(alone).benchmark.cases) == 350


def test_a_null_id_and_an_unknown_source_of_judgebench_are_counted(tmp_path: Path) -> None:
    imported = read(
        "judgebench", tmp_path, **lines(JUDGEBENCH, JUDGEBENCH | {"pair_id": "p2", "original_id": None, "source": "x"})
    )
    assert imported.benchmark.cases["original_id"].fillna("-").tolist() == ["7", "-"]
    assert imported.benchmark.cases["question_type"].fillna("-").tolist() == ["math", "-"]
    assert "1 pairs have an unknown category" in str(imported.findings[0])


def test_kqa_has_the_authors_majority_and_its_statements_in_the_questions(reference_data: Path) -> None:
    benchmark = READERS["kqa"].convert(reference_data / "kqa").benchmark
    label = gold(benchmark).merge(benchmark.cases, on="case_id")
    assert len(label) == 399 and (label["choice"] == label["majority_label"]).all()
    assert benchmark.cases["question_id"].nunique() == 50
    assert (benchmark.meta.kind, benchmark.meta.task) == ("clinical", "rating")
    assert all(claim in question for claim, question in benchmark.cases[["claim", "question"]].to_numpy())


def test_an_answer_of_kqa_may_be_the_text_none(tmp_path: Path) -> None:
    assert read("kqa", tmp_path, **kqa(KQA_HEADER, KQA)).benchmark.cases["response_a"].tolist() == ["None"]


def test_subsets_of_llmbar_become_datasets(reference_data: Path) -> None:
    imported = READERS["llmbar"].convert(reference_data / "llmbar_casestudy")
    assert set(imported.benchmark.cases["dataset"]) == {"Negation", "Normal"}
    assert len(imported.verdicts) == len(imported.benchmark.cases) * 24 * 2
    assert (imported.verdicts["status"] == "unparsed").sum() == imported.verdicts["choice"].isna().sum() == 33


def test_the_last_object_of_llmbar_counts_and_null_is_unparsed(tmp_path: Path) -> None:
    first = {"swap = False": verdict("1"), "swap = True": verdict("1")}
    last = {"swap = False": verdict("2"), "swap = True": verdict(None)}
    verdicts = read("llmbar", tmp_path, **llmbar([LLMBAR | {"results": [["text", "stop"], first, last]}])).verdicts
    rows = verdicts[["judge", "order", "choice", "status"]].fillna("-").to_numpy().tolist()
    assert rows == [["J/P", "AB", "B", "ok"], ["J/P", "BA", "-", "unparsed"]]


WRONG: list[tuple[str, dict[str, object], str]] = [
    ("pandalm", {TEST_SET: [PANDALM | {"annotator2": "1"}]},
     r"row 1, column annotator2: \"1\" is not a known value; use one of 1, 2, 0"),
    ("pandalm", {TEST_SET: [PANDALM | {"annotator2": True}]}, "row 1, column annotator2"),
    ("pandalm", {TEST_SET: [PANDALM | {"response1": None}]}, "row 1, column response1: null where text belongs"),
    ("pandalm", {TEST_SET: [PANDALM | {"cmp_key": "one"}]}, "row 1, column cmp_key"),
    ("pandalm", {TEST_SET: [PANDALM | {"idx": None}]}, "row 1, column idx"),
    ("pandalm", {TEST_SET: [PANDALM], "pandalm-7b-testset-v1.json":
                 [{"idx": 5000, "pandalm_result": 1, "pandalm_reason": "", "pandalm_reference": ""}]}, "5000"),
    *(("pandalm", {TEST_SET: content}, r"testset-v1\.json")
      for content in ("", "{}", "[1]", "[", '[{"idx": 0, "idx": 1}]', "\xff")),
    ("llmfao", llmfao("0,8,1,2,7,draw,L,R"), "row 1, column winner"),
    ("llmfao", llmfao("9,8,1,2,7,tie,L,R"), "row 1, column id: the pair '9' does not exist"),
    ("llmfao", llmfao("0,8,1,3,7,tie,L,R"), r"row 1, column model_y: differs from .*pairs-crowd\.jsonl, line 1"),
    ("llmfao", llmfao("0,8,1,2,7,tie,L,R", "0,8,1,2,8,tie,L,Q"), "row 2, column right: differs"),
    ("llmfao", llmfao("0,8,1,2,7,tie,L,R", "0,8,1,2,8,left,R,L"), "row 2, column left: differs"),
    ("llmfao", llmfao("0,8,1,2,7,tie,L,R", "0,8,1,2,7,tie,L,R"), "annotator 7, dimension overall occurs again"),
    ("llmfao", llmfao("0,8,1,2,7"), "row 1: has 5 cells"),
    ("llmfao", {PAIRS: LLMFAO}, r"crowd-comparisons\.csv: the file is missing"),
    ("judgebench", lines(JUDGEBENCH | {"label": "A=B"}), "line 1, column label"),
    ("judgebench", lines(JUDGEBENCH, JUDGEBENCH), r"line 2, column pair_id: .*occurs again \(first in .*line 1\)"),
    ("judgebench", lines(JUDGEBENCH, {"pair_id": "x"}), "line 2, column .*: the field is missing"),
    ("judgebench", lines(), "holds no cases"),
    ("judgebench", {}, r"no \.jsonl file"),
    ("kqa", kqa(KQA_HEADER, KQA, KQA.replace("Entailment", "Maybe")),
     r"row 2, column label_2: \"Maybe\" is not a known value"),
    ("kqa", kqa(KQA_HEADER.removesuffix(",label_2"), KQA.removesuffix(",Entailment")), "column label_2: the column is"),
    ("kqa", kqa(KQA_HEADER, KQA.removesuffix(",Entailment")), "row 1: has 9 cells where the header has 10"),
    ("kqa", kqa(KQA_HEADER, KQA[1:], KQA), "row 1, column unnamed 1"),
    ("kqa", kqa(KQA_HEADER, KQA, KQA), "occurs again"),
    ("kqa", kqa(), "is empty"),
    ("kqa", {}, r"NLI_medical_annotator\.csv: the file is missing"),
    ("llmbar", llmbar([]), "has 0 items where dataset.json has 1"),
    ("llmbar", llmbar([LLMBAR | {"label": 1, "results": []}]), "row 1, column label: differs from"),
    ("llmbar", llmbar([LLMBAR | {"results": [["text"]]}]), "row 1, column results: its last object holds no text"),
    ("llmbar", llmbar([LLMBAR | {"results": [{"swap = False": verdict("1")}]}]), "swap = True"),
    ("llmbar", llmbar([LLMBAR | {"results": [{"swap = False": verdict("3"), "swap = True": verdict("1")}]}]),
     "row 1, swap = False, column winner"),
    ("llmbar", llmbar({}), "where an array of objects belongs"),
    ("llmbar", {}, r"there is no dataset\.json"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "files", "message"), WRONG)
def test_what_breaks_a_layout_is_named(name: str, files: dict[str, object], message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        read(name, tmp_path, **files)
