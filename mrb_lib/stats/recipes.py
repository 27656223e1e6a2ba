"""Recipes of trained judges that can be compared: of one base, differing in one entry, or in size alone."""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping, Sequence
from itertools import combinations
from typing import Any, Final, NamedTuple

import pandas as pd

from mrb_lib.tables.errors import InputError

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
    """Two recipes that differ in one entry, with the judges trained by each; `tuned` has the larger value."""

    tuned: list[str]
    base: list[str]
    ingredient: str
    setting_tuned: str
    setting_base: str
    note: str


class SizeSeries(NamedTuple):
    """Judges that differ in the number of training cases alone, by that number."""

    recipe: str
    judges: list[str]
    sizes: list[int]


def contrasts(records: pd.DataFrame, judges: Sequence[str]) -> list[Contrast]:
    """Return all pairs of recipes, of one base and one benchmark, that differ in exactly one entry.

    Parameters
    ----------
    records : see `mrb_lib.verdicts.training.training_records`
    judges : those with verdicts

    Notes
    -----
    Settings of the trainer, which differ by themselves between methods, are no second entry; `note` tells where they
    differ, too. A pair that differs in one of them alone is a contrast of it.
    """
    out = []
    for rows in _alike(records, judges):
        runs: dict[str, tuple[dict[str, Any], list[str]]] = {}
        for row in rows:
            entries = entries_of(row)
            runs.setdefault(json.dumps(entries, default=str), (entries, []))[1].append(str(row["judge"]))
        for pair in combinations(runs.values(), 2):
            (one, _), (other, _) = pair
            differing = [name for name in dict.fromkeys([*one, *other]) if one.get(name) != other.get(name)]
            main = [name for name in differing if name not in _SETTINGS] or differing
            if len(main) != 1:
                continue
            (name,) = main
            also = [other_name for other_name in differing if other_name != name]
            note = f"their settings differ as well ({', '.join(also)})" if also else ""
            (first, tuned), (second, base) = sorted(pair, key=lambda each: _place(each[0].get(name)), reverse=True)
            out.append(Contrast(tuned, base, name, _shown(first.get(name)), _shown(second.get(name)), note))
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


def known_pairs(
    judge_groups: pd.DataFrame, judges: Sequence[str], records: pd.DataFrame | None = None
) -> list[tuple[str, str]]:
    """The pairs (base, tuned) among some judges.

    Parameters
    ----------
    judge_groups : see `mrb_lib.judges.roster.groups.judge_groups`, which knows bases by names. Where several judges
        are of a base, as by several engines, those of the tuned judge's own engine are taken; where there are none, all
    records : see `mrb_lib.verdicts.training.training_records`, which knows bases by the digests of their weights;
        a judge with a base there has no other
    """
    pairs = [pair for pair in recorded_pairs(records) if set(pair) <= set(judges)]
    by_digest = {judge for _, judge in pairs}
    if {"entry", "base"} <= set(judge_groups.columns):
        rows = judge_groups[judge_groups["judge"].isin(list(judges))].sort_values("judge")
        for judge, base in rows[["judge", "base"]].dropna().itertuples(index=False):
            bases = rows.loc[rows["entry"] == base, "judge"].tolist()
            alike = [name for name in bases if _engine(name) == _engine(judge)]
            pairs += [(name, judge) for name in alike or bases if name != judge and judge not in by_digest]
    return list(dict.fromkeys(pairs))


def recorded_pairs(records: pd.DataFrame | None) -> list[tuple[str, str]]:
    """All pairs (base, tuned) that are known by the digests of weights; none without records."""
    if records is None:
        return []
    return [(base, tuned) for tuned, bases in records[["judge", "bases"]].itertuples(index=False) for base in bases]


def check_pairs(pairs: Sequence[tuple[str, str]], judges: Sequence[str]) -> list[tuple[str, str]]:
    """Pairs that a user names, each once.

    Raises
    ------
    InputError
        A judge has no verdicts, or is its own base.
    """
    for base, tuned in pairs:
        for name in (base, tuned):
            if name not in judges:
                raise InputError(f"judge {name!r}: no run holds its verdicts; use some of {', '.join(judges)}.")
        if base == tuned:
            raise InputError(f"judge {base!r}: cannot be its own base; name another.")
    return list(dict.fromkeys(pairs))


def _engine(judge: str) -> str:
    return judge.partition("@")[0].rpartition("+")[2] if "+" in judge else ""
