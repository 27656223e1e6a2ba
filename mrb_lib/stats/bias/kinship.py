"""Responses that are a judge's own, or its family's, told by names."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
import pandas as pd

from mrb_lib.judges.roster.roster import entries
from mrb_lib.stats.estimation import BoolArray, FloatArray, IntArray

NOT_MODELS = ("heuristic", "jury")
# What must follow a family's name where the name alone is also that of others' models (GPT-J, GPT-NeoX, GPT4All).
_VERSIONS = {"GPT": r"[\W_]*(?:[3-9]|\d\d)(?!\d*[\W_]*all)"}
_ENDING = re.compile(r"(?:instruct|it|hf|chat)$")


class Kinship(NamedTuple):
    """Who wrote the responses, seen from each judge; each array of shape (judges, cases).

    Attributes
    ----------
    own : 1 where response A alone is the judge's own, -1 where B alone is, 0 otherwise
    family : the same for other models of the judge's family; 0 also where its own response is shown
    """

    own: FloatArray
    family: FloatArray


def kinship(judges: Sequence[str], cases: pd.DataFrame) -> Kinship:
    """Find a judge's own responses, and those of its family.

    Parameters
    ----------
    cases : with the columns `model_a`, `model_b`; without them nobody's responses are known

    Notes
    -----
    Names are compared in lower case, without folder, punctuation and "+engine". A name is that
    of a judge of the roster if it is its name or its model's, with or without
    "-Instruct", "-it", "-hf", "-Chat"; its family is then the roster's. Another name is of the
    family that it begins with, as whole words, or of none: "Claude v1" is of Claude, "Claudette" is not. GPT must be
    followed by a version of three and above: "GPT 4" is of GPT; GPT-J, GPT-NeoX and GPT4All are others' models.
    Checked in `tests/stats/tables/bias/test_kinship.py`.
    """
    shape = (len(judges), len(cases))
    if not {"model_a", "model_b"} <= set(cases.columns) or cases[["model_a", "model_b"]].isna().all(axis=None):
        return Kinship(np.zeros(shape), np.zeros(shape))
    codes, names = pd.factorize(pd.concat([cases["model_a"], cases["model_b"]], ignore_index=True).astype(object))
    which = codes.reshape(2, len(cases)).astype(np.int64)
    own, family = (_sides(_equal(told, judges, list(names)), which) for told in (_identity, family_of))
    shown = own.any(axis=0)
    return Kinship(_signed(own), np.where(shown, 0.0, _signed(family)))


def _equal(told: Callable[[str], str | None], judges: Sequence[str], names: Sequence[object]) -> BoolArray:
    """Tell whether the same is told of judges and responders by their names, shape (judges, names)."""
    theirs = [told(str(name)) for name in names]
    same = [[mine is not None and mine == other for other in theirs] for mine in map(told, judges)]
    return np.array(same, dtype=bool).reshape(len(judges), len(theirs))


def family_of(name: str) -> str | None:
    """Return the family of a model by its name; None where the roster knows of none."""
    names, families = _models()
    key = _plain(name)
    if key in names:
        return names[key][1]
    fitting = [family for family, pattern in families.items() if pattern.match(_last_part(name))]
    return max(fitting, key=lambda family: len(_plain(family))) if fitting else None


def _identity(name: str) -> str | None:
    key = _plain(name)
    names, _ = _models()
    return names[key][0] if key in names else key or None


@cache
def _plain(name: str) -> str:
    """Return a name without what differs between spellings of it."""
    return _ENDING.sub("", re.sub(r"[\W_]+", "", _last_part(name)))


def _last_part(name: str) -> str:
    return re.split(r"[/:]", name.strip().lower())[-1].split("+")[0]


@cache
def _models() -> tuple[dict[str, tuple[str, str]], dict[str, re.Pattern[str]]]:
    """Return the roster's models by plain name (name and family), and the patterns of its families' names."""
    models = [entry for entry in entries() if entry.family not in (None, *NOT_MODELS)]
    names = {
        _plain(alias): (entry.name, str(entry.family))
        for entry in models
        for alias in (entry.model, entry.name)
        if alias
    }
    return names, {family: _pattern(family) for family in {str(entry.family) for entry in models}}


def _pattern(family: str) -> re.Pattern[str]:
    """Return a pattern of a family's name however it is spelled, and then no more of a word or of a version."""
    letters = re.sub(r"[\W_]+", "", family.lower())
    end = r"(?![^\W_]|[._]\d)" if letters[-1].isdigit() else r"(?![^\W\d_])"
    return re.compile(r"[\W_]*".join(map(re.escape, letters)) + _VERSIONS.get(family, end))


def _sides(is_kin: BoolArray, which: IntArray) -> BoolArray:
    """Tell whether each side's responder is kin, shape (2, judges, cases); an unnamed responder is not."""
    padded = np.concatenate([is_kin, np.zeros((len(is_kin), 1), dtype=bool)], axis=1)
    return np.stack([padded[:, which[0]], padded[:, which[1]]])


def _signed(sides: BoolArray) -> FloatArray:
    out: FloatArray = sides[0].astype(np.float64) - sides[1]
    return out
