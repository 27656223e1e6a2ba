"""The verdict of a judge that decides the criteria of a rubric, each response alone: points and the higher of them."""

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
    """What a reply says of one response; of equal responses there is one reply.

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
    """What a reply decides of `n` criteria; nothing of one in which the model refused."""
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


def put_replies(
    rows: VerdictRows,
    asked: Sequence[tuple[int, str, str]],
    criteria: Sequence[Criterion],
    checked: Sequence[Checked],
    order: str,
    choices: Sequence[str],
    took: Mapping[str, object],
) -> None:
    """State the verdicts of all rows of a case that its replies answer, one a response; what they took on the first.

    Parameters
    ----------
    asked : position, dimension and order of each row
    checked : of the responses in the order `order`; of one alone where the two are equal
    """
    pair = [checked[0], checked[-1]]
    statuses = {each.status for each in pair}
    status: Status = next(one for one in ("refused", "unparsed", "repaired", "ok") if one in statuses)
    status = (
        "repaired" if status == "unparsed" else status
    )  # what is decided was read; what is not makes a row unparsed
    for position, dimension, own in asked:
        shown = pair if own == order else pair[::-1]
        reply = f"response shown first:\n{shown[0].reply}\n\nresponse shown second:\n{shown[1].reply}"
        put_points(
            rows, position, dimension, criteria, [each.met for each in shown], choices, status, reply=reply, **took
        )
        took = {}


def _json(met: Met) -> str:
    return json.dumps([int(each) if each in (0, 1) else each for each in met])
