"""Subfields of items, as the source states them: organ, department, modality; never guessed from pictures or words."""

import re
from pathlib import Path
from typing import Final

import pandas as pd

from mrb_lib.benchmarks.formats import read_rows
from mrb_lib.build.construct.tables import ABOUT
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.schema import ORGAN_DEPARTMENT, ORGANS

_TARGETS: Final = tuple(name for name in ABOUT if name not in ("source", "cluster"))


def stated_organ(term: str | None) -> str | None:
    """The region of the vocabulary that a term names, whatever its case, spaces or dashes; None where it names none."""
    plain = re.sub(r"[\s_-]+", "_", (term or "").strip().casefold())
    return plain if plain in ORGANS else None


def read_meanings(path: Path | None) -> list[tuple[str, str, dict[str, str]]]:
    """Return what values of columns mean, from a CSV file that a person wrote: column, value, and what it sets.

    Its columns are `column, value` and some of organ, department, modality, ..., as in `body_part,HEAD,brain` under
    `column,value,organ`. Values are compared whatever their case. None is a table without rows.

    Raises
    ------
    InputError
        It is not such a table, or names an organ that is not in the vocabulary.
    """
    rules = []
    for row in read_rows(path) if path is not None else ():
        sets = {name: str(row.values[name]) for name in _TARGETS if row.values.get(name)}
        if "organ" in sets and sets["organ"] not in ORGANS:
            raise row.error("organ", f"{sets['organ']!r} is not a region", f"use one of {', '.join(ORGANS)}")
        rules.append((row.text("column"), row.text("value").casefold(), sets))
    if path is not None and not any(sets for *_, sets in rules):
        raise InputError(f"{path}: sets none of {', '.join(_TARGETS)}; add a column of that name.")
    return rules


def with_meanings(items: pd.DataFrame, rules: list[tuple[str, str, dict[str, str]]]) -> pd.DataFrame:
    """Return the items with what rules say of them, and the department of their organ where none is stated."""
    out = items.copy()
    for column, value, sets in rules:
        if column not in items.columns:
            known = ", ".join(name for name in items.columns if not name.startswith("_"))
            raise InputError(f"--meanings: the items have no column {column}; use one of {known}.")
        holds = items[column].astype("str").str.casefold() == value
        for name, meant in sets.items():
            out[name] = out[name].mask(holds, meant)
    return out.assign(department=out["department"].fillna(out["organ"].map(ORGAN_DEPARTMENT)))
