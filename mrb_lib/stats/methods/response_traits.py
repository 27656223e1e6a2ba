"""Traits of a response apart from its quality: its length, its marks of style, and its author."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from operator import methodcaller
from typing import Any, Final

import numpy as np
import pandas as pd

from mrb_lib.judges.roster.roster import entries
from mrb_lib.stats.estimation import BoolArray, FloatArray

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
    Checked in `tests/stats/tables/test_bias.py`.
    """
    own, family = (_same(told, judges, cases) for told in (_identity, family_of))
    signed = [sides[0].astype(np.float64) - sides[1] for sides in (own, family)]
    return signed[0], np.where(own.any(axis=0), 0.0, signed[1])


def _same(told: Callable[[str], str | None], judges: Sequence[str], cases: pd.DataFrame) -> BoolArray:
    """Tell whether the same is told of a judge and of the author of each response, shape (2, judges, cases)."""
    authors = cases.reindex(columns=["model_a", "model_b"])
    mine = np.array([told(judge) for judge in judges], dtype=object)[:, None]
    theirs = [authors[name].map(told, na_action="ignore").to_numpy(object) for name in authors]
    return np.stack([(mine == each) & pd.notna(mine) for each in theirs])


@cache
def family_of(name: str) -> str | None:
    """Return the family of a model by its name; None where the roster knows of none."""
    names, families = _models()
    key = _plain(name)
    if key in names:
        return names[key][1]
    fitting = [family for family, pattern in families.items() if pattern.match(_last_part(name))]
    return max(fitting, key=lambda family: len(_plain(family)), default=None)


@cache
def _identity(name: str) -> str | None:
    key = _plain(name)
    return _models()[0].get(key, (key, ""))[0] or None


def _plain(name: str) -> str:
    """Return a name without what differs between spellings of it."""
    return _ENDING.sub("", re.sub(r"[\W_]+", "", _last_part(name)))


def _last_part(name: str) -> str:
    return re.split(r"[/:]", name.strip().lower())[-1].split("+")[0]


@cache
def _models() -> tuple[dict[str, tuple[str, str]], dict[str, re.Pattern[str]]]:
    """Return the roster's models by plain name (name and family), and the patterns of its families' names."""
    models = [entry for entry in entries() if entry.family not in (None, *NOT_MODELS)]
    aliases = ((alias, entry) for entry in models for alias in (entry.model, entry.name) if alias)
    names = {_plain(alias): (entry.name, str(entry.family)) for alias, entry in aliases}
    return names, {family: _pattern(family) for family in {str(entry.family) for entry in models}}


def _pattern(family: str) -> re.Pattern[str]:
    """Return a pattern of a family's name however it is spelled, and then no more of a word or of a version."""
    letters = re.sub(r"[\W_]+", "", family.lower())
    end = r"(?![^\W_]|[._]\d)" if letters[-1].isdigit() else r"(?![^\W\d_])"
    return re.compile(r"[\W_]*".join(map(re.escape, letters)) + _VERSIONS.get(family, end))
