"""Tasks of rubrics: each response is checked alone against the criteria, and the response with more points wins."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from mrb_lib.judges.prompts import Prompt
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
from mrb_lib.tables.errors import InputError, RunError
from mrb_lib.tables.rubrics import Criterion, counted, points, read_rubric
from mrb_lib.tables.schema import Status
from mrb_lib.verdicts.orders import TIE, pick_of
from mrb_lib.verdicts.protocol import VerdictRows


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
    kind = ChecklistMaker if prompt.checks else TaskMaker
    return kind(prompt, settings, sees, marks)
