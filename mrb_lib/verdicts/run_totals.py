"""The totals of a run: statuses, tokens, money."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import pandas as pd

from mrb_lib.tables.schema import STATUSES
from mrb_lib.verdicts.parts import part_paths, read_part

_TOKENS: Final = ("prompt_tokens", "completion_tokens")
_READ: Final = ("status", "error", *_TOKENS, "cost_usd")


@dataclass(frozen=True)
class RunTotals:
    """Sums over the verdicts of a run, those of earlier sessions included.

    Attributes
    ----------
    statuses : how many verdicts have each status, in the vocabulary's order; those that do not occur are left out
    prompt_tokens, completion_tokens : None where no verdict counts any
    cost_usd : None where no price was known
    usual_error : the reason that most verdicts of status `error` give, the first in the alphabet of equally
        frequent ones; None where none gives one
    """

    statuses: Mapping[str, int] = field(default_factory=dict)
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cost_usd: float | None = None
    usual_error: str | None = None

    def __str__(self) -> str:
        parts = [", ".join(f"{count:,} {status}" for status, count in self.statuses.items()) or "no verdicts"]
        tokens = [(self.prompt_tokens, "prompt"), (self.completion_tokens, "reply")]
        counted = " and ".join(f"{number:,} {what}" for number, what in tokens if number is not None)
        if counted:
            parts.append(f"{counted} tokens")
        if self.cost_usd is not None:
            parts.append(f"{self.cost_usd:.4f} USD")
        return "; ".join(parts)


def totals(folder: Path) -> RunTotals:
    """Return the totals of one run; replies are not read.

    Parameters
    ----------
    folder : of the run

    Raises
    ------
    InputError
        A part is damaged.
    """
    parts = [read_part(path, _READ).to_pandas() for path in part_paths(folder)]
    held = pd.concat([pd.DataFrame(columns=list(_READ), dtype=object), *parts])
    statuses = held["status"].value_counts().to_dict()
    reasons = held.loc[held["status"] == "error", "error"].dropna().astype("str").value_counts()
    tokens = [None if held[name].isna().all() else int(held[name].sum()) for name in _TOKENS]
    return RunTotals(
        {status: statuses[status] for status in STATUSES if status in statuses},
        tokens[0],
        tokens[1],
        None if held["cost_usd"].isna().all() else float(held["cost_usd"].sum()),
        min(reasons.index[reasons == reasons.max()], default=None),
    )
