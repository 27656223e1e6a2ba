"""Which verdicts a run is to hold, and which of them are still to be made."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from mrb_lib.errors import InputError
from mrb_lib.schema import ANSWERED_STATUSES, NO_PROBE, ORDERS, STATUSES

RETRIABLE = tuple(status for status in STATUSES if status not in ANSWERED_STATUSES)


@dataclass(frozen=True)
class Plan:
    """Every combination of case, order, repeat and dimension, in that nesting.

    A verdict's number is its place in that sequence, so the verdicts already made
    are a set of integers however many there are.
    """

    cases: pd.DataFrame
    dimensions: tuple[str, ...]
    orders: tuple[str, ...] = ORDERS
    repeats: int = 1
    probe: str = NO_PROBE

    def __post_init__(self) -> None:
        check_orders(self.orders, self.repeats)

    @property
    def per_case(self) -> int:
        """Verdicts a case."""
        return len(self.orders) * self.repeats * len(self.dimensions)

    def __len__(self) -> int:
        return len(self.cases) * self.per_case

    def numbers(self, made: pd.DataFrame) -> np.ndarray:
        """The number of each row of a verdicts table; -1 where the plan does not ask for it."""
        case = _positions(self._case_ids, made["case_id"])
        order = _positions(pd.Index(self.orders), made["order"])
        dimension = _positions(pd.Index(self.dimensions), made["dimension"])
        repeat = made["repeat"].to_numpy()
        planned = (
            (case >= 0) & (order >= 0) & (dimension >= 0) & (repeat < self.repeats) & (made["probe"] == self.probe)
        ).to_numpy()
        number = ((case * len(self.orders) + order) * self.repeats + repeat) * len(self.dimensions) + dimension
        return np.where(planned, number, -1)

    @cached_property
    def _case_ids(self) -> pd.Index:
        # The verdicts of a run come in as many parts as it had batches, and making an index costs more than using it.
        index: pd.Index = pd.Index(self.cases["case_id"])
        return index

    def longest_first(self, numbers: np.ndarray) -> np.ndarray:
        """The same numbers, case by case, those of the cases with the longest texts first."""
        case = numbers // self.per_case
        texts = [name for name in ("question", "response_a", "response_b", "reference") if name in self.cases.columns]
        length = np.sum([self.cases[name].str.len().fillna(0).to_numpy() for name in texts], axis=0)
        return numbers[np.lexsort((numbers, -length[case]))]

    def keys(self, numbers: np.ndarray) -> pd.DataFrame:
        """The keys of these verdicts: `case_id, order, repeat, dimension, probe`."""
        rest, dimension = np.divmod(numbers, len(self.dimensions))
        rest, repeat = np.divmod(rest, self.repeats)
        case, order = np.divmod(rest, len(self.orders))
        return pd.DataFrame(
            {
                "case_id": self.cases["case_id"].iloc[case].reset_index(drop=True),
                "order": pd.Series(np.array(self.orders, dtype=object)[order], dtype="str"),
                "repeat": repeat,
                "dimension": pd.Series(np.array(self.dimensions, dtype=object)[dimension], dtype="str"),
                "probe": pd.Series(self.probe, index=range(len(numbers)), dtype="str"),
            }
        )

    def rows(self, numbers: np.ndarray) -> pd.DataFrame:
        """The cases to judge for these verdicts: every case column, and `order, repeat, dimension, probe`."""
        out = self.cases.iloc[numbers // self.per_case].reset_index(drop=True)
        keys = self.keys(numbers)
        return out.assign(**{name: keys[name] for name in keys.columns})

    def batches(self, numbers: np.ndarray, cases: int) -> Iterator[np.ndarray]:
        """Split verdict numbers so that each batch holds whole cases, at most `cases` of them.

        Parameters
        ----------
        numbers : those of one case together, as in `pending` and `longest_first`
        """
        case = numbers // self.per_case
        starts = np.flatnonzero(np.diff(case, prepend=-1))[::cases]
        yield from (batch for batch in np.split(numbers, starts[1:]) if len(batch))


def _positions(vocabulary: pd.Index, values: pd.Series) -> pd.Series:
    """The place of each value in the vocabulary; -1 where it is not there."""
    return pd.Series(vocabulary.get_indexer(pd.Index(values)), index=values.index)


def check_orders(orders: Sequence[str], repeats: int) -> None:
    """Raise `InputError` unless verdicts can be made in these orders, so many times."""
    if not orders or not set(orders) <= set(ORDERS) or len(set(orders)) != len(orders):
        raise InputError(f"orders {','.join(orders)!r}: use AB, BA or both, each once.")
    if repeats < 1:
        raise InputError(f"repeats {repeats}: at least 1 is needed.")


def check_limit(limit: int | None) -> None:
    """Raise `InputError` unless so many cases can be judged."""
    if limit is not None and limit < 1:
        raise InputError(f"limit {limit}: at least 1 case is needed.")


def check_retry(statuses: Sequence[str]) -> None:
    """Raise `InputError` unless every status is one that a failed verdict has."""
    for status in statuses:
        if status in ANSWERED_STATUSES:
            raise InputError(f"retry {status}: such verdicts were answered; retry {', '.join(RETRIABLE)}.")
        if status not in RETRIABLE:
            raise InputError(f"retry {status!r}: is not a status; use {', '.join(RETRIABLE)}.")
