"""Attention over a tree of prompts without the pairs of tokens that never see each other.

A mask over all pairs gives the same numbers, but half of what it computes is thrown
away. Here every group of tokens is compared with its own path from the root only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final, cast

import torch
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

NAME: Final = "mrb_tree"


@dataclass(frozen=True)
class Block:
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
class _Layout:
    length: int
    blocks: tuple[Block, ...]


_layout: ContextVar[_Layout | None] = ContextVar("layout", default=None)


@contextmanager
def reading(length: int, blocks: Sequence[Block]) -> Iterator[None]:
    """Within this, inputs of `length` tokens are read as the tree that the blocks describe.

    Parameters
    ----------
    blocks : in the order of their rows, which together are all columns
    """
    token = _layout.set(_Layout(length, tuple(blocks)))
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
    parts = []
    for block in layout.blocks:
        keys, values = (torch.cat([some[:, :, columns] for columns in block.path], dim=2) for some in (key, value))
        parts.append(_ordinary(module, query[:, :, block.rows], keys, values, block.mask, **options)[0])
    return torch.cat(parts, dim=1), None


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


AttentionInterface.register(NAME, tree_attention)
AttentionMaskInterface.register(NAME, sdpa_mask)
