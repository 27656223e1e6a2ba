"""Which images are parts of others: cut out, mirrored or not, and stored again at any size."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from mrb_lib.benchmarks.near_duplicates import Pairs
from mrb_lib.tables.errors import InputError

CORRELATION: Final = 0.98
_APART: Final = 0.15
_MARKED, _MOSTLY_APART = 0.93, 0.0025
_NEARLY = 0.7
_SIDE, _KEYPOINTS, _HASHED, _CONTRAST = 256, 300, 150, 0.01
_TABLES, _BITS = 3, 24
_LARGEST_BUCKET = 40  # more images than this share what is no mark of any of them, such as a ruler or a logo
_VOTES = 3
_NEAR = 0.6  # between two descriptors of length one
_LEAST_MATCHES, _OFF, _LEAST_OVERLAP, _BORDER, _SPOT = 4, 3.0, 0.25, 8, 8
_SEED = 0
_REMEMBERED = 500  # images with their keypoints in memory: 120 MB
_KEPT = 100  # images whose keypoints, once hashed, stay in memory until they are compared

Load = Callable[[str], Image.Image]


def can_find_crops() -> bool:
    """Whether OpenCV, which the search for crops needs, is installed."""
    return find_spec("cv2") is not None


class Keypoints:
    """The keypoints of images in a temporary file, by which parts of pictures are found again.

    Use as a context manager.

    Raises
    ------
    InputError
        OpenCV is not installed.

    Notes
    -----
    The descriptors are those of SIFT (Lowe 2004, doi:10.1023/B:VISI.0000029664.99615.94), as square roots (Arandjelovic
    and Zisserman 2012, doi:10.1109/CVPR.2012.6248018). Images of which some of the strongest fall into the same bucket
    of a locality-sensitive hash (random hyperplanes; Charikar 2002, doi:10.1145/509907.509965) are compared: a shift,
    turn and scale is fitted to their matches by RANSAC, and the two are copies where, laid over each other, their
    details correlate by .98 and no spot of them differs: two pictures of one view, of which one has a lesion, correlate
    as well. Where something was drawn on one of them, such as an arrow, .93 will do if three quarters of the details
    agree nearly exactly. A logo or ruler that two images share makes no copy. Details are as fine as the coarser of the
    two has them. SIFT knows no mirrored picture, but a descriptor of one has the same numbers in another order, so each
    is hashed both ways.

    What is found, and what is taken for a part and is none, is in tests/benchmarks/RESULTS.md. The package imagehash
    was no alternative: its crop-resistant hash takes .3 s an image, finds 65% of the pictures with 15% cut off, and
    calls 15% of all pairs of different pictures copies. Validated by tests/build/construct/test_crops.py.
    """

    def __init__(self, folder: Path) -> None:
        if not can_find_crops():
            raise InputError("--crops: needs OpenCV; pip install 'mrb-workbench[construct]', or pass --no-crops.")
        rng = np.random.default_rng(_SEED)
        self._planes = rng.normal(size=(128, _TABLES * _BITS)).astype(np.float32)
        self._files = [tempfile.TemporaryFile(dir=folder) for _ in range(_TABLES)]  # noqa: SIM115  # see `__exit__`
        self._n: list[int] = []
        self._names: list[str] = []
        self._kept: dict[str, _Features] = {}

    def __enter__(self) -> Keypoints:
        return self

    def __exit__(self, *_: object) -> None:
        for file in self._files:
            file.close()

    def add(self, name: str, picture: Image.Image) -> None:
        """Hash the keypoints of an image."""
        features = _features(picture)
        if len(self._kept) < _KEPT:
            self._kept[name] = features
        own = features.descriptors[:_HASHED]
        descriptors = np.concatenate([own, own[:, _MIRRORED]])
        # All entries are positive, so what tells descriptors apart is their deviation from their mean.
        bits = (descriptors - descriptors.mean(axis=1, keepdims=True)) @ self._planes > 0
        codes = bits.reshape(-1, _TABLES, _BITS) @ (1 << np.arange(_BITS, dtype=np.uint32))
        for table, file in enumerate(self._files):
            file.write(codes[:, table].astype(np.uint32).tobytes())
        self._names.append(name)
        self._n.append(len(own))

    def parts(self, load: Load, progress: Callable[[str, int, int], None] | None = None) -> Pairs:
        """The positions of the pairs of images of which one is a part of the other.

        Parameters
        ----------
        load : gives an image by the name it was added under
        progress : called with what is done, for how many pairs, and of how many
        """
        candidates = self._candidates()
        is_part = np.zeros(len(candidates), dtype=bool)

        @lru_cache(_REMEMBERED)
        def features(position: int) -> _Features:
            name = self._names[position]
            return self._kept.pop(name, None) or _features(load(name))

        for i, (mirrored, one, other) in enumerate(candidates.tolist()):
            is_part[i] = _is_part(_mirror(features(one)) if mirrored else features(one), features(other))
            if progress is not None:
                progress("parts", i + 1, len(candidates))
        return candidates[is_part, 1], candidates[is_part, 2]

    def _candidates(self) -> NDArray[np.int64]:
        """Pairs of images with enough descriptors in common, sorted, with shape (pairs, 3).

        First whether one of them is to be mirrored, 0 or 1, then the two images.
        """
        n = len(self._n)
        # The mirrored image of number i is number n + i.
        image = np.repeat(np.arange(2 * n).reshape(2, n).T.ravel(), np.repeat(self._n, 2))
        order, n_plain = np.argsort(image, kind="stable"), sum(self._n)
        votes = [np.zeros(0, dtype=np.int64)]
        for file in self._files:
            file.flush()
            file.seek(0)
            codes, owner = np.frombuffer(file.read(), dtype=np.uint32)[order], image[order]
            votes += [one * n + other for one, other in _shared(codes[:n_plain], owner[:n_plain])]
            for one, turned in _shared(codes, owner):
                both = (one < n) & (turned >= n) & (one != turned - n)
                pair = one[both], turned[both] - n
                votes.append((n + np.minimum(*pair)) * n + np.maximum(*pair))
        keys, counts = np.unique(np.concatenate(votes), return_counts=True)
        rest, other = np.divmod(keys[counts >= _VOTES], max(n, 1))
        return np.stack([*np.divmod(rest, max(n, 1)), other], axis=1)


def _shared(codes: NDArray[np.uint32], image: NDArray[np.int64]) -> Iterator[Pairs]:
    """The pairs of images in each bucket, the smaller number first.

    Parameters
    ----------
    image : of each code, in ascending order
    """
    order = np.argsort(codes, kind="stable")
    codes, image = codes[order], image[order]
    # Of a bucket with m images each is paired with the next, the one after it, ...: m - 1 shifts cover all pairs.
    for shift in range(1, _LARGEST_BUCKET):
        same = np.flatnonzero(codes[:-shift] == codes[shift:]) if shift < len(codes) else np.zeros(0, dtype=np.int64)
        if not len(same):
            return
        one, other = image[same], image[same + shift]
        yield one[one < other], other[one < other]


class _Features(NamedTuple):
    """What two pictures are compared by.

    Attributes
    ----------
    points : shape (k, 2), where the keypoints are, the strongest first
    descriptors : shape (k, 128), of length one
    values : the picture, its longer side 256 pixels long
    grain : how many of these pixels one of the image covers, 1 for an image that is as large or larger
    """

    points: NDArray[np.float32]
    descriptors: NDArray[np.float32]
    values: NDArray[np.uint8]
    grain: float


def _features(picture: Image.Image) -> _Features:
    cv2 = import_module("cv2")
    scale = _SIDE / max(picture.size)
    size = (max(1, round(picture.width * scale)), max(1, round(picture.height * scale)))
    values = np.asarray(picture.convert("L").resize(size, Image.Resampling.LANCZOS), dtype=np.uint8)
    points, found = cv2.SIFT_create(nfeatures=_KEYPOINTS, contrastThreshold=_CONTRAST).detectAndCompute(values, None)
    if found is None:
        return _Features(np.zeros((0, 2), np.float32), np.zeros((0, 128), np.float32), values, max(scale, 1.0))
    strongest = np.argsort([-point.response for point in points], kind="stable")
    root = np.sqrt(found / np.maximum(found.sum(axis=1, keepdims=True), 1e-6)).astype(np.float32)
    places = np.array([point.pt for point in points], dtype=np.float32)
    return _Features(places[strongest], root[strongest], values, max(scale, 1.0))


_MIRRORED: Final = np.arange(128).reshape(4, 4, 8)[::-1, :, -np.arange(8)].ravel()
"""The order of the numbers of a descriptor, 4 x 4 cells of 8 directions, after mirroring at its own direction."""


def _mirror(features: _Features) -> _Features:
    values = np.ascontiguousarray(features.values[:, ::-1])
    mirrored = features.points * np.array([-1, 1], np.float32) + np.array([values.shape[1] - 1, 0], np.float32)
    return _Features(mirrored, features.descriptors[:, _MIRRORED], values, features.grain)


def _is_part(one: _Features, other: _Features) -> bool:
    """Whether a shift, turn and scale lays one picture over the other so that their details are the same."""
    cv2: Any = import_module("cv2")
    cosine = one.descriptors @ other.descriptors.T
    if not cosine.size:
        return False
    best = cosine.argmax(axis=1)
    mutual = cosine.argmax(axis=0)[best] == np.arange(len(best))
    near = mutual & (cosine[np.arange(len(best)), best] >= 1 - _NEAR**2 / 2)
    if near.sum() < _LEAST_MATCHES:
        return False
    cv2.setRNGSeed(_SEED)
    off = max(_OFF, one.grain, other.grain)  # a keypoint's place is known to a pixel of the image as it was stored
    found, inliers = cv2.estimateAffinePartial2D(one.points[near], other.points[best[near]], ransacReprojThreshold=off)
    if found is None or int(inliers.sum()) < _LEAST_MATCHES:
        return False
    matrix = found.astype(np.float32)
    laid = _laid_over(one, other, matrix)
    if laid.correlation < _NEARLY:
        return False
    if not _is_same(laid):
        laid = max(laid, _laid_over(one, other, _refined(one, other, matrix)))
    return _is_same(laid)


def _refined(one: _Features, other: _Features, matrix: NDArray[np.float32]) -> NDArray[np.float32]:
    """A more exact transformation; the same where the two pictures do not resemble each other there.

    The method is that of Evangelidis and Psarakis (2008, doi:10.1109/TPAMI.2008.113).
    """
    cv2: Any = import_module("cv2")
    stop = (cv2.TERM_CRITERIA_EPS | cv2.TERM_CRITERIA_COUNT, 30, 1e-4)
    inverse = cv2.invertAffineTransform(matrix).astype(np.float32)
    try:
        _, refined = cv2.findTransformECC(other.values, one.values, inverse, cv2.MOTION_AFFINE, stop, None, 5)
    except cv2.error:  # it does not converge
        return matrix
    exact: NDArray[np.float32] = cv2.invertAffineTransform(refined)
    return exact


class _Laid(NamedTuple):
    """How the details of two pictures compare where one covers the other, away from the borders of both.

    Attributes
    ----------
    correlation : of the details; 0 where too little is covered. Below .93 the others are infinite
    apart : the mean square of their difference in the spot, some 20 pixels wide, where they differ most, their
        variance being 1
    mostly_apart : the same as a share of both details' mean squares there, where three quarters of them differ less
    """

    correlation: float
    apart: float
    mostly_apart: float


def _is_same(laid: _Laid) -> bool:
    return (laid.correlation >= CORRELATION and laid.apart <= _APART) or (
        laid.correlation >= _MARKED and laid.mostly_apart <= _MOSTLY_APART
    )


def _laid_over(one: _Features, other: _Features, matrix: NDArray[np.float32]) -> _Laid:
    cv2: Any = import_module("cv2")
    size = other.values.shape[1], other.values.shape[0]
    laid = cv2.warpAffine(one.values, matrix, size, borderMode=cv2.BORDER_REFLECT)
    covered = cv2.warpAffine(np.ones_like(one.values), matrix, size)
    framed = cv2.copyMakeBorder(covered, *[_BORDER] * 4, cv2.BORDER_CONSTANT)
    inside = cv2.erode(framed, np.ones((2 * _BORDER + 1,) * 2, dtype=np.uint8))[_BORDER:-_BORDER, _BORDER:-_BORDER] > 0
    if inside.mean() < _LEAST_OVERLAP:
        return _Laid(0.0, np.inf, np.inf)
    grain = max(one.grain * float(np.hypot(*matrix[0, :2])), other.grain)
    both = [_details(values, grain) for values in (laid, other.values)]
    spread = [float(details[inside].std()) for details in both]
    if min(spread) == 0:
        return _Laid(0.0, np.inf, np.inf)
    first, second = ((each - each[inside].mean()) / width for each, width in zip(both, spread, strict=True))
    correlation = float((first * second)[inside].mean())
    if correlation < _MARKED:
        return _Laid(correlation, np.inf, np.inf)
    apart, energy = (
        cv2.GaussianBlur(np.where(inside, squares, np.float32(0)), (0, 0), _SPOT)[inside]
        for squares in ((first - second) ** 2, first**2 + second**2)
    )
    share = apart / (energy + 1e-3)
    order = np.argsort(share)
    three_quarters = np.searchsorted(np.cumsum(energy[order]), 0.75 * float(energy.sum()))
    mostly = float(share[order[min(int(three_quarters), len(order) - 1)]])
    return _Laid(correlation, float(apart.max()), mostly)


def _details(values: NDArray[np.uint8], grain: float) -> NDArray[np.float32]:
    """What is finer than an eighth of a hundred pixels and coarser than what storing changes."""
    cv2: Any = import_module("cv2")
    finest = max(1.5, 0.7 * grain)
    smooth = cv2.GaussianBlur(values.astype(np.float32), (0, 0), finest)
    details: NDArray[np.float32] = smooth - cv2.GaussianBlur(smooth, (0, 0), max(8.0, 3 * finest))
    return details
