"""A real model's weights, SmolLM2-135M-Instruct, through the engines that read weights."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.judges.fences import marks_pattern
from mrb_lib.judges.local.checkpoint import special_tokens
from mrb_lib.judges.local.generative import GenerativeJudge
from mrb_lib.judges.local.packed import PackedJudge
from mrb_lib.judges.prompt_files import load_prompt
from mrb_lib.judges.roster.engines import JudgeRequest
from mrb_lib.judges.roster.entry import Entry
from mrb_lib.judges.roster.source import WeightsSource
from mrb_lib.judges.settings import Settings
from tests.judges.conftest import ASKED


@pytest.fixture(scope="module")
def asked(pictured: Benchmark, ask_for: Callable[..., pd.DataFrame]) -> pd.DataFrame:
    """A case in both orders on two dimensions, its texts cut to a length that a CPU reads in a moment."""
    cases = pictured.cases.head(1).copy()
    for name, length in (("question", 60), ("response_a", 60), ("response_b", 40)):
        cases[name] = cases[name].str.slice(0, length)
    return ask_for(cases, ASKED)


def _by_hand(folder: Path, rows: pd.DataFrame) -> np.ndarray:
    """The probability of A beside B as the next token, each question in an ordinary pass of its own."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    marks = marks_pattern(special_tokens(tokenizer))
    spelled = [[ids[0] for word in (one, f" {one}") if len(ids := tokenizer.encode(word)) == 1] for one in "AB"]
    found = []
    for row in rows.to_dict("records"):
        text = load_prompt("single").render(
            row["question"],
            [row["first"], row["second"]],
            ASKED,
            row["dimension"],
            marks=marks,
        )
        turn = [{"role": "user", "content": text.text}]
        ids = tokenizer.apply_chat_template(turn, add_generation_prompt=True, return_tensors="pt", return_dict=True)
        with torch.inference_mode():
            shares = model(**ids).logits[0, -1].softmax(-1)
        a, b = (float(shares[one].sum()) for one in spelled)
        found.append(a / (a + b))
    return np.array(found)


@pytest.mark.slow
def test_packed_verdicts_of_a_real_model_are_those_of_asking_each_question_alone(
    smollm: Path, smollm_packed: PackedJudge, asked: pd.DataFrame
) -> None:
    assert not [notice for notice in smollm_packed.notices if "share" in notice]
    verdicts = smollm_packed.judge(asked)
    some = [0, 3]  # both orders, and both dimensions
    assert np.abs(verdicts["p_first"][some] - _by_hand(smollm, asked.iloc[some])).max() < 1e-4
    assert verdicts["status"].eq("ok").all()
    assert verdicts["p_first"].nunique() > len(verdicts) / 2


@pytest.mark.slow
def test_a_real_model_replies_and_its_replies_are_read_or_said_to_be_unreadable(
    smollm: Path, asked: pd.DataFrame
) -> None:
    settings = Settings(dimensions=ASKED, prompt="single", max_new_tokens=8, without_images=True)
    asked = asked[asked["dimension"] == "overall"].reset_index(drop=True)
    entry = Entry("smollm2-135m", "generative", vision=False)
    judge = GenerativeJudge(JudgeRequest(entry, settings, {}, WeightsSource(smollm, "package")))
    judge.load()
    verdicts = judge.judge(asked)
    tokenizer = AutoTokenizer.from_pretrained(smollm)
    assert verdicts["reply"].notna().all()
    assert not verdicts["reply"].str.contains(tokenizer.eos_token, regex=False).any()
    assert (verdicts["completion_tokens"] <= 8).all()
    assert (verdicts["pick"].isna() == verdicts["status"].isin(["unparsed", "refused"])).all()
    alone = judge.judge(asked.tail(1).reset_index(drop=True))
    assert alone["reply"].tolist() == verdicts["reply"].tolist()[-1:]
