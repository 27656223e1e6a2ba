"""Ratings are expectations over a model's own numbers, and each response is rated as if the other were not there."""

from itertools import product
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from mrb_lib.judges.local.pointwise import RatingJudge, probability_higher
from mrb_lib.judges.local.reader import TreeReader
from mrb_lib.judges.prompts import load_prompt
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.schema import DIMENSIONS
from tests.judges.local.by_hand import CASES, AskFor, ByHand, Tiny, made


def _judge(folder: Path, **wishes: object) -> RatingJudge:
    return made(RatingJudge, folder, **wishes)


def _after(folder: Path, response: str, question: str, said: str = "") -> np.ndarray:
    """The probabilities of 1 to 5 after a rating prompt and the beginning of a reply, with transformers alone."""
    text = load_prompt("rating").render(question, [response], DIMENSIONS, "overall").text
    return np.array(ByHand(folder).shares(text, "12345", said=said))


class TestProbabilityHigher:
    shares = st.lists(st.floats(0, 1), min_size=5, max_size=5).filter(lambda some: sum(some) > 1e-6)

    @given(shares, shares)
    def test_is_that_of_all_pairs(self, one: list[float], two: list[float]) -> None:
        first, second = (np.array(some) / sum(some) for some in (one, two))
        pairs = sum(
            p * q * (1.0 if i > j else 0.5 if i == j else 0.0)
            for (i, p), (j, q) in product(enumerate(first), enumerate(second))
        )
        found = probability_higher(first, second)
        assert found == pytest.approx(pairs, abs=1e-12)
        assert 0.0 <= found <= 1.0
        assert probability_higher(second, first) == pytest.approx(1.0 - found, abs=1e-12)


class TestScores:
    def test_are_the_expectation_over_the_models_numbers(self, tiny: Tiny, ask_for: AskFor) -> None:
        rows = _judge(tiny("llama")).judge(ask_for(CASES, ("overall",)))
        for row, case in zip(rows[rows["order"] == "AB"].to_dict("records"), CASES.to_dict("records"), strict=True):
            expected, masses, shares = [], [], []
            for response in (case["response_a"], case["response_b"]):
                some = _after(tiny("llama"), response, case["question"])
                masses.append(some.sum())
                shares.append(some / some.sum())
                expected.append(float(shares[-1] @ np.arange(1, 6)))
            assert row["score_first"] == pytest.approx(expected[0], abs=1e-4)
            assert row["score_second"] == pytest.approx(expected[1], abs=1e-4)
            assert row["p_first"] == pytest.approx(probability_higher(*shares), abs=1e-4)
            assert row["answer_mass"] == pytest.approx(min(masses), rel=1e-3)
            higher = "first" if row["score_first"] > row["score_second"] else "second"
            assert row["pick"] == ("tie" if case["case_id"] == "same" else higher)

    @pytest.mark.parametrize("architecture", ["llama", "llava"])
    def test_are_the_same_in_both_orders(self, architecture: str, tiny: Tiny, ask_for: AskFor) -> None:
        rows = _judge(tiny(architecture)).judge(ask_for(CASES, DIMENSIONS, repeats=2))
        both = rows[rows["order"] == "AB"].merge(
            rows[rows["order"] == "BA"], on=["case_id", "dimension", "repeat", "probe"], suffixes=("_ab", "_ba")
        )
        assert len(both) == len(CASES) * len(DIMENSIONS) * 2
        assert both["score_first_ab"].eq(both["score_second_ba"]).all()
        assert both["score_second_ab"].eq(both["score_first_ba"]).all()
        assert (both["p_first_ab"] + both["p_first_ba"] - 1).abs().max() < 1e-12
        alone = _judge(tiny(architecture)).judge(ask_for(CASES, ("overall",), orders=("BA",)))
        merged = alone.merge(rows, on=["case_id", "dimension", "order", "repeat", "probe"])
        assert (merged["score_first_x"] - merged["score_first_y"]).abs().max() < 1e-5


class TestANumberAfterASpace:
    """Tokenizers as Llama 2's begin every text with a mark of space, which no number contains."""

    @pytest.fixture(scope="class")
    @classmethod
    def folder(cls, tmp_path_factory: pytest.TempPathFactory) -> Path:
        folder = tmp_path_factory.mktemp("spaced")
        bare = Tokenizer(models.BPE())
        bare.pre_tokenizer = pre_tokenizers.Sequence(
            [pre_tokenizers.Metaspace(prepend_scheme="first"), pre_tokenizers.Digits(individual_digits=True)]
        )
        bare.decoder = decoders.Metaspace()
        trainer = trainers.BpeTrainer(vocab_size=500, show_progress=False, special_tokens=["<s>", "</s>"])
        bare.train_from_iterator([load_prompt("rating").text, "A B 1 2 3 4 5 6 7 8 9 0 USER: ASSISTANT:"] * 3, trainer)
        tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=bare)
        tokenizer.add_special_tokens({"bos_token": "<s>", "eos_token": "</s>"})
        tokenizer.chat_template = "{% for turn in messages %}USER: {{ turn['content'] }} {% endfor %}ASSISTANT:"
        torch.manual_seed(2)
        config = transformers.LlamaConfig(
            vocab_size=len(tokenizer), hidden_size=64, intermediate_size=64, num_hidden_layers=2,
            num_attention_heads=2, initializer_range=0.1, bos_token_id=0, eos_token_id=1,
        )  # fmt: skip
        transformers.LlamaForCausalLM(config).save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        return folder

    def test_is_read_after_it(self, folder: Path, ask_for: AskFor) -> None:
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        assert tokenizer.tokenize("1") == ["▁", "1"]
        rows = _judge(folder).judge(ask_for(CASES.head(1), ("overall",), ("AB",)))
        some = _after(folder, CASES["response_a"][0], CASES["question"][0], " ")
        assert rows["score_first"][0] == pytest.approx(some @ np.arange(1, 6) / some.sum(), abs=1e-4)


def test_a_model_without_a_token_for_a_number_is_refused_and_told_what_to_do(tiny: Tiny) -> None:
    judge = _judge(tiny("llama"))
    super(RatingJudge, judge).load()
    with pytest.raises(InputError, match=r"not one token .* NAME\+generative"):
        TreeReader(judge.weights, [["zwölfundeinhalb"]])
