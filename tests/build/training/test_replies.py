"""Replies are learnt from the very prompts that the judge is asked with, and what labels do not give is not made up."""

import json
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.build.training.plan import Plan
from mrb_lib.build.training.recipe import Recipe, recipe_from
from mrb_lib.build.training.train import train
from mrb_lib.build.training.trl_trainee import ReplyTrainee
from mrb_lib.judges.local.packed import PackedJudge
from mrb_lib.judges.settings import Settings

pytestmark = pytest.mark.slow

Tiny = Callable[[str], Path]
CPU = Settings(device="cpu", dtype="float32", max_new_tokens=4)
BLIND = replace(CPU, without_images=True)  # for models that read text only


def _recipe(**values: object) -> Recipe:
    return recipe_from({"epochs": 1, "batch": 2, "learning_rate": 1e-3, "evaluations": 1, **values}, "test")


@pytest.mark.parametrize("architecture", ["llama", "llava", "qwen2_5_vl"])
@pytest.mark.parametrize("method", ["sft", "dpo"])
def test_the_prompt_that_trl_trains_on_is_the_one_that_the_judge_is_asked(
    method: str, architecture: str, bench: Benchmark, tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = "official-form" if architecture == "llama" else "plain"
    recipe = _recipe(method=method, prompt=whole if method == "sft" else "single", n_cases=2)
    settings = BLIND if architecture == "llama" else CPU
    trainee = ReplyTrainee(Plan(bench, f"path:{tiny(architecture)}", recipe, settings, ()))
    batches: list[dict[str, torch.Tensor]] = []

    def first_batch(make: Callable[..., object], *rest: object, arguments: type, **named: object) -> list[object]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # TRL uses a name that transformers has begun to rename
            trainer = make(arguments(output_dir=str(tmp_path), use_cpu=True, bf16=False, max_length=None), [])
            batches.append(next(iter(trainer.get_train_dataloader())))
        return []

    monkeypatch.setattr("mrb_lib.build.training.trainee.fit", first_batch)
    trainee.fit(tmp_path, 2, lambda progress: None)
    [batch] = batches
    prefix = "" if "input_ids" in batch else "prompt_"
    read = [
        [int(token) for token, real in zip(ids, mask, strict=True) if real]
        for ids, mask in zip(batch[f"{prefix}input_ids"], batch[f"{prefix}attention_mask"], strict=True)
    ]
    weights, judge = trainee.judge.weights, trainee.judge
    cases = bench.cases.set_index("case_id", drop=False)
    asked = []
    for case in trainee.case_ids:
        for order in ("AB", "BA"):
            row = cases.loc[case].to_dict()
            responses = [row["response_a"], row["response_b"]][:: 1 if order == "AB" else -1]
            pictures = judge.pictures(row["images"])
            for dimension in ("",) if method == "sft" else ("accuracy", "overall"):
                text = judge._chat(judge.writer.write(row, responses, dimension), len(pictures))
                asked.append(weights.encode(text, pictures)["input_ids"][0].tolist())
    for ids in read:
        assert any(ids[: len(prompt)] == prompt and len(ids) >= len(prompt) for prompt in asked)


@pytest.mark.parametrize(
    ("values", "engine"),
    [
        ({"method": "sft", "n_cases": 2, "prompt": "official-form"}, "generative"),
        ({"method": "dpo", "n_cases": 2}, "packed"),
        ({"method": "dpo", "n_cases": 2, "prompt": "plain", "lora": True}, "generative"),
    ],
)
def test_ends_in_a_judge_of_the_engine_that_reads_such_replies(
    values: dict[str, object], engine: str, bench: Benchmark, tiny: Tiny, tmp_path: Path
) -> None:
    out = tmp_path / "tuned"
    train(bench, out, f"path:{tiny('llava')}", _recipe(**values), settings=CPU)
    record = json.loads((out / "training.json").read_text(encoding="utf-8"))
    assert record["engine"] == engine and record["prompt"] == values.get("prompt", "single")
    assert record["curve"][-1]["step"] > 0


def test_preferring_the_right_letter_makes_it_more_probable(bench: Benchmark, tiny: Tiny, tmp_path: Path) -> None:
    """The margin of chosen over rejected replies grows on the cases that are learnt.

    Both orders of each are learnt, so that always preferring one letter makes no right letter more probable.
    """
    recipe = _recipe(method="dpo", n_cases=2, batch=4, epochs=12, learning_rate=1e-3, dimensions=["overall"])
    unvalidated = bench.cases["split"].replace("validation", "test")
    bench = replace(bench, cases=bench.cases.assign(split=unvalidated))  # the last weights are kept then
    trainee = ReplyTrainee(Plan(bench, f"path:{tiny('llama')}", recipe, BLIND, ()))
    assert isinstance(trainee.judge, PackedJudge)
    rows = trainee._plan.examples.rows
    rows = rows[rows["pick"] != "tie"]
    learnt = bench.cases[bench.cases["case_id"].isin(rows["case_id"])]
    wanted = rows.set_index(["case_id", "order"])["pick"]

    def probability_of_the_right_letter() -> float:
        from mrb_lib.build.training.trainee import prompts_of
        from mrb_lib.verdicts.orders import to_shown_frame

        trainee.judge.weights.model.eval()
        shown = to_shown_frame(prompts_of(learnt, list(learnt["case_id"]), ["overall"], ["AB", "BA"]))
        judged = trainee.judge.judge(shown.reset_index(drop=True))
        right = [
            p if wanted[case, order] == "first" else 1 - p
            for case, order, p in zip(judged["case_id"], judged["order"], judged["p_first"], strict=True)
        ]
        return sum(right) / len(right)

    before = probability_of_the_right_letter()
    trainee.fit(tmp_path, 2, lambda progress: None)
    assert probability_of_the_right_letter() > before + 0.05
