"""Rubrics: the criteria by which a response to a case is checked, each with the points that it is worth.

Points are added up as in HealthBench (arXiv 2505.08775, section 3): a criterion that is met gives its weight, which may
be negative, and the score is the sum over the sum of the positive weights.
"""

import json
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Annotated, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, Field, StringConstraints, TypeAdapter, ValidationError

from mrb_lib.tables.errors import InputError
from mrb_lib.tables.options import in_plain_words

MOST_CRITERIA: Final = 100
LONGEST_CRITERION: Final = 4_000
_FORM: Final = 'write a JSON list such as [{"criterion": "names the side", "weight": 5}]'


class Criterion(NamedTuple):
    """What a response may do, the points for it, and the one dimension they count for; None for all."""

    text: str
    weight: float
    dimension: str | None = None


class RubricFault(NamedTuple):
    """What is wrong with a rubric, and what to do."""

    problem: str
    cure: str


def read_rubric(stated: str) -> tuple[Criterion, ...]:
    """The criteria of a case, from the text in its column `rubric`.

    Raises
    ------
    InputError
        The text is not a rubric; see `rubric_fault`.
    """
    criteria = _read(stated, None)
    if isinstance(criteria, RubricFault):
        raise InputError(f"rubric: {criteria.problem}; {criteria.cure}.")
    return criteria


def read_decisions(
    stated: str, criteria: Sequence[Criterion], case_id: str
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return what a verdict decided on each criterion for response A and for B, 0 to 1; NaN where nothing was decided.

    Parameters
    ----------
    stated : the text in the column `criteria` of the verdicts
    criteria : the rubric that the case has now

    Raises
    ------
    InputError
        The decisions are not on this rubric.
    """
    try:
        sides = json.loads(stated)
        a, b = (np.array(sides[name], dtype=np.float64).reshape(len(criteria)) for name in ("a", "b"))
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        fault = f"the rubric of case {case_id} has {len(criteria)} criteria, and decisions on it do not fit"
        raise InputError(f"verdicts: {fault}; judge it again, or restore the rubric.") from error
    return a, b


def rubric_fault(stated: str, dimensions: Sequence[str] | None = None) -> RubricFault | None:
    """What is wrong with the text of a rubric; None where nothing is.

    Parameters
    ----------
    stated : JSON, a list of objects with `criterion` (text), `weight` (a number, negative for points taken off where
        the criterion is met) and optionally `dimension`; other keys are not read
    dimensions : those that a criterion may name; None checks none
    """
    criteria = _read(stated, dimensions)
    return criteria if isinstance(criteria, RubricFault) else None


def rubric_text(value: object) -> object:
    """A rubric that is a list, as JSON lines and parquet may hold it, as JSON text; anything else as it is."""
    entries = getattr(value, "tolist", lambda: value)()
    if not isinstance(entries, list):
        return value
    try:
        return json.dumps([_without_nulls(entry) for entry in entries], ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return value


def counted(criteria: Sequence[Criterion], dimension: str) -> list[int]:
    """The places of the criteria that count for a dimension."""
    return [place for place, one in enumerate(criteria) if one.dimension in (None, dimension)]


def points(weights: Sequence[float], met: Sequence[float]) -> float:
    """The share of the points that can be won: the weights met over the positive weights; below 0 where more is lost.

    Parameters
    ----------
    weights : of which one at least is positive
    met : 1 where a criterion is met, 0 where not, or the probability that it is, which gives the expected share

    Notes
    -----
    Weights are taken as the decimals they are written as and added up exactly, so that equal points are equal.
    """
    exact = exactly(weights)
    won = sum((weight * Fraction(each) for weight, each in zip(exact, met, strict=True)), Fraction())
    return float(won / sum(weight for weight in exact if weight > 0))


def exactly(weights: Iterable[float]) -> list[Fraction]:
    """Weights as the decimals they are written as."""
    return [Fraction(repr(float(weight))) for weight in weights]


def _without_nulls(entry: object) -> object:
    return {key: value for key, value in entry.items() if value is not None} if isinstance(entry, dict) else entry


class _Entry(BaseModel):
    criterion: Annotated[str, StringConstraints(strict=True, max_length=LONGEST_CRITERION, pattern=r"\S")]
    weight: Annotated[float, Field(strict=True, allow_inf_nan=False)]
    dimension: Annotated[str, Field(strict=True)] | None = None


_ENTRIES: Final = TypeAdapter(list[_Entry])


def _read(stated: str, dimensions: Sequence[str] | None) -> tuple[Criterion, ...] | RubricFault:
    try:
        entries = json.loads(stated)
    except (ValueError, RecursionError):
        return RubricFault("the rubric is not JSON", _FORM)
    if not isinstance(entries, list) or not entries:
        return RubricFault("the rubric has no criteria", _FORM)
    if len(entries) > MOST_CRITERIA:
        return RubricFault(f"the rubric has {len(entries):,} criteria", f"keep at most {MOST_CRITERIA}")
    try:
        read = _ENTRIES.validate_python(entries)
    except ValidationError as error:
        (place, *key), fault = error.errors()[0]["loc"], in_plain_words(error.errors()[0]["msg"])
        return RubricFault(f"entry {int(place) + 1} of the rubric: {' '.join([*map(str, key), fault])}", _FORM)
    criteria = tuple(Criterion(one.criterion, one.weight, one.dimension) for one in read)
    for number, criterion in enumerate(criteria, start=1):
        if dimensions is not None and criterion.dimension not in (None, *dimensions):
            problem = f"entry {number} of the rubric: the dimension is not one of the benchmark's"
            return RubricFault(problem, f"use one of {', '.join(dimensions)}, or leave it out")
    if not any(one.weight > 0 for one in criteria):
        return RubricFault("no weight of the rubric is positive", "add what a response wins points for")
    return criteria
