"""The options that the statistics share, checked in one place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mrb_lib.tables.errors import InputError
from mrb_lib.tables.schema import DIMENSIONS, POLICIES

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
TINY = 1e-12

_TEXT = {
    "annotator",
    "annotator_1",
    "annotator_2",
    "binning",
    "by",
    "correction",
    "data_kind",
    "department",
    "dimension",
    "gold",
    "interval",
    "judge",
    "judge_1",
    "judge_2",
    "label",
    "level",
    "method",
    "modality",
    "model",
    "organ",
    "part",
    "policy",
    "probe",
    "quantity",
    "reason",
    "reason_given",
    "rule",
    "share_interval",
    "subfield",
    "test",
    "versus",
    "worst_judge_1",
    "worst_judge_2",
}
_COUNTS = {"bin", "family", "iterations", "judges", "n", "only_1", "only_2"}


def typed(frame: pd.DataFrame, columns: Sequence[str], *, counts: str = "int64", **others: str) -> pd.DataFrame:
    """The columns of a result in order and with their types, even where a column is empty, all missing or absent.

    `counts` is the type of counts, "Int64" where some rows have none; `others` are the types of columns by name.
    """
    types: dict[str, str] = {}
    for name in columns:
        types[name] = "str" if name in _TEXT else counts if name in _COUNTS or name.startswith("n_") else "float64"
    ordered = frame.reindex(columns=list(columns))
    # Most columns have their type, and to cast one to it takes as long as to another.
    return ordered.astype({name: kind for name, kind in (types | others).items() if ordered[name].dtype != kind})


def stacked(parts: Sequence[Mapping[str, object]], columns: Sequence[str], size: str) -> pd.DataFrame:
    """The parts of a table one below the other, which is quicker than a frame of each.

    Parameters
    ----------
    parts : by column, its values or the one of all rows; null where a part has none
    columns : those of the table
    size : a column that has values in every part
    """
    sizes = [len(np.asarray(part[size])) for part in parts]

    def column(name: str) -> NDArray[np.generic]:
        values = [np.asarray(part.get(name, np.nan)) for part in parts]
        kind = None if all(each.dtype.kind in "biuf" for each in values) else object
        in_rows = [np.broadcast_to(each, rows) for each, rows in zip(values, sizes, strict=True)]
        return np.concatenate(in_rows, dtype=kind)

    return pd.DataFrame({name: column(name) for name in columns} if parts else None, columns=list(columns))


def with_ends(*names: str) -> list[str]:
    """The columns of some estimates and of their intervals."""
    return [name + end for name in names for end in ("", "_low", "_high")]


def check_policy(policy: str) -> None:
    """Raise `InputError` if `policy` is not one of the named scoring policies."""
    check_choice("policy", policy, POLICIES)


def check_choice(what: str, value: str, allowed: Sequence[str]) -> None:
    """Raise `InputError` if the option `what` has a value that is not allowed."""
    if value not in allowed:
        raise InputError(f"{what} {value!r} is unknown; use one of {', '.join(allowed)}.")


def pick_dimensions(names: Iterable[str], wanted: Sequence[str] | None) -> list[str]:
    """The dimensions to report: those wanted, in that order, or all names in the plan's order, then by name."""
    if wanted is not None:
        return list(dict.fromkeys(wanted))
    order = {name: i for i, name in enumerate(DIMENSIONS)}
    return sorted(set(names), key=lambda name: (order.get(name, len(order)), name))


def encode(values: pd.Series, vocabulary: Sequence[str] | pd.Index, what: str) -> IntArray:
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
        shown = ", ".join(map(str, list(vocabulary[:8]))) + (", ..." if len(vocabulary) > 8 else "")
        raise InputError(f"column {what}: {wrong!r} is not one of {shown}; correct it or remove its rows.")
    return np.append(position, -1)[codes].astype(np.int64)


def divide(numerator: FloatArray, denominator: FloatArray | IntArray) -> FloatArray:
    """The ratio, NaN where the denominator is 0 (or so close to it that only rounding keeps it away)."""
    defined = denominator > TINY
    if defined.all():  # which is common, and twice as fast
        return np.divide(numerator, denominator, dtype=np.float64)
    columns = numerator.flags.f_contiguous and not numerator.flags.c_contiguous
    shape = np.broadcast_shapes(numerator.shape, denominator.shape)
    out: FloatArray = np.full(shape, np.nan, order="F" if columns else "C")
    np.divide(numerator, denominator, out=out, where=defined)
    return out


def mean_of_defined(values: FloatArray) -> FloatArray:
    """The mean of each row over its entries that are not NaN, shape (b, k) to (b, 1); NaN where none is."""
    defined = np.isfinite(values)
    return divide(np.where(defined, values, 0.0).sum(axis=1), defined.sum(axis=1))[:, None]


def join_reasons(*reasons: str) -> str | None:
    """Reasons why something is undefined as one text; None if there is none."""
    return "; ".join(reason for reason in reasons if reason) or None


def by_column(reasons: Mapping[str, str]) -> str:
    """Reasons of columns as one text, each once and after the columns that it is of; empty where there is none."""
    columns: dict[str, list[str]] = {}
    for name, reason in reasons.items():
        if reason:
            columns.setdefault(reason, []).append(name)
    return "; ".join(f"{', '.join(names)}: {reason}" for reason, names in columns.items())
