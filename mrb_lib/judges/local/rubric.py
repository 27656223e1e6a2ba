"""Deciding the criteria of a rubric for each response alone: by probabilities in one pass, or by a written reply.

A criterion is a leaf of the case's tree, under the branch of a response, so that images and question are read once for
all criteria of both responses, and each response once for all criteria.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import lcm
from typing import Final, cast

import numpy as np
import pandas as pd

from mrb_lib.judges.local.base import NO_NUMBER, TOO_LARGE, Positions, Records, image_names, responses_of
from mrb_lib.judges.local.generative import GenerativeJudge, Reply, ReplyRequest
from mrb_lib.judges.local.rating import probability_higher
from mrb_lib.judges.local.reader import CasePrompts, TreeJudge
from mrb_lib.judges.local.weights import check_context, context_length
from mrb_lib.judges.points import Checked, put_points, put_replies, read_checks, rubric_of
from mrb_lib.judges.prompts import Asks
from mrb_lib.judges.roster.entry import Entry
from mrb_lib.judges.settings import Settings
from mrb_lib.replies.labels import LETTERS
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.rubrics import Criterion, counted, exactly
from mrb_lib.verdicts.protocol import BatchAnswer, VerdictRows

NO_CATEGORY: Final = "the points of a rubric are none of the categories that the benchmark rates by"
MOST_SUMS: Final = 20_000
"""Different sums of points up to which the probability of more points is computed."""
_LONGEST_REPLY: Final = 1024
_REPLY: Final = ("case_id", "repeat", "probe")


@dataclass(frozen=True)
class _Checklist:
    """The prompts of a case, a branch a response and a leaf a criterion, and which rows wait for them."""

    question: CasePrompts
    criteria: tuple[Criterion, ...]
    rows: tuple[tuple[int, str, bool], ...]


class RubricJudge(TreeJudge):
    """The response with more expected points, from the probability that each criterion is met.

    `score_first` and `score_second` are the expected shares of the points (see `rubrics.points`), the higher
    of which is the choice. `p_first` is the probability that the first has more points, with equal points shared out
    evenly, taking the criteria and the two responses as independent; null where weights have so many decimals that
    there are more than `MOST_SUMS` sums. `criteria_first`, `criteria_second` are the probabilities that each criterion
    is met. Both orders have the same scores. `answer_mass` is the probability that the model replies with a decision
    at all, the lowest over criteria and responses.

    Validated by tests/judges/local/test_rubric.py.
    """

    engine = "rubric"
    usual_prompt = "criteria"
    asks = ("criterion",)

    def _prompts_for(self, settings: Settings) -> tuple[str | None, tuple[Asks, ...]]:
        _check_compares(self.name, settings)
        return super()._prompts_for(settings)

    @property
    def spec(self) -> Mapping[str, object]:
        """What shapes the verdicts besides the prompt: equal points are a tie where the benchmark has one."""
        return {**super().spec, "choices": list(self._settings.choices)}

    def _groups(self) -> Sequence[Sequence[str]]:
        return [["Y", " Y"], ["N", " N"]]

    def prepare(self, shown: pd.DataFrame) -> BatchAnswer:
        """See `Judge.prepare`."""
        rows = VerdictRows(shown)
        return partial(self._answer, rows, self.case_requests(rows, shown, self._check))

    def _check(self, positions: Positions, records: Records) -> _Checklist:
        row = records[0]
        criteria, pictures = rubric_of(row), self.pictures(image_names(row))
        texts = [one.text for one in criteria]
        # Of two equal responses one is read: read side by side, rounding would find one of them better.
        prompts = [
            [
                self._chat(
                    self._render(row, [response], self._settings.dimensions, criteria=texts, criterion=place),
                    len(pictures),
                )
                for place in range(len(texts))
            ]
            for response in dict.fromkeys(responses_of(row))
        ]
        waiting = tuple(
            (position, str(record["dimension"]), record["order"] != row["order"])
            for position, record in zip(positions, records, strict=True)
        )
        return _Checklist(self.reader.question(prompts, pictures), criteria, waiting)

    def _answer(self, rows: VerdictRows, checklists: Sequence[_Checklist]) -> pd.DataFrame:
        readings = self._in_batches(
            [one.question for one in checklists], self.reader.read, [one.question.n_tokens for one in checklists]
        )
        for one, reading in zip(checklists, readings, strict=True):
            positions = [position for position, *_ in one.rows]
            if reading is None:
                rows.fail(positions, TOO_LARGE)
                continue
            shares = np.array(reading if len(reading) == 2 else reading * 2)  # (responses, criteria, yes and no)
            mass = shares.sum(axis=2)
            if not np.isfinite(mass).all():
                rows.fail(positions, NO_NUMBER)
                continue
            self._note_mass(float(mass.min()))
            self._put(rows, one, shares[..., 0] / mass, float(mass.min()))
        return rows.frame()

    def _put(self, rows: VerdictRows, one: _Checklist, met: np.ndarray, mass: float) -> None:
        at_first: int | None = one.question.n_tokens
        p_first: dict[str, float | None] = {}
        for position, dimension, swapped in one.rows:
            if dimension not in p_first:
                places = counted(one.criteria, dimension)
                p_first[dimension] = probability_of_more(
                    [one.criteria[place].weight for place in places], met[:, places]
                )
            p = p_first[dimension]
            shown = met[::-1] if swapped else met
            put_points(
                rows, position, dimension, one.criteria, shown.tolist(), self._settings.choices, answer_mass=mass,
                p_first=1.0 - p if p is not None and swapped else p, prompt_tokens=at_first,
            )  # fmt: skip
            at_first = None


def probability_of_more(weights: Sequence[float], met: np.ndarray) -> float | None:
    """The probability that the first of two responses has more points than the second, equal points shared out evenly.

    Parameters
    ----------
    weights : of the criteria
    met : shape (2, criteria), the probability that each response meets each, all independent of each other

    Returns
    -------
    float or None
        By convolution over all sums of weights; None where these are more than `MOST_SUMS`.
    """
    exact = exactly(weights)
    unit = lcm(*(weight.denominator for weight in exact))
    whole = [int(weight * unit) for weight in exact]
    if sum(map(abs, whole)) >= 2**53:
        return None
    sums, shares = np.zeros(1, dtype=np.int64), np.ones((2, 1))
    for weight, share in zip(whole, met.T, strict=True):
        sums, which = np.unique(np.concatenate([sums, sums + weight]), return_inverse=True)
        if len(sums) > MOST_SUMS:
            return None
        both = np.hstack([shares * (1 - share)[:, None], shares * share[:, None]])
        shares = np.stack([np.bincount(which, row, minlength=len(sums)) for row in both])
    return probability_higher(*shares)


@dataclass(frozen=True)
class _Answers:
    """The replies about the responses of a case, as they come in, and the rows that wait for all of them."""

    criteria: tuple[Criterion, ...]
    rows: tuple[tuple[int, str, str], ...]
    order: str
    n: int
    replies: dict[int, tuple[Checked, Reply]] = field(default_factory=dict)


@dataclass(frozen=True)
class _ResponseRequest(ReplyRequest):
    """The prompt about one response: the `place`-th of those in `answers`."""

    answers: _Answers
    place: int


class WrittenRubricJudge(GenerativeJudge):
    """A reply for each response of a case, in which the model decides all criteria; see `RubricJudge` for the scores.

    Both orders share the replies. `reply` holds both, in the order in which the responses are shown. Sampled, each
    response has a seed of its own, whatever the other is. What the replies took stands in the first row of the case.

    Validated by tests/judges/local/test_rubric.py.
    """

    usual_prompt = "criteria"
    asks = ("criteria",)

    def _prompts_for(self, settings: Settings) -> tuple[str | None, tuple[Asks, ...]]:
        _check_compares(self.name, settings)
        return self.usual_prompt, self.asks

    def _usual_length(self, entry: Entry) -> int:
        return max(super()._usual_length(entry), _LONGEST_REPLY)

    def prepare(self, shown: pd.DataFrame) -> BatchAnswer:
        """See `Judge.prepare`."""
        self.load()
        rows = VerdictRows(shown)
        cases = self.requests(rows, shown, _REPLY, self._ask_each)
        return partial(self._answer, rows, [request for case in cases for request in case])

    def _ask_each(self, positions: Positions, records: Records) -> list[ReplyRequest]:
        row = records[0]
        criteria, pictures = rubric_of(row), self.pictures(image_names(row))
        responses = list(dict.fromkeys(responses_of(row)))
        rows = tuple(
            (position, str(record["dimension"]), str(record["order"]))
            for position, record in zip(positions, records, strict=True)
        )
        answers = _Answers(criteria, rows, str(row["order"]), len(responses))
        requests: list[ReplyRequest] = []
        for place, response in enumerate(responses):
            texts = [one.text for one in criteria]
            rendered = self._render(row, [response], self._settings.dimensions, criteria=texts)
            key = "\0".join([str(self._settings.seed), *(str(row[name]) for name in _REPLY), response])
            digest = hashlib.blake2b(key.encode("utf-8", "surrogatepass"), digest_size=7).digest()
            inputs = self.weights.encode([self._chat(rendered, len(pictures))], [pictures])
            check_context(inputs["input_ids"].shape[1], context_length(self.weights), self._length)
            requests.append(
                _ResponseRequest(
                    inputs, len(pictures), tuple(positions), (), int.from_bytes(digest, "big"), LETTERS, answers, place
                )
            )
        return requests

    def _read(self, rows: VerdictRows, request: ReplyRequest, reply: Reply) -> None:
        one = cast("_ResponseRequest", request)
        answers = one.answers
        answers.replies[one.place] = read_checks(reply.text, len(answers.criteria), is_cut_off=reply.is_cut_off), reply
        if len(answers.replies) < answers.n:
            return
        checked, replies = zip(*(answers.replies[place] for place in range(answers.n)), strict=True)
        took = {
            "prompt_tokens": sum(each.prompt_tokens for each in replies),
            "completion_tokens": sum(each.tokens for each in replies),
            "latency_s": sum(each.seconds for each in replies),
        }
        put_replies(rows, answers.rows, answers.criteria, checked, answers.order, self._settings.choices, took)


def _check_compares(name: str, settings: Settings) -> None:
    if settings.is_rating:
        raise InputError(f"judge {name}: {NO_CATEGORY}; use NAME+packed, NAME+rating or NAME+generative.")
