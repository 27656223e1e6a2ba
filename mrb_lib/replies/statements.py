"""Statements of a reply, and which of them are its verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Statement:
    """Choices made together: by one object, one table, one labelled line, one sentence.

    Attributes
    ----------
    choices : by dimension: A, B, tie, or None where it speaks about the dimension but
        without a readable or an unambiguous choice
    firm : written as a verdict (an object, a table, a label, `[[A]]`), not said in passing
    """

    choices: Mapping[str, str | None]
    firm: bool


def last_verdict(statements: Sequence[Statement], dimensions: Sequence[str]) -> dict[str, str]:
    """The last complete verdict, or the last partial one where none is complete.

    A verdict is a run of statements that name no dimension twice; a statement about a
    dimension that the run already has ends what came before it. Remarks in passing do
    not count on dimensions for which there is a firm statement: an explanation that
    concedes a point to A after a verdict for B is no verdict for A.
    """
    run = _runs(_weighed(statements))
    newest: dict[str, int] = {}
    chosen: dict[str, tuple[int, str]] = {}
    start, complete = 0, None
    for at, statement in enumerate(run):
        for name, choice in statement.choices.items():
            start = max(start, newest.get(name, -1) + 1)
            newest[name] = at
            if choice is not None:
                chosen[name] = (at, choice)
        if all(name in chosen and chosen[name][0] >= start for name in dimensions):
            complete = {name: chosen[name][1] for name in dimensions}
    if complete is not None:
        return complete
    return {name: choice for name, (at, choice) in chosen.items() if at >= start}


def _weighed(statements: Sequence[Statement]) -> list[Statement]:
    """Without empty statements, and without remarks on what is stated firmly."""
    told = [s for s in statements if any(s.choices.values())]
    firm = {name for s in told if s.firm for name, choice in s.choices.items() if choice is not None}
    weighed = []
    for statement in told:
        kept = {name: c for name, c in statement.choices.items() if statement.firm or name not in firm}
        if kept:
            weighed.append(Statement(kept, statement.firm))
    return weighed


def _runs(statements: Sequence[Statement]) -> list[Statement]:
    """Without statements that the next one replaces: a section that weighs A, then settles on B, says B."""
    kept: list[Statement] = []
    for statement in statements:
        if kept and len(statement.choices) == 1 and kept[-1].choices.keys() == statement.choices.keys():
            kept.pop()
        kept.append(statement)
    return kept
