"""Which images show the same picture: stored again, mirrored, turned."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from mrb_lib.benchmarks.near_duplicates import IMAGE_COSINE, ROUNDING, SIGNATURE, Pairs, cosine_bounds

_SIDE = int(SIGNATURE**0.5)
_BLOCK = 2000
_ODD = np.where(np.arange(_SIDE) % 2, -1.0, 1.0).astype(np.float32)
_EVEN = np.ones(_SIDE, dtype=np.float32)
_SIGNS: Final = tuple(np.outer(down, across).ravel() for down, across in product((_EVEN, _ODD), repeat=2))
"""What the four mirrorings of a picture do to its signature; see `image_signature`."""


class Signatures:
    """The signatures of images in a temporary file, so that memory does not grow with their number.

    Use as a context manager.
    """

    def __init__(self, folder: Path) -> None:
        self.names: list[str] = []
        self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115  # closed by `__exit__`

    def __enter__(self) -> Signatures:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def add(self, name: str, signature: NDArray[np.float32]) -> None:
        """Append the signature of an image."""
        self.names.append(name)
        # Half precision moves a cosine by less than 1e-5, and what two different pictures share ends at 0.993.
        self._file.write(signature.astype(np.float16).tobytes())

    def blocks(self) -> Iterator[tuple[int, NDArray[np.float32]]]:
        """The signatures some at a time, each block with the position of its first."""
        for start in range(0, len(self.names), _BLOCK):
            yield start, self._block(start)

    def _block(self, start: int) -> NDArray[np.float32]:
        self._file.flush()
        self._file.seek(start * SIGNATURE * 2)
        content = self._file.read(_BLOCK * SIGNATURE * 2)
        return np.frombuffer(content, dtype=np.float16).reshape(-1, SIGNATURE).astype(np.float32)

    def alike(self, progress: Callable[[str, int, int], None] | None = None) -> Pairs:
        """The positions of the pairs of images that show one picture, in any of its eight orientations.

        Parameters
        ----------
        progress : called with what is done, for how many images, and of how many

        Notes
        -----
        Mirroring a picture changes signs in its signature, turning it by a right angle also exchanges rows and columns.
        So pairs are looked for without the signs, and confirmed by the cosine with those of one orientation, with the
        threshold of `mrb_lib.benchmarks.near_duplicates`. Validated by tests/build/construct/test_copies.py.
        """
        ones, others = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
        for start, block in self.blocks():
            for first, earlier in self.blocks():
                if first > start:
                    break
                one, other = _alike(block, earlier)
                ones.append(one + start)
                others.append(other + first)
            if progress is not None:
                progress("copies", min(start + _BLOCK, len(self.names)), len(self.names))
        one, other = np.concatenate(ones), np.concatenate(others)
        return one[one > other], other[one > other]


def _alike(block: NDArray[np.float32], earlier: NDArray[np.float32]) -> Pairs:
    turned = _turned(block)
    # Without their signs two signatures are at least as near as in any mirroring.
    found, bounds = [], cosine_bounds(np.abs(earlier))
    for own in (block, turned):
        one, other = np.nonzero(cosine_bounds(np.abs(own)) @ bounds.T >= IMAGE_COSINE - ROUNDING)
        products = own[one] * earlier[other]
        confirmed = np.max([products @ signs for signs in _SIGNS], axis=0) >= IMAGE_COSINE
        found.append((one[confirmed], other[confirmed]))
    ones, both = zip(*found, strict=True)
    return np.concatenate(ones).astype(np.int64), np.concatenate(both).astype(np.int64)


def _turned(signatures: NDArray[np.float32]) -> NDArray[np.float32]:
    """The signatures of the same pictures mirrored at their diagonal."""
    square = signatures.reshape(-1, _SIDE, _SIDE)
    return np.ascontiguousarray(square.transpose(0, 2, 1)).reshape(-1, SIGNATURE)
