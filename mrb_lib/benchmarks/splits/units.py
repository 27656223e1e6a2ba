"""Which cases stay on one side of a split: those of one unit, and with them all near-duplicates."""

import re
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.benchmarks.items import ITEM as ITEM
from mrb_lib.benchmarks.items import item_keys
from mrb_lib.benchmarks.near_duplicates import (
    SIMILAR_TEXT,
    ProgressCallback,
    components,
    is_pictured,
    near_duplicates,
    with_first,
)
from mrb_lib.tables.errors import InputError

CLUSTER: Final = "cluster"
MODEL_PAIR: Final = "model_pair"
_PATIENT: Final = re.compile(r"(patient|subject)s?[ _-]?(id|no|nr|number)?", re.IGNORECASE)


@dataclass(frozen=True)
class SplitUnits:
    """The units of a benchmark.

    Attributes
    ----------
    by : what makes cases one unit: `cluster`, `item`, `model_pair` or another column
    codes : shape (n_cases,), the unit of each case, numbered by first case
    near : the pairs of near-duplicates that are joined, see `mrb_lib.benchmarks.near_duplicates.near_duplicates`
    alike : the pairs with nearly the same texts about different images, which are not
    statement : what the units are and how many, in one line
    """

    by: str
    codes: NDArray[np.int64]
    near: pd.DataFrame
    alike: pd.DataFrame
    statement: str

    @property
    def n(self) -> int:
        """The number of units."""
        return int(self.codes.max(initial=-1)) + 1


def split_units(
    benchmark: Benchmark, by: str | None = None, progress: ProgressCallback | None = None, *, join_texts: bool = False
) -> SplitUnits:
    """The units that a split must not cut.

    Parameters
    ----------
    by : a column of the cases; or "item", which is the column of that name and, where it is empty or absent, the
        question with its images; or "model_pair", the two responders in either order. None takes `cluster` where a
        case has one, else a column of patients, else "item". A case without a value is a unit of its own.
    progress : see `mrb_lib.benchmarks.near_duplicates.near_duplicates`
    join_texts : join cases with nearly the same texts even where they are about different images

    Returns
    -------
    SplitUnits
        Cases of one value of `by`, cases of one `cluster` and near-duplicates (cases about one image among them) are
        one unit, and so are all that are linked by a chain of these.

    Raises
    ------
    InputError
        The column is absent, or empty in every case.
    """
    cases = benchmark.cases
    patient = next(
        (str(name) for name in cases if _PATIENT.fullmatch(str(name)) and _has_values(cases, str(name))), None
    )
    chosen = by or (CLUSTER if _has_values(cases, CLUSTER) else patient or ITEM)
    values = _values(benchmark, chosen)
    near = near_duplicates(benchmark, progress)
    pictured = is_pictured(cases)
    apart = (near["kind"] == SIMILAR_TEXT).to_numpy() & pictured[near["row_1"]] & pictured[near["row_2"]]
    apart &= not join_texts
    near, alike = near[~apart].reset_index(drop=True), near[apart].reset_index(drop=True)
    joined = [values, cases[CLUSTER]] if chosen != CLUSTER and _has_values(cases, CLUSTER) else [values]
    pairs = [with_first(one.astype("str").reset_index(drop=True)) for one in joined]
    pairs.append((near["row_1"].to_numpy(), near["row_2"].to_numpy()))
    one, other = (np.concatenate(rows) for rows in zip(*pairs, strict=True))
    codes = components(len(cases), one, other)
    units = SplitUnits(chosen, codes, near, alike, "")
    neglected = "" if patient in (None, chosen) else _neglect(str(patient), cases[patient], codes)
    return replace(units, statement=_statement(units, values) + neglected)


def _neglect(name: str, patients: pd.Series, codes: NDArray[np.int64]) -> str:
    n = int((pd.Series(codes).groupby(patients.to_numpy()).nunique() > 1).sum())
    return f"; {n:,} values of {name} are in several units, which may stand on two sides (--by {name})" if n else ""


def _statement(units: SplitUnits, values: pd.Series) -> str:
    n_values = values.nunique() + int(values.isna().sum())
    joined = f" (of {n_values:,}, joined by clusters and near-duplicates)" if n_values > units.n else ""
    n = len(units.near)
    near = f"; {n:,} {'pair' if n == 1 else 'pairs'} of near-duplicates stay together" if n else ""
    apart = f"; {len(units.alike):,} more have nearly the same texts about different images (--join-texts joins them)"
    return f"by {units.by}: {len(values):,} cases in {units.n:,} units{joined}{near}{apart if len(units.alike) else ''}"


def _has_values(cases: pd.DataFrame, column: str) -> bool:
    return column in cases and bool(cases[column].notna().any())


def _values(benchmark: Benchmark, by: str) -> pd.Series:
    """The value of each case; null where it has none."""
    cases = benchmark.cases
    if by == ITEM:
        return item_keys(benchmark.cases_by_image)
    if by == MODEL_PAIR:
        responders = [_column(cases, name).astype("str") for name in ("model_a", "model_b")]
        first = responders[0].where(responders[0] < responders[1], responders[1])
        second = responders[1].where(responders[0] < responders[1], responders[0])
        return first + "\n" + second
    return _column(cases, by)


def _column(cases: pd.DataFrame, name: str) -> pd.Series:
    if name not in cases:
        raise InputError(
            f"--by {name}: the cases have no such column; use one of {', '.join(map(str, cases.columns))}."
        )
    if not _has_values(cases, name):
        raise InputError(f"--by {name}: the column is empty in every case; fill it in, or choose another.")
    return cases[name]
