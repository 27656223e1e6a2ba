"""A tree holds the tokens of each prompt, every token sees its own prompt alone, and windows are read together."""

from collections.abc import Callable
from functools import cache

import pytest
import torch
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from PIL import Image
from torch.nn.attention import varlen

from mrb_lib.judges.local import attention
from mrb_lib.judges.local.checkpoint import load_checkpoint
from mrb_lib.judges.local.reader import TreeReader
from mrb_lib.judges.local.tree import Tree, grow, pack
from mrb_lib.judges.local.weights import Weights
from mrb_lib.judges.prompts import Prompt, load_prompt
from tests.judges.local.by_hand import Tiny, paths_of
from tests.judges.rendering import render

SEGMENT = st.lists(st.integers(1, 99), max_size=5)
LEAF = st.lists(st.integers(1, 99), min_size=1, max_size=4)


@st.composite
def trees(draw: st.DrawFn) -> Tree:
    trunk = draw(SEGMENT)
    edges = sorted(draw(st.sets(st.integers(0, len(trunk)), max_size=4)))
    blocks = tuple(zip(edges[::2], edges[1::2], strict=False))
    branches = draw(st.lists(SEGMENT, min_size=1, max_size=2))
    leaves = [draw(st.lists(LEAF, min_size=1, max_size=3)) for _ in branches]
    return Tree(trunk, branches, leaves, {}, blocks=blocks)


def _varlen(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    query_bounds: torch.Tensor,
    key_bounds: torch.Tensor,
    max_q: int,
    max_k: int,
    *,
    scale: float | None = None,
    window_size: tuple[int, int] = (-1, -1),
    enable_gqa: bool = False,
) -> torch.Tensor:
    """Return what `torch.nn.attention.varlen.varlen_attn` documents, sequence by sequence, where there is no GPU.

    As flash attention counts: the last query of a sequence stands beside its last key.
    """
    assert enable_gqa == (query.shape[1] != key.shape[1])
    assert (query_bounds.dtype, key_bounds.dtype) == (torch.int32, torch.int32)
    out = torch.full_like(query, torch.nan)
    key, value = (some.repeat_interleave(query.shape[1] // key.shape[1], dim=1) for some in (key, value))
    n_queries, n_keys = query_bounds.diff(), key_bounds.diff()
    assert (n_queries.max(), n_keys.max()) == (max_q, max_k)
    left, right = window_size
    for i, (n, m) in enumerate(zip(n_queries.tolist(), n_keys.tolist(), strict=True)):
        q = query[query_bounds[i] : query_bounds[i + 1]].transpose(0, 1)
        k, v = (some[key_bounds[i] : key_bounds[i + 1]].transpose(0, 1) for some in (key, value))
        ahead = torch.arange(m) - (torch.arange(n)[:, None] + m - n)
        seen = torch.ones(n, m, dtype=torch.bool)
        seen &= (ahead >= -left) if left >= 0 else True
        seen &= (ahead <= right) if right >= 0 else True
        read = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=seen, scale=scale)
        out[query_bounds[i] : query_bounds[i + 1]] = read.transpose(0, 1)
    return out


@given(st.lists(trees(), min_size=1, max_size=3), st.sampled_from([None, 1, 3, 8]))
def test_variable_length_attention_equals_attention_under_a_mask(grown: list[Tree], window: int | None) -> None:
    # No model's window is shorter than an image, whose tokens would not all see one another.
    assume(window is None or all(last - first <= window for tree in grown for first, last in tree.blocks))
    layout = pack(grown, dict)[0]["tree"]
    n = layout.cases[-1][1]
    generator = torch.Generator().manual_seed(n)
    query, key, value = (torch.randn(1, heads, n, 8, generator=generator) for heads in (4, 2, 2))
    module = torch.nn.Module()
    masked, _ = attention._tree_attention(module, query, key, value, None, 0.3, window, layout)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(varlen, "varlen_attn", _varlen)
        patch.setattr(attention, "has_kernel", lambda _: True)
        called, _ = attention._tree_attention(module, query, key, value, None, 0.3, window, layout)
    assert called.isfinite().all(), "every query is in one of the calls"
    assert torch.allclose(masked, called, atol=1e-6)


@pytest.mark.parametrize("architecture", ["llava", "qwen2_5_vl", "llama"])
def test_a_layer_costs_one_call_for_a_tree_and_an_encoder_one_for_its_windows(
    architecture: str, tiny: Tiny, monkeypatch: pytest.MonkeyPatch
) -> None:
    weights = load_checkpoint(tiny(architecture), devices=[torch.device("cpu")], dtype=torch.float32)
    reader = TreeReader(weights, [["A", " A"], ["B", " B"]])
    questions = [reader.question(*case) for case in reader._samples()]
    expected = torch.tensor(reader.read(questions))
    calls = []

    def counted(query: torch.Tensor, *rest: object, **options: object) -> torch.Tensor:
        calls.append(query.shape)
        return _varlen(query, *rest, **options)

    monkeypatch.setattr(varlen, "varlen_attn", counted)
    monkeypatch.setattr(attention, "has_kernel", lambda _: True)
    assert torch.allclose(torch.tensor(reader.read(questions)), expected, atol=1e-5)
    layers = weights.model.config.get_text_config().num_hidden_layers
    windows = weights.model.config.vision_config.depth if architecture == "qwen2_5_vl" else 0
    assert len(calls) == layers + windows


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
    return cache(lambda name: load_checkpoint(tiny(name), devices=[CPU], dtype=torch.float32))


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
