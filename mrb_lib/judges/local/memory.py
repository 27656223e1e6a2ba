"""As much in a pass as the device's memory holds: a budget of tokens that is measured, and halved where it fails."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeVar

import torch

T = TypeVar("T")
R = TypeVar("R")

_SHARE: Final = 0.8  # of the free memory; the rest is for what differs between passes
_ENOUGH: Final = 256  # tokens of a pass from which its memory tells something


def is_out_of_memory(error: RuntimeError) -> bool:
    """Return whether a device is full, or the processor's allocator, whose error has no class of its own."""
    said = str(error)
    return isinstance(error, torch.OutOfMemoryError) or "can't allocate memory" in said or "not enough memory" in said


class PassMemory:
    """The memory that a pass takes, by the passes so far.

    Parameters
    ----------
    devices : of the weights; a CPU has no budget: its memory is not the bottleneck, and cannot be asked

    Attributes
    ----------
    fits : items that a pass may have at most, since one with more ran out of memory; None where none has
    """

    def __init__(self, devices: Sequence[torch.device]) -> None:
        self._gpus = [device for device in devices if device.type == "cuda"]
        self._bytes_per_token: float | None = None
        self.fits: int | None = None

    def size(self, n_tokens: Sequence[int]) -> int:
        """Return the number of next items that a pass takes.

        Parameters
        ----------
        n_tokens : of the items, the longest first, to which the others may be filled up
        """
        size = min(self.fits or len(n_tokens), len(n_tokens))
        if not self._gpus:
            return size
        if self._bytes_per_token is None:
            return min(size, -(-_ENOUGH // max(n_tokens[0], 1)))
        return max(1, min(size, int(_SHARE * self._free() / (self._bytes_per_token * max(n_tokens[0], 1)))))

    def run(
        self, function: Callable[[Sequence[T]], Sequence[R]], items: Sequence[T], n_tokens: int
    ) -> Sequence[R] | None:
        """The function's result; None where the memory does not suffice.

        Parameters
        ----------
        n_tokens : of the pass
        """
        before = [torch.cuda.memory_allocated(gpu) for gpu in self._gpus]
        for gpu in self._gpus:
            torch.cuda.reset_peak_memory_stats(gpu)
        try:
            with torch.inference_mode():
                result = function(items)
        except RuntimeError as error:
            if not is_out_of_memory(error):
                raise
            result = None
        if result is None and self._gpus:
            torch.cuda.empty_cache()
        elif n_tokens >= _ENOUGH:
            taken = [torch.cuda.max_memory_allocated(gpu) - held for gpu, held in zip(self._gpus, before, strict=True)]
            self._bytes_per_token = max([self._bytes_per_token or 0.0, *(some / n_tokens for some in taken)])
        return result

    def _free(self) -> int:
        """Return the memory that the fullest device has left, with what torch keeps and does not use."""
        return min(
            torch.cuda.mem_get_info(gpu)[0] + torch.cuda.memory_reserved(gpu) - torch.cuda.memory_allocated(gpu)
            for gpu in self._gpus
        )
