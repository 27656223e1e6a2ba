"""Which judge was trained further from which other, and on which cases."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from mrb_lib.errors import InputError
from mrb_lib.stats.core.options import BoolArray


def known_pairs(judge_groups: pd.DataFrame, judges: Sequence[str]) -> list[tuple[str, str]]:
    """The pairs (base, tuned) among some judges, as `mrb_lib.judges.roster.groups.judge_groups` knows them.

    Where several judges are of a base, as by several engines, those of the tuned judge's own engine are taken; where
    there are none, all.
    """
    if not {"entry", "base"} <= set(judge_groups.columns):
        return []
    rows = judge_groups[judge_groups["judge"].isin(list(judges))].sort_values("judge")
    pairs = []
    for judge, base in rows[["judge", "base"]].dropna().itertuples(index=False):
        bases = rows.loc[rows["entry"] == base, "judge"].tolist()
        alike = [name for name in bases if _engine(name) == _engine(judge)]
        pairs += [(name, judge) for name in alike or bases if name != judge]
    return pairs


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


def seen_cases(training: pd.DataFrame | None, judge: str, case_ids: pd.Series) -> BoolArray | None:
    """The cases that a judge was trained on, shape (cases,); None where nobody knows.

    Parameters
    ----------
    training : `judge`, `case_id`; a row without a case says that there is a record
    """
    if training is None or judge not in set(training["judge"]):
        return None
    return np.asarray(case_ids.isin(training.loc[training["judge"] == judge, "case_id"].dropna()), dtype=bool)


def _engine(judge: str) -> str:
    return judge.partition("@")[0].rpartition("+")[2] if "+" in judge else ""
