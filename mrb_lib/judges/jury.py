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
from mrb_lib.runs.store import read_run, run_folders

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
        made = {folder: read_manifest(folder).judge for folder in (run_folders(runs) if runs.is_dir() else [])}
        wanted = list(members) or sorted({judge for judge in made.values() if not judge.startswith(NAME)})
        missing = [member for member in wanted if member not in made.values()]
        if missing:
            raise InputError(f"{self.name}: {missing[0]} has no run under {runs}; run `mrb judge` with it first.")
        if len(wanted) < 2:
            raise InputError(f"{self.name}: needs at least two judges with runs under {runs}; run them first.")
        members_runs = [folder for folder, judge in made.items() if judge in wanted]
        self.spec: Mapping[str, object] = {"members": wanted, "runs": [folder.name for folder in members_runs]}
        votes = [read_run(folder, [*KEYS, "choice"]) for folder in members_runs]
        self._n_members = len(votes)
        self._tally = _tally(pd.concat(votes, ignore_index=True))

    def judge(self, shown: pd.DataFrame) -> pd.DataFrame:
        """Look up the members' votes; rows that a member has not judged yet stay pending."""
        keys = shown[list(KEYS)]
        out = keys.merge(self._tally, on=list(KEYS), how="left")
        out = out[out["n_members"] == self._n_members].reset_index(drop=True)
        out["pick"] = to_shown(out["order"], out["choice"])
        out["status"] = np.where(out["choice"].isna(), "unparsed", "ok")
        return out[[*KEYS, "pick", "status"]]


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
