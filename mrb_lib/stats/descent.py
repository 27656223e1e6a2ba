"""Pairs of judges of which one was trained further from the other."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from mrb_lib.tables.errors import InputError


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
