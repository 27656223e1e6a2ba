"""Attention by blocks is the attention of the mask over all pairs."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch

from mrb_lib.judges.local.tree import Packed, Tree, pack, reading, tree_attention


@pytest.fixture
def packed() -> Packed:
    """Two trees with two orders and three questions, whose parts differ in length; the first needs filling up."""
    trees = [
        Tree([1, 2], None, [[3], [4, 5]], [[[6], [7, 8], [9]], [[6], [7, 8], [9]]], {}),
        Tree([1, 2, 3, 4], None, [[5, 6, 7], [8]], [[[6], [7, 8], [9]], [[6], [7, 8], [9]]], {}),
    ]
    return pack(trees, 0, dict)


def _random(packed: Packed, heads: int = 2) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    shape = (packed.ids.shape[0], heads, packed.ids.shape[1], 8)
    return [torch.randn(shape, generator=generator) for _ in range(3)]


def _attend(packed: Packed, mask: torch.Tensor, heads: int = 2) -> torch.Tensor:
    module = SimpleNamespace(is_causal=True)
    return tree_attention(module, *_random(packed, heads), mask)[0]


def test_blocks_give_what_the_mask_over_all_pairs_gives(packed: Packed) -> None:
    mask = packed.mask()
    whole = _attend(packed, mask)
    with reading(packed.ids.shape[1], packed.blocks(mask)):
        by_blocks = _attend(packed, mask)
    torch.testing.assert_close(by_blocks, whole, atol=1e-6, rtol=1e-6)


def test_blocks_leave_out_no_pair_that_the_mask_allows_and_compare_far_fewer(packed: Packed) -> None:
    mask = packed.mask()
    seen = torch.zeros_like(mask)
    compared = 0
    for block in packed.blocks(mask):
        columns = torch.cat([torch.arange(part.start, part.stop) for part in block.path])
        rows = torch.arange(block.rows.start, block.rows.stop)
        seen[:, :, rows[:, None], columns] = block.mask
        compared += rows.numel() * columns.numel()
    assert torch.equal(seen, mask)
    assert compared < 0.6 * mask.shape[-1] ** 2


def test_rows_of_blocks_are_all_columns_in_order(packed: Packed) -> None:
    rows = [block.rows for block in packed.blocks(packed.mask())]
    assert rows[0].start == 0
    assert [one.stop for one in rows[:-1]] == [one.start for one in rows[1:]]
    assert rows[-1].stop == packed.ids.shape[1]


def test_inputs_of_another_length_are_read_as_ever(packed: Packed) -> None:
    mask = packed.mask()
    whole = _attend(packed, mask)
    with reading(packed.ids.shape[1] + 1, packed.blocks(mask)):
        assert torch.equal(_attend(packed, mask), whole)
    assert torch.equal(_attend(packed, mask), whole), "and nothing stays behind"
