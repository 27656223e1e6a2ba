"""A jury: a verdict from the verdicts of other judges.

`consensus-of:a,b,c` takes the majority, `weighted-of:a=2,b=1` the larger weight, and
`escalate-of:2:a,b,c` asks a and b first and c only where they disagree.
"""

from __future__ import annotations

import json
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
_VOTES: Final = ("A", "B", TIE)
_ABSTAINS, _MISSING = -1, -2
_BOUNDS: Final = np.array([None, "at least", "at most"], dtype=object)  # by 0, 1 and -1
_LARGEST_WEIGHT: Final = 2**40
_HOW: Final = f"write {NAME}:a,b or {WEIGHTED}:a=2,b=1 or {ESCALATE}:2:a,b,c, each member once"


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
    return name.partition(":")[0] in (NAME, WEIGHTED, ESCALATE)


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
    if kind == NAME:
        members = _members(name, rest.split(","))
        return Composition("majority", members, (1,) * len(members), len(members))
    if kind == WEIGHTED:
        pairs = [entry.rpartition("=") for entry in rest.split(",")]
        members = _members(name, [member for member, _, _ in pairs])
        return Composition("weighted", members, _weights(name, [weight for _, _, weight in pairs]), len(members))
    first, _, rest = rest.partition(":")
    members = _members(name, rest.split(","))
    if not (first.isascii() and first.isdecimal() and 1 <= int(first) <= len(members)):
        raise InputError(f"judge {name!r}: asks the first {first!r} members of {len(members)}; {_HOW}.")
    return Composition("escalate", members, (1,) * len(members), int(first))


def _members(name: str, members: Sequence[str]) -> tuple[str, ...]:
    if not all(members) or len(set(members)) != len(members):
        raise InputError(f"judge {name!r}: a member is named twice or not at all; {_HOW}.")
    if len(members) < 2:
        raise InputError(f"judge {name!r}: needs at least two members; {_HOW}.")
    if any(is_jury(member) for member in members):
        raise InputError(f"judge {name!r}: a jury cannot be a member; name its members instead.")
    return tuple(members)


def _weights(name: str, texts: Sequence[str]) -> tuple[int, ...]:
    """Whole numbers in the same proportion, so that equal sums are equal: 0.1 + 0.2 is 0.3 here."""
    try:
        weights = [Fraction(text) for text in texts]
    except (ValueError, ZeroDivisionError) as error:
        raise InputError(f"judge {name!r}: a weight is not a number; {_HOW}.") from error
    whole = [int(weight * lcm(*(other.denominator for other in weights))) for weight in weights]
    if min(whole) <= 0 or max(whole) > _LARGEST_WEIGHT:
        raise InputError(f"judge {name!r}: weights must be more than 0 and of like size; {_HOW}.")
    return tuple(whole)


@dataclass(frozen=True)
class MemberVotes:
    """The members' votes on some rows, and the choice that follows.

    Attributes
    ----------
    votes : array of int with shape (n, members): 0 for A, 1 for B, 2 for a tie, -1 for no choice, -2 for no verdict
    p_a : array of float with shape (n, members); missing where a member gave none
    bound : array of int with shape (n, members): 1 where `p_a` is at least that, -1 where at most, 0 where exact
    choice : array of int with shape (n,), as in `votes`; meaningless where `waits`
    asked : array of int with shape (n,), how many members are asked, counted from the first
    waits : array of bool with shape (n,), whether one of those asked has no verdict
    """

    votes: np.ndarray
    p_a: np.ndarray
    bound: np.ndarray
    choice: np.ndarray
    asked: np.ndarray
    waits: np.ndarray

    def needs(self, member: int) -> np.ndarray:
        """Array of bool with shape (n,): where the verdict of a member is asked for and missing."""
        missing: np.ndarray = self.waits & (member < self.asked) & (self.votes[:, member] == _MISSING)
        return missing


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
    where all of them gave one; it may lean the other way than the votes. Where some of these are bounds it is a bound,
    and missing where they are bounds of both kinds. `reply` is a
    JSON object of the choices, in the case's own frame, of the members asked.

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
        self._verdicts: list[pd.DataFrame] = []
        self.members = parsed.members or tuple(self._folders)
        self._weights = np.array(parsed.weights or (1,) * len(self.members))
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
        tally = self.tally(shown)
        ready = ~tally.waits
        out = shown.loc[ready, list(KEYS)].reset_index(drop=True)
        choice = _as_text(tally.choice[ready])
        out["pick"] = choice_to_shown(out["order"], choice)
        mean, bound = self._mean(tally)
        out["p_first"] = probability_to_shown(out["order"], pd.Series(mean[ready]))
        in_frame = np.where(out["order"] == "AB", bound[ready], -bound[ready])
        out["p_first_bound"] = pd.Series(_BOUNDS[in_frame], dtype="str")
        out["reply"] = pd.Series(self._replies(tally)[ready], dtype="str")
        out["status"] = pd.Series(np.where(choice.isna(), "unparsed", "ok"), dtype="str")
        return out

    def tally(self, rows: pd.DataFrame) -> MemberVotes:
        """Count what was loaded.

        Parameters
        ----------
        rows : `case_id, dimension, order, repeat, probe`, each combination once
        """
        keys = rows[list(KEYS)]
        votes = np.empty((len(rows), len(self.members)), dtype=np.int64)
        p_a = np.empty((len(rows), len(self.members)))
        bound = np.empty((len(rows), len(self.members)), dtype=np.int64)
        for member, verdicts in enumerate(self._verdicts):
            matched = keys.merge(verdicts, on=list(KEYS), how="left")
            votes[:, member] = matched["vote"].fillna(_MISSING)
            p_a[:, member] = matched["p_a"]
            bound[:, member] = matched["bound"].fillna(0)
        if self.composition.rule == "escalate":
            return MemberVotes(votes, p_a, bound, *_escalate(votes, self.composition.first))
        everyone = np.full(len(votes), len(self.members))
        return MemberVotes(
            votes, p_a, bound, _largest(_counts(votes, self._weights)), everyone, (votes == _MISSING).any(axis=1)
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
        votes = self.tally(held).votes
        recorded = np.full(votes.shape, _MISSING)
        for row, reply in enumerate(held["reply"]):
            choices = json.loads(reply) if isinstance(reply, str) else {}
            for member, name in enumerate(self.members):
                if name in choices:
                    recorded[row, member] = _ABSTAINS if choices[name] is None else _VOTES.index(choices[name])
        changed = (votes != recorded) & (votes != _MISSING) & (recorded != _MISSING)
        anybody: np.ndarray = np.any(changed, axis=1)
        return anybody

    def _mean(self, tally: MemberVotes) -> tuple[np.ndarray, np.ndarray]:
        """`p_a` of the jury, and of which kind it is, as in `MemberVotes.bound`."""
        asked = np.arange(len(self.members)) < tally.asked[:, None]
        weights = np.where(asked, self._weights, 0)
        # A member that is not asked has no part in it, whether it gave a probability or not.
        mean: np.ndarray = (weights * np.where(asked, tally.p_a, 0.0)).sum(axis=1) / weights.sum(axis=1)
        is_lower, is_upper = (((tally.bound == kind) & asked).any(axis=1) for kind in (1, -1))
        mean[is_lower & is_upper] = np.nan
        return mean, np.where(np.isnan(mean), 0, is_lower.astype(np.int64) - is_upper)

    def _replies(self, tally: MemberVotes) -> np.ndarray:
        """The JSON of each row; many rows share theirs, so each is written once."""
        distinct, row = np.unique(np.column_stack([tally.asked, tally.votes]), axis=0, return_inverse=True)
        texts = []
        for asked, *votes in distinct:
            choices = {
                name: _VOTES[vote] if vote >= 0 else None
                for name, vote in zip(self.members[:asked], votes[:asked], strict=True)
            }
            texts.append(json.dumps(choices, ensure_ascii=False))
        return np.array(texts, dtype=object)[row.reshape(-1)]


def _read(folder: Path) -> pd.DataFrame:
    verdicts = read_run(folder, [*KEYS, "choice", "p_a", "p_a_bound"])
    vote = pd.Categorical(verdicts["choice"], categories=list(_VOTES)).codes
    bound = verdicts["p_a_bound"].map({"at least": 1.0, "at most": -1.0}).astype(float)
    return verdicts.assign(vote=vote.astype(np.int64), bound=bound).drop(columns=["choice", "p_a_bound"])


def _counts(votes: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The weight of A, B and tie in each row, shape (n, 3)."""
    return np.column_stack([((votes == choice) * weights).sum(axis=1) for choice in range(len(_VOTES))])


def _largest(counts: np.ndarray) -> np.ndarray:
    """The choice with the largest count; a tie where several share it; an abstention where there is none."""
    best = counts.max(axis=1)
    shared = (counts == best[:, None]).sum(axis=1) > 1
    choice = np.where(shared, _VOTES.index(TIE), counts.argmax(axis=1))
    return np.where(best > 0, choice, _ABSTAINS)


def _escalate(votes: np.ndarray, first: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Choice, number of members asked, and whether one of them is missing; see `MemberVotes`."""
    n, members = votes.shape
    choice, asked, waits = np.full(n, _ABSTAINS), np.full(n, first), np.zeros(n, dtype=bool)
    is_open = np.ones(n, dtype=bool)
    for stage in range(first, members + 1):
        asked[is_open] = stage
        missing = is_open & (votes[:, :stage] == _MISSING).any(axis=1)
        waits |= missing
        is_open &= ~missing
        counts = _counts(votes[:, :stage], np.ones(stage, dtype=np.int64))
        best, total = counts.max(axis=1), counts.sum(axis=1)
        enough = best == total if stage == first else 2 * best > total
        settled = is_open & (((best > 0) & enough) | (stage == members))
        choice[settled] = _largest(counts)[settled]
        is_open &= ~settled
    return choice, asked, waits


def _as_text(choice: np.ndarray) -> pd.Series:
    names = np.array([*_VOTES, None], dtype=object)
    return pd.Series(names[choice], dtype="str")
