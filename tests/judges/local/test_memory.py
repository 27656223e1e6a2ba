"""A pass is as large as the memory that is free allows, by what passes have taken so far."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import torch

from mrb_lib.judges.local.memory import PassMemory

GPU = torch.device("cuda:0")


class Gpu:
    """A GPU that has so much memory, of which a pass takes 1,000 bytes a token."""

    def __init__(self, patch: pytest.MonkeyPatch, total: int, held: int = 0) -> None:
        self.total, self.held, self.peak = total, held, held
        patch.setattr(torch.cuda, "mem_get_info", lambda _: (self.total - self.held, self.total))
        patch.setattr(torch.cuda, "memory_allocated", lambda _: self.held)
        patch.setattr(torch.cuda, "memory_reserved", lambda _: self.held)
        patch.setattr(torch.cuda, "max_memory_allocated", lambda _: self.peak)
        patch.setattr(torch.cuda, "reset_peak_memory_stats", lambda _: setattr(self, "peak", self.held))
        patch.setattr(torch.cuda, "empty_cache", lambda: None)

    def read(self, items: Sequence[int]) -> Sequence[int]:
        self.peak = self.held + 1000 * len(items) * max(items)
        if self.peak > self.total:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        return items


def test_the_first_pass_is_of_one_item_and_tells_how_many_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    gpu, memory = Gpu(monkeypatch, total=10_000_000, held=2_000_000), PassMemory([GPU])
    assert memory.size([500] * 40) == 1
    assert memory.size([100] * 40) == 3, "as many as tell something"
    assert memory.run(gpu.read, [500], 500) == [500]
    assert memory.size([500] * 40) == 12, "four fifths of 8 MB hold 6,400 tokens"
    assert memory.size([6000, 500, 500]) == 1
    assert memory.size([9000]) == 1, "one item is always tried"
    assert memory.size([100] * 7) == 7


def test_a_pass_that_ran_out_of_memory_has_no_result_and_others_are_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    gpu, memory = Gpu(monkeypatch, total=1_000_000), PassMemory([GPU])
    assert memory.run(gpu.read, [900, 900], 1800) is None
    with pytest.raises(RuntimeError, match="illegal"):
        memory.run(lambda _: (_ for _ in ()).throw(RuntimeError("illegal memory access")), [1], 1)


def test_a_short_pass_does_not_set_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    gpu, memory = Gpu(monkeypatch, total=10_000_000), PassMemory([GPU])
    memory.run(gpu.read, [3], 3)
    assert memory.size([500] * 40) == 1


def test_a_processor_has_no_budget_but_what_did_not_fit() -> None:
    memory = PassMemory([torch.device("cpu")])
    assert memory.size([10_000] * 40) == 40
    memory.fits = 3
    assert memory.size([10_000] * 40) == 3
