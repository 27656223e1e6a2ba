"""Cases that are nearly the same: about one image, or a copy of it stored again, or with nearly the same texts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from PIL import Image
from scipy import sparse
from scipy.fft import dctn
from scipy.sparse.csgraph import connected_components
from sklearn.feature_extraction.text import CountVectorizer

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.benchmarks.case_digests import image_digests
from mrb_lib.benchmarks.images import open_image
from mrb_lib.tables.errors import InputError

SAME_IMAGE: Final = "the same image"
SIMILAR_IMAGE: Final = "nearly the same image"
SIMILAR_TEXT: Final = "nearly the same question and responses"

IMAGE_COSINE: Final = 0.996
TEXT_JACCARD: Final = 0.6
MIN_SHINGLES: Final = 20
_SIDE, _FREQUENCIES, _SHINGLE = 64, 32, 3
SIGNATURE: Final = _FREQUENCIES**2
_FLAT = 1.0  # the length, in grey levels, under which an image holds nothing but rounding
_CHUNK = 500
_LOW = 8
ROUNDING: Final = 1e-4
WORD = re.compile("[\u3040-\u30ff\u3400-\u9fff]|\\w+")  # where words are not spaced, a character is one

Pairs = tuple[NDArray[np.int64], NDArray[np.int64]]
ProgressCallback = Callable[[str, int, int], None]


def near_duplicates(benchmark: Benchmark, progress: ProgressCallback | None = None) -> pd.DataFrame:
    """The pairs of cases that must not stand on two sides of a split, for a judge could know one from the other.

    Parameters
    ----------
    progress : called with "images", how many are read, and of how many

    Returns
    -------
    DataFrame, a row a pair
        `row_1 < row_2`, from 0 in the order of the cases table, and `kind`: `SAME_IMAGE` (the bytes; a missing image
        counts by its name), `SIMILAR_IMAGE` or `SIMILAR_TEXT`. Of cases that are alike in all of this, each is paired
        with the first alone; `components` follows the pairs.

    Notes
    -----
    Images are compared by the cosine of the lowest 32 x 32 frequencies of their discrete cosine transform, at 64 x 64
    pixels, each times its frequency: so what counts is edges, not how bright an anatomy is that all images of a view
    share. Stored again as JPEG (quality 40), at half size or with less contrast an image keeps a cosine over 0.998; two
    different ones of the embedded benchmark, which are drawn after few views and much more alike than radiographs,
    reach 0.993. A picture cropped or turned is not recognised.

    Texts are compared by Jaccard's index of their shingles of three words (Broder 1997,
    doi:10.1109/SEQUEN.1997.666900), those of the question and of both responses together, so that neither the order of
    the responses matters nor a question that many cases share. In the public sets that are read here all pairs of
    different questions reach 0.53 at most, but for the copies with a changed instruction in LLMBar, from 0.65 on; in
    the embedded benchmark, whose texts are made of stock phrases, 0.34 among 1,026 and 0.45 among 10,000 cases. Short
    texts (under 20 shingles) about different images are not compared: "yes" and "no" are nobody's copy.

    Validated by tests/benchmarks/test_near_duplicates.py.
    """
    links = [*_image_links(benchmark, progress), (similar_texts(benchmark.cases), SIMILAR_TEXT)]
    frames = [
        pd.DataFrame({"row_1": np.minimum(*rows), "row_2": np.maximum(*rows), "kind": kind}) for rows, kind in links
    ]
    pairs = pd.concat(frames, ignore_index=True).astype({"row_1": "int64", "row_2": "int64", "kind": "str"})
    pairs = pairs[pairs["row_1"] < pairs["row_2"]]
    return pairs.drop_duplicates(["row_1", "row_2"]).sort_values(["row_2", "row_1"], ignore_index=True)


def components(n: int, one: NDArray[np.int64], other: NDArray[np.int64]) -> NDArray[np.int64]:
    """The group of each of `n` rows where pairs of them belong together: connected components, in order of rows."""
    graph = sparse.coo_array((np.ones(len(one), dtype=bool), (one, other)), shape=(n, n))
    labels = connected_components(graph, directed=False)[1]
    return pd.factorize(labels)[0].astype(np.int64)


def _image_links(benchmark: Benchmark, progress: ProgressCallback | None) -> Iterator[tuple[Pairs, str]]:
    """Pairs of cases by the images that they show, several a case."""
    cases = benchmark.cases
    names = cases["images"] if "images" in cases else pd.Series([[]] * len(cases), dtype=object)
    shown = names.reset_index(drop=True).explode().dropna()
    digests = image_digests(benchmark.images, shown)
    code, distinct = pd.factorize(shown.map(lambda name: digests.get(name, f"missing {name}")).to_numpy(dtype=object))
    case = shown.index.to_numpy(dtype=np.int64)
    first = np.unique(code, return_index=True)[1]  # the row of `shown` that names an image first
    yield (case[first][code], case), SAME_IMAGE
    signatures = np.zeros((len(distinct), SIGNATURE), dtype=np.float32)
    for i, name in enumerate(shown.iloc[first]):
        signatures[i] = _signature(benchmark.images, name)
        if progress is not None:
            progress("images", i + 1, len(distinct))
    bounds = cosine_bounds(signatures)
    for start in range(0, len(signatures), _CHUNK):
        end = min(start + _CHUNK, len(signatures))
        one, other = np.nonzero(bounds[start:end] @ bounds[:end].T >= IMAGE_COSINE - ROUNDING)
        alike = np.einsum("ij,ij->i", signatures[one + start], signatures[other]) >= IMAGE_COSINE
        yield (case[first[one[alike] + start]], case[first[other[alike]]]), SIMILAR_IMAGE


def _signature(images: Mapping[str, bytes], name: str) -> NDArray[np.float32]:
    """The signature of an image by its name; zeros where it is missing or unreadable."""
    try:
        return image_signature(open_image(images[name], name, draft=_SIDE))
    except (KeyError, InputError):
        return np.zeros(SIGNATURE, dtype=np.float32)


def image_signature(picture: Image.Image) -> NDArray[np.float32]:
    """The weighted low frequencies of a picture, of length one; zeros where it is of one grey.

    Returns
    -------
    array with shape (1024,), row by row of a square of frequencies: those down the picture in rows, from the lowest
        Turned upside down, a picture's odd rows have the other sign; mirrored, its odd columns.
    """
    small = picture.convert("L").resize((_SIDE, _SIDE), Image.Resampling.LANCZOS, reducing_gap=2.0)
    axis = np.arange(_FREQUENCIES, dtype=np.float32)
    weighted = dctn(np.asarray(small, dtype=np.float32), norm="ortho")[:_FREQUENCIES, :_FREQUENCIES]
    weighted = weighted * np.hypot(axis[:, None], axis)
    length = float(np.linalg.norm(weighted))
    unit = weighted / length if length >= _FLAT else np.zeros_like(weighted)
    return unit.astype(np.float32).ravel()


def cosine_bounds(signatures: NDArray[np.float32]) -> NDArray[np.float32]:
    """Short vectors whose product is at least the cosine of two signatures.

    They hold the lowest frequencies and, as one number, the length of all the others: by the inequality of Cauchy and
    Schwarz the product of two lengths is no less than that of what they stand for. Looking for pairs by them takes a
    tenth of the time of the whole signatures (measured with 10,000 images).
    """
    low = signatures.reshape(-1, _FREQUENCIES, _FREQUENCIES)[:, :_LOW, :_LOW].reshape(-1, _LOW**2)
    rest = np.sqrt(np.clip(1 - np.square(low).sum(axis=1, keepdims=True), 0, None))
    rest[~signatures.any(axis=1)] = 0
    return np.concatenate([low, rest], axis=1)


def similar_texts(cases: pd.DataFrame) -> Pairs:
    """Pairs of cases by Jaccard's index of their shingles; of cases with the same ones, each with the first."""
    words, pictured = _shingle_sets(cases), _is_pictured(cases)
    sizes = np.diff(words.indptr)
    rows = np.flatnonzero((sizes >= MIN_SHINGLES) | (~pictured & (sizes > 0)))
    sets = [words.indices[words.indptr[i] : words.indptr[i + 1]].tobytes() for i in rows]
    code = pd.factorize(np.array(sets, dtype=object))[0]
    first = rows[np.unique(code, return_index=True)[1]] if len(rows) else rows
    pairs = [(first[code], rows)]
    first = first[np.argsort(sizes[first], kind="stable")]
    size, shingles = sizes[first], words[first]
    rare = _rarest(shingles)
    for start in range(0, len(first), _CHUNK):
        end = min(start + _CHUNK, len(first))
        # Of two sets whose index is at least t the smaller has at least t times the size of the larger.
        low = int(np.searchsorted(size, TEXT_JACCARD * size[start]))
        one, other = sparse.coo_array(rare[start:end] @ rare[low:end].T).coords
        one, other = one[one + start > other + low] + start, other[one + start > other + low] + low
        common: NDArray[np.int64] = np.asarray(shingles[one].multiply(shingles[other]).sum(axis=1)).ravel()
        alike = common >= TEXT_JACCARD * (size[one] + size[other] - common)
        pairs.append((first[one[alike]], first[other[alike]]))
    ones, others = zip(*pairs, strict=True)
    return np.concatenate(ones).astype(np.int64), np.concatenate(others).astype(np.int64)


def _rarest(sets: sparse.csr_array[np.int32, tuple[int, int]]) -> sparse.csr_array[np.int32, tuple[int, int]]:
    """Of each set the rarest shingles, so many that sets whose index is at least `TEXT_JACCARD` share one of them.

    Of a set of n at least t times n are shared, so of its n - ceil(t n) + 1 rarest at least one is, and the rarest of
    all that are shared is among those of both (prefix filtering: Bayardo, Ma and Srikant 2007,
    doi:10.1145/1242572.1242591). What everybody writes joins no pair then, and time does not grow with its square.
    """
    order = np.argsort(np.argsort(np.bincount(sets.indices, minlength=sets.shape[1]), kind="stable"))
    sizes = np.diff(sets.indptr)
    row = np.repeat(np.arange(len(sizes)), sizes)
    by_rarity = np.lexsort((order[sets.indices], row))
    place = np.arange(len(row)) - sets.indptr[row]
    chosen = by_rarity[place < (sizes - np.ceil(TEXT_JACCARD * sizes - ROUNDING) + 1)[row]]
    ones = np.ones(len(chosen), dtype=np.int32)
    return sparse.csr_array((ones, (row[chosen], sets.indices[chosen])), shape=sets.shape)


def _shingle_sets(cases: pd.DataFrame) -> sparse.csr_array[np.int32, tuple[int, int]]:
    """Which shingles occur in the texts of each case, 0 or 1, with shape (cases, shingles)."""
    columns = [cases[name].fillna("") for name in ("question", "response_a", "response_b")]
    try:
        counts = CountVectorizer(analyzer=_shingles, binary=True, dtype=np.int32).fit_transform(pd.concat(columns))
    except ValueError:  # scikit-learn's word for "no words at all"
        return sparse.csr_array(np.zeros((len(cases), 1), dtype=np.int32))
    question, first, second = (counts[i * len(cases) : (i + 1) * len(cases)] for i in range(3))
    together: sparse.csr_array[np.int32, tuple[int, int]] = sparse.csr_array(question + first + second)
    together.data[:] = 1
    together.sort_indices()
    return together


def _shingles(text: str) -> list[str]:
    words = WORD.findall(text.casefold())
    return [" ".join(words[i : i + _SHINGLE]) for i in range(max(len(words) - _SHINGLE + 1, 1))] if words else []


def _is_pictured(cases: pd.DataFrame) -> NDArray[np.bool_]:
    if "images" not in cases:
        return np.zeros(len(cases), dtype=bool)
    return (cases["images"].map(len) > 0).to_numpy(dtype=bool)
