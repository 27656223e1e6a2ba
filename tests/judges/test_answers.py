"""Real weights answer items, in runs like any other."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.build.construct.answers.answering import answer, answers_of, ask_about, writers
from mrb_lib.judges import Settings
from mrb_lib.runs.execute import judge
from mrb_lib.runs.planned import PlannedModel
from mrb_lib.tables.errors import InputError

SHORT = Settings(prompt="short-answer", max_new_tokens=8, device="cpu")


@pytest.fixture(scope="module")
def items(pictured: Benchmark) -> pd.DataFrame:
    cases = pictured.cases.head(2).rename(columns={"case_id": "item_id"})
    return cases[["item_id", "images", "question"]].assign(reference="liver", choices=[["yes", "no"], None])


def test_every_item_has_every_sample_of_every_model(
    items: pd.DataFrame, pictured: Benchmark, tiny: Callable[[str], Path], tmp_path: Path
) -> None:
    """A model that sees, and one that reads; two samples each."""
    assert pictured.path is not None
    asked = ask_about(items, pictured.path / "images", name="w", kind="simulated", digest="d")
    blind = replace(SHORT, without_images=True)
    models = [PlannedModel(f"path:{tiny('llava')}", SHORT), PlannedModel(f"path:{tiny('llama')}+generative", blind)]
    runs = answer(asked, tmp_path / "runs", writers(models), samples=2)
    assert [run.model for run in runs] == ["tiny-llava", "tiny-llama"]
    for run in runs:
        answers = answers_of([run], items["item_id"], 2)
        assert answers[["position", "sample"]].to_numpy().tolist() == [[i, k] for i in range(2) for k in range(2)]
        said = answers[answers["status"] == "ok"]
        assert len(said) and said["answer"].str.strip().astype(bool).all() and (said["completion_tokens"] <= 8).all()
        assert set(answers["finish"].dropna()) == {"length"}


def test_prompts_for_answers_and_for_verdicts_are_not_mistaken(
    items: pd.DataFrame, pictured: Benchmark, tiny: Callable[[str], Path], tmp_path: Path
) -> None:
    assert pictured.path is not None
    name = f"path:{tiny('llama')}+generative"
    with pytest.raises(InputError, match="asks for an answer, and responses are to be judged"):
        judge(pictured, tmp_path / "runs", [name], settings=SHORT)
    asked = ask_about(items, pictured.path / "images", name="w", kind="simulated", digest="d")
    with pytest.raises(InputError, match=r"asks for verdicts.*short-answer"):
        answer(asked, tmp_path / "runs", writers([PlannedModel(name, Settings(prompt="plain"))]), samples=1)
    with pytest.raises(InputError, match="packed writes no answers"):
        writers([PlannedModel(f"path:{tiny('llama')}+packed", SHORT)])
    assert not (tmp_path / "runs").exists()
