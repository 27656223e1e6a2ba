"""Numbers of tables in words, and the rows that a sentence about a table is made from."""

import numpy as np
import pandas as pd

UNKNOWN = "not known"
WHOLE = "overall"
_HUMAN_LEVELS = ("agreement", "ceiling", "gold_rules", "selective")


def main_dimension(frame: pd.DataFrame) -> str:
    """The dimension to speak of first: "overall", or else the first."""
    names = [str(name) for name in frame["dimension"].dropna().unique()] if "dimension" in frame else []
    return WHOLE if WHOLE in names or not names else names[0]


def on(dimension: str) -> str:
    """A dimension within a sentence: "overall", "on relevance"."""
    return dimension if dimension == WHOLE else f"on {dimension}"


def opening(dimension: str) -> str:
    """The same at its beginning: "Overall", "On relevance"."""
    return {WHOLE: "Overall", "all": "Over all dimensions"}.get(dimension, f"On {dimension}")


def main_rows(frame: pd.DataFrame, **values: str) -> pd.DataFrame:
    """The rows of the main dimension over all cases; those with some values, such as `part="judge"`."""
    if "dimension" in frame:
        values = {"dimension": main_dimension(frame)} | values
    kept = frame[frame[list(values)].eq(pd.Series(values, dtype="str")).all(axis=1)]
    return kept[kept["subfield"].isna()] if "subfield" in kept else kept


def percent(row: pd.Series, value: str, low: str = "", high: str = "") -> str:
    """A share with its interval, as "75% [71, 79]"; "not known" where it is null."""
    return _estimate(row, value, low or f"{value}_low", high or f"{value}_high", "", "%")


def _digits(low: float, high: float, digits: int = 0) -> int:
    """Return the digits that show that an interval has a width: 99.6 to 100, not 100 to 100."""
    return next((d for d in range(digits, digits + 3) if f"{low:.{d}f}" != f"{high:.{d}f}"), digits)


def number(row: pd.Series, value: str) -> str:
    """A number with its interval, as ".52 [.49, .55]"; "not known" where it is null."""
    return _estimate(row, value, f"{value}_low", f"{value}_high", "", "", scale=1, digits=2)


def points(row: pd.Series, value: str) -> str:
    """A difference with its interval, as "+3 points [-1, +6]"; "not known" where it is null."""
    of = f"{value}_" if f"{value}_low" in row else ""
    return _estimate(row, value, f"{of}low", f"{of}high", "+", " points")


def _estimate(
    row: pd.Series, value: str, low: str, high: str, sign: str, unit: str, *, scale: float = 100, digits: int = 0
) -> str:
    """A value with its interval, where it has one."""
    if pd.isna(row[value]):
        return UNKNOWN
    shown, least, most = (scale * float(row[name]) for name in (value, low, high))
    if np.isnan([least, most]).any():
        return f"{shown:{sign}.{digits}f}{unit}"
    digits = _digits(least, most, digits)
    return f"{shown:{sign}.{digits}f}{unit} [{least:{sign}.{digits}f}, {most:{sign}.{digits}f}]"


def interval(low: float, high: float, *, scale: float = 100, digits: int = 0, name: str = "95% interval") -> str:
    """An interval in brackets, as " (95% interval 79 to 83)"; nothing where an end is null."""
    if np.isnan([low, high]).any():
        return ""
    digits = _digits(scale * low, scale * high, digits)
    return f" ({name} {scale * low:.{digits}f} to {scale * high:.{digits}f})"


def of_judges(count: int, total: int, what: str, verbs: tuple[str, str] = ("is", "are")) -> str:
    """A count of judges as the beginning of a sentence: "Of 11 judges, 3 are too sure of themselves"."""
    if total == 1:
        only = verbs[0] if count else {"is": "is not", "has": "does not have"}[verbs[0]]
        return f"The only judge {only} {what}"
    some = {0: "none", total: "all"}.get(count, f"{count:,}")
    return f"Of {total:,} judges, {some} {verbs[count > 1]} {what}"


def human_level(table: str) -> str:
    """Say which tables measure annotators in another way than one of them."""
    *first, last = (name for name in _HUMAN_LEVELS if name != table)
    return f"The tables {', '.join(first)} and {last} measure annotators in other ways."


def some(count: int, one: str, more: str, what: str = "") -> str:
    """The beginning of a sentence about so many of something: "1 cell is", "12 cells are", "No cell is"."""
    return f"{count:,} {more} {what}are" if count > 1 else f"{count or 'No'} {one} {what}is"
