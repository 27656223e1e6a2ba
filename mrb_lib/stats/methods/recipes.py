"""Trained judges that can be compared: with their bases, in one entry of the recipe, or by the size of training."""

import json
from collections.abc import Hashable, Mapping, Sequence
from itertools import combinations
from typing import Any, Final

import pandas as pd

from mrb_lib.stats.analysis import Analysis
from mrb_lib.stats.options import check_choice
from mrb_lib.tables.errors import InputError

ALIKE: Final = ["base_revision", "benchmark", "left_out_column", "left_out"]
"""Settings that all compared judges share."""
_IGNORED: Final = ("seed", "device", "out", "jobs", "keep_adapter", "left_out")
"""Entries that make no recipe: judges that differ in them alone are draws of one, or are compared by `transfer`."""
_SETTINGS: Final = (
    "engine", "learning_rate", "epochs", "batch", "evaluations", "patience", "max_minutes", "trainer", "adapter",
)  # fmt: skip
"""Entries that follow from others, as the usual learning rate does from the method: where more than they differ, what
they add is said."""
N_CASES: Final = "n_cases"


def judge_pairs(analysis: Analysis, judges: Sequence[str]) -> list[tuple[str, str]]:
    """Return the pairs (base, tuned) that a user names, or else those that are known.

    Bases are known by the digests of their weights (`records`), and of other judges by their names (`judge_groups`).
    Where several judges are of a base, as by several engines, those of the tuned judge's own engine are taken; where
    there are none, all.

    Raises
    ------
    InputError
        A judge has no verdicts, or is its own base.
    """
    for base, tuned in analysis.pairs or ():
        check_choice("judge", base, judges)
        check_choice("judge", tuned, judges)
        if base == tuned:
            raise InputError(f"judge {base!r}: cannot be its own base; name another.")
    if analysis.pairs is not None:
        return list(dict.fromkeys(analysis.pairs))
    pairs = [pair for pair in recorded_pairs(analysis.records) if set(pair) <= set(judges)]
    by_digest = {judge for _, judge in pairs}
    rows = analysis.judge_groups.reindex(columns=["judge", "entry", "base"]).sort_values("judge")
    rows = rows[rows["judge"].isin(judges)]
    for judge, base in rows[["judge", "base"]].dropna().itertuples(index=False):
        bases = rows.loc[rows["entry"] == base, "judge"].tolist()
        alike = [name for name in bases if _engine(name) == _engine(judge)]
        pairs += [(name, judge) for name in alike or bases if name != judge and judge not in by_digest]
    return list(dict.fromkeys(pairs))


def _engine(judge: str) -> str:
    return judge.partition("@")[0].rpartition("+")[2] if "+" in judge else ""


def recorded_pairs(records: pd.DataFrame | None) -> list[tuple[str, str]]:
    """Return all pairs (base, tuned) that are known by the digests of weights; none without records."""
    if records is None:
        return []
    return [(base, tuned) for tuned, bases in zip(records["judge"], records["bases"], strict=True) for base in bases]


def recipe_contrasts(records: pd.DataFrame, judges: Sequence[str]) -> list[dict[str, Any]]:
    """Return all pairs of recipes, of one base and one benchmark, that differ in exactly one entry.

    A pair is the judges trained by each, `tuned` by the recipe with the larger value and `base` by the other, the
    `ingredient` in which they differ with its values `setting_tuned` and `setting_base`, and a `note`.

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
    for _, rows in _known(records, judges).groupby(ALIKE, dropna=False):
        stated = pd.Series([json.dumps(entries_of(row), default=str) for row in rows.to_dict("records")], rows.index)
        recipes = [(json.loads(text), own.tolist()) for text, own in rows["judge"].groupby(stated, sort=False)]
        for pair in combinations(recipes, 2):
            (one, _), (other, _) = pair
            differing = [name for name in one | other if one.get(name) != other.get(name)]
            main = [name for name in differing if name not in _SETTINGS] or differing
            if len(main) != 1:
                continue
            (name,) = main
            also = ", ".join(other_name for other_name in differing if other_name != name)
            note = f"their settings differ as well ({also})" if also else ""
            (first, tuned), (second, base) = sorted(pair, key=lambda each: _place(each[0].get(name)), reverse=True)
            settings = {"setting_tuned": _shown(first.get(name)), "setting_base": _shown(second.get(name))}
            out.append({"tuned": tuned, "base": base, "ingredient": name, **settings, "note": note})
    return out


def size_series(records: pd.DataFrame, judges: Sequence[str]) -> list[pd.DataFrame]:
    """Return the judges of one base, benchmark and recipe that were trained on different numbers of cases.

    A series is a frame with a row per judge, by the number: `tuned`, `n_training`, and the `recipe` of the series,
    which says the method, and the entries in which the series differ.
    """
    rows = _known(records, judges).dropna(subset=N_CASES)
    recipes = [
        entries_of(row) | {"base": row["base_revision"], "left_out": row["left_out"], N_CASES: None}
        for row in rows.to_dict("records")
    ]
    rows["stated"] = [json.dumps(recipe, default=str) for recipe in recipes]
    alike = rows.groupby(["benchmark", "left_out_column", "stated"], dropna=False, sort=False)
    series = [own.sort_values([N_CASES, "judge"]) for _, own in alike if own[N_CASES].nunique() > 1]
    of_series = [json.loads(own["stated"].iloc[0]) for own in series]
    names = dict.fromkeys(name for recipe in of_series for name in recipe if name != "method")
    varying = [name for name in names if len({_shown(recipe.get(name)) for recipe in of_series}) > 1]
    out = []
    for recipe, own in zip(of_series, series, strict=True):
        stated = ", ".join(f"{name} {_shown(recipe.get(name))}" for name in ("method", *varying))
        out.append(pd.DataFrame({"tuned": own["judge"], "n_training": own[N_CASES], "recipe": stated}))
    return out


def _known(records: pd.DataFrame, judges: Sequence[str]) -> pd.DataFrame:
    return records[records["judge"].isin(list(judges))].sort_values([*ALIKE, "judge"])


def entries_of(row: Mapping[Hashable, Any]) -> dict[str, Any]:
    """Return what makes the recipe of a judge, in alphabetical order."""
    named = {name: row[name] for name in ("method", "engine", "warm_up") if isinstance(row.get(name), str)}
    size = {} if pd.isna(row[N_CASES]) else {N_CASES: int(row[N_CASES])}
    entries = {**row["settings"], **row["recipe"], **named, **size}
    return {name: entries[name] for name in sorted(entries) if name not in _IGNORED}


def _place(value: object) -> tuple[int, float, str]:
    """Numbers and switches by size, then texts by the alphabet backwards, so that "keep" goes before "drop"."""
    if isinstance(value, int | float):
        return 1, float(value), ""
    return 0, 0.0, "" if value is None else json.dumps(value)


def _shown(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)
