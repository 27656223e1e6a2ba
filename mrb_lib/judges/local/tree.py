"""Several prompts about one case as a tree of tokens, read by a model in a single pass.

The trunk is what all prompts begin with (image and question), a branch is what one
order of the responses adds, a leaf is what one question adds. In the pass every
token attends to its own path from the root alone, and stands at the position it has
in its own prompt; so each prompt is read as if it stood alone, for the price of its
leaf. (Tree attention as in speculative decoding: Miao et al., SpecInfer, ASPLOS 2024.)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch
from PIL import Image

from mrb_lib.judges.local.weights import TOKENWISE, Tensors, Weights

Texts = Sequence[Sequence[str]]


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


def grow(weights: Weights, texts: Texts, pictures: Sequence[Image.Image]) -> Tree:
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
    prompts = [[weights.tokens(text) for text in row] for row in texts]
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
