"""A tree of prompts holds exactly the tokens of each prompt, and every token sees its own prompt alone."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
import torch
import transformers
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from mrb_lib.judges.fences import marks_pattern
from mrb_lib.judges.local.checkpoint import load_checkpoint, special_tokens
from mrb_lib.judges.local.tree import grow
from mrb_lib.judges.local.weights import Weights
from mrb_lib.judges.prompts import Prompt, load_prompt
from tests.judges.local.by_hand import Tiny, paths_of
from tests.judges.rendering import render

CPU = torch.device("cpu")
PICTURE = Image.new("RGB", (90, 70), (10, 120, 200))
TEXTS = st.one_of(
    st.text(max_size=40),
    st.lists(
        st.sampled_from([" ", "\n", "\r\n", "\t", "a", "acc", "A", "ü", "肺", "🦵", "10", "<", "|>", "'s", "  "]),
        max_size=12,
    ).map("".join),
)
NAMES = st.lists(
    st.sampled_from(["acc", "accuracy", "accurate", "overall", "over", "o", "ü-ness", "10", "1", "image quality"]),
    min_size=1,
    max_size=5,
    unique=True,
)
# A user's prompt whose question begins right after the response, without so much as a space.
ABRUPT = Prompt(
    "abrupt",
    "{% block case %}{{ question }}{% endblock %}{% block responses %}{{ first }}|{{ second }}{% endblock %}"
    "{% block ask %}{{ dimension }}{{ first }}?{% endblock %}",
    "one",
)


@pytest.fixture(scope="module")
def weights(tiny: Tiny, smollm: Path) -> Callable[[str], Weights]:
    """Tiny models; of "smollm" the tokenizer, before a tiny model, since weights are not read."""

    @cache
    def of(name: str) -> Weights:
        held = load_checkpoint(tiny("llama" if name == "smollm" else name), devices=[CPU], dtype=torch.float32)
        if name != "smollm":
            return held
        tokenizer = transformers.AutoTokenizer.from_pretrained(smollm)
        return replace(held, tokenizer=tokenizer, marks=marks_pattern(special_tokens(tokenizer)))

    return of


def _chats(
    weights: Weights, prompt: Prompt, question: str, pair: tuple[str, str], names: list[str], n_images: int
) -> list[list[str]]:
    return [
        [
            weights.chat(
                render(prompt, question, order, names, name, n_images=n_images, marks=weights.marks).text, n_images, {}
            )
            for name in names
        ]
        for order in (pair, pair[::-1])
    ]


@pytest.mark.parametrize("architecture", ["llava", "qwen2_5_vl", "llama", "smollm"])
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(TEXTS, TEXTS, TEXTS, NAMES, st.booleans(), st.booleans())
def test_paths_are_the_tokens_of_each_whole_prompt(
    architecture: str,
    weights: Callable[[str], Weights],
    question: str,
    first: str,
    second: str,
    names: list[str],
    pictured: bool,
    abrupt: bool,
) -> None:
    held = weights(architecture)
    prompt = ABRUPT if abrupt else load_prompt("single")
    pictures = [PICTURE] if pictured and held.sees_images else []
    for pair in ((first, second), (second + "x", first)):
        chats = _chats(held, prompt, question, pair, names, len(pictures))
        tree = grow(held, chats, pictures)
        for row, paths in zip(chats, paths_of(tree), strict=True):
            for text, path in zip(row, paths, strict=True):
                assert path == held.encode(text, pictures)["input_ids"][0].tolist()
        assert all(leaf for row in tree.leaves for leaf in row), "each prompt has a last token of its own"
        assert tree.n_tokens <= sum(len(path) for row in paths_of(tree) for path in row)


def test_questions_are_short_leaves_and_the_two_orders_share_case_and_images(weights: Callable[[str], Weights]) -> None:
    held = weights("llava")
    names = ["accuracy", "relevance", "overall"]
    chats = _chats(held, load_prompt("single"), "Which side? " * 20, ("left " * 30, "right " * 20), names, 1)
    tree = grow(held, chats, [PICTURE])
    image = held.tokenizer.convert_tokens_to_ids("<image>")
    assert tree.trunk.count(image) == 16
    assert all(image not in branch for branch in tree.branches)
    assert max(len(leaf) for row in tree.leaves for leaf in row) < 20
    assert len(tree.trunk) > 100
    assert tree.n_tokens < 0.6 * sum(len(path) for row in paths_of(tree) for path in row)
