"""The rows that a judge hands back, filled in one by one, none of them forgotten."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np
import pandas as pd

from mrb_lib.errors import RunError
from mrb_lib.schema import Status
from mrb_lib.verdicts.orders import KEYS

_TEXTS: Final = ("pick", "status", "reply", "error")
_NUMBERS: Final = (
    "p_first",
    "score_first",
    "score_second",
    "answer_mass",
    "latency_s",
    "prompt_tokens",
    "completion_tokens",
)


class VerdictRows:
    """The verdicts of a batch.

    Parameters
    ----------
    shown : the rows asked for; a row is named by its position in them
    """

    def __init__(self, shown: pd.DataFrame) -> None:
        self._keys = shown[list(KEYS)].reset_index(drop=True)
        self._rows: list[dict[str, object] | None] = [None] * len(shown)

    def put(self, position: int, status: Status, pick: str | None, **values: object) -> None:
        """State a row's verdict; `values` are further columns of `Judge.judge`, None where there is nothing."""
        self._rows[position] = {"status": status, "pick": pick, **values}

    def fail(self, positions: Iterable[int], reason: str) -> None:
        """State that rows could not be judged, and why."""
        for position in positions:
            self.put(position, "error", None, error=reason)

    def frame(self) -> pd.DataFrame:
        """The rows in the order asked for, with every column of `Judge.judge` that holds anything.

        Raises
        ------
        RunError
            A row has not been stated.
        """
        rows = [row for row in self._rows if row is not None]
        if len(rows) != len(self._rows):
            raise RunError(f"{len(self._rows) - len(rows)} rows got neither a verdict nor a reason; report this.")
        out = self._keys.copy()
        for name in _TEXTS:
            if name in ("pick", "status", "error") or _any(rows, name):
                out[name] = pd.Series([row.get(name) for row in rows], dtype="str")
        for name in _NUMBERS:
            if _any(rows, name):
                out[name] = np.array([np.nan if row.get(name) is None else row[name] for row in rows], dtype=float)
        return out


def _any(rows: Sequence[dict[str, object]], name: str) -> bool:
    return any(row.get(name) is not None for row in rows)
