"""Traits of a response apart from its quality: its length, its marks of style, and its author."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from operator import methodcaller
from typing import Any, Final

import numpy as np
import pandas as pd

from mrb_lib.judges.roster.roster import entries
from mrb_lib.stats.estimation import FloatArray

NOT_MODELS = ("heuristic", "jury")
# What must follow a family's name where the name alone is also that of others' models (GPT-J, GPT-NeoX, GPT4All).
_VERSIONS = {"GPT": r"[\W_]*(?:[3-9]|\d\d)(?!\d*[\W_]*all)"}
_ENDING = re.compile(r"(?:instruct|it|hf|chat)$")
_HEDGES = (
    "appears?|could|likely|may|might|perhaps|possibl[ey]|presumably|probabl[ey]|seems?|suggest(?:s|ed|ive)?|suspected|"
    "uncertain|unclear|unlikely"
)


MARKERS: Final[Mapping[str, str]] = {
    "lists": r"^[ \t]*(?:[-*+\u2022]|\d{1,2}[.)])[ \t]",
    "bold": r"\*\*[^*\n]+\*\*|__[^_\n]+__",
    "headings": r"^ {0,3}#{1,6}[ \t]",
    "hedges": rf"(?i)(?<![^\W\d_])(?:{_HEDGES})(?![^\W\d_])",
    "numbers": r"\d+(?:[.,]\d+)*",
    "questions": r"\?",
}
"""Patterns of marks of style, counted in a text: markup as in Markdown, English hedges, runs of digits as numbers."""


def marker_differences(cases: pd.DataFrame) -> FloatArray:
    """Return how much more of each marker response A has than B, shape (markers, cases), in the order of `MARKERS`.

    It is the difference of log(1 + count); NaN where a text is missing.
    """
    return np.stack([_difference(cases, methodcaller("count", mark, re.MULTILINE)) for mark in MARKERS.values()])


def length_difference(cases: pd.DataFrame) -> FloatArray:
    """Return how much longer response A is than B: the difference of log(1 + characters), shape (cases,).

    Characters, not words: they need no spaces between words. Leading and trailing space does not count. NaN where a
    text is missing.
    """
    return _difference(cases, lambda texts: texts.strip().str.len())


def _difference(cases: pd.DataFrame, measure: Callable[[Any], pd.Series]) -> FloatArray:
    texts = cases.reindex(columns=["response_a", "response_b"]).astype("str")
    counts = [np.log1p(measure(texts[name].str).to_numpy(np.float64, na_value=np.nan)) for name in texts]
    return np.asarray(counts[0] - counts[1])


def standardised(difference: FloatArray) -> FloatArray:
    """Divide differences by their root mean square along the last axis.

    That is their standard deviation about zero: which response is called A is arbitrary, and
    zero must remain "no difference". All zero stays zero.
    """
    n = np.maximum(np.isfinite(difference).sum(axis=-1, keepdims=True), 1)
    scale = np.sqrt(np.nansum(difference**2, axis=-1, keepdims=True) / n)
    return np.asarray(difference / np.where(scale > 0, scale, 1.0))


def kinship(judges: Sequence[str], cases: pd.DataFrame) -> tuple[FloatArray, FloatArray]:
    """Find a judge's own responses, and those of its family.

    Parameters
    ----------
    cases : with the columns `model_a`, `model_b`; without them nobody's responses are known

    Returns
    -------
    own : shape (judges, cases), 1 where response A alone is the judge's own, -1 where B alone is, 0 otherwise
    family : the same for other models of the judge's family; 0 also where its own response is shown

    Notes
    -----
    Names are compared in lower case, without folder, punctuation and "+engine". A name is that
    of a judge of the roster if it is its name or its model's, with or without
    "-Instruct", "-it", "-hf", "-Chat"; its family is then the roster's. Another name is of the
    family that it begins with, as whole words, or of none: "Claude v1" is of Claude, "Claudette" is not. GPT must be
    followed by a version of three and above: "GPT 4" is of GPT; GPT-J, GPT-NeoX and GPT4All are others' models.
    Checked in `tests/stats/tables/bias/test_kinship.py`.
    """
    authors = cases.reindex(columns=["model_a", "model_b"])
    sides = []
    for told in (_identity, family_of):
        mine = np.array([told(judge) for judge in judges], dtype=object)[:, None]
        theirs = [authors[name].map(told, na_action="ignore").to_numpy(object) for name in authors]
        sides.append([(mine == each) & pd.notna(mine) for each in theirs])
    own, family = (first.astype(np.float64) - second for first, second in sides)
    return own, np.where(np.any(sides[0], axis=0), 0.0, family)


def family_of(name: str) -> str | None:
    """Return the family of a model by its name; None where the roster knows of none."""
    return _told(name)[1]


def _identity(name: str) -> str | None:
    return _told(name)[0] or None


@cache
def _told(name: str) -> tuple[str, str | None]:
    """Return the roster's name of a model, or else the plain one, and its family."""
    key, last = _plain(name), _last_part(name)
    models = [entry for entry in entries() if entry.family not in (None, *NOT_MODELS)]
    for entry in reversed(models):
        if key in (_plain(entry.name), entry.model and _plain(entry.model)):
            return entry.name, entry.family
    fitting = [str(entry.family) for entry in models if re.match(_pattern(str(entry.family)), last)]
    return key, max(fitting, key=len, default=None)


def _plain(name: str) -> str:
    """Return a name without what differs between spellings of it."""
    return _ENDING.sub("", re.sub(r"[\W_]+", "", _last_part(name)))


def _last_part(name: str) -> str:
    return re.split(r"[/:]", name.strip().lower())[-1].split("+")[0]


def _pattern(family: str) -> str:
    """Return a pattern of a family's name however it is spelled, and then no more of a word or of a version."""
    letters = re.sub(r"[\W_]+", "", family.lower())
    end = r"(?![^\W_]|[._]\d)" if letters[-1].isdigit() else r"(?![^\W\d_])"
    return r"[\W_]*".join(map(re.escape, letters)) + _VERSIONS.get(family, end)
