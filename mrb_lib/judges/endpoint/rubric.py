"""Deciding the criteria of a rubric through a server: one request a response, each alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import cast

import pandas as pd

from mrb_lib.judges.endpoint.client import Failure
from mrb_lib.judges.endpoint.judge import EndpointJudge
from mrb_lib.judges.endpoint.reply import ChatReply
from mrb_lib.judges.endpoint.requests import RequestWriter, Task
from mrb_lib.judges.points import Checked, put_replies, read_checks, rubric_of
from mrb_lib.judges.prompts import Prompt
from mrb_lib.judges.roster.entry import Entry
from mrb_lib.replies.criteria import MET, NOT_MET
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.rubrics import Criterion
from mrb_lib.tables.schema import ORDERS
from mrb_lib.verdicts.orders import FIRST, SECOND
from mrb_lib.verdicts.protocol import VerdictRows

_SHARED = ("case_id", "repeat", "probe")
_TOKENS_OF_CRITERIA = 1024


@dataclass(frozen=True)
class _Answers:
    """The replies about the responses of a case, as they come in, and the rows that wait for all of them.

    `took` is what the replies took so far; `failures` are the requests that came to nothing.
    """

    criteria: tuple[Criterion, ...]
    rows: tuple[tuple[int, str, str], ...]
    order: str
    n: int
    replies: dict[int, Checked] = field(default_factory=dict)
    took: dict[str, object] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)


@dataclass(frozen=True)
class _ResponseTask(Task):
    """The request about one response: the `place`-th of those in `answers`."""

    answers: _Answers = field(default_factory=lambda: _Answers((), (), "", 0))
    place: int = 0


class ServedRubricJudge(EndpointJudge):
    """A judge behind a server that decides criteria of each response alone; see `EndpointJudge` for the parameters.

    Both orders share the replies, of which `reply` holds both. What they took stands in the first row of the case, also
    where a request failed, so that the case has no verdict. No probabilities are read.

    Validated by tests/judges/endpoint/test_served_rubric.py.
    """

    engine = "served-rubric"
    usual_prompt = "criteria"
    usual_rating_prompt = None

    @property
    def _writer_type(self) -> type[RequestWriter]:
        return _ChecklistWriter

    def _checked(self, prompt: Prompt, entry: Entry) -> Prompt:
        if prompt.asks != "criteria":
            raise InputError(
                f"prompt {prompt.id}: does not ask which criteria a response meets; use criteria, or leave out +rubric."
            )
        return prompt

    def _reply_length(self, prompt: Prompt, entry: Entry) -> int:
        return max(super()._reply_length(prompt, entry), _TOKENS_OF_CRITERIA)

    def _is_whole(self, task: Task, reply: ChatReply) -> bool:
        return not reply.refused and None not in _checks(task, reply).met

    def _put(self, rows: VerdictRows, task: Task, reply: ChatReply, took: dict[str, object]) -> None:
        self._note_length(reply)
        one = cast("_ResponseTask", task)
        answers = one.answers
        answers.replies[one.place] = _checks(task, reply)
        for name, value in took.items():
            number, before = cast("float | None", value), cast("float | None", answers.took.get(name, 0.0))
            answers.took[name] = None if number is None or before is None else before + number
        if answers.failures:
            super()._put_failure(rows, task, answers.failures[-1], answers.took)
        elif len(answers.replies) == answers.n:
            checked = [answers.replies[place] for place in range(answers.n)]
            put_replies(rows, answers.rows, answers.criteria, checked, answers.order, self._choices, answers.took)

    def _put_failure(
        self, rows: VerdictRows, task: Task, failure: Failure, took: Mapping[str, object] | None = None
    ) -> None:
        """See `EndpointJudge._put_failure`."""
        if isinstance(task, _ResponseTask):
            task.answers.failures.append(failure)
            took = task.answers.took
        super()._put_failure(rows, task, failure, took)


class _ChecklistWriter(RequestWriter):
    """Writes one request for each response of a case."""

    def tasks(self, shown: pd.DataFrame) -> Iterator[Task]:
        """See `RequestWriter.tasks`."""
        shown, urls = shown.reset_index(drop=True), dict[str, str | InputError]()
        for _, rows in shown.groupby(list(_SHARED), sort=False):
            first = {str(name): value for name, value in rows.iloc[0].items()}
            names = zip(rows.index.to_numpy(), rows["dimension"], rows["order"], strict=True)
            waiting = tuple((int(position), str(name), str(order)) for position, name, order in names)
            wanted = [(position, name) for position, name, _ in waiting]
            try:
                criteria = rubric_of(first)
            except InputError as error:
                yield Task(str(first["case_id"]), tuple(wanted), (), None, str(error))
                continue
            responses = list(dict.fromkeys((str(first[FIRST]), str(first[SECOND]))))
            answers = _Answers(criteria, waiting, str(first["order"]), len(responses))
            for place, response in enumerate(responses):
                # The seed, which is of the order too, is the same in whichever order a response comes up.
                alone = pd.Series({**first, FIRST: response, "order": ORDERS[0]})
                task = self._task(alone, wanted, self.settings.dimensions, "", urls)
                request = task.request
                if request is not None and request.schema is not None:
                    request = replace(request, schema=_schema(len(criteria)))
                yield _ResponseTask(
                    task.case_id, task.rows, task.asked, request, task.problem, answers=answers, place=place
                )

    def responses(self, row: pd.Series) -> list[str]:
        """The one response that a request shows."""
        return [str(row[FIRST])]

    def criteria(self, row: pd.Series) -> list[str]:
        """The criteria of the case's rubric."""
        return [one.text for one in rubric_of({"rubric": row["rubric"]})]


def _checks(task: Task, reply: ChatReply) -> Checked:
    text = reply.whole if reply.refused else reply.content
    n = len(cast("_ResponseTask", task).answers.criteria)
    made = read_checks(text, n, refused=reply.refused, is_cut_off=reply.cut_off)
    return replace(made, reply=reply.whole)


def _schema(n: int) -> Mapping[str, object]:
    """What a reply must be: a decision a criterion, by its number."""
    names = [str(number) for number in range(1, n + 1)]
    return {
        "type": "object",
        "properties": {name: {"type": "string", "enum": [MET, NOT_MET]} for name in names},
        "required": names,
        "additionalProperties": False,
    }
