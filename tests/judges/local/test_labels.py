"""Several labels in one dimension: a list in a written reply; judges by probability leave the dimension out."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from mrb_lib.benchmarks.benchmark import Benchmark, load, save
from mrb_lib.benchmarks.meta import BenchmarkMeta
from mrb_lib.judges.local.categories import CategoriesJudge
from mrb_lib.judges.local.generative import GenerativeJudge
from mrb_lib.judges.makers import task_maker
from mrb_lib.judges.prompt_files import load_prompt
from mrb_lib.judges.settings import Settings
from mrb_lib.judges.tasks import Reply
from mrb_lib.runs.execute import judge, settings_for
from mrb_lib.verdicts.store import load_verdicts
from tests.judges.local.by_hand import Made, Tiny, made, one_response

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
        "images": [[], []],
    }
)
BENCHMARK = Benchmark(META, CASES, pd.DataFrame(columns=["case_id", "annotator", "dimension", "choice"], dtype="str"))


def labelled(kind: type[Made], folder: Path) -> Made:
    return made(kind, folder, settings=settings_for(BENCHMARK, Settings(), 1))


def test_a_written_reply_is_asked_for_a_list_and_read(tiny: Tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    written = labelled(GenerativeJudge, tiny("llama"))
    written.load()
    replies = iter(['{"risk": "low risk", "errors": ["omission"]}', '{"risk": "low risk", "errors": ["x"]}'])
    asked = []

    def write(requests: list) -> list:
        asked.extend(requests)
        return [Reply(next(replies)) for _ in requests]

    monkeypatch.setattr(written, "_write", write)
    answers = written.judge(one_response(CASES, META.dimensions))
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
    task = next(iter(maker.tasks(one_response(CASES, META.dimensions))))
    properties = maker.schema(task)["properties"]
    assert properties["errors"] == {"type": "array", "items": {"type": "string", "enum": list(LABELS["errors"])}}
    assert properties["risk"] == {"type": "string", "enum": list(RISKS)}
    assert "But of errors, the value is a list" in task.text


def test_judges_by_probability_leave_out_the_dimension_and_say_so(tiny: Tiny, tmp_path: Path) -> None:
    save(BENCHMARK, tmp_path / "bench")
    benchmark = load(tmp_path / "bench")
    judge(benchmark, tmp_path / "runs", [f"path:{tiny('llama')}", "random"], settings=Settings(device="cpu"))
    verdicts = load_verdicts(tmp_path / "runs", benchmark.cases)
    assert verdicts["judge"].nunique() == 2
    assert set(verdicts["dimension"]) == {"risk"}
    assert "no errors, where several labels may apply" in " ".join(labelled(CategoriesJudge, tiny("llama")).notices)
