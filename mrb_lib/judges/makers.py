"""Tasks whose replies are no plain choice: rankings of all responses to an item, and checks against a rubric.

**Rankings.** Each item and repeat has two prompts: the responses in an order that is drawn from the seed and rotated by
one place with each repeat, and the same order backwards. Every pair so stands once in each order, and a row is answered
by the prompt in which the response that it shows first stands before the other.

**Rubrics.** Each response is checked alone against the criteria; the response with more points wins.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, cast

import numpy as np
import pandas as pd

from mrb_lib.judges.prompts import RANKED, RANKINGS, Prompt
from mrb_lib.judges.settings import Settings
from mrb_lib.judges.tasks import (
    Checked,
    Columns,
    JointReplies,
    Record,
    Reply,
    Task,
    TaskMaker,
    object_schema,
    responses_of,
)
from mrb_lib.replies.criteria import MET, NOT_MET, parse_criteria
from mrb_lib.replies.rankings import RankingReading, parse_rankings
from mrb_lib.tables.errors import InputError, RunError
from mrb_lib.tables.rubrics import Criterion, counted, points, read_rubric
from mrb_lib.tables.schema import Status
from mrb_lib.verdicts.orders import EVIDENCE, FIRST, ITEM_RESPONSES, SECOND, TIE, WEAK, pick_of
from mrb_lib.verdicts.protocol import VerdictRows

LINEUP: Final = "lineup"
PROMPT_KEY: Final = "prompt_key"
SAME_TEXT: Final = "its two responses are the same text, which a ranking cannot tell apart"

Pair = tuple[int, int]
"""The places in a line-up of the response that a row shows first, and of the second."""


def with_lineups(shown: pd.DataFrame, seed: int) -> pd.DataFrame:
    """Return the rows with the prompt that answers each.

    Parameters
    ----------
    shown : see `mrb_lib.verdicts.protocol.Judge.judge`; `item_responses` has all responses to the item of a row, in any
        order and more than once or not. Without it, or with fewer, the two of the row are all

    Returns
    -------
    DataFrame
        The same with `lineup`, a list of the different responses in the order in which the prompt shows them, and
        `prompt_key`, which the rows that one prompt answers share.
    """
    lineups, keys = [], []
    for row in shown.to_dict("records"):
        named = row.get(ITEM_RESPONSES)
        others = named if isinstance(named, Iterable) and not isinstance(named, str) else []
        texts = {str(text) for text in (*others, row[FIRST], row[SECOND])}
        about = _about(row)
        drawn = sorted(texts, key=lambda text: _digest(str(seed), *about, text))
        turn = int(row["repeat"]) % len(drawn)
        order = drawn[turn:] + drawn[:turn]
        if order.index(str(row[FIRST])) > order.index(str(row[SECOND])):
            order.reverse()
        lineups.append(order)
        keys.append(_digest(str(seed), *about, str(row["repeat"]), str(row["probe"]), *order))
    out = shown.copy()
    out[LINEUP], out[PROMPT_KEY] = pd.Series(lineups, index=shown.index, dtype=object), keys
    return out


def _about(row: Mapping[object, object]) -> list[str]:
    """Return what the prompts of an item show besides the responses."""
    images = row.get("images")
    named = images if isinstance(images, (list, tuple, np.ndarray)) else []
    beside = (row.get(name) for name in ("reference", WEAK, EVIDENCE))
    return [str(row["question"]), *map(str, beside), *map(str, named)]


def _digest(*texts: str) -> str:
    joined = "\0".join(texts).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(joined, digest_size=16).hexdigest()


def lineup_of(row: Mapping[str, object]) -> list[str]:
    """Return the responses that the prompt of a row shows, in order.

    Raises
    ------
    InputError
        They are too few or too many to be ranked.
    """
    lineup = row[LINEUP]
    responses = [str(text) for text in lineup] if isinstance(lineup, list) else []
    if len(responses) < 2:
        raise InputError(SAME_TEXT)
    if len(responses) > len(RANKED):
        raise InputError(
            f"its item has {len(responses)} different responses, and one prompt ranks {len(RANKED)} at most; "
            "judge pairs, without +batch"
        )
    return responses


def pair_of(row: Mapping[str, object]) -> Pair:
    """Return the places of the two responses of a row in its line-up."""
    responses = lineup_of(row)
    return responses.index(str(row[FIRST])), responses.index(str(row[SECOND]))


def put_pairs(
    rows: VerdictRows,
    asked: Sequence[tuple[int, str, Pair]],
    reading: RankingReading,
    choices: Sequence[str],
    reply: str,
    took: Mapping[str, object],
) -> None:
    """Write a ranking as verdicts of pairs.

    Parameters
    ----------
    asked : of each row that the reply answers its position, dimension and pair
    choices : equal places are a tie where it is among these, and no verdict elsewhere
    took : what the reply took, for the first of the rows
    """
    for i, (position, dimension, (first, second)) in enumerate(asked):
        own = took if i == 0 else {}
        if first == second:
            rows.put(position, "error", None, error=SAME_TEXT, reply=reply, **own)
            continue
        places, status = reading.places[dimension], reading.status_of(dimension)
        pick = None if places is None else pick_of(places[second], places[first])
        if pick == TIE and TIE not in choices:
            pick, status = None, "unparsed"
        rows.put(position, status, pick, reply=reply, **own)


@dataclass(frozen=True)
class RankingMaker(TaskMaker):
    """Makes tasks about all responses to an item, whose rankings are read as verdicts of pairs.

    See `with_lineups` for the order in which the responses are shown.
    """

    def tasks(self, shown: pd.DataFrame) -> Iterator[Task]:
        """See `TaskMaker.tasks`."""
        return super().tasks(with_lineups(shown.reset_index(drop=True), self.settings.seed))

    def is_whole(self, task: Task, reply: Reply) -> bool:
        """See `TaskMaker.is_whole`."""
        read = list(self._ranking(task, reply).places.values())
        has_ties = any(len(set(places)) < len(places) for places in read if places is not None)
        return not reply.is_refused and None not in read and (TIE in self.settings.choices or not has_ties)

    def put(self, rows: VerdictRows, task: Task, reply: Reply, columns: Columns | None = None) -> None:
        """See `TaskMaker.put`."""
        reading = self._ranking(task, reply)
        if reply.is_refused:
            reading = RankingReading(dict.fromkeys(task.asked), "refused")
        asked = [(position, name, pair_of(row)) for (position, name), row in zip(task.rows, task.records, strict=True)]
        put_pairs(rows, asked, reading, self.settings.choices, reply.kept, reply.took)

    @property
    def _shared(self) -> tuple[str, ...]:
        return (PROMPT_KEY, "dimension") if self.prompt.asks == "ranking" else (PROMPT_KEY,)

    def _of_group(self, rows: Sequence[tuple[int, Record]]) -> Iterator[Task]:
        yield self._task(rows, dimension=str(rows[0][1]["dimension"]) if self.prompt.asks == "ranking" else "")

    def _responses(self, row: Record) -> list[str]:
        return lineup_of(row)

    def _ranking(self, task: Task, reply: Reply) -> RankingReading:
        return parse_rankings(reply.text, task.asked, len(lineup_of(task.records[0])), is_cut_off=reply.is_cut_off)

    def _value_schema(self, task: Task, offered: Sequence[str]) -> Mapping[str, object]:
        """Return that of a list of letters, with lists of equal ones in it where a tie may be."""
        letter = {"type": "string", "enum": list(RANKED[: len(lineup_of(task.records[0]))])}
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
        return not reply.is_refused and None not in self._checked(task, reply).met

    def put(self, rows: VerdictRows, task: Task, reply: Reply, columns: Columns | None = None) -> None:
        """See `TaskMaker.put`."""
        self._note(rows, task, self._checked(task, reply), reply.took)

    def fail(
        self,
        rows: VerdictRows,
        task: Task,
        reason: str,
        *,
        is_refused: bool = False,
        took: Mapping[str, object] | None = None,
    ) -> None:
        """See `TaskMaker.fail`."""
        if task.joint is None:
            super().fail(rows, task, reason, is_refused=is_refused, took=took)
        else:
            self._note(rows, task, (reason, is_refused), took or {})

    def schema(self, task: Task) -> Mapping[str, object]:
        """Return the JSON schema of a decision per criterion, by its number."""
        decision = {"type": "string", "enum": [MET, NOT_MET]}
        return object_schema({str(place): decision for place in range(1, len(_joint(task).criteria) + 1)})

    @property
    def _shared(self) -> tuple[str, ...]:
        return ("case_id", "repeat", "probe")

    def _of_group(self, rows: Sequence[tuple[int, Record]]) -> Iterator[Task]:
        record = rows[0][1]
        try:
            criteria = rubric_of(record)
        except InputError as error:
            wanted = tuple((position, str(row["dimension"])) for position, row in rows)
            yield Task(str(record["case_id"]), wanted, tuple(row for _, row in rows), problem=str(error))
            return
        responses = list(dict.fromkeys(responses_of(record)))
        joint = JointReplies(criteria, len(responses))
        for place, response in enumerate(responses):
            key = [*(str(record[name]) for name in self._shared), response]
            yield self._task(rows, responses=[response], key=key, joint=joint, place=place)

    def _note(
        self, rows: VerdictRows, task: Task, made: Checked | tuple[str, bool], took: Mapping[str, object]
    ) -> None:
        """Keep what came of a task, and state the verdicts once all tasks of the case are done."""
        joint = _joint(task)
        joint.made[task.place] = made
        for name, value in took.items():  # unknown where it is unknown of one
            number, before = cast("float | None", value), cast("float | None", joint.took.get(name, 0))
            joint.took[name] = None if number is None or before is None else before + number
        if len(joint.made) < joint.n:
            return
        pair = []
        for one in (joint.made[0], joint.made[joint.n - 1]):
            if not isinstance(one, Checked):
                super().fail(rows, task, one[0], is_refused=one[1], took=joint.took)
                return
            pair.append(one)
        statuses = {one.status for one in pair}
        # What is decided was read; what is not makes a row unparsed.
        status: Status = "refused" if "refused" in statuses else "ok" if statuses == {"ok"} else "repaired"
        took = joint.took
        for (position, dimension), record in zip(task.rows, task.records, strict=True):
            shown = pair if record["order"] == task.records[0]["order"] else pair[::-1]
            kept = f"response shown first:\n{shown[0].reply}\n\nresponse shown second:\n{shown[1].reply}"
            met, choices = [one.met for one in shown], self.settings.choices
            put_points(rows, position, dimension, joint.criteria, met, choices, status, reply=kept, **took)
            took = {}

    def _checked(self, task: Task, reply: Reply) -> Checked:
        n = len(_joint(task).criteria)
        if reply.is_refused:
            return Checked([None] * n, "refused", reply.kept)
        reading = parse_criteria(reply.text, n, is_cut_off=reply.is_cut_off)
        said = [reading.choices[str(number)] for number in range(1, n + 1)]
        return Checked([None if each is None else float(each == MET) for each in said], reading.status, reply.kept)


def _joint(task: Task) -> JointReplies:
    if task.joint is None:
        raise RunError(f"case {task.case_id}: is asked about without its rubric; report this.")
    return task.joint


def rubric_of(row: Mapping[str, object]) -> tuple[Criterion, ...]:
    """Return the criteria of a case; `InputError` where it has none."""
    stated = row.get("rubric")
    if not isinstance(stated, str):
        raise InputError("the judge decides the criteria of a rubric, and the case has none (column rubric)")
    return read_rubric(stated)


def task_maker(prompt: Prompt, settings: Settings, *, sees: bool, marks: re.Pattern[str] | None = None) -> TaskMaker:
    """Return the maker of tasks for a prompt; see `PromptWriter` for the parameters."""
    kind = ChecklistMaker if prompt.checks else RankingMaker if prompt.asks in RANKINGS else TaskMaker
    return kind(prompt, settings, sees, marks)
