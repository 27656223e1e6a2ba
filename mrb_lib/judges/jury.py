"""A jury: the majority of the verdicts of other judges, as `consensus-of:a,b,c`."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd

from mrb_lib.tables.errors import InputError
from mrb_lib.verdicts.orders import KEYS, TIE, choice_to_shown, probability_to_shown
from mrb_lib.verdicts.protocol import PromptlessJudge
from mrb_lib.verdicts.store import read_run

NAME: Final = "consensus-of"

_Vote = tuple[str | None, float]
"""A member's choice, null where it abstains, and its probability that A is better."""


def is_jury(name: str) -> bool:
    """Return whether a name is that of a jury, well-formed or not."""
    return name.partition(":")[0] == NAME


def parse_jury(name: str) -> tuple[str, ...] | None:
    """Return the members that a jury's name lists, none for all that have runs; None if it is not a jury's.

    Raises
    ------
    InputError
        It is a jury's name, but not a well-formed one.
    """
    if not is_jury(name):
        return None
    if name == NAME:
        return ()
    members = tuple(name.removeprefix(f"{NAME}:").split(","))
    if not (all(members) and 2 <= len(set(members)) == len(members)) or any(map(is_jury, members)):
        raise InputError(
            f"judge {name!r}: is not a well-formed jury; write {NAME}:a,b with at least two judges, each named once."
        )
    return members


class Jury(PromptlessJudge):
    """The majority of the members' verdicts on the same case, dimension, order, repeat and probe.

    A member's null choice abstains. The choice with the most votes is the verdict; equal ones are a tie, and where
    every member abstains it is `unparsed`. A verdict waits until all members have one. `p_a` is the mean over the
    members, given where all of them gave one that is no mere bound; it may lean the other way than the votes. `reply`
    is a JSON object of the members' choices, in the case's own frame.

    Validated by tests/judges/test_jury.py.

    Parameters
    ----------
    name : well-formed, see `parse_jury`
    members : where each member's verdicts lie, by the member's name; empty while that is not
        known, when the jury cannot judge. See `mrb_lib.runs.juries`
    """

    def __init__(self, name: str, members: Mapping[str, Path] | None = None) -> None:
        self.name, self._folders = name, dict(members or {})
        self._verdicts: list[dict[tuple[object, ...], _Vote]] = []
        self.members = parse_jury(name) or tuple(self._folders)
        runs = [self._folders[member].name for member in self.members if member in self._folders]
        self.spec: Mapping[str, object] = {"rule": "majority", "members": list(self.members), "runs": runs}

    def load(self) -> None:
        """Read what the members have said so far."""
        self._verdicts = [_read(self._folders[member]) for member in self.members]

    def judge(self, shown: pd.DataFrame) -> pd.DataFrame:
        """Look up and count the members' votes; see `Judge.judge`."""
        votes = self._votes(shown)
        out = shown.loc[[None not in own for own in votes], list(KEYS)].reset_index(drop=True)
        choices, p_a, replies = list[str | None](), list[float](), list[str]()
        for own in votes:
            said = [vote for vote in own if vote is not None]
            if len(said) == len(own):
                choices.append(_majority([choice for choice, _ in said]))
                p_a.append(float(np.mean([p for _, p in said])))
                named = zip(self.members, (choice for choice, _ in said), strict=True)
                replies.append(json.dumps(dict(named), ensure_ascii=False))
        choice = pd.Series(choices, dtype="str")
        out["pick"] = choice_to_shown(out["order"], choice)
        out["p_first"] = probability_to_shown(out["order"], pd.Series(p_a, dtype=float))
        out["reply"] = pd.Series(replies, dtype="str")
        out["status"] = pd.Series(np.where(choice.isna(), "unparsed", "ok"), dtype="str")
        return out

    def needs(self, rows: pd.DataFrame, member: int) -> np.ndarray:
        """Return for each row whether the verdict of a member, by its place, is missing.

        Parameters
        ----------
        rows : `case_id, dimension, order, repeat, probe`, each combination once
        """
        return np.array([own[member] is None for own in self._votes(rows)], dtype=bool)

    def outdated(self, held: pd.DataFrame) -> np.ndarray:
        """Return which of this jury's verdicts rest on choices that their members have changed since.

        Parameters
        ----------
        held : `case_id, dimension, order, repeat, probe, reply`

        Returns
        -------
        array of bool with shape (rows,)
            A member's verdict that is missing now has not changed.
        """
        changed = []
        for own, reply in zip(self._votes(held), held["reply"], strict=True):
            said = json.loads(reply) if isinstance(reply, str) else {}
            now = zip(self.members, own, strict=True)
            changed.append(any(name in said and vote is not None and vote[0] != said[name] for name, vote in now))
        return np.array(changed, dtype=bool)

    def _votes(self, rows: pd.DataFrame) -> list[list[_Vote | None]]:
        """Return the members' votes on each row; None where a member has no verdict yet."""
        keys = zip(*(rows[name] for name in KEYS), strict=True)
        return [[verdicts.get(key) for verdicts in self._verdicts] for key in keys]


def _read(folder: Path) -> dict[tuple[object, ...], _Vote]:
    """Return the choice and the probability of each verdict of a run, by its key."""
    verdicts = read_run(folder, [*KEYS, "choice", "p_a", "p_a_bound"])
    keys = zip(*(verdicts[name] for name in KEYS), strict=True)
    choices = verdicts["choice"].astype(object).where(verdicts["choice"].notna(), None)
    exact = verdicts["p_a"].astype(float).where(verdicts["p_a_bound"].isna())
    return dict(zip(keys, zip(choices, exact, strict=True), strict=True))


def _majority(choices: Sequence[str | None]) -> str | None:
    """Return the choice with the most votes, a tie where several have; None where every member abstains."""
    counts = Counter(choice for choice in choices if choice is not None)
    leading = [choice for choice, count in counts.items() if count == max(counts.values())]
    return None if not leading else leading[0] if len(leading) == 1 else TIE
