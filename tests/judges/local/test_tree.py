"""A tree of prompts holds exactly the tokens of each prompt, and every token sees its own prompt alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
import transformers
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from mrb_lib.judges.fences import marks_pattern
from mrb_lib.judges.local.checkpoint import load_checkpoint, special_tokens
from mrb_lib.judges.local.tree import Tree, grow
from mrb_lib.judges.local.weights import Weights
from mrb_lib.judges.prompt_files import load_prompt
from mrb_lib.judges.prompts import Prompt

Tiny = Callable[[str], Path]
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
def weights(tiny: Tiny) -> Callable[[str], Weights]:
    made: dict[str, Weights] = {}

    def of(architecture: str) -> Weights:
        if architecture not in made:
            folder = tiny(architecture)
            made[architecture] = load_checkpoint(folder, devices=[torch.device("cpu")], dtype=torch.float32)
        return made[architecture]

    return of


def _chats(
    weights: Weights, prompt: Prompt, question: str, pair: tuple[str, str], names: list[str], n_images: int
) -> list[list[str]]:
    return [
        [
            weights.chat(
                prompt.render(question, order, names, name, n_images=n_images, marks=weights.marks).text, n_images, {}
            )
            for name in names
        ]
        for order in (pair, pair[::-1])
    ]


def _paths(tree: Tree) -> list[list[list[int]]]:
    return [
        [tree.trunk + branch + leaf for leaf in row] for branch, row in zip(tree.branches, tree.leaves, strict=True)
    ]


@pytest.mark.parametrize("architecture", ["llava", "qwen2_5_vl", "llama"])
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
        for row, paths in zip(chats, _paths(tree), strict=True):
            for text, path in zip(row, paths, strict=True):
                assert path == held.encode(text, pictures)["input_ids"][0].tolist()
        assert all(leaf for row in tree.leaves for leaf in row), "each prompt has a last token of its own"
        assert tree.n_tokens <= sum(len(path) for row in _paths(tree) for path in row)


@pytest.fixture(scope="module")
def with_smollm(smollm: Path, tiny: Tiny) -> Weights:
    """SmolLM2's tokenizer; its weights are not read, so a tiny model stands in for them."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(smollm)
    stand_in = load_checkpoint(tiny("llama"), devices=[torch.device("cpu")], dtype=torch.float32).model
    return Weights(stand_in, tokenizer, None, (torch.device("cpu"),), marks_pattern(special_tokens(tokenizer)))


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(TEXTS, TEXTS, TEXTS, NAMES, st.booleans())
def test_paths_are_the_tokens_of_each_whole_prompt_with_a_real_tokenizer(
    with_smollm: Weights, question: str, first: str, second: str, names: list[str], abrupt: bool
) -> None:
    prompt = ABRUPT if abrupt else load_prompt("single")
    for pair in ((first, second), (second, first + " ")):
        chats = _chats(with_smollm, prompt, question, pair, names, 0)
        for row, paths in zip(chats, _paths(grow(with_smollm, chats, [])), strict=True):
            assert paths == [with_smollm.tokens(text) for text in row]


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
    assert tree.n_tokens < 0.6 * sum(len(path) for row in _paths(tree) for path in row)
