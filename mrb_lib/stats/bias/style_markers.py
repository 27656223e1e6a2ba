"""What a response looks like, apart from what it says: its length and its marks of style, from the text alone."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np
import pandas as pd

from mrb_lib.stats.estimation import FloatArray, IntArray

_WORD = re.compile(r"[^\W\d_]+")
_HEDGES = frozenset(
    re.findall(
        r"\w+",
        "appear appears could likely may might perhaps possible possibly presumably probable probably seem seems "
        "suggest suggested suggestive suggests suspected uncertain unclear unlikely",
    )
)


def _matches(pattern: str) -> Callable[[str], int]:
    marker = re.compile(pattern, re.MULTILINE)
    return lambda text: len(marker.findall(text))


def _hedges(text: str) -> int:
    return sum(word in _HEDGES for word in _WORD.findall(text.lower()))


MARKERS: Mapping[str, Callable[[str], int]] = MappingProxyType(
    {
        "lists": _matches(r"^[ \t]*(?:[-*+\u2022]|\d{1,2}[.)])[ \t]"),
        "bold": _matches(r"\*\*[^*\n]+\*\*|__[^_\n]+__"),
        "headings": _matches(r"^ {0,3}#{1,6}[ \t]"),
        "hedges": _hedges,
        "numbers": _matches(r"\d+(?:[.,]\d+)*"),
        "questions": _matches(r"\?"),
    }
)


def marker_differences(cases: pd.DataFrame) -> FloatArray:
    """Return how much more of each marker response A has than B: the difference of log(1 + count).

    Returns
    -------
    float array, shape (markers, cases), in the order of `MARKERS`; NaN where a text is missing

    Notes
    -----
    Markers are counted once in each distinct text. Markup is read as Markdown; hedges are English
    words; a number is a run of digits. Validated in `tests/stats/tables/bias/test_style_markers.py`.
    """
    which, texts = _distinct(cases)
    counts = np.array([[marker(text) for text in texts] for marker in MARKERS.values()], dtype=np.float64)
    return _differences(np.log1p(counts.reshape(len(MARKERS), len(texts))), which)


def length_difference(cases: pd.DataFrame) -> FloatArray:
    """Return how much longer response A is than B: the difference of log(1 + characters), shape (cases,).

    Characters, not words: they need no spaces between words. Leading and trailing space does not count. NaN where a
    text is missing.
    """
    which, texts = _distinct(cases)
    length = np.array([len(text.strip()) for text in texts], dtype=np.float64)
    return np.asarray(_differences(np.log1p(length)[None], which)[0])


def standardised(difference: FloatArray) -> FloatArray:
    """Divide differences by their root mean square along the last axis.

    That is their standard deviation about zero: which response is called A is arbitrary, and
    zero must remain "no difference". All zero stays zero.
    """
    defined = np.isfinite(difference)
    n = np.maximum(defined.sum(axis=-1, keepdims=True), 1)
    scale = np.sqrt((np.where(defined, difference, 0.0) ** 2).sum(axis=-1, keepdims=True) / n)
    out: FloatArray = difference / np.where(scale > 0, scale, 1.0)
    return out


def _distinct(cases: pd.DataFrame) -> tuple[IntArray, list[str]]:
    """Return the distinct texts, and the place of each response, shape (2, cases); -1 where there is none."""
    n = len(cases)
    if not {"response_a", "response_b"} <= set(cases.columns):
        return np.full((2, n), -1, dtype=np.int64), []
    both = pd.concat([cases["response_a"], cases["response_b"]], ignore_index=True).astype(object)
    which, texts = pd.factorize(both)
    return which.reshape(2, n).astype(np.int64), [str(text) for text in texts]


def _differences(values: FloatArray, which: IntArray) -> FloatArray:
    padded = np.concatenate([values, np.full((len(values), 1), np.nan)], axis=1)
    out: FloatArray = padded[:, which[0]] - padded[:, which[1]]
    return out
