"""Images that show one picture: the same one stored again or turned, and one cropped, framed, inverted or windowed."""

from collections.abc import Iterator
from itertools import product
from typing import Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from PIL import Image, ImageOps
from scipy import fft, ndimage

from mrb_lib.benchmarks.images.pictures import Progress

Field = NDArray[np.float32]

SAME: Final = "the same picture"
ALTERED: Final = "the same picture, altered"

SAME_COSINE: Final = 0.996
ALTERED_CORRELATION: Final = 0.55
_SIDE: Final = 64
_FREQUENCIES: Final = 32
_COARSE: Final = 16
_FLAT = 1.0  # the length, in grey levels, under which a picture holds nothing but rounding
_NEIGHBOURS: Final = 8
_LEAST_COSINE: Final = 0.15  # neighbours less alike are not looked at closer
_SCALES: Final = (1.0, 0.95, 0.9, 0.85, 0.8)
_FRAME_SPREAD: Final = 3.0  # grey levels: rows and columns at the rim that vary less are a frame
_BLOCK: Final = 1000


class Pictures:
    """Pictures that are known again, added one after another.

    Notes
    -----
    The same picture: the cosine of the lowest 32 x 32 frequencies of the discrete cosine transform at 64 x 64 pixels,
    each times its frequency, is 0.996 or more in one of eight orientations. So what counts is edges, not how bright an
    anatomy is that all images of a view share. Stored again as JPEG (quality 40), at half size or with less contrast an
    image keeps a cosine over 0.998; two different ones of the embedded benchmark reach 0.993.

    An altered one: the local mean is taken away and divided by the local spread, so that neither brightness nor
    contrast matters, nor the sign after an inversion. Of the 8 pictures most like it at 16 x 16 pixels, those are
    altered copies whose correlation is 0.55 or more at the best place and scale, from 0.8 to 1. Neighbouring slices of
    a scan and drawings of one view count as altered copies, too. Crops of more than a tenth of each side, turns by a
    few degrees, and pictures put beside others are not recognised.
    Validated by tests/benchmarks/images/test_copies.py.
    """

    def __init__(self) -> None:
        self.names: list[str] = []
        self._signatures: list[NDArray[np.float16]] = []
        self._fields: list[NDArray[np.float16]] = []

    def add(self, name: str, picture: Image.Image | None) -> None:
        """Add a picture under a name; None, and one of a single grey, is like no other."""
        grey = picture.convert("L") if picture is not None else Image.new("L", (1, 1))
        self.names.append(name)
        # Half precision moves a cosine by less than 1e-5.
        self._signatures.append(_signature(grey).astype(np.float16))
        self._fields.append(_local_contrast(grey).astype(np.float16))

    def pairs(self, *, altered: bool = True, progress: Progress | None = None) -> pd.DataFrame:
        """Return the pairs of pictures that are copies, each pair once.

        Parameters
        ----------
        altered : also look for altered copies
        progress : called with "copies", how many pictures are compared, and of how many

        Returns
        -------
        DataFrame
            `one > other`, positions in the order of adding, and `kind`: `SAME` or `ALTERED`.
        """
        kinds: dict[tuple[int, int], str] = {}
        signatures = np.array(self._signatures, dtype=np.float32).reshape(-1, _FREQUENCIES**2)
        coarse = np.array([_shrunk(field.astype(np.float32)) for field in self._fields]).reshape(-1, _COARSE**2)
        for start in range(0, len(self.names), _BLOCK):
            stop = min(start + _BLOCK, len(self.names))
            if altered:
                for i, near, ways in _neighbours(coarse, start, stop):
                    alike = self._correlations(i, near, ways) >= ALTERED_CORRELATION
                    kinds |= {(max(i, j), min(i, j)): ALTERED for j in near[alike].tolist()}
            cosines = np.max([way @ signatures.T for way in _turned_signatures(signatures[start:stop])], axis=0)
            one, other = np.nonzero(cosines >= SAME_COSINE)
            found = zip((one + start).tolist(), other.tolist(), strict=True)
            kinds |= {(i, j): SAME for i, j in found if i > j}
            if progress is not None:
                progress("copies", stop, len(self.names))
        rows = [(one, other, kind) for (one, other), kind in sorted(kinds.items())]
        return pd.DataFrame(rows, columns=["one", "other", "kind"]).astype({"one": "int64", "other": "int64"})

    def _correlations(self, i: int, others: NDArray[np.int64], ways: NDArray[np.int64]) -> Field:
        """Return how well a picture, turned in given ways, matches others at the best place and scale, 0 to 1."""
        out = np.zeros(len(others), dtype=np.float32)
        for way in np.unique(ways):
            chosen = np.flatnonzero(ways == way)
            part = _turned(self._fields[i].astype(np.float32)[None])[way][0]
            wholes = np.array([self._fields[j] for j in others[chosen]], dtype=np.float32)
            spectra, squares = fft.rfft2(wholes), np.square(wholes)
            for scale in _SCALES:
                own = part if scale == 1 else ndimage.zoom(part, scale, order=1)
                size = len(own)
                products = np.abs(fft.irfft2(spectra * np.conj(fft.rfft2(own, (_SIDE, _SIDE))), (_SIDE, _SIDE)))
                # What the whole holds under the part, at each place of its upper left corner.
                under = ndimage.uniform_filter(squares, (0, size, size), mode="wrap") * size**2
                under = np.roll(under, (-(size // 2), -(size // 2)), (1, 2))
                least = 0.2 * squares.sum(axis=(1, 2), keepdims=True) * (size / _SIDE) ** 2
                bound = np.sqrt(np.square(own).sum() * np.maximum(under, least))
                out[chosen] = np.maximum(out[chosen], (products / np.maximum(bound, 1e-6)).max(axis=(1, 2)))
        return out


def _signature(grey: Image.Image) -> Field:
    """Return weighted low frequencies of a picture, of length one, shape (32, 32); zeros where it is of one grey."""
    small = grey.resize((_SIDE, _SIDE), Image.Resampling.LANCZOS, reducing_gap=2.0)
    axis = np.arange(_FREQUENCIES, dtype=np.float32)
    weighted = fft.dctn(np.asarray(small, dtype=np.float32), norm="ortho")[:_FREQUENCIES, :_FREQUENCIES]
    weighted = weighted * np.hypot(axis[:, None], axis)
    length = float(np.linalg.norm(weighted))
    return np.asarray(weighted / length if length >= _FLAT else np.zeros_like(weighted), dtype=np.float32)


def _turned_signatures(signatures: Field) -> list[Field]:
    """Return signatures, shape (n, 1024), of the pictures in eight orientations: signs change, and axes."""
    square = signatures.reshape(-1, _FREQUENCIES, _FREQUENCIES)
    odd, even = np.where(np.arange(_FREQUENCIES) % 2, -1.0, 1.0).astype(np.float32), np.ones(_FREQUENCIES, np.float32)
    signs = [np.outer(down, across) for down, across in product((even, odd), repeat=2)]
    ways = product((square, square.transpose(0, 2, 1)), signs)
    return [(way * sign).reshape(signatures.shape) for way, sign in ways]


def _local_contrast(grey: Image.Image) -> Field:
    """Return what a picture holds besides its local mean, over its local spread, shape (64, 64)."""
    framed = ImageOps.autocontrast(_unframed(grey))
    values = np.asarray(framed.resize((_SIDE, _SIDE), Image.Resampling.LANCZOS, reducing_gap=2.0), dtype=np.float32)
    above = values - ndimage.gaussian_filter(values, 1.0)
    spread = np.sqrt(ndimage.gaussian_filter(np.square(above), 1.0))
    return np.asarray(above / (spread + 4), dtype=np.float32)


def _unframed(grey: Image.Image) -> Image.Image:
    """Return a picture without a frame of one grey around it."""
    side = 2 * _SIDE
    small = np.asarray(grey.resize((side, side)), dtype=np.float32)
    rows, columns = (np.flatnonzero(small.std(axis=axis) > _FRAME_SPREAD) for axis in (1, 0))
    if min(len(rows), len(columns)) < side // 4:
        return grey
    # A pixel more where a frame ends, which the reduction has blurred.
    top, left = (first + (first > 0) for first in (rows[0], columns[0]))
    bottom, right = (last + (last == side - 1) for last in (rows[-1], columns[-1]))
    width, height = grey.width / side, grey.height / side
    return grey.crop((round(left * width), round(top * height), round(right * width), round(bottom * height)))


def _shrunk(field: Field) -> Field:
    """Return a field of `_COARSE` pixels a side, of length one."""
    step = _SIDE // _COARSE
    small = ndimage.gaussian_filter(field, 2.0)[step // 2 :: step, step // 2 :: step]
    return np.asarray(small / max(float(np.linalg.norm(small)), 1e-6), dtype=np.float32)


def _turned(fields: Field) -> list[Field]:
    """Return fields, shape (n, side, side), in eight orientations."""
    ways = (fields, fields.transpose(0, 2, 1))
    return [one for way in ways for one in (way, way[:, ::-1], way[:, :, ::-1], way[:, ::-1, ::-1])]


def _neighbours(coarse: Field, start: int, stop: int) -> Iterator[tuple[int, NDArray[np.int64], NDArray[np.int64]]]:
    """Yield each picture of a block, those most like it, and the orientation in which each is."""
    block = coarse[start:stop].reshape(-1, _COARSE, _COARSE)
    cosines = np.zeros((stop - start, len(coarse)), dtype=np.float32)
    ways = np.zeros(cosines.shape, dtype=np.int64)
    for way, turned in enumerate(_turned(block)):
        found = np.abs(turned.reshape(stop - start, -1) @ coarse.T)
        ways[found > cosines] = way
        np.maximum(cosines, found, out=cosines)
    cosines[np.arange(stop - start), np.arange(start, stop)] = 0
    for row, own in enumerate(cosines):
        near = np.argsort(-own, kind="stable")[:_NEIGHBOURS]
        near = near[own[near] >= _LEAST_COSINE]
        yield start + row, near, ways[row, near]
