"""Replies depend on the case, the prompt and the seed alone, and are kept as they were written."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
import torch
from scipy import stats
from transformers import GenerationConfig, LogitsProcessorList

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.judges.local import generative
from mrb_lib.judges.local.generative import GenerativeJudge
from mrb_lib.judges.local.weights import Tensors, Weights
from mrb_lib.judges.roster.entry import Entry
from mrb_lib.tables.schema import DIMENSIONS
from mrb_lib.verdicts.orders import KEYS
from tests.judges.local.by_hand import PICTURED, AskFor, Tiny, made

CASES = PICTURED[PICTURED["case_id"].isin(["short", "long", "none", "empty"])].drop(columns="images")
JSON_A = json.dumps(dict.fromkeys(DIMENSIONS, "A"))


def _judge(folder: Path, entry: Entry | None = None, images: object = None, **wishes: object) -> GenerativeJudge:
    return made(GenerativeJudge, folder, images, entry, **{"max_new_tokens": 8, **wishes})


def _replies(rows: pd.DataFrame) -> dict[tuple[object, ...], str]:
    return {tuple(row[key] for key in KEYS): row["reply"] for row in rows.to_dict("records")}


class Script:
    """Stands in for a model's writing: the reply to a prompt is what a function of the prompt says."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, reply: Callable[[str], str], *, ended: bool = True) -> None:
        self.configs: list[GenerationConfig] = []

        def generate(
            weights: Weights, inputs: Tensors, config: GenerationConfig, processors: LogitsProcessorList
        ) -> torch.Tensor:
            self.configs.append(config)
            rows = []
            for ids in inputs["input_ids"].tolist():
                said = weights.tokenizer(reply(weights.tokenizer.decode(ids)), add_special_tokens=False)["input_ids"]
                rows.append(said + ([weights.tokenizer.eos_token_id] if ended else []))
            width = max(map(len, rows))
            filled = [row + [weights.pad_id] * (width - len(row)) for row in rows]
            return torch.cat([inputs["input_ids"], torch.tensor(filled)], dim=1)

        monkeypatch.setattr(Weights, "generate", generate)


class TestIndependence:
    @pytest.mark.parametrize("architecture", ["llama", "llava", "qwen2_5_vl"])
    def test_of_the_batch_and_the_order_of_cases(
        self, architecture: str, tiny: Tiny, ask_for: AskFor, pictured: Benchmark
    ) -> None:
        """Sampled, which depends on more than the likeliest replies of test_architectures.py do."""
        names = [pictured.cases["images"].iloc[i] for i in range(2)]
        cases = CASES.assign(images=[names[0], [], names[1], [*names[0], *names[1]]])
        asked = ask_for(cases, ("accuracy", "overall"), repeats=2)
        judge = _judge(tiny(architecture), images=pictured.images, temperature=1.0)
        whole = _replies(judge.judge(asked))
        assert len(set(whole.values())) > 2, "replies must differ, or the test shows nothing"
        alone = {}
        for case in reversed(CASES["case_id"].tolist()):
            alone |= _replies(judge.judge(asked[asked["case_id"] == case]))
        assert alone == whole
        assert _replies(judge.judge(asked.sample(frac=1.0, random_state=3))) == whole


class TestSampling:
    def test_is_greedy_unless_a_temperature_is_set(self, tiny: Tiny, ask_for: AskFor) -> None:
        rows = _judge(tiny("llama"), seed=1).judge(ask_for(CASES, ("overall",), repeats=2))
        assert rows.groupby(["case_id", "order"])["reply"].nunique().eq(1).all()
        other = _judge(tiny("llama"), seed=2).judge(ask_for(CASES, ("overall",), repeats=2))
        assert _replies(rows) == _replies(other)
        cold = _judge(tiny("llama"), temperature=0.0).judge(ask_for(CASES, ("overall",)))
        assert _replies(cold).items() <= _replies(rows).items()

    def test_repeats_differ_and_seeds_differ_and_the_same_seed_does_not(self, tiny: Tiny, ask_for: AskFor) -> None:
        asked = ask_for(CASES, ("overall",), repeats=3)
        one, again, other = (_judge(tiny("llama"), temperature=1.0, seed=seed).judge(asked) for seed in (5, 5, 6))
        assert _replies(one) == _replies(again)
        assert _replies(one) != _replies(other)
        assert one.groupby(["case_id", "order"])["reply"].nunique().eq(3).all()

    def test_agrees_with_the_softmax(self) -> None:
        logits, temperature, n = torch.tensor([1.5, 0.0, -1.0, 0.7, -3.0]), 0.8, 6000
        draw = generative._Gumbel(range(n), temperature, torch.device("cpu"))
        for _ in range(2):  # the second draw of each generator, too
            found = draw(torch.empty(0), logits.expand(n, -1)).argmax(-1).bincount(minlength=5)
            expected = (logits.double() / temperature).softmax(-1) * n
            assert stats.chisquare(found.numpy(), expected.numpy()).pvalue > 0.01


class TestReading:
    def test_rows_of_one_reply_share_it_and_its_cost_stands_once(
        self, tiny: Tiny, ask_for: AskFor, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        Script(monkeypatch, lambda prompt: JSON_A)
        judge = _judge(tiny("llama"))
        rows = judge.judge(ask_for(CASES, DIMENSIONS))
        assert rows["reply"].eq(JSON_A).all(), "without end marks and padding"
        assert rows["pick"].eq("first").all()
        assert rows["status"].eq("ok").all()
        groups = rows.groupby(["case_id", "order"], sort=False)
        for column in ("prompt_tokens", "completion_tokens", "latency_s"):
            assert groups[column].count().eq(1).all()
            assert groups.head(1)[column].notna().all()
        written = len(judge.weights.tokenizer(JSON_A)["input_ids"])
        assert rows["completion_tokens"].dropna().eq(written + 1).all(), "the end mark was written, too"


class TestAPublishersSettings:
    def test_do_not_shape_verdicts(self, tiny: Tiny, tmp_path: Path, ask_for: AskFor) -> None:
        folder = tmp_path / "warm"
        shutil.copytree(tiny("llama"), folder)
        stated = json.loads((folder / "generation_config.json").read_text())
        wishes = {
            "do_sample": True, "temperature": 1.9, "top_k": 3, "top_p": 0.4, "repetition_penalty": 1.8,
            "no_repeat_ngram_size": 2, "max_new_tokens": 2, "min_new_tokens": 7, "num_beams": 2, "max_length": 3,
        }  # fmt: skip
        (folder / "generation_config.json").write_text(json.dumps({**stated, **wishes}))
        asked = ask_for(CASES, ("overall",))
        assert _replies(_judge(folder).judge(asked)) == _replies(_judge(tiny("llama")).judge(asked))


class TestSpec:
    def test_changes_with_what_shapes_a_verdict(self, tiny: Tiny) -> None:
        folder = tiny("llama")
        usual = _judge(folder)
        wishes = {"temperature": 0.5, "max_new_tokens": 9, "dtype": "bfloat16", "max_pixels": 1000}
        for wish in ({name: value} for name, value in (*wishes.items(), ("dimensions", ("overall",)))):
            assert _judge(folder, **wish).spec != usual.spec, wish
        thinks = Entry("tiny", "generative", path=folder, chat={"template": {"enable_thinking": True}})
        assert _judge(folder, thinks).spec != usual.spec
        assert _judge(folder, prompt="rubric").prompt_hash != usual.prompt_hash
        seeds = [_judge(folder, temperature=0.5, seed=seed).spec for seed in (1, 2)]
        assert seeds[0] != seeds[1]

    def test_does_not_change_with_what_only_shapes_the_speed(self, tiny: Tiny) -> None:
        folder = tiny("llama")
        usual = _judge(folder)
        for wish in ({"batch_size": 3}, {"seed": 8}, {"device": "cpu:0"}, {"dtype": "float32"}, {"concurrency": 2}):
            assert _judge(folder, **wish).spec == usual.spec, wish
        json.dumps(usual.spec)
