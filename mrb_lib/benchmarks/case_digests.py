"""Digests that recognise a case under any id: of its question, its responses and its images.

Cases about one item, an image with its question to which several responses were compared in pairs, share a key.
"""

import hashlib
from collections.abc import Iterable, Mapping
from typing import Final

import pandas as pd

from mrb_lib.benchmarks.benchmark import Benchmark

ITEM: Final = "item"
_SIZE = 16  # bytes: no two of 2^40 cases collide but with a chance of 2^-49


def case_digests(benchmark: Benchmark) -> pd.Series:
    """The content digest of each case, the same after `mrb merge`, renaming files or exchanging the two responses.

    Returns
    -------
    Series of str, indexed by `case_id`, in the order of the cases table
        32 hexadecimal digits: BLAKE2b over the question, the two responses in alphabetical order, and the digests of
        the bytes of the images, sorted. An image that is missing or an empty file counts by its name; a missing text
        as an empty one.

    Notes
    -----
    Validated by tests/benchmarks/test_case_digests.py.
    """
    cases = benchmark.cases
    shown = cases["images"] if "images" in cases else pd.Series([[]] * len(cases))
    pictures = image_digests(benchmark.images, (name for names in shown for name in names))
    texts = cases[["question", "response_a", "response_b"]].fillna("").to_numpy(dtype=object)
    digests = [
        _digest([question, *sorted(responses), *sorted(pictures.get(name, f"missing {name}") for name in names)])
        for (question, *responses), names in zip(texts, shown, strict=True)
    ]
    return pd.Series(digests, index=pd.Index(cases["case_id"], name="case_id"), dtype="str", name="digest")


def image_digests(images: Mapping[str, bytes], names: Iterable[str]) -> dict[str, str]:
    """The digest of the bytes of each image by its name, each read once; one that is missing or empty has none."""
    digests: dict[str, str] = {}
    for name in dict.fromkeys(names):
        content = images.get(name)
        if content:
            digests[name] = hashlib.blake2b(content, digest_size=_SIZE).hexdigest()
    return digests


def _digest(parts: Iterable[str]) -> str:
    """Each part behind its length, so that no two lists of parts are the same bytes."""
    digest = hashlib.blake2b(digest_size=_SIZE)
    for part in parts:
        content = part.encode("utf-8", "surrogatepass")
        digest.update(len(content).to_bytes(8, "big") + content)
    return digest.hexdigest()


def item_keys(cases: pd.DataFrame) -> pd.Series:
    """A text for each case that the cases of one item share: `item`, or, where that is empty or absent, the question
    with the names of its images, so that copies of an image must have one name to count as one.
    """
    images = cases["images"].map("\n".join, na_action="ignore") if "images" in cases else ""
    shown = "\n" + (cases["question"].str.strip() + "\n" + images).astype("str")
    return cases[ITEM].fillna(shown).astype("str") if ITEM in cases else shown
