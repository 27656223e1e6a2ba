"""Several prompts about one case as a tree of tokens, read by a model in a single pass.

The trunk is what all prompts begin with (image and question), a branch is what one
order of the responses adds, a leaf is what one question adds. In the pass every
token attends to its own path from the root alone, and stands at the position it has
in its own prompt; so each prompt is read as if it stood alone, for the price of its
leaf. (Tree attention as in speculative decoding: Miao et al., SpecInfer, ASPLOS 2024.)

A mask over all pairs of tokens gives the same numbers, but half of what it computes is thrown away: here every group
of tokens is compared with its own path from the root only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final, cast

import torch
from PIL import Image
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

from mrb_lib.judges.local.weights import TOKENWISE, Tensors, Weights

Texts = Sequence[Sequence[str]]

_MOST_ENDINGS: Final = 64


@dataclass(frozen=True)
class Tree:
    """The tokens of one case's prompts.

    Attributes
    ----------
    trunk : ids that all prompts share, images expanded
    kinds : the `mm_token_type_ids` of the trunk, for models that want them
    branches : ids for each branch
    leaves : ids for each branch and leaf
    pictures : the inputs that belong to the images
    """

    trunk: list[int]
    kinds: list[int] | None
    branches: list[list[int]]
    leaves: list[list[list[int]]]
    pictures: Tensors

    @property
    def n_tokens(self) -> int:
        """Tokens that are read in a pass."""
        return len(self.trunk) + sum(map(len, self.branches)) + sum(len(leaf) for row in self.leaves for leaf in row)

    def prompt_tokens(self, branch: int, leaf: int) -> int:
        """Tokens of one prompt on its own."""
        return len(self.trunk) + len(self.branches[branch]) + len(self.leaves[branch][leaf])


class Grower:
    """Makes trees, and remembers the tokens of the questions, which are the same for every case."""

    def __init__(self, weights: Weights) -> None:
        self._weights = weights
        self._endings: dict[tuple[str, ...], tuple[list[int], ...]] = {}

    def grow(self, texts: Texts, pictures: Sequence[Image.Image]) -> Tree:
        """The tree of one case.

        Parameters
        ----------
        texts : the chat template's text for each branch and leaf; those of one branch
            differ in their endings alone
        pictures : the images of the case, which come first in every text

        Raises
        ------
        InputError
            The processor refuses an image.
        ValueError
            The processor changes what comes after the images, so that prompts cannot be put together.
        """
        weights = self._weights
        prompts = [self._prompts(row) for row in texts]
        paths = [ids for row in prompts for ids in row]
        n_trunk = common([row[0] for row in prompts] if len(prompts) > 1 else paths)
        heads = [common(row) if len(row) > 1 else len(row[0]) - 1 for row in prompts]
        n_trunk = min(n_trunk, *heads)
        branches = [row[0][n_trunk:head] for row, head in zip(prompts, heads, strict=True)]
        leaves = [[ids[head:] for ids in row] for row, head in zip(prompts, heads, strict=True)]
        trunk, kinds, extra = prompts[0][0][:n_trunk], None, {}
        if weights.processor is not None:
            inputs = weights.encode([texts[0][0]], [pictures])
            rest = len(prompts[0][0]) - n_trunk
            whole = inputs["input_ids"][0].tolist()
            trunk = whole[: len(whole) - rest]
            if whole[len(whole) - rest :] != prompts[0][0][n_trunk:]:
                raise ValueError("the processor changes the text after the images")
            if "mm_token_type_ids" in inputs:
                kinds = inputs["mm_token_type_ids"][0, : len(trunk)].tolist()
            extra = {name: value for name, value in inputs.items() if name not in TOKENWISE}
        return Tree(trunk, kinds, branches, leaves, extra)

    def _prompts(self, texts: Sequence[str]) -> list[list[int]]:
        """The token ids of one branch's texts; the endings are read once and then put after each beginning.

        An ending begins with the last line that all texts begin alike: no tokenizer's
        word reaches over the end of a line, so its tokens do not depend on what is before it.
        """
        first = self._weights.tokens(texts[0])
        low, high = min(texts), max(texts)  # what these two begin with, all in between begin with
        alike = next((i for i, (a, b) in enumerate(zip(low, high, strict=False)) if a != b), len(low))
        line = low[:alike].rfind("\n") + 1
        endings = tuple(text[line:] for text in texts)
        ending_ids = self._endings.get(endings)
        if ending_ids is not None and first[len(first) - len(ending_ids[0]) :] == ending_ids[0]:
            beginning = first[: len(first) - len(ending_ids[0])]
            return [beginning + ending for ending in ending_ids]
        prompts = [first, *(self._weights.tokens(text) for text in texts[1:])]
        if len(prompts) > 1:
            n = common(prompts)
            if len(self._endings) >= _MOST_ENDINGS:  # a template whose question depends on the case gains nothing here
                self._endings.clear()
            self._endings[endings] = tuple(ids[n:] for ids in prompts)
        return prompts


def common(sequences: Sequence[Sequence[int]]) -> int:
    """How many tokens all sequences begin with, at most all but the last of the shortest."""
    shortest = min(len(ids) for ids in sequences) - 1
    first = sequences[0]
    for i in range(shortest):
        if any(ids[i] != first[i] for ids in sequences[1:]):
            return i
    return shortest


@dataclass(frozen=True)
class Packed:
    """A batch of trees of the same shape as one model input.

    Attributes
    ----------
    ids : (B, L); every segment is filled up on its left
    kinds : (B, L) or None
    real : (B, L), False where it is filled up
    segment : (L,), the segment of each column: 0 the trunk, then branches, then leaves
    ancestors : (S, S), whether segment j lies on the path of segment i
    ends : (branches * leaves,), the column of the last token of each prompt
    pictures : inputs of all images
    """

    ids: torch.Tensor
    kinds: torch.Tensor | None
    real: torch.Tensor
    segment: torch.Tensor
    ancestors: torch.Tensor
    ends: torch.Tensor
    pictures: Tensors

    def mask(self) -> torch.Tensor:
        """What may attend to what, (B, 1, L, L)."""
        n = self.segment.numel()
        path = self.ancestors[self.segment][:, self.segment]
        before = torch.ones(n, n, dtype=torch.bool, device=path.device).tril()
        allowed = (path & before)[None] & self.real[:, None, :]
        # A row of nothing but False has no softmax: what is filled up attends to itself, and nobody to it.
        return (allowed | torch.eye(n, dtype=torch.bool, device=path.device))[:, None]

    def blocks(self, mask: torch.Tensor) -> list[TokenBlock]:
        """The same as a mask over all pairs, without the pairs that never see each other.

        Parameters
        ----------
        mask : see `mask`
        """
        widths = torch.bincount(self.segment, minlength=self.ancestors.shape[0]).tolist()
        stops = [sum(widths[: i + 1]) for i in range(len(widths))]
        starts = [stop - width for stop, width in zip(stops, widths, strict=True)]
        # The leaves of a branch stand side by side and share their path: they are one group.
        groups: dict[tuple[int, ...], list[int]] = {}
        for segment in range(len(widths)):
            above = tuple(s for s in range(segment) if self.ancestors[segment, s])
            groups.setdefault(above if len(above) == 2 else (*above, -segment), []).append(segment)
        blocks = []
        for members in groups.values():
            rows = slice(starts[members[0]], stops[members[-1]])
            if rows.start == rows.stop:
                continue
            above = tuple(s for s in range(members[0]) if self.ancestors[members[0], s])
            path = (*(slice(starts[s], stops[s]) for s in above), rows)
            blocks.append(TokenBlock(rows, path, torch.cat([mask[:, :, rows, some] for some in path], dim=-1)))
        return blocks

    def positions(self, trunk: torch.Tensor | None = None) -> torch.Tensor:
        """The position of each token in its own prompt, (B, L), or (3, B, L) if the trunk's are.

        Parameters
        ----------
        trunk : positions of the trunk's columns where a model counts images in its own
            way, (3, B, trunk); None counts tokens
        """
        n_trunk = int((self.segment == 0).sum())
        out = torch.zeros(self.real.shape, dtype=torch.long, device=self.real.device)
        starts: dict[int, torch.Tensor] = {}
        for segment in range(self.ancestors.shape[0]):
            columns = (self.segment == segment).nonzero().flatten()
            real = self.real[:, columns].long()
            parents = [s for s in range(segment) if self.ancestors[segment, s]]
            start = starts[parents[-1]] if parents else torch.zeros_like(real[:, :0].sum(1))
            out[:, columns] = (start[:, None] + real.cumsum(1) - 1) * real
            starts[segment] = start + real.sum(1)
        if trunk is None:
            return out
        # After the images a model goes on counting from its own highest position.
        shift = trunk.amax(dim=(0, 2)) + 1 - self.real[:, :n_trunk].sum(1)
        moved = (out + shift[:, None]) * self.real
        three = moved[None].repeat(3, 1, 1)
        three[:, :, :n_trunk] = trunk
        return three


def pack(trees: Sequence[Tree], pad: int, move: Callable[[Mapping[str, torch.Tensor]], Tensors]) -> Packed:
    """Put trees of the same shape side by side.

    Parameters
    ----------
    pad : the token to fill up with
    move : brings inputs to the model's device
    """
    n_leaves = len(trees[0].leaves[0])
    segments = [[tree.trunk, *tree.branches, *(leaf for row in tree.leaves for leaf in row)] for tree in trees]
    widths = [max(len(some[s]) for some in segments) for s in range(len(segments[0]))]
    rows, real = [], []
    for some in segments:
        rows.append([t for ids, width in zip(some, widths, strict=True) for t in [pad] * (width - len(ids)) + ids])
        real.append(
            [r for ids, width in zip(some, widths, strict=True) for r in [0] * (width - len(ids)) + [1] * len(ids)]
        )
    inputs = {"ids": torch.tensor(rows), "real": torch.tensor(real)}
    if any(tree.kinds is not None for tree in trees):
        filled = [[0] * (widths[0] - len(tree.trunk)) + (tree.kinds or [0] * len(tree.trunk)) for tree in trees]
        rest = sum(widths[1:])
        inputs["kinds"] = torch.tensor([kinds + [0] * rest for kinds in filled])
    moved = move(inputs)
    device = moved["ids"].device
    n_branches = len(trees[0].branches)
    ends = torch.tensor(widths).cumsum(0)[1 + n_branches :] - 1
    return Packed(
        ids=moved["ids"],
        kinds=moved.get("kinds"),
        real=moved["real"].bool(),
        segment=torch.repeat_interleave(torch.arange(len(widths)), torch.tensor(widths)).to(device),
        ancestors=_ancestors(n_branches, n_leaves).to(device),
        ends=ends.to(device),
        pictures=move(join([tree.pictures for tree in trees])),
    )


def _ancestors(n_branches: int, n_leaves: int) -> torch.Tensor:
    size = 1 + n_branches + n_branches * n_leaves
    out = torch.eye(size, dtype=torch.bool)
    out[:, 0] = True
    for leaf in range(n_branches * n_leaves):
        out[1 + n_branches + leaf, 1 + leaf // n_leaves] = True
    return out


def join(inputs: Sequence[Mapping[str, torch.Tensor]]) -> Tensors:
    """The images' inputs of several cases as those of one batch; tiles are filled up with zeros to the same number."""
    out = {}
    for name in dict.fromkeys(name for some in inputs for name in some):
        tensors = [some[name] for some in inputs if name in some]
        size = [max(tensor.shape[d] for tensor in tensors) for d in range(1, tensors[0].ndim)]
        filled = []
        for tensor in tensors:
            gaps = [pair for d in reversed(range(1, tensor.ndim)) for pair in (0, size[d - 1] - tensor.shape[d])]
            filled.append(torch.nn.functional.pad(tensor, gaps) if any(gaps) else tensor)
        out[name] = torch.cat(filled)
    return out


ATTENTION: Final = "mrb_tree"


@dataclass(frozen=True)
class TokenBlock:
    """Tokens that have the same path: their columns, those of the path, and what of it each may see.

    Attributes
    ----------
    rows : the columns of the tokens, one after the other
    path : the columns of what they may see, themselves included
    mask : (B, 1, rows, path)
    """

    rows: slice
    path: tuple[slice, ...]
    mask: torch.Tensor


@dataclass(frozen=True)
class _TreeLayout:
    length: int
    blocks: tuple[TokenBlock, ...]


_layout: ContextVar[_TreeLayout | None] = ContextVar("layout", default=None)


@contextmanager
def reading(length: int, blocks: Sequence[TokenBlock]) -> Iterator[None]:
    """Within this, inputs of `length` tokens are read as the tree that the blocks describe.

    Parameters
    ----------
    blocks : in the order of their rows, which together are all columns
    """
    token = _layout.set(_TreeLayout(length, tuple(blocks)))
    try:
        yield
    finally:
        _layout.reset(token)


def tree_attention(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    **options: object,
) -> tuple[torch.Tensor, None]:
    """Attention as transformers calls it; ordinary where no tree is being read, as in an image's encoder.

    Parameters
    ----------
    query, key, value : (B, heads, tokens, width)
    attention_mask : a mask over all pairs, which the tree stands in for

    Returns
    -------
    tuple
        (B, tokens, heads, width), and no weights.
    """
    layout = _layout.get()
    if layout is None or attention_mask is None or attention_mask.shape[-2:] != (layout.length, layout.length):
        return _ordinary(module, query, key, value, attention_mask, **options)
    outputs = []
    for block in layout.blocks:
        keys, values = (torch.cat([some[:, :, columns] for columns in block.path], dim=2) for some in (key, value))
        outputs.append(_ordinary(module, query[:, :, block.rows], keys, values, block.mask, **options)[0])
    return torch.cat(outputs, dim=1), None


def _ordinary(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    mask: torch.Tensor | None,
    **options: object,
) -> tuple[torch.Tensor, None]:
    attend = cast("Callable[..., tuple[torch.Tensor, None]]", sdpa_attention_forward)
    return attend(module, query, key, value, mask, **options)


AttentionInterface.register(ATTENTION, tree_attention)
AttentionMaskInterface.register(ATTENTION, sdpa_mask)
