"""Subfields: the parts of a benchmark that an analysis is broken down by."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from mrb_lib.stats.options import IntArray
from mrb_lib.tables.errors import InputError, NotApplicable, nearest
from mrb_lib.tables.schema import SUBFIELDS

MODEL_PAIR = "model_pair"
By = str | Sequence[str] | None
_NOT_A_SUBFIELD = ("case_id", "images", "response_a", "response_b")


class Group(NamedTuple):
    """The cases of one subfield, or of the whole benchmark.

    Attributes
    ----------
    by : the cases column; None for the whole benchmark
    subfield : the value in that column; None for the whole benchmark
    cases : positions in the cases table
    n_unassigned : cases of the benchmark that are in no subfield because the column is empty there
    """

    by: str | None
    subfield: str | None
    cases: IntArray
    n_unassigned: int

    def label(self) -> dict[str, object]:
        """The columns that say which part of the benchmark a row is about."""
        return {"by": self.by, "subfield": self.subfield, "n_unassigned": self.n_unassigned}


def subfield_values(cases: pd.DataFrame, by: str) -> pd.Series:
    """The subfield of each case, as text; missing where the case has none.

    Parameters
    ----------
    by : a column of `cases`, or `model_pair`: the two responders of a case in
        either order, as "first vs second" by name.

    Raises
    ------
    InputError
        The column is absent, entirely empty, or cannot be a subfield.
    """
    if by == MODEL_PAIR:
        return _model_pair(cases)
    usable = [name for name in cases.columns if name not in _NOT_A_SUBFIELD]
    if by not in usable:
        offered = ", ".join([*usable, MODEL_PAIR] if {"model_a", "model_b"} <= set(usable) else usable)
        error = NotApplicable if by in SUBFIELDS else InputError
        near = nearest(by, [*usable, MODEL_PAIR])
        raise error(f"by {by!r}: the cases have no such column to break down by; use one of {offered}.{near}")
    values = cases[by].reset_index(drop=True)
    if values.isna().all():
        raise NotApplicable(f"by {by!r}: the column is empty in every case; fill it in, or choose another.")
    return values.astype("str").where(values.notna())


def _model_pair(cases: pd.DataFrame) -> pd.Series:
    if not {"model_a", "model_b"} <= set(cases.columns):
        raise NotApplicable(f"by {MODEL_PAIR!r}: the cases lack the column model_a or model_b; choose another column.")
    pair = cases[["model_a", "model_b"]].reset_index(drop=True)
    is_complete = pair.notna().all(axis=1)
    if not is_complete.any():
        raise NotApplicable(f"by {MODEL_PAIR!r}: model_a or model_b is empty in every case; choose another column.")
    first, second = pair["model_a"].astype("str"), pair["model_b"].astype("str")
    low, high = first.where(first <= second, second), second.where(first <= second, first)
    return (low + " vs " + high).where(is_complete)


def columns_of(by: By) -> list[str]:
    """The columns to break down by, one after another; none for None.

    Raises
    ------
    InputError
        A column is named twice.
    """
    columns = [] if by is None else [by] if isinstance(by, str) else list(by)
    for i, column in enumerate(columns):
        if column in columns[:i]:
            raise InputError(f"by {column!r}: the column is named twice; name each column once.")
    return columns


def groups(cases: pd.DataFrame, by: By) -> list[Group]:
    """The whole benchmark, then, for each column of `by`, its subfields by name.

    Subfields of one column share no case; those of several columns do. Cases without a value in a
    column are in none of its subfields; their number is in the `n_unassigned` of each of these.
    """
    whole = Group(None, None, np.arange(len(cases), dtype=np.int64), 0)
    return [whole, *(part for column in columns_of(by) for part in _parts(cases, column))]


def _parts(cases: pd.DataFrame, by: str) -> list[Group]:
    values = subfield_values(cases, by)
    n_unassigned = int(values.isna().sum())
    positions = values.groupby(values).indices
    return [Group(by, str(name), np.asarray(cases, dtype=np.int64), n_unassigned) for name, cases in positions.items()]
