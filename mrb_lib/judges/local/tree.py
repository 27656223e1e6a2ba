"""Several prompts about one case as a tree of tokens, read by a model in a single pass.

The trunk is what all prompts begin with (image and question), a branch is what one
order of the responses adds, and a leaf is what one question adds. In the pass every
token attends to its own path from the root alone, and stands at the position it has
in its own prompt; so each prompt is read as if it stood alone, for the price of its
leaf. (Tree attention as in speculative decoding: Miao et al., SpecInfer, ASPLOS 2024.)
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, cast

import torch
from PIL import Image

from mrb_lib.judges.local.attention import Span, TreeLayout
from mrb_lib.judges.local.weights import TOKENWISE, Tensors, Weights, join

Texts = Sequence[Sequence[str]]


@dataclass(frozen=True)
class Tree:
    """The tokens of one case's prompts.

    Attributes
    ----------
    trunk : ids that all prompts share, images expanded
    branches : ids for each branch
    leaves : ids for each branch and leaf
    pictures : the inputs that belong to the images, floating-point ones in the model's type
    kinds : the `mm_token_type_ids` of the trunk, for models that want them
    places : positions of the trunk's tokens where a model counts images in its own way, (3, trunk); None counts tokens
    blocks : columns of the trunk that attend to one another whatever their order, from and up to
    """

    trunk: list[int]
    branches: list[list[int]]
    leaves: list[list[list[int]]]
    pictures: Tensors
    kinds: list[int] | None = None
    places: torch.Tensor | None = None
    blocks: tuple[Span, ...] = ()

    @property
    def n_tokens(self) -> int:
        """Tokens that are read in a pass."""
        leaves = sum(len(leaf) for row in self.leaves for leaf in row)
        return len(self.trunk) + sum(map(len, self.branches)) + leaves

    @property
    def n_longest(self) -> int:
        """Tokens of the longest of its prompts."""
        longest = (len(branch) + max(map(len, row)) for branch, row in zip(self.branches, self.leaves, strict=True))
        return len(self.trunk) + max(longest)


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
    heads = list(map(_common, prompts))
    n_trunk = min(_common([row[0] for row in prompts]), *heads)
    branches = [row[0][n_trunk:head] for row, head in zip(prompts, heads, strict=True)]
    leaves = [[ids[head:] for ids in row] for row, head in zip(prompts, heads, strict=True)]
    inputs = weights.encode(texts[0][0], pictures)
    whole = inputs["input_ids"][0].tolist()
    rest = prompts[0][0][n_trunk:]
    trunk = whole[: len(whole) - len(rest)]
    if whole[len(trunk) :] != rest:
        raise ValueError("the processor changes the text after the images")
    return Tree(
        trunk,
        branches,
        leaves,
        {name: weights.near_device(value) for name, value in inputs.items() if name not in TOKENWISE},
        kinds=inputs["mm_token_type_ids"][0, : len(trunk)].tolist() if "mm_token_type_ids" in inputs else None,
        places=_places(weights, inputs, len(trunk)),
        blocks=_blocks(inputs["token_type_ids"][0, : len(trunk)].tolist()) if "token_type_ids" in inputs else (),
    )


def _common(sequences: Sequence[Sequence[int]]) -> int:
    """Return the number of tokens with which all sequences begin, at most all but the last of the shortest."""
    most = min(map(len, sequences)) - 1
    columns = zip(*(ids[:most] for ids in sequences), strict=True)
    return next((i for i, tokens in enumerate(columns) if len(set(tokens)) > 1), most)


def _places(weights: Weights, inputs: Tensors, n_trunk: int) -> torch.Tensor | None:
    kinds = inputs.get("mm_token_type_ids")
    if kinds is None or not kinds.any() or not hasattr(weights.model.model, "get_rope_index"):
        return None
    places, _ = weights.model.model.get_rope_index(
        inputs["input_ids"][:, :n_trunk],
        mm_token_type_ids=kinds[:, :n_trunk],
        **{name: value for name, value in inputs.items() if name.endswith("_thw")},
    )
    return cast("torch.Tensor", places)[:, 0]


def _blocks(kinds: Sequence[int]) -> tuple[Span, ...]:
    """Return the spans of images among tokens of the kinds 0, text, and 1, image."""
    edges = [i for i, (before, after) in enumerate(pairwise([0, *kinds, 0])) if (before == 1) != (after == 1)]
    return tuple(zip(edges[::2], edges[1::2], strict=True))


def pack(
    trees: Sequence[Tree], move: Callable[[Mapping[str, torch.Tensor]], Tensors]
) -> tuple[dict[str, Any], torch.Tensor]:
    """Put trees one after the other in a row, as the inputs of one pass.

    Parameters
    ----------
    move : brings inputs to the model's device

    Returns
    -------
    tuple
        The model's keyword arguments, `tree` among them, the layout that says what attends to what; and the column of
        the last token of each prompt, tree by tree and branch by branch, int64 of shape (prompts,).
    """
    rows = 3 if any(tree.places is not None for tree in trees) else 1
    ids, kinds, ends = list[int](), list[int](), list[int]()
    positions, cases, paths, blocks = list[torch.Tensor](), list[Span](), [], list[Span]()

    def put(tokens: Sequence[int], places: torch.Tensor) -> Span:
        ids.extend(tokens)
        positions.append(places.expand(rows, -1))
        return len(ids) - len(tokens), len(ids)

    for tree in trees:
        places = torch.arange(len(tree.trunk)) if tree.places is None else tree.places
        # After the images a model goes on counting from its own highest position.
        follows = int(places.max()) + 1 if tree.trunk else 0
        trunk = put(tree.trunk, places)
        runs: list[tuple[Span, ...]] = [(trunk,)] if tree.trunk else []
        for branch, leaves in zip(tree.branches, tree.leaves, strict=True):
            begins = follows + len(branch)
            span = put(branch, torch.arange(follows, begins))
            runs += [(trunk, span)] if branch else []
            for leaf in leaves:
                runs.append((trunk, span, put(leaf, torch.arange(begins, begins + len(leaf)))))
                ends.append(len(ids) - 1)
        kinds += (tree.kinds or [0] * len(tree.trunk)) + [0] * (len(ids) - trunk[1])
        cases.append((trunk[0], len(ids)))
        paths.append(tuple(runs))
        blocks += [(trunk[0] + first, trunk[0] + last) for first, last in tree.blocks]
    place = torch.cat(positions, dim=-1)
    inputs = {
        "input_ids": torch.tensor([ids]),
        "position_ids": place[:, None] if rows > 1 else place,
        # A mask of four dimensions is handed to the layers as it is; ours look at the layout instead.
        "attention_mask": torch.empty(1, 1, 0, 0, dtype=torch.bool),
    }
    if any(tree.kinds is not None for tree in trees):
        inputs["mm_token_type_ids"] = torch.tensor([kinds])
    layout = TreeLayout(tuple(cases), tuple(paths), tuple(blocks))
    moved = move({**inputs, "ends": torch.tensor(ends)})
    last = moved.pop("ends")
    return {**moved, **join([move(tree.pictures) for tree in trees]), "tree": layout}, last
