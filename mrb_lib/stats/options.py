"""The options that the statistics share, checked in one place."""

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mrb_lib.tables.errors import InputError, nearest
from mrb_lib.tables.schema import DIMENSIONS

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]


def with_ends(*names: str) -> list[str]:
    """Return the columns of some estimates and of the ends of their intervals."""
    return [name + end for name in names for end in ("", "_low", "_high")]


def check_choice(what: str, value: str, allowed: Sequence[str]) -> None:
    """Raise `InputError` if the option `what` has a value that is not allowed."""
    if value not in allowed:
        raise InputError(f"{what} {value!r} is unknown; use one of {', '.join(allowed)}.{nearest(value, allowed)}")


def pick_dimensions(names: Iterable[str], wanted: Sequence[str] | None) -> list[str]:
    """The dimensions to report: those wanted, in that order, or all names in the plan's order, then by name."""
    if wanted is not None:
        return list(dict.fromkeys(wanted))
    order = {name: i for i, name in enumerate(DIMENSIONS)}
    return sorted(set(names), key=lambda name: (order.get(name, len(order)), name))


def code(values: pd.Series, vocabulary: Sequence[str] | pd.Index | pd.Series, what: str) -> IntArray:
    """Turn text into positions in a vocabulary.

    Parameters
    ----------
    values : text, missing allowed
    vocabulary : the values allowed, in order
    what : the column, to name it in a message

    Returns
    -------
    int array, one entry a value; -1 where the value is missing

    Raises
    ------
    InputError
        A value is not in the vocabulary.
    """
    codes, labels = pd.factorize(values)
    allowed = vocabulary if isinstance(vocabulary, pd.Index) else pd.Index(list(vocabulary), dtype=object)
    position = allowed.astype(object).get_indexer(pd.Index(labels, dtype=object))
    if (position < 0).any():
        wrong = labels[int(np.flatnonzero(position < 0)[0])]
        shown = ", ".join(map(str, list(vocabulary)[:8])) + (", ..." if len(vocabulary) > 8 else "")
        raise InputError(f"column {what}: {wrong!r} is not one of {shown}; correct it or remove its rows.")
    return np.append(position, -1)[codes].astype(np.int64)


def join_reasons(*reasons: str) -> str | None:
    """Reasons why something is undefined as one text; None if there is none."""
    return "; ".join(reason for reason in reasons if reason) or None
