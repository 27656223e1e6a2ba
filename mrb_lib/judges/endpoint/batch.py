"""Ranking all responses to an item in one reply of a server, from which the verdicts of its pairs are read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, cast

import pandas as pd

from mrb_lib.judges.endpoint.judge import EndpointJudge
from mrb_lib.judges.endpoint.reply import ChatReply
from mrb_lib.judges.endpoint.requests import RequestWriter, Task
from mrb_lib.judges.lineup import PROMPT_KEY, lineup_of, pair_of, put_pairs, with_lineups
from mrb_lib.judges.prompts import RANKED, RANKINGS, Prompt
from mrb_lib.judges.roster.entry import Entry
from mrb_lib.judges.settings import Settings
from mrb_lib.replies.rankings import RankingReading, parse_rankings
from mrb_lib.tables.errors import InputError
from mrb_lib.verdicts.orders import TIE
from mrb_lib.verdicts.protocol import VerdictRows

_TOKENS_OF_RANKINGS = 1024


class ServedBatchJudge(EndpointJudge):
    """A judge behind a server that ranks all responses to an item; see `EndpointJudge` for the parameters.

    See `mrb_lib.judges.lineup` for the order in which the responses are shown. A prompt for all dimensions is sent once
    for each item, direction and repeat. No probabilities are read.

    Validated by tests/judges/endpoint/test_served_batch.py.
    """

    engine = "served-batch"
    usual_prompt = "batch"
    usual_rating_prompt = None
    ranks_items: Literal[True] = True

    @property
    def _writer_type(self) -> type[RequestWriter]:
        return _RankingWriter

    def _own_spec(self, settings: Settings) -> Mapping[str, object]:
        return {"items": settings.items}

    def _checked(self, prompt: Prompt, entry: Entry) -> Prompt:
        if prompt.asks not in RANKINGS:
            raise InputError(
                f"prompt {prompt.id}: does not ask for a ranking of all responses to an item; use batch or "
                "single-batch, or leave out +batch."
            )
        return prompt

    def _reply_length(self, prompt: Prompt, entry: Entry) -> int:
        return max(super()._reply_length(prompt, entry), _TOKENS_OF_RANKINGS)

    def _is_whole(self, task: Task, reply: ChatReply) -> bool:
        read = list(_reading(task, reply).places.values())
        has_ties = any(len(set(places)) < len(places) for places in read if places is not None)
        return not reply.refused and None not in read and (TIE in self._choices or not has_ties)

    def _put(self, rows: VerdictRows, task: Task, reply: ChatReply, took: dict[str, object]) -> None:
        self._note_length(reply)
        reading = _reading(task, reply)
        if reply.refused:
            reading = RankingReading(dict.fromkeys(task.asked), "refused")
        asked = [
            (position, name, pair_of(row)) for (position, name), row in zip(task.rows, _records(task), strict=True)
        ]
        put_pairs(rows, asked, reading, self._choices, reply.whole, took)


@dataclass(frozen=True)
class _RankingTask(Task):
    """As of a pair, with the rows that it answers."""

    records: Sequence[Mapping[str, object]] = ()


class _RankingWriter(RequestWriter):
    """Writes one request for all rows that share a line-up."""

    def tasks(self, shown: pd.DataFrame) -> Iterator[Task]:
        """See `RequestWriter.tasks`."""
        arranged = with_lineups(shown.reset_index(drop=True), self.settings.seed)
        records = [{str(key): value for key, value in row.items()} for row in arranged.to_dict("records")]
        for task in super().tasks(arranged):
            own = [records[position] for position, _ in task.rows]
            yield _RankingTask(
                task.case_id, task.rows, task.asked, task.request, task.problem, task.labels, records=own
            )

    @property
    def shared(self) -> tuple[str, ...]:
        """What the rows that one request answers have in common."""
        return (PROMPT_KEY, "dimension") if self.prompt.asks == "ranking" else (PROMPT_KEY,)

    def responses(self, row: pd.Series) -> list[str]:
        """The responses in the order shown; `InputError` where they are too many."""
        return lineup_of({str(name): value for name, value in row.items()})

    def value_schema(self, row: pd.Series, offered: Sequence[str]) -> Mapping[str, object]:
        """A list of letters, with lists of equal ones in it where a tie may be."""
        letter = {"type": "string", "enum": list(RANKED[: len(self.responses(row))])}
        items = {"anyOf": [letter, {"type": "array", "items": letter}]} if TIE in offered else letter
        return {"type": "array", "items": items}


def _reading(task: Task, reply: ChatReply) -> RankingReading:
    return parse_rankings(reply.content, task.asked, len(lineup_of(_records(task)[0])), is_cut_off=reply.cut_off)


def _records(task: Task) -> Sequence[Mapping[str, object]]:
    return cast("_RankingTask", task).records
