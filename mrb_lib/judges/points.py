"""Rubric verdicts: each response checked alone against criteria; the response with more points wins."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mrb_lib.replies.criteria import MET, parse_criteria
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.rubrics import Criterion, counted, points, read_rubric
from mrb_lib.tables.schema import Status
from mrb_lib.verdicts.orders import TIE, pick_of
from mrb_lib.verdicts.protocol import VerdictRows

Met = Sequence[float | None]
"""Of each criterion 1 where it is met, 0 where not, or the probability that it is; None where nothing was decided."""


@dataclass(frozen=True)
class Checked:
    """The decisions of a reply about one response; of equal responses there is one reply.

    Attributes
    ----------
    met : see `Met`
    status : of the reply: "ok", "repaired", "unparsed" or "refused"
    reply : its text
    """

    met: Met
    status: Status
    reply: str


def rubric_of(row: Mapping[str, object]) -> tuple[Criterion, ...]:
    """The criteria of a case; `InputError` where it has none."""
    stated = row.get("rubric")
    if not isinstance(stated, str):
        raise InputError("the judge decides the criteria of a rubric, and the case has none (column rubric)")
    return read_rubric(stated)


def read_checks(reply: str, n: int, *, refused: bool = False, is_cut_off: bool = False) -> Checked:
    """Return the decisions of a reply on `n` criteria; none of one in which the model refused."""
    if refused:
        return Checked([None] * n, "refused", reply)
    reading = parse_criteria(reply, n, is_cut_off=is_cut_off)
    said = [reading.choices[str(number)] for number in range(1, n + 1)]
    return Checked([None if each is None else float(each == MET) for each in said], reading.status, reply)


def put_points(
    rows: VerdictRows,
    position: int,
    dimension: str,
    criteria: Sequence[Criterion],
    shown: Sequence[Met],
    choices: Sequence[str],
    status: Status = "ok",
    **values: object,
) -> None:
    """State the verdict of a row: the response with more points, a tie where they are equal.

    A row in which a criterion that counts is not decided is `unparsed` (`refused` where `status` is), and so is one of
    equal points where the benchmark has no tie. Points are compared as they are, without tolerance.

    Parameters
    ----------
    shown : what was decided of the response shown first, and of the second
    choices : those of A, B and tie that the benchmark has
    status : of the replies
    """
    places = counted(criteria, dimension)
    weights = [criteria[place].weight for place in places]
    if not any(weight > 0 for weight in weights):
        why = f"no criterion of the rubric has a positive weight and counts for {dimension}"
        rows.put(position, "error", None, error=why, **values)
        return
    first, second = ([float(f"{each:.9g}") if each is not None else None for each in met] for met in shown)
    values |= {"criteria_first": _json(first), "criteria_second": _json(second)}
    decided = [[each for place in places if (each := met[place]) is not None] for met in shown]
    open_ = [str(place + 1) for place in places if None in (first[place], second[place])]
    if open_:
        what = f"criterion {open_[0]} has" if len(open_) == 1 else f"criteria {', '.join(open_)} have"
        undecided: Status = "refused" if status == "refused" else "unparsed"
        rows.put(position, undecided, None, error=f"{what} no decision", **values)
        return
    one, two = (points(weights, met) for met in decided)
    pick = pick_of(one, two)
    values |= {"score_first": one, "score_second": two}
    if pick == TIE and TIE not in choices:
        rows.put(position, "unparsed", None, error="the points are equal, and the benchmark has no tie", **values)
    else:
        rows.put(position, status, pick, **values)


def _json(met: Met) -> str:
    return json.dumps([int(each) if each in (0, 1) else each for each in met])
