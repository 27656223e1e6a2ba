"""Several labels in one dimension: each is a question of its own in a packed case, and a list in a written reply."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
import transformers

from mrb_lib.benchmarks.benchmark import Benchmark, load, save
from mrb_lib.benchmarks.meta import BenchmarkMeta
from mrb_lib.judges.fences import marks_pattern
from mrb_lib.judges.local.categories import CategoriesJudge, NumberedCategoriesJudge
from mrb_lib.judges.local.checkpoint import special_tokens
from mrb_lib.judges.local.generative import GenerativeJudge
from mrb_lib.judges.prompt_files import load_prompt
from mrb_lib.judges.prompts import DEFINITIONS
from mrb_lib.judges.roster.engines import JudgeRequest
from mrb_lib.judges.roster.entry import Entry
from mrb_lib.judges.roster.source import WeightsSource
from mrb_lib.judges.sent import sent, shown_case
from mrb_lib.judges.settings import Settings
from mrb_lib.judges.tasks import Reply, task_maker
from mrb_lib.runs.execute import judge, settings_for
from mrb_lib.verdicts.orders import KEYS
from mrb_lib.verdicts.store import load_verdicts, read_manifest, run_folders

Tiny = Callable[[str], Path]
LABELS = {"errors": ("omission", '"wrong" <|end|> side', "Ω")}
RISKS = ("no risk", "low risk", "high risk")
META = BenchmarkMeta(
    "labelled",
    "general",
    ("risk", "errors"),
    RISKS,
    "ordinal",
    "rating",
    labels=LABELS,
    definitions={"omission": "left out"},
)
CASES = pd.DataFrame(
    {
        "case_id": ["one", "two"],
        "question": ["What is seen?", "Which side?"],
        "response_a": ["A lesion.", "The left. " * 9],
        "response_b": "",
        "images": [[], []],
    }
)
BENCHMARK = Benchmark(META, CASES, pd.DataFrame(columns=["case_id", "annotator", "dimension", "choice"], dtype="str"))


def made(kind: type, folder: Path, **wishes: object) -> CategoriesJudge:
    settings = replace(settings_for(BENCHMARK, Settings(device="cpu"), 1), **wishes)
    return kind(JudgeRequest(Entry("tiny", kind.engine, path=folder), settings, {}, WeightsSource(folder, "sha256:0")))


def shown(repeats: int = 1) -> pd.DataFrame:
    rows = [
        {**case, "dimension": name, "order": "AB", "repeat": repeat, "probe": "none", "first": case["response_a"]}
        for case in CASES.to_dict("records")
        for repeat in range(repeats)
        for name in META.dimensions
    ]
    return pd.DataFrame(rows).assign(second="").drop(columns=["response_a", "response_b"])


def alone(folder: Path, row: pd.Series, label: str, marks: str, *, numbered: bool) -> float:
    """The probability of yes, the second mark, beside no, in an ordinary pass of transformers of its own."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    prompt = load_prompt("single-rate").render(
        row["question"], [row["first"]], META.dimensions, "errors", label_sets=LABELS, label=label, choices=RISKS,
        definitions=DEFINITIONS | META.definitions, ordered=True, numbered=numbered,
        marks=marks_pattern(special_tokens(tokenizer)),
    )  # fmt: skip
    turn = [{"role": "user", "content": prompt.text}]
    inputs = tokenizer(
        tokenizer.apply_chat_template(turn, tokenize=False, add_generation_prompt=True), return_tensors="pt"
    )
    with torch.inference_mode():
        odds = model(**inputs).logits[0, -1].softmax(-1)
    ids = [[tokenizer.convert_tokens_to_ids(word) for word in (mark, f"\u0120{mark}")] for mark in marks[:2]]
    no, yes = (float(sum(odds[one] for one in own if one is not None)) for own in ids)
    return yes / (no + yes)


@pytest.mark.parametrize(("kind", "marks"), [(CategoriesJudge, "ABC"), (NumberedCategoriesJudge, "123")])
def test_each_label_has_the_probability_that_it_has_when_asked_alone(kind: type, marks: str, tiny: Tiny) -> None:
    packed = made(kind, tiny("llama"))
    packed.load()
    rows = shown(2)
    answers = packed.judge(rows)
    assert answers[list(KEYS)].to_dict("records") == rows[list(KEYS)].to_dict("records")
    assert (answers["status"] == "ok").all()
    errors = answers[answers["dimension"] == "errors"]
    assert errors["score_first"].isna().all()
    for (_, answer), (_, row) in zip(errors.iterrows(), rows[rows["dimension"] == "errors"].iterrows(), strict=True):
        stated = json.loads(answer["p_categories"])
        one = [
            alone(tiny("llama"), row, label, marks, numbered=kind is NumberedCategoriesJudge)
            for label in LABELS["errors"]
        ]
        assert np.abs(np.array(stated) - one).max() < 1e-4
        chosen = [label for label, share in zip(LABELS["errors"], stated, strict=True) if share > 0.5]
        assert answer["category"] == ("; ".join(chosen) or "none")
        assert 0 < answer["answer_mass"] <= 1


def test_the_question_about_a_label_names_it_and_nothing_ends_the_turn(tiny: Tiny) -> None:
    packed = made(CategoriesJudge, tiny("llama"))
    packed.load()
    row = shown().iloc[1].to_dict()
    texts = [packed.writer.write(row, ["A lesion."], "errors", label=label).text for label in LABELS["errors"]]
    assert 'does "omission" apply to the response\'s errors?' in texts[0]
    assert "<|end|>" not in texts[1]
    assert len({text.split("Reply with")[0] for text in texts}) == 1, "what all share is read once"
    assert "- errors: omission (left out)" in texts[0]


def test_a_written_reply_is_asked_for_a_list_and_read(tiny: Tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    written = made(GenerativeJudge, tiny("llama"))
    written.load()
    replies = iter(['{"risk": "low risk", "errors": ["omission"]}', '{"risk": "low risk", "errors": ["x"]}'])
    asked = []

    def write(requests: list) -> list:
        asked.extend(requests)
        return [Reply(next(replies)) for _ in requests]

    monkeypatch.setattr(written, "_write", write)
    answers = written.judge(shown())
    assert len(asked) == 2
    found = answers.astype("object").where(answers.notna(), None)[["dimension", "category", "status"]]
    assert sorted(found.to_numpy().tolist(), key=str) == [
        ["errors", "omission", "ok"],
        ["errors", None, "unparsed"],
        ["risk", "low risk", "ok"],
        ["risk", "low risk", "repaired"],
    ]


def test_a_server_is_held_to_lists_of_the_labels() -> None:
    settings = settings_for(BENCHMARK, Settings(), 1)
    maker = task_maker(load_prompt("rate"), settings, sees=False)
    task = next(iter(maker.tasks(shown())))
    properties = maker.schema(task)["properties"]
    assert properties["errors"] == {"type": "array", "items": {"type": "string", "enum": list(LABELS["errors"])}}
    assert properties["risk"] == {"type": "string", "enum": list(RISKS)}
    assert "But of errors, the value is a list" in task.text


def test_a_run_of_labels_is_stored_and_what_was_asked_can_be_shown(tiny: Tiny, tmp_path: Path) -> None:
    save(BENCHMARK, tmp_path / "bench")
    benchmark = load(tmp_path / "bench")
    judge(benchmark, tmp_path / "runs", [f"path:{tiny('llama')}", "random"], settings=Settings(device="cpu"))
    verdicts = load_verdicts(tmp_path / "runs", benchmark.cases)
    own = verdicts[verdicts["judge"] != "random"]
    assert own.groupby("dimension").size().to_dict() == {"errors": 2, "risk": 2}
    allowed = {"none", *LABELS["errors"]}
    assert all(set(choice.split("; ")) <= allowed for choice in own.loc[own["dimension"] == "errors", "choice"])
    assert set(verdicts.loc[verdicts["judge"] == "random", "dimension"]) == {"risk"}
    folders = {read_manifest(folder).judge: folder for folder in run_folders(tmp_path / "runs")}
    manifest = read_manifest(next(folder for name, folder in folders.items() if name != "random"))
    asked = sent(manifest, {"AB": shown_case(benchmark.cases.iloc[0], "AB")}, "AB", "errors")
    assert asked.text.count('does "') == 3
    assert np.unique(own["status"]).tolist() == ["ok"]
