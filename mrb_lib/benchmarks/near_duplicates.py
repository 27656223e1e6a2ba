"""Cases that are nearly the same: about one image, or a copy of it stored again, or with nearly the same texts."""

import re
from collections.abc import Iterator, Mapping
from typing import Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from PIL import Image
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from sklearn.feature_extraction.text import CountVectorizer

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.benchmarks.case_digests import image_digests
from mrb_lib.benchmarks.images.copies import ALTERED, SAME, Pictures
from mrb_lib.benchmarks.images.pictures import Progress, open_image
from mrb_lib.tables.errors import InputError

SAME_IMAGE: Final = "the same image"
SIMILAR_IMAGE: Final = "nearly the same image"
ALTERED_IMAGE: Final = "an altered copy of the image"
SIMILAR_TEXT: Final = "nearly the same question and responses"

TEXT_JACCARD: Final = 0.6
MIN_SHINGLES: Final = 20
_SIDE, _SHINGLE = 64, 3
_CHUNK = 200
WORD = re.compile("[\u3040-\u30ff\u3400-\u9fff]|\\w+")  # where words are not spaced, a character is one

Pairs = tuple[NDArray[np.int64], NDArray[np.int64]]


def near_duplicates(benchmark: Benchmark, progress: Progress | None = None) -> pd.DataFrame:
    """The pairs of cases that must not stand on two sides of a split, for a judge could know one from the other.

    Parameters
    ----------
    progress : called with "images", how many are read, and of how many

    Returns
    -------
    DataFrame, a row a pair
        `row_1 < row_2`, from 0 in the order of the cases table, and `kind`: `SAME_IMAGE` (the bytes; a missing image
        counts by its name), `SIMILAR_IMAGE`, `ALTERED_IMAGE` or `SIMILAR_TEXT`. Of cases that are alike in all of this,
        each is paired with the first alone; `components` follows the pairs.

    Notes
    -----
    Images are compared as `mrb_lib.benchmarks.images.copies.Pictures` says; altered copies count except in a simulated
    benchmark.

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


def with_first(values: pd.Series) -> Pairs:
    """Pair each row that has a value with the first row that has the same; the index has the numbers of the rows."""
    values = values.dropna()
    rows, codes = values.index.to_numpy(dtype=np.int64), pd.factorize(values.to_numpy(dtype=object))[0]
    return rows[np.unique(codes, return_index=True)[1]][codes], rows


def _image_links(benchmark: Benchmark, progress: Progress | None) -> Iterator[tuple[Pairs, str]]:
    """Pairs of cases by the images that they show, several a case."""
    cases = benchmark.cases
    names = cases["images"] if "images" in cases else pd.Series([[]] * len(cases), dtype=object)
    shown = names.reset_index(drop=True).explode().dropna()
    digests = image_digests(benchmark.images, shown)
    contents = shown.map(lambda name: digests.get(name, f"missing {name}"))
    yield with_first(contents), SAME_IMAGE
    distinct = shown[~contents.duplicated().to_numpy(dtype=bool)]
    pictures, case = Pictures(), distinct.index.to_numpy(dtype=np.int64)
    for i, name in enumerate(distinct):
        pictures.add(name, _picture(benchmark.images, name))
        if progress is not None:
            progress("images", i + 1, len(distinct))
    # Simulated pictures are drawn after few views, and would all be altered copies of each other.
    pairs = pictures.pairs(altered=benchmark.meta.kind != "simulated", progress=progress)
    for kind, named in ((SAME, SIMILAR_IMAGE), (ALTERED, ALTERED_IMAGE)):
        rows = pairs[pairs["kind"] == kind]
        yield (case[rows["one"].to_numpy()], case[rows["other"].to_numpy()]), named


def _picture(images: Mapping[str, bytes], name: str) -> Image.Image | None:
    """Return an image by its name; None where it is missing or unreadable."""
    try:
        return open_image(images[name], name, draft=_SIDE)
    except (KeyError, InputError):
        return None


def similar_texts(cases: pd.DataFrame) -> Pairs:
    """Pairs of cases by Jaccard's index of their shingles; of cases with the same ones, each with the first."""
    words, pictured = _shingle_sets(cases), is_pictured(cases)
    sizes = np.diff(words.indptr)
    rows = np.flatnonzero((sizes >= MIN_SHINGLES) | (~pictured & (sizes > 0)))
    sets = [words.indices[words.indptr[row] : words.indptr[row + 1]].tobytes() for row in rows]
    pairs = [with_first(pd.Series(sets, index=rows, dtype=object))]
    first = np.unique(pairs[0][0])
    shingles, size = words[first], sizes[first]
    for start in range(0, len(first), _CHUNK):
        common = (shingles[start : start + _CHUNK] @ shingles.T).toarray()
        either = size[start : start + _CHUNK, None] + size - common
        one, other = np.nonzero(common >= TEXT_JACCARD * either)
        pairs.append((first[one + start], first[other]))
    ones, others = zip(*pairs, strict=True)
    return np.concatenate(ones).astype(np.int64), np.concatenate(others).astype(np.int64)


def _shingle_sets(cases: pd.DataFrame) -> sparse.csr_array[np.int32, tuple[int, int]]:
    """Which shingles occur in the texts of each case, 0 or 1, with shape (cases, shingles)."""
    texts = cases[["question", "response_a", "response_b"]].fillna("").to_numpy()
    try:
        sets = CountVectorizer(analyzer=_shingles, binary=True, dtype=np.int32).fit_transform(texts)
    except ValueError:  # scikit-learn's word for "no words at all"
        return sparse.csr_array(np.zeros((len(cases), 1), dtype=np.int32))
    sets.sort_indices()
    return sparse.csr_array(sets)


def _shingles(texts: NDArray[np.object_]) -> list[str]:
    words = [WORD.findall(text.casefold()) for text in texts]
    return [
        " ".join(some[start : start + _SHINGLE])
        for some in filter(None, words)
        for start in range(max(len(some) - _SHINGLE + 1, 1))
    ]


def is_pictured(cases: pd.DataFrame) -> NDArray[np.bool_]:
    """Return True for each case with an image."""
    images = cases["images"] if "images" in cases else pd.Series([[]] * len(cases), dtype=object)
    return np.array([len(names) > 0 for names in images], dtype=bool)
