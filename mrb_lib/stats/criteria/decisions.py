"""What a judge decided of each criterion, from the verdicts that kept it."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import pandas as pd

from mrb_lib.stats.core.panel import ABSENT, Panel
from mrb_lib.stats.options import BoolArray, FloatArray, IntArray
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.rubrics import Criterion, counted, read_rubric
from mrb_lib.tables.schema import ORDERS


class Decisions(NamedTuple):
    """The decisions behind the verdicts of one judge on one dimension.

    Attributes
    ----------
    cell : shape (verdicts,), the place of each verdict in `panel.choice` of the judge and dimension, flattened
    case : shape (verdicts,), its case
    verdict : shape (entries,), which verdict each decision is behind; one entry a criterion that counts
    text : shape (entries,), the criterion, as a position in `texts`
    weight : shape (entries,)
    a, b : shape (entries,), whether each response meets it, or the probability; NaN where nothing was decided
    texts : the criteria
    """

    cell: IntArray
    case: IntArray
    verdict: IntArray
    text: IntArray
    weight: FloatArray
    a: FloatArray
    b: FloatArray
    texts: list[str]

    @property
    def pull(self) -> FloatArray:
        """What each criterion adds to the points of A less those of B, shape (entries,); 0 where undecided."""
        return np.nan_to_num(self.weight * (self.a - self.b))

    @property
    def undecided(self) -> BoolArray:
        """Shape (entries,)."""
        return np.isnan(self.a) | np.isnan(self.b)

    def by_verdict(self, values: FloatArray | BoolArray) -> FloatArray:
        """Sums over the entries of each verdict, shape (verdicts,)."""
        return np.bincount(self.verdict, values, minlength=len(self.cell)).astype(np.float64)


def decisions(panel: Panel, cases: pd.DataFrame, judge: int, dimension: int) -> Decisions | None:
    """The decisions behind the verdicts of one judge on one dimension; None where no verdict kept any.

    Raises
    ------
    InputError
        The decisions are not on the rubric that the case has now.
    """
    if panel.criteria is None:
        return None
    frame = panel.criteria
    kept = frame["judge"].eq(panel.judges[judge]) & frame["dimension"].eq(panel.dimensions[dimension])
    rows = frame[kept & frame["repeat"].isin(panel.repeats)]
    place = pd.Index(cases["case_id"]).astype(object).get_indexer(pd.Index(rows["case_id"]).astype(object))
    shape = panel.choice.shape[2:]
    where = (
        place,
        pd.Index(ORDERS).get_indexer(pd.Index(rows["order"])),
        pd.Index(panel.repeats).get_indexer(pd.Index(rows["repeat"])),
    )
    cell = np.ravel_multi_index(tuple(np.maximum(each, 0) for each in where), shape)
    there = (place >= 0) & (panel.choice[judge, dimension].ravel()[cell] != ABSENT)
    if not there.any():
        return None
    rubrics = cases["rubric"].tolist() if "rubric" in cases.columns else [None] * len(cases)
    texts: dict[str, int] = {}
    entries: list[tuple[int, int, float, float, float]] = []
    for number, (row, stated) in enumerate(zip(place[there], rows["criteria"][there], strict=True)):
        rubric = _rubric(rubrics[row]) if isinstance(rubrics[row], str) else ()
        a, b = _sides(stated, len(rubric), str(cases["case_id"].iloc[row]))
        for i in counted(rubric, panel.dimensions[dimension]):
            code = texts.setdefault(rubric[i].text, len(texts))
            entries.append((number, code, rubric[i].weight, a[i], b[i]))
    if not entries:
        return None
    verdict, text, weight, of_a, of_b = (np.array(column) for column in zip(*entries, strict=True))
    return Decisions(cell[there], place[there], verdict, text, weight.astype(np.float64), of_a, of_b, list(texts))


@lru_cache(maxsize=4096)
def _rubric(stated: str) -> tuple[Criterion, ...]:
    return read_rubric(stated)


@lru_cache(maxsize=65536)
def _sides(stated: str, n: int, case_id: str) -> tuple[list[float], list[float]]:
    """Two lists of `n` numbers, NaN for null."""
    try:
        sides = json.loads(stated)
        a, b = ([np.nan if value is None else float(value) for value in sides[name]] for name in ("a", "b"))
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise InputError(
            f"verdicts: the criteria of case {case_id} are not two lists of numbers; remove the run."
        ) from error
    if not len(a) == len(b) == n:
        raise InputError(
            f"verdicts: decisions are on {len(a)} criteria of case {case_id}, and its rubric has {n}; it was changed "
            "since, so judge it again or restore the rubric."
        )
    return a, b
