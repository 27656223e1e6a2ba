"""Published sets of labels that no importer reads: LLMFAO, K-QA and LLMBar, as their authors store them."""

import json
from pathlib import Path

import pandas as pd

from mrb_lib.benchmarks.formats import Imported, import_tables
from mrb_lib.benchmarks.meta import BenchmarkMeta

_SIDES = {"left": "A", "right": "B", "tie": "tie"}
_KQA = BenchmarkMeta(
    "kqa", "clinical", ("overall",), ("Contradiction", "Neutral", "Entailment"),
    task="rating", acceptable=("Neutral", "Entailment"),
)  # fmt: skip


def llmfao(folder: Path) -> Imported:
    """The pairs, the crowd's labels and the verdicts of gpt3 and gpt4; the left response is A."""
    pairs = pd.read_json(folder / "pairs-crowd.jsonl", lines=True).astype({"id": "str"})
    files = {by: pd.read_csv(folder / f"{by}crowd-comparisons.csv", dtype="str") for by in ("", "gpt3-", "gpt4-")}
    rows = pd.concat([each.assign(judge=by.strip("-")) for by, each in files.items()]).assign(dimension="overall")
    rows = rows.assign(case_id=rows["id"], annotator=rows["worker"], choice=rows["winner"].map(_SIDES))
    names = rows.drop_duplicates("id").set_index("id").reindex(pairs["id"])
    cases = pairs.rename(columns={"id": "case_id", "text": "question", "result_x": "response_a"})
    cases = cases.rename(columns={"result_y": "response_b"}).drop(columns="note")
    cases = cases.assign(model_a=names["left"].to_numpy(), model_b=names["right"].to_numpy())
    labels = rows.loc[rows["judge"] == "", ["case_id", "annotator", "dimension", "choice"]]
    verdicts = rows.loc[rows["judge"] != "", ["judge", "case_id", "dimension", "choice"]]
    verdicts = verdicts.assign(order="AB", status="ok")
    meta = BenchmarkMeta("llmfao", "general", ("overall",), ("A", "tie", "B"))
    return import_tables(meta, cases, labels, verdicts, source=folder)


def kqa(folder: Path) -> Imported:
    """The labels of three physicians on whether an answer entails a statement."""
    rows = pd.read_csv(folder / "NLI_medical_annotator.csv", dtype="str", keep_default_na=False)
    rows = rows.rename(columns={"Unnamed: 0": "case_id", "answer": "response_a", "llm_x": "model_a"})
    question = rows["Question"] + "\n\nStatement: " + rows["claim"]
    cases = rows[["case_id", "response_a", "model_a", "claim", "majority_label"]]
    cases = cases.assign(question=question, question_id=pd.factorize(rows["Question"])[0])
    labels = rows.melt("case_id", ["label_0", "label_1", "label_2"], "annotator", "choice")
    return import_tables(_KQA, cases, labels.assign(dimension="overall"), source=folder)


def llmbar(subset: Path) -> Imported:
    """One subset: a label per item, and the last verdict of each judge and prompt in both orders."""
    items = json.loads((subset / "dataset.json").read_text(encoding="utf-8"))
    cases = [{"case_id": str(i), "question": item["input"], "response_a": item["output_1"],
              "response_b": item["output_2"]} for i, item in enumerate(items)]  # fmt: skip
    labels = [(str(i), "consensus", "overall", " AB"[item["label"]]) for i, item in enumerate(items)]
    verdicts = []
    for path in sorted(subset.glob("evaluators/*/*/result.json")):
        for i, item in enumerate(json.loads(path.read_text(encoding="utf-8"))):
            for order, key in (("AB", "swap = False"), ("BA", "swap = True")):
                choice = {"1": "A", "2": "B"}.get(item["results"][-1][key]["winner"])
                status = "ok" if choice else "unparsed"
                verdicts.append(("/".join(path.parts[-3:-1]), str(i), "overall", order, choice, status, None))
    return import_tables(
        BenchmarkMeta("llmbar", "general", ("overall",), ("A", "B")), cases, labels, verdicts, source=subset
    )
