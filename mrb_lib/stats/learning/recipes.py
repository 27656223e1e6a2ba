"""Which trained judges can be compared: of the same base, with recipes that differ in one entry, or in size alone."""

from __future__ import annotations

import json
from collections.abc import Hashable, Sequence
from itertools import combinations
from typing import Any, Final, NamedTuple

import pandas as pd

SIZE: Final = "n_cases"
_IGNORED: Final = ("seed", "device", "out", "jobs")
"""Settings that make no recipe: two judges that differ in them alone are two draws of one."""


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
    records : as of `mrb_lib.verdicts.training.training_records`
    judges : those with verdicts
    """
    out = []
    for rows in _alike(records, judges):
        for one, other in combinations(rows, 2):
            entries = {name: (_entries(one).get(name), _entries(other).get(name)) for name in _names(one, other)}
            differing = [name for name, (first, second) in entries.items() if first != second]
            if len(differing) != 1:
                continue
            (name,) = differing
            first, second = entries[name]
            swapped = _place(first) < _place(second)
            pair, values = ((other, one), (second, first)) if swapped else ((one, other), (first, second))
            one_name, other_name = (str(row["judge"]) for row in pair)
            out.append(
                Contrast(one_name, other_name, name, _shown(values[0]), _shown(values[1]), _settings_note(*pair))
            )
    return out


def size_series(records: pd.DataFrame, judges: Sequence[str]) -> list[SizeSeries]:
    """The judges of one base, benchmark and recipe that were trained on different numbers of cases."""
    series: dict[str, list[tuple[int, str]]] = {}
    for rows in _alike(records, judges):
        for row in rows:
            entries = _entries(row)
            size = entries.pop(SIZE, None)
            if size is not None:
                key = json.dumps([row["base_revision"], row["benchmark"], row["left_out"], entries], sort_keys=True)
                series.setdefault(key, []).append((int(size), str(row["judge"])))
    out = []
    for key, points in series.items():
        if len({size for size, _ in points}) > 1:
            points.sort()
            named = ", ".join(f"{name} {_shown(value)}" for name, value in json.loads(key)[-1].items())
            out.append(SizeSeries(named, [judge for _, judge in points], [size for size, _ in points]))
    return out


_Row = dict[Hashable, Any]


def _alike(records: pd.DataFrame, judges: Sequence[str]) -> list[list[_Row]]:
    """The records of judges with verdicts, in lists of one base, one benchmark and the same left out."""
    known = records[records["judge"].isin(list(judges))].sort_values("judge")
    keys = ["base_revision", "benchmark", "left_out_column", "left_out"]
    return [rows.to_dict("records") for _, rows in known.groupby(keys, dropna=False, sort=True)]


def _entries(row: _Row) -> dict[str, Any]:
    """What makes the recipe of a judge."""
    size: dict[str, Any] = {} if pd.isna(row[SIZE]) else {SIZE: int(row[SIZE])}
    named = {name: row[name] for name in ("method", "engine") if isinstance(row[name], str)}
    return {**named, **row["recipe"], **size}


def _names(one: _Row, other: _Row) -> list[str]:
    return list(dict.fromkeys([*_entries(one), *_entries(other)]))


def _place(value: object) -> tuple[int, float, str]:
    """Numbers and switches by size, then texts by the alphabet backwards, so that "keep" goes before "drop"."""
    if isinstance(value, int | float):
        return 1, float(value), ""
    return 0, 0.0, "" if value is None else json.dumps(value)


def _shown(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _settings_note(one: _Row, other: _Row) -> str:
    settings = [dict(row["settings"]) for row in (one, other)]
    names = sorted(set(settings[0]) | set(settings[1]))
    differ = [name for name in names if name not in _IGNORED and settings[0].get(name) != settings[1].get(name)]
    return f"their settings differ as well ({', '.join(differ)})" if differ else ""
