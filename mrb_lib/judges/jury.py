"""A jury: a verdict from the verdicts of other judges.

`consensus-of:a,b,c` takes the majority, `weighted-of:a=2,b=1` the larger weight, and
`escalate-of:2:a,b,c` asks a and b first and c only where they disagree.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from pathlib import Path
from typing import Final, Literal

import numpy as np
import pandas as pd

from mrb_lib.tables.errors import InputError
from mrb_lib.verdicts.orders import KEYS, TIE, choice_to_shown, probability_to_shown
from mrb_lib.verdicts.protocol import PromptlessJudge
from mrb_lib.verdicts.store import read_run

JuryRule = Literal["majority", "weighted", "escalate"]

NAME: Final = "consensus-of"
WEIGHTED: Final = "weighted-of"
ESCALATE: Final = "escalate-of"
_MISSING: Final = ""
_LARGEST_WEIGHT: Final = 2**40
_RULES: Final[Mapping[str, JuryRule]] = {NAME: "majority", WEIGHTED: "weighted", ESCALATE: "escalate"}
_HOW: Final = (
    f"write {NAME}:a,b or {WEIGHTED}:a=2,b=1 or {ESCALATE}:2:a,b,c, with at least two judges, each named once, and "
    "weights of similar size"
)


@dataclass(frozen=True)
class Composition:
    """The composition of a jury, as its name says.

    Attributes
    ----------
    members : judges' names, in the order to ask them; none for all that have runs
    weights : one positive whole number a member, in the proportion that was written
    first : how many members are asked at once; the others one by one ("escalate" only)
    """

    rule: JuryRule
    members: tuple[str, ...]
    weights: tuple[int, ...]
    first: int


def is_jury(name: str) -> bool:
    """Return whether a name is that of a jury, well-formed or not."""
    return name.partition(":")[0] in _RULES


def parse_jury(name: str) -> Composition | None:
    """Return the composition that a jury's name says; None if it is not a jury's.

    Raises
    ------
    InputError
        It is a jury's name, but not a well-formed one.
    """
    if not is_jury(name):
        return None
    if name == NAME:
        return Composition("majority", (), (), 0)
    kind, _, rest = name.partition(":")
    first, _, rest = rest.partition(":") if kind == ESCALATE else ("", "", rest)
    entries = [entry.rpartition("=")[::2] if kind == WEIGHTED else (entry, "1") for entry in rest.split(",")]
    members = tuple(member for member, _ in entries)
    try:
        # Whole numbers in the same proportion, so that equal sums are equal: 0.1 + 0.2 is 0.3 here.
        # Without an exponent, which could ask for more digits than the memory holds.
        weights = [Fraction(weight if re.fullmatch("[0-9./]{1,25}", weight) else 0) for _, weight in entries]
        whole = tuple(int(weight * lcm(*(other.denominator for other in weights))) for weight in weights)
    except (ValueError, ZeroDivisionError):
        whole = (0,)
    n_first = len(members) if kind != ESCALATE else int(first) if re.fullmatch("[0-9]{1,9}", first) else 0
    are_judges = all(members) and 2 <= len(set(members)) == len(members) and not any(map(is_jury, members))
    if not (are_judges and min(whole) > 0 and max(whole) <= _LARGEST_WEIGHT and 1 <= n_first <= len(members)):
        raise InputError(f"judge {name!r}: is not a well-formed jury; {_HOW}.")
    return Composition(_RULES[kind], members, whole, n_first)


@dataclass(frozen=True)
class _Tally:
    """The votes of the members on a row: None abstains, `_MISSING` has no verdict yet; what follows, who was asked."""

    votes: tuple[str | None, ...]
    p_a: tuple[float, ...]
    choice: str | None
    n_asked: int
    waits: bool


class Jury(PromptlessJudge):
    """A verdict from the members' verdicts on the same case, dimension, order, repeat and probe.

    A member's null choice abstains, whatever its weight. The rules:

    - majority, weighted: the choice with the most votes (the largest weight); equal ones are a tie.
    - escalate: where all choices of the first members agree, and there is one, that is
      the verdict. Elsewhere the next member is asked, and then the next, until more
      than half of the choices of all asked are the same. After the last, the choice
      with the most votes; equal ones are a tie.

    Where every member abstains the verdict is `unparsed`. A verdict waits until all
    members asked have one. `p_a` is the (weighted) mean over the members asked, given
    where all of them gave one that is no mere bound; it may lean the other way than the votes. `reply` is a JSON object
    of the choices, in the case's own frame, of the members asked.

    Validated by tests/judges/test_jury.py.

    Parameters
    ----------
    name : well-formed, see `parse_jury`
    members : where each member's verdicts lie, by the member's name; empty while that is not
        known, when the jury cannot judge. See `mrb_lib.runs.juries`
    """

    def __init__(self, name: str, members: Mapping[str, Path] | None = None) -> None:
        parsed = parse_jury(name)
        if parsed is None:
            raise InputError(f"judge {name!r}: is not a jury; {_HOW}.")
        self.name = name
        self.composition = parsed
        self._folders = dict(members or {})
        self._verdicts: list[dict[tuple[object, ...], tuple[str | None, float]]] = []
        self.members = parsed.members or tuple(self._folders)
        self._weights = parsed.weights or (1,) * len(self.members)
        self.spec: Mapping[str, object] = {
            "rule": parsed.rule,
            "members": list(self.members),
            "runs": [self._folders[member].name for member in self.members if member in self._folders],
            **({"weights": list(parsed.weights)} if parsed.rule == "weighted" else {}),
            **({"first": parsed.first} if parsed.rule == "escalate" else {}),
        }

    def load(self) -> None:
        """Read what the members have said so far."""
        self._verdicts = [_read(self._folders[member]) for member in self.members]

    def judge(self, shown: pd.DataFrame) -> pd.DataFrame:
        """Look up and count the members' votes; see `Judge.judge`."""
        tallies = self._tallies(shown)
        ready = [not tally.waits for tally in tallies]
        counted = [tally for tally in tallies if not tally.waits]
        out = shown.loc[ready, list(KEYS)].reset_index(drop=True)
        choice = pd.Series([tally.choice for tally in counted], dtype="str")
        out["pick"] = choice_to_shown(out["order"], choice)
        out["p_first"] = probability_to_shown(out["order"], pd.Series(map(self._mean, counted), dtype=float))
        replies = [dict(zip(self.members[: one.n_asked], one.votes, strict=False)) for one in counted]
        out["reply"] = pd.Series([json.dumps(reply, ensure_ascii=False) for reply in replies], dtype="str")
        out["status"] = pd.Series(np.where(choice.isna(), "unparsed", "ok"), dtype="str")
        return out

    def needs(self, rows: pd.DataFrame, member: int) -> np.ndarray:
        """Return for each row whether the verdict of a member, by its place, is asked for and missing.

        Parameters
        ----------
        rows : `case_id, dimension, order, repeat, probe`, each combination once
        """
        return np.array(
            [one.waits and member < one.n_asked and one.votes[member] == _MISSING for one in self._tallies(rows)],
            dtype=bool,
        )

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
        for tally, reply in zip(self._tallies(held), held["reply"], strict=True):
            said = json.loads(reply) if isinstance(reply, str) else {}
            now = zip(self.members, tally.votes, strict=True)
            changed.append(any(name in said and vote not in (_MISSING, said[name]) for name, vote in now))
        return np.array(changed, dtype=bool)

    def _tallies(self, rows: pd.DataFrame) -> list[_Tally]:
        tallies = []
        for key in zip(*(rows[name] for name in KEYS), strict=True):
            found = [verdicts.get(key, (_MISSING, np.nan)) for verdicts in self._verdicts]
            votes = tuple(vote for vote, _ in found)
            n_first = self.composition.first or len(votes)
            tallies.append(_Tally(votes, tuple(p_a for _, p_a in found), *_decided(votes, self._weights, n_first)))
        return tallies

    def _mean(self, tally: _Tally) -> float:
        return float(np.average(tally.p_a[: tally.n_asked], weights=self._weights[: tally.n_asked]))


def _read(folder: Path) -> dict[tuple[object, ...], tuple[str | None, float]]:
    """Return the choice and the probability of each verdict of a run, by its key."""
    verdicts = read_run(folder, [*KEYS, "choice", "p_a", "p_a_bound"])
    keys = zip(*(verdicts[name] for name in KEYS), strict=True)
    choices = verdicts["choice"].astype(object).where(verdicts["choice"].notna(), None)
    exact = verdicts["p_a"].astype(float).where(verdicts["p_a_bound"].isna())
    return dict(zip(keys, zip(choices, exact, strict=True), strict=True))


def _decided(votes: Sequence[str | None], weights: Sequence[int], n_first: int) -> tuple[str | None, int, bool]:
    """Return the choice, the number of members asked, and whether one of them has no verdict yet."""
    for n_asked in range(n_first, len(votes) + 1):
        if _MISSING in votes[:n_asked]:
            return None, n_asked, True
        counts: dict[str, int] = {}
        for vote, weight in zip(votes[:n_asked], weights, strict=False):
            if vote is not None:
                counts[vote] = counts.get(vote, 0) + weight
        best, total = max(counts.values(), default=0), sum(counts.values())
        enough = best == total if n_asked == n_first else 2 * best > total
        if n_asked == len(votes) or (best and enough):
            break
    leading = [vote for vote, count in counts.items() if count == best]
    return (leading[0] if len(leading) == 1 else TIE) if leading else None, n_asked, False
