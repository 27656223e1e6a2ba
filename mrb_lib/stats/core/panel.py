"""Verdicts as one dense array: every judge, dimension, case, order and repeat has its place.

A verdict is one byte here, so that a hundred times the published benchmark (39 million
verdicts) takes 39 MB, and what a statistic needs of it is found without a search.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mrb_lib.errors import InputError
from mrb_lib.schema import CHOICES, NO_PROBE, ORDERS
from mrb_lib.stats.core.options import BoolArray, FloatArray, IntArray, divide, encode, pick_dimensions

ABSENT, NULL = -2, -1
TIE = CHOICES.index("tie")
COST_COLUMNS = ("latency_s", "prompt_tokens", "completion_tokens")


@dataclass(frozen=True)
class Panel:
    """The verdicts of one probe.

    Attributes
    ----------
    judges, dimensions : the names of the first two axes, in the order to show them
    repeats : the numbers of the repeats, ascending: the names of the last axis
    choice : int8, shape (judges, dimensions, cases, 2 orders, repeats): position in
        `CHOICES` in the case's own frame; `NULL` where the verdict has no choice, `ABSENT`
        where there is no verdict. Orders are AB, BA; cases are those of the cases table.
    p_a : float64 of the same shape, the judge's probability that A is better, in the
        case's own frame; NaN where unknown. None where no verdict has one.
    costs : one row a judge, dimension, order and repeat that has verdicts: `n_verdicts`, and the
        means of `latency_s`, `prompt_tokens`, `completion_tokens` over the verdicts that count
        them; null where none does. Without rows where the verdicts have no such columns.
    """

    judges: list[str]
    dimensions: list[str]
    repeats: list[int]
    choice: NDArray[np.int8]
    p_a: FloatArray | None
    costs: pd.DataFrame

    @property
    def shape(self) -> tuple[int, int, int]:
        """Judges, dimensions, cases."""
        judges, dimensions, cases = self.choice.shape[:3]
        return judges, dimensions, cases

    @property
    def present(self) -> BoolArray:
        """Whether there is a verdict, with a choice or without, the shape of `choice`."""
        return np.asarray(self.choice != ABSENT, dtype=bool)

    def judged(self) -> BoolArray:
        """Whether each judge has a verdict on each dimension and case, shape (judges, dimensions, cases)."""
        return np.asarray(self.present.any(axis=(3, 4)), dtype=bool)

    def of_dimensions(self, names: Sequence[str]) -> Panel:
        """The panel of some dimensions, in that order; one that nobody judged is absent throughout."""
        if list(names) == self.dimensions:
            return self
        known = {name: i for i, name in enumerate(self.dimensions)}
        place = np.array([known.get(name, -1) for name in names], dtype=np.int64)
        choice = self.choice[:, place]
        choice[:, place < 0] = ABSENT
        p_a = None
        if self.p_a is not None:
            p_a = self.p_a[:, place]
            p_a[:, place < 0] = np.nan
        costs = self.costs[self.costs["dimension"].isin(list(names))] if len(self.costs) else self.costs
        return replace(self, dimensions=list(names), choice=choice, p_a=p_a, costs=costs.reset_index(drop=True))


def as_panel(verdicts: pd.DataFrame | Panel, case_ids: pd.Series, dimensions: Sequence[str] | None = None) -> Panel:
    """The verdicts of one probe as a panel; what every function of `stats` that takes verdicts begins with.

    Parameters
    ----------
    verdicts : the verdicts table, of one probe; or a panel of the same cases, which is taken as it is
    case_ids : the ids of all cases, in order
    dimensions : the dimensions to keep, in order; None keeps all

    Raises
    ------
    InputError
        A verdict speaks of an unknown case or occurs twice, or the verdicts are of several probes.
    """
    if isinstance(verdicts, Panel):
        if verdicts.choice.shape[2] != len(case_ids):
            raise InputError(
                f"verdicts: a panel of {verdicts.choice.shape[2]} cases does not fit {len(case_ids)}; "
                "make it from the same cases table."
            )
        return verdicts if dimensions is None else verdicts.of_dimensions(list(dict.fromkeys(dimensions)))
    found = panels([verdicts], case_ids, dimensions)
    if len(found) > 1:
        names = ", ".join(sorted(found))
        raise InputError(f"verdicts: several probes are mixed ({names}); keep one, {NO_PROBE!r} for the plain cases.")
    if found:
        return next(iter(found.values()))
    return _stack([], pick_dimensions([], dimensions), len(case_ids))


@dataclass(frozen=True)
class _Slab:
    """The verdicts of one judge on one probe, as they are read: shape (dimensions, cases, 2, repeats).

    `cost` has the number of verdicts and their mean costs, shape (1 + columns, dimensions, 2, repeats); None where
    the verdicts have no such columns.
    """

    judge: str
    repeats: list[int]
    choice: NDArray[np.int8]
    p_a: FloatArray | None
    cost: FloatArray | None


def panels(
    frames: Iterable[pd.DataFrame],
    case_ids: pd.Series,
    dimensions: Sequence[str] | None = None,
    *,
    probes: Sequence[str] | None = None,
) -> dict[str, Panel]:
    """Lay out verdicts that come in several frames, such as one a judge, which need not be in memory together.

    Parameters
    ----------
    frames : verdicts tables; the rows of one judge and probe are all in one frame
    case_ids, dimensions : as in `as_panel`; None takes the dimensions of the first frame
    probes : the probes to keep; None keeps all

    Returns
    -------
    dict
        A panel a probe, in the order they were met.

    Raises
    ------
    InputError
        A verdict speaks of an unknown case or occurs twice, or a judge's rows are in two frames.
    """
    ids = pd.Index(case_ids)
    names = None if dimensions is None else pick_dimensions([], dimensions)
    found: dict[str, dict[str, _Slab]] = {}
    for frame in frames:
        if names is None:
            names = pick_dimensions(frame["dimension"].dropna().unique(), None)
        for probe, slab in _slabs(frame, ids, names, probes):
            if slab.judge in found.setdefault(probe, {}):
                raise InputError(f"verdicts: judge {slab.judge!r} is in two tables; name one of them otherwise.")
            found[probe][slab.judge] = slab
    return {
        probe: _stack([slabs[judge] for judge in sorted(slabs)], names or [], len(ids))
        for probe, slabs in found.items()
    }


class _Codes(NamedTuple):
    """A verdicts table as numbers, one entry a row; `dimension` is -1 where it is not asked for."""

    dimension: IntArray
    case: IntArray
    swapped: IntArray
    repeat: IntArray
    choice: IntArray
    p_a: FloatArray | None
    cost: FloatArray | None

    def take(self, rows: IntArray) -> _Codes:
        p_a = None if self.p_a is None else self.p_a[rows]
        cost = None if self.cost is None else self.cost[:, rows]
        dimension, case, swapped, repeat, choice = (values[rows] for values in self[:5])
        return _Codes(dimension, case, swapped, repeat, choice, p_a, cost)


def _slabs(
    frame: pd.DataFrame, ids: pd.Index, dimensions: list[str], probes: Sequence[str] | None
) -> Iterator[tuple[str, _Slab]]:
    """The verdicts of each probe and judge of a frame."""
    codes = _encode(frame, ids, dimensions)
    judge, judges = pd.factorize(frame["judge"])
    kind, kinds = np.zeros(len(frame), dtype=np.int64), pd.Index([NO_PROBE])
    if "probe" in frame.columns:
        kind, kinds = pd.factorize(frame["probe"])
    group = np.where(codes.dimension < 0, -1, kind * len(judges) + judge)
    order = np.argsort(group, kind="stable")
    bounds = np.searchsorted(group[order], np.arange(len(kinds) * len(judges) + 1))
    for number, (probe, name) in enumerate(product(kinds, judges)):
        rows = order[bounds[number] : bounds[number + 1]]
        if len(rows) and (probes is None or probe in probes):
            yield str(probe), _slab(str(name), codes.take(rows), ids, len(dimensions))


def _encode(frame: pd.DataFrame, ids: pd.Index, dimensions: Sequence[str]) -> _Codes:
    found, names = pd.factorize(frame["dimension"])
    place = pd.Index(list(dimensions)).astype(object).get_indexer(pd.Index(names).astype(object))
    n = len(frame)
    return _Codes(
        dimension=np.append(place, -1)[found].astype(np.int64),
        case=encode(frame["case_id"], ids, "case_id"),
        swapped=encode(frame["order"], ORDERS, "order"),
        repeat=frame["repeat"].to_numpy(dtype=np.int64) if "repeat" in frame.columns else np.zeros(n, np.int64),
        choice=encode(frame["choice"], CHOICES, "choice"),
        p_a=frame["p_a"].to_numpy(dtype=np.float64, na_value=np.nan) if "p_a" in frame.columns else None,
        cost=_costs(frame),
    )


def _costs(frame: pd.DataFrame) -> FloatArray | None:
    """What each verdict cost, shape (columns, rows); None where no cost is known."""
    if not any(name in frame.columns for name in COST_COLUMNS):
        return None
    out = np.full((len(COST_COLUMNS), len(frame)), np.nan)
    for row, name in zip(out, COST_COLUMNS, strict=True):
        if name in frame.columns:
            row[:] = frame[name].to_numpy(dtype=np.float64, na_value=np.nan)
    return out


def _mean_costs(cost: FloatArray, cell: IntArray, shape: tuple[int, ...]) -> FloatArray:
    """How many verdicts are in each cell, and their mean costs."""
    cells = int(np.prod(shape))

    def add(values: FloatArray) -> FloatArray:
        return np.bincount(cell, values, minlength=cells).astype(np.float64)

    out = [add(np.ones(len(cell)))]
    for values in cost:
        known = ~np.isnan(values)
        every = bool(known.all())
        out.append(divide(add(values if every else np.nan_to_num(values)), out[0] if every else add(known * 1.0)))
    return np.stack(out).reshape(-1, *shape)


def _slab(judge: str, rows: _Codes, ids: pd.Index, n_dimensions: int) -> _Slab:
    numbers, repeat = np.unique(rows.repeat, return_inverse=True)
    shape = (n_dimensions, len(ids), len(ORDERS), len(numbers))
    place = np.ravel_multi_index((rows.dimension, rows.case, rows.swapped, repeat), shape)
    choice = np.full(int(np.prod(shape)), ABSENT, dtype=np.int8)
    choice[place] = rows.choice
    if np.count_nonzero(choice != ABSENT) < len(place):
        again = ids[rows.case[int(np.flatnonzero(pd.Series(place).duplicated())[0])]]
        raise InputError(f"verdicts: judge {judge!r} has two verdicts of one kind on case {again}; remove one.")
    p_a: FloatArray | None = None
    if rows.p_a is not None and not np.isnan(rows.p_a).all():
        p_a = np.full(choice.shape, np.nan)
        p_a[place] = rows.p_a
        p_a = np.reshape(p_a, shape)
    cost: FloatArray | None = None
    if rows.cost is not None:
        cells = (n_dimensions, len(ORDERS), len(numbers))
        cost = _mean_costs(rows.cost, np.ravel_multi_index((rows.dimension, rows.swapped, repeat), cells), cells)
    return _Slab(judge, numbers.tolist(), choice.reshape(shape), p_a, cost)


def _stack(slabs: Sequence[_Slab], dimensions: list[str], n_cases: int) -> Panel:
    repeats = sorted({number for slab in slabs for number in slab.repeats}) or [0]
    shape = (len(slabs), len(dimensions), n_cases, len(ORDERS), len(repeats))
    choice = np.full(shape, ABSENT, dtype=np.int8)
    p_a = np.full(shape, np.nan) if any(slab.p_a is not None for slab in slabs) else None
    for i, slab in enumerate(slabs):
        place = np.searchsorted(repeats, slab.repeats)
        choice[i][..., place] = slab.choice
        if p_a is not None and slab.p_a is not None:
            p_a[i][..., place] = slab.p_a
    return Panel([slab.judge for slab in slabs], dimensions, repeats, choice, p_a, _cost_table(slabs, dimensions))


def _cost_table(slabs: Sequence[_Slab], dimensions: Sequence[str]) -> pd.DataFrame:
    """The costs of the verdicts, see `Panel`."""
    frames = []
    for slab in slabs:
        if slab.cost is not None:
            place = np.nonzero(slab.cost[0])
            names = (np.array(values)[at] for values, at in zip((dimensions, ORDERS, slab.repeats), place, strict=True))
            keys = dict(zip(("dimension", "order", "repeat"), names, strict=True))
            frame = pd.DataFrame({"judge": slab.judge, **keys, "n_verdicts": slab.cost[0][place].astype(np.int64)})
            frames.append(frame.assign(**{name: slab.cost[1 + i][place] for i, name in enumerate(COST_COLUMNS)}))
    columns = ["judge", "dimension", "order", "repeat", "n_verdicts", *COST_COLUMNS]
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=columns)
