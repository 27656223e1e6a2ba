"""Rubrics: the criteria by which a response to a case is checked, each with the points that it is worth.

Points are added up as in HealthBench (arXiv 2505.08775, section 3): a criterion that is met gives its weight, which may
be negative, and the score is the sum over the sum of the positive weights.
"""

import json
from collections.abc import Sequence
from fractions import Fraction
from typing import Annotated, Final

from pydantic import Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from mrb_lib.tables.errors import InputError
from mrb_lib.tables.options import in_plain_words

MOST_CRITERIA: Final = 100
LONGEST_CRITERION: Final = 4_000
_FORM: Final = 'write a JSON list such as [{"criterion": "names the side", "weight": 5}]'


@dataclass(frozen=True)
class Criterion:
    """What a response may do, the points for it, and the one dimension they count for; None for all."""

    text: Annotated[str, Field(alias="criterion", strict=True, max_length=LONGEST_CRITERION, pattern=r"\S")]
    weight: Annotated[float, Field(strict=True, allow_inf_nan=False)]
    dimension: Annotated[str, Field(strict=True)] | None = None


_CRITERIA: Final = TypeAdapter(Annotated[list[Criterion], Field(min_length=1, max_length=MOST_CRITERIA)])


class RubricError(InputError):
    """A text is not a rubric."""

    def __init__(self, problem: str, cure: str = _FORM) -> None:
        super().__init__(f"rubric: {problem}; {cure}.")
        self.problem, self.cure = problem, cure


def read_rubric(stated: str, dimensions: Sequence[str] | None = None) -> tuple[Criterion, ...]:
    """Return the criteria of a case, from the text in its column `rubric`.

    Parameters
    ----------
    stated : JSON, a list of objects with `criterion` (text), `weight` (a number, negative for points taken off where
        the criterion is met) and optionally `dimension`; other keys are not read
    dimensions : those that a criterion may name; None checks none

    Raises
    ------
    RubricError
        The text is not a rubric.
    """
    try:
        criteria = tuple(_CRITERIA.validate_json(stated))
    except ValidationError as error:
        fault = error.errors()[0]
        places = (f"entry {part + 1} of" if isinstance(part, int) else f"{part} in" for part in fault["loc"][::-1])
        raise RubricError(f"{' '.join([*places, 'the rubric'])}: {in_plain_words(fault['msg'])}") from None
    for number, criterion in enumerate(criteria, start=1):
        if dimensions is not None and criterion.dimension not in (None, *dimensions):
            problem = f"entry {number} of the rubric: the dimension is not one of the benchmark's"
            raise RubricError(problem, f"use one of {', '.join(dimensions)}, or leave it out")
    if not any(one.weight > 0 for one in criteria):
        raise RubricError("no weight of the rubric is positive", "add what a response wins points for")
    return criteria


def rubric_text(value: object) -> object:
    """A rubric that is a list, as JSON lines and parquet may hold it, as JSON text; anything else as it is."""
    entries = getattr(value, "tolist", lambda: value)()
    if not isinstance(entries, list):
        return value
    try:
        return json.dumps(entries, ensure_ascii=False)
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
    exact = [Fraction(repr(float(weight))) for weight in weights]
    won = sum((weight * Fraction(each) for weight, each in zip(exact, met, strict=True)), Fraction())
    return float(won / sum(weight for weight in exact if weight > 0))
