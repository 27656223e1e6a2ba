"""A jury: the majority of earlier verdicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from mrb_lib.errors import InputError
from mrb_lib.judges.base import PromptlessJudge
from mrb_lib.judges.orders import KEYS, TIE, to_shown
from mrb_lib.runs.manifest import read_manifest
from mrb_lib.runs.store import load_verdicts, run_folders

NAME = "consensus-of"


class ConsensusJudge(PromptlessJudge):
    """The choice that most members made for the same case, dimension, order, repeat and probe.

    A member's null choice abstains; equal numbers of votes are a tie; where every
    member abstains the verdict is `unparsed`. A verdict waits until all members have one.

    Parameters
    ----------
    members : names of judges with runs under `runs`; empty for all of them but juries
    runs : the folder of runs

    Raises
    ------
    InputError
        A member has no run, or fewer than two are left.
    """

    def __init__(self, members: Sequence[str], runs: Path) -> None:
        self.name = f"{NAME}:{','.join(members)}" if members else NAME
        made = {manifest.run_id: manifest.judge for manifest in map(read_manifest, _folders(runs))}
        wanted = list(members) or sorted({judge for judge in made.values() if not judge.startswith(NAME)})
        missing = [member for member in wanted if member not in made.values()]
        if missing:
            raise InputError(f"{self.name}: {missing[0]} has no run under {runs}; run `mrb judge` with it first.")
        if len(wanted) < 2:
            raise InputError(f"{self.name}: needs at least two judges with runs under {runs}; run them first.")
        self.spec: Mapping[str, object] = {
            "members": wanted,
            "runs": sorted(run_id for run_id, judge in made.items() if judge in wanted),
        }
        votes = load_verdicts(runs)
        votes = votes[votes["judge"].str.split("@").str[0].isin(wanted) | votes["judge"].isin(wanted)]
        self._n_members = len(votes["judge"].unique())
        self._tally = _tally(votes)

    def judge(self, shown: pd.DataFrame) -> pd.DataFrame:
        """Look up the members' votes; rows that a member has not judged yet stay pending."""
        keys = shown[list(KEYS)]
        out = keys.merge(self._tally, on=list(KEYS), how="left")
        out = out[out["n_members"] == self._n_members].reset_index(drop=True)
        out["pick"] = to_shown(out["order"], out["choice"])
        out["status"] = np.where(out["choice"].isna(), "unparsed", "ok")
        return out[[*KEYS, "pick", "status"]]


def _folders(runs: Path) -> list[Path]:
    return run_folders(runs) if runs.is_dir() else []


def _tally(votes: pd.DataFrame) -> pd.DataFrame:
    """The majority choice and the number of members that have a row, for each key."""
    votes = votes.assign(a=votes["choice"] == "A", b=votes["choice"] == "B", t=votes["choice"] == TIE, n_members=1)
    table = votes.groupby(list(KEYS), as_index=False, sort=False)[["a", "b", "t", "n_members"]].sum()
    counts = table[["a", "b", "t"]].to_numpy()
    best = counts.max(axis=1)
    choice = np.array(["A", "B", TIE], dtype=object)[counts.argmax(axis=1)]
    choice[(counts == best[:, None]).sum(axis=1) > 1] = TIE
    table["choice"] = pd.Series(choice, dtype="str").where(pd.Series(best > 0))
    return table[[*KEYS, "choice", "n_members"]]
