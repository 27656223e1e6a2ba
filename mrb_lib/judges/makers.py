"""Tasks about rankings and rubrics, and the maker of tasks for each kind of prompt.

**Rankings.** Each item and repeat has two prompts: the responses in an order that is drawn from the seed and rotated by
one place with each repeat, and the same order backwards. Every pair so stands once in each order, and a row is answered
by the prompt in which the response that it shows first stands before the other.

**Rubrics.** Each response is checked alone against the criteria; the response with more points wins.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, cast

from mrb_lib.judges.context import Record, image_names, rubric_of
from mrb_lib.judges.prompts import RANKED, RANKINGS, Prompt
from mrb_lib.judges.settings import Settings
from mrb_lib.judges.tasks import (
    Columns,
    Reply,
    Rows,
    Task,
    TaskMaker,
    object_schema,
    responses_of,
)
from mrb_lib.replies.criteria import MET, NOT_MET, parse_criteria
from mrb_lib.replies.rankings import RankingReading, parse_rankings
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.rubrics import Criterion, counted, points
from mrb_lib.tables.schema import Status
from mrb_lib.verdicts.orders import ITEM_RESPONSES, TIE, pick_of
from mrb_lib.verdicts.protocol import VerdictRows

SAME_TEXT: Final = "its two responses are the same text, which a ranking cannot tell apart"


def lineup_of(row: Record, seed: int) -> list[str]:
    """Return the responses that the prompt about a row shows, in order.

    Parameters
    ----------
    row : see `mrb_lib.verdicts.protocol.Judge.judge`; `item_responses` has all responses to its item, in any order and
        more than once or not. Without it, or with fewer, the two of the row are all
    """
    named = row.get(ITEM_RESPONSES)
    others = named if isinstance(named, Iterable) and not isinstance(named, str) else []
    texts = {str(text) for text in (*others, *responses_of(row))}
    drawn = sorted(texts, key=lambda text: _digest(str(seed), *_beside(row), text))
    turn = int(str(row["repeat"])) % len(drawn)
    order = drawn[turn:] + drawn[:turn]
    first, second = map(order.index, responses_of(row))
    return order if first <= second else order[::-1]


def _beside(row: Record) -> list[str]:
    """Return what the prompts of an item show besides the responses."""
    return [str(row.get(name)) for name in ("question", "reference")] + image_names(row)


def _digest(*texts: str) -> str:
    joined = "\0".join(texts).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(joined, digest_size=16).hexdigest()


@dataclass(frozen=True)
class RankingMaker(TaskMaker):
    """Makes tasks about all responses to an item, whose rankings are read as verdicts of pairs.

    See `lineup_of` for the order in which the responses are shown.
    """

    def is_whole(self, task: Task, reply: Reply) -> bool:
        """See `TaskMaker.is_whole`."""
        read = list(self._ranking(task, reply).places.values())
        has_ties = any(len(set(places)) < len(places) for places in read if places is not None)
        return not reply.is_refused and None not in read and (TIE in self.settings.choices or not has_ties)

    def put(self, rows: VerdictRows, task: Task, reply: Reply, columns: Columns | None = None) -> None:
        """See `TaskMaker.put`."""
        if reply.problem is not None or reply.is_refused:
            super().put(rows, task, reply)
            return
        reading, took = self._ranking(task, reply), reply.took
        for position, row in task.rows:
            dimension, error = str(row["dimension"]), None
            status: Status = reading.status_of(dimension)
            places = reading.places[dimension]
            first, second = map(task.responses.index, responses_of(row))
            pick = None if places is None else pick_of(places[second], places[first])
            if first == second:
                pick, status, error = None, "error", SAME_TEXT
            elif pick == TIE and TIE not in self.settings.choices:
                pick, status = None, "unparsed"
            rows.put(position, status, pick, error=error, reply=reply.kept, **took)
            took = {}

    def _key(self, row: Record) -> tuple[str, ...]:
        seed = self.settings.seed
        shown = _digest(str(seed), *_beside(row), str(row["repeat"]), str(row["probe"]), *lineup_of(row, seed))
        return (shown, str(row["dimension"])) if self.prompt.asks == "ranking" else (shown,)

    def _of_group(self, rows: Rows) -> Iterator[Task]:
        yield self._task(rows, dimension=str(rows[0][1]["dimension"]) if self.prompt.asks == "ranking" else "")

    def _responses(self, row: Record) -> list[str]:
        responses = lineup_of(row, self.settings.seed)
        if len(responses) < 2:
            raise InputError(SAME_TEXT)
        if len(responses) > len(RANKED):
            raise InputError(
                f"its item has {len(responses)} different responses, and one prompt ranks {len(RANKED)} at most; "
                "judge pairs, without +batch"
            )
        return responses

    def _ranking(self, task: Task, reply: Reply) -> RankingReading:
        return parse_rankings(reply.text, task.asked, len(task.responses), is_cut_off=reply.is_cut_off)

    def _value_schema(self, task: Task, offered: Sequence[str]) -> Mapping[str, object]:
        """Return that of a list of letters, with lists of equal ones in it where a tie may be."""
        letter = {"type": "string", "enum": list(RANKED[: len(task.responses)])}
        items = {"anyOf": [letter, {"type": "array", "items": letter}]} if TIE in offered else letter
        return {"type": "array", "items": items}


def put_points(
    rows: VerdictRows,
    position: int,
    dimension: str,
    criteria: Sequence[Criterion],
    shown: Sequence[Sequence[float | None]],
    choices: Sequence[str],
    status: Status = "ok",
    **values: object,
) -> None:
    """State the verdict of a row: the response with more points, a tie where they are equal.

    A row in which a criterion that counts is not decided is `unparsed` (`refused` where `status` is), and so is one of
    equal points where the benchmark has no tie. Points are compared as they are, without tolerance.

    Parameters
    ----------
    shown : what was decided of the response shown first, and of the second: of each criterion 1 where it is met, 0
        where not, or the probability that it is; None where nothing was decided
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


def _json(met: Sequence[float | None]) -> str:
    return json.dumps([int(each) if each in (0, 1) else each for each in met])


@dataclass(frozen=True)
class ChecklistMaker(TaskMaker):
    """Makes one task for each response of a case, which is checked against the criteria of the case's rubric.

    Both orders share the replies. The verdicts come with the last reply, at the cost of all; without one of the replies
    a case has no verdict.
    """

    def is_whole(self, task: Task, reply: Reply) -> bool:
        """See `TaskMaker.is_whole`."""
        return not reply.is_refused and None not in _met(reply, rubric_of(task.record))[0]

    def put(self, rows: VerdictRows, task: Task, reply: Reply, columns: Columns | None = None) -> None:
        """Keep what came of a task, and state the verdicts once all tasks of the case are done."""
        task.joint[task.place] = reply
        replies = [one for one in task.joint if one is not None]
        if len(replies) < len(task.joint):
            return
        took, pair = _cost(replies), [replies[0], replies[-1]]
        for one in pair:
            if one.problem is not None:
                super().put(rows, task, replace(one, took=took))
                return
        criteria, order, choices = rubric_of(task.record), task.record["order"], self.settings.choices
        read = [(one.kept, *_met(one, criteria)) for one in pair]
        statuses = {status for _, _, status in read}
        # What is decided was read; what is not makes a row unparsed.
        status: Status = "refused" if "refused" in statuses else "ok" if statuses == {"ok"} else "repaired"
        for position, row in task.rows:
            (first, met_first, _), (second, met_second, _) = read if row["order"] == order else read[::-1]
            kept = f"response shown first:\n{first}\n\nresponse shown second:\n{second}"
            met, dimension = (met_first, met_second), str(row["dimension"])
            put_points(rows, position, dimension, criteria, met, choices, status, reply=kept, **took)
            took = {}

    def schema(self, task: Task) -> Mapping[str, object]:
        """Return the JSON schema of a decision per criterion, by its number."""
        decision = {"type": "string", "enum": [MET, NOT_MET]}
        return object_schema({str(place): decision for place in range(1, len(rubric_of(task.record)) + 1)})

    def _key(self, row: Record) -> tuple[str, ...]:
        return str(row["case_id"]), str(row["repeat"]), str(row["probe"])

    def _of_group(self, rows: Rows) -> Iterator[Task]:
        responses = list(dict.fromkeys(responses_of(rows[0][1])))
        joint: list[Reply | None] = [None] * len(responses)
        for place, response in enumerate(responses):
            yield replace(self._task(rows, response=response), joint=joint, place=place)


def _met(reply: Reply, criteria: Sequence[Criterion]) -> tuple[list[float | None], Status]:
    """Return what a reply decides: 1 where a criterion is met, 0 where not, None where that is not decided."""
    if reply.is_refused:
        return [None] * len(criteria), "refused"
    reading = parse_criteria(reply.text, len(criteria), is_cut_off=reply.is_cut_off)
    said = [reading.choices[str(number)] for number in range(1, len(criteria) + 1)]
    return [None if each is None else float(each == MET) for each in said], reading.status


def _cost(replies: Sequence[Reply]) -> dict[str, object]:
    """Return the cost of replies together; unknown where it is unknown of one."""
    took: dict[str, object] = {}
    for name in dict.fromkeys(name for reply in replies for name in reply.took):
        values = cast("list[float | None]", [reply.took[name] for reply in replies if name in reply.took])
        known = [value for value in values if value is not None]
        took[name] = sum(known) if len(known) == len(values) else None
    return took


def task_maker(prompt: Prompt, settings: Settings, *, sees: bool, marks: re.Pattern[str] | None = None) -> TaskMaker:
    """Return the maker of tasks for a prompt; see `PromptWriter` for the parameters."""
    kind = ChecklistMaker if prompt.checks else RankingMaker if prompt.asks in RANKINGS else TaskMaker
    return kind(prompt, settings, sees, marks)
