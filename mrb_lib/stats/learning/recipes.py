"""Which trained judges can be compared: of the same base, with recipes that differ in one entry, or in size alone."""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping, Sequence
from itertools import combinations
from typing import Any, Final, NamedTuple

import pandas as pd

SIZE: Final = "n_cases"
WARM_UP: Final = "warm_up"
"""The methods of the stages before the last, an entry as those of the recipe."""
_IGNORED: Final = ("seed", "device", "out", "jobs", "keep_adapter", "left_out")
"""Entries that make no recipe: judges that differ in them alone are draws of one, or are compared by `transfer`."""
_SETTINGS: Final = (
    "engine", "learning_rate", "epochs", "batch", "evaluations", "patience", "max_minutes", "trainer", "adapter",
)  # fmt: skip
"""Entries that follow from others, as the usual learning rate does from the method: where more than they differ, what
they add is said."""


class Contrast(NamedTuple):
    """Two judges whose recipes differ in one entry; the first has the larger value."""

    judge_1: str
    judge_2: str
    ingredient: str
    value_1: str
    value_2: str
    note: str


class SizeSeries(NamedTuple):
    """Judges that differ in the number of training cases alone, by that number."""

    recipe: str
    judges: list[str]
    sizes: list[int]


def contrasts(records: pd.DataFrame, judges: Sequence[str]) -> list[Contrast]:
    """All pairs of judges of one base, trained on one benchmark, whose recipes differ in exactly one entry.

    Parameters
    ----------
    records : see `mrb_lib.verdicts.training.training_records`
    judges : those with verdicts

    Notes
    -----
    Settings of the trainer, which differ by themselves between methods, are no second entry; `note` says where they
    differ, too. A pair that differs in one of them alone is a contrast of it.
    """
    out = []
    for rows in _alike(records, judges):
        for one, other in combinations(rows, 2):
            entries = [entries_of(row) for row in (one, other)]
            names = dict.fromkeys([*entries[0], *entries[1]])
            differing = [name for name in names if entries[0].get(name) != entries[1].get(name)]
            main = [name for name in differing if name not in _SETTINGS] or differing
            if len(main) != 1:
                continue
            (name,) = main
            also = [other_name for other_name in differing if other_name != name]
            note = f"their settings differ as well ({', '.join(also)})" if also else ""
            pair = [(row["judge"], of.get(name)) for row, of in zip((one, other), entries, strict=True)]
            pair.sort(key=lambda each: _place(each[1]), reverse=True)
            (first, value_1), (second, value_2) = pair
            out.append(Contrast(str(first), str(second), name, _shown(value_1), _shown(value_2), note))
    return out


def size_series(records: pd.DataFrame, judges: Sequence[str]) -> list[SizeSeries]:
    """The judges of one base, benchmark and recipe that were trained on different numbers of cases.

    The name of a series says the method, and the entries in which the series differ.
    """
    series: dict[str, list[tuple[int, str]]] = {}
    entries_by_key: dict[str, dict[str, Any]] = {}
    for rows in _alike(records, judges):
        for row in rows:
            entries = entries_of(row)
            size = entries.pop(SIZE, None)
            if size is not None:
                key = json.dumps([row["base_revision"], row["benchmark"], row["left_out"], entries], default=str)
                series.setdefault(key, []).append((int(size), str(row["judge"])))
                entries_by_key[key] = {**entries, "base": row["base_revision"], "left_out": row["left_out"]}
    keys = [key for key, points in series.items() if len({size for size, _ in points}) > 1]
    names = dict.fromkeys(name for key in keys for name in entries_by_key[key])
    varying = [n for n in names if len({_shown(entries_by_key[key].get(n)) for key in keys}) > 1]
    out = []
    for key in keys:
        points = sorted(series[key])
        stated = [f"{name} {_shown(entries_by_key[key].get(name))}" for name in dict.fromkeys(["method", *varying])]
        out.append(SizeSeries(", ".join(stated), [judge for _, judge in points], [size for size, _ in points]))
    return out


_Row = Mapping[Hashable, Any]


def _alike(records: pd.DataFrame, judges: Sequence[str]) -> list[list[_Row]]:
    """The records of judges with verdicts, in lists of one base, one benchmark and the same left out."""
    known = records[records["judge"].isin(list(judges))].sort_values("judge")
    keys = ["base_revision", "benchmark", "left_out_column", "left_out"]
    return [list(rows.to_dict("records")) for _, rows in known.groupby(keys, dropna=False, sort=True)]


def entries_of(row: _Row) -> dict[str, Any]:
    """What makes the recipe of a judge, in alphabetical order."""
    named = {name: row[name] for name in ("method", "engine", WARM_UP) if isinstance(row.get(name), str)}
    size: dict[str, Any] = {} if pd.isna(row[SIZE]) else {SIZE: int(row[SIZE])}
    entries = {**row["settings"], **row["recipe"], **named, **size}
    return {name: entries[name] for name in sorted(entries) if name not in _IGNORED}


def _place(value: object) -> tuple[int, float, str]:
    """Numbers and switches by size, then texts by the alphabet backwards, so that "keep" goes before "drop"."""
    if isinstance(value, int | float):
        return 1, float(value), ""
    return 0, 0.0, "" if value is None else json.dumps(value)


def _shown(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)
