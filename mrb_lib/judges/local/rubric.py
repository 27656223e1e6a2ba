"""Deciding the criteria of a rubric for each response alone, by probabilities in one pass.

A criterion is a leaf of the case's tree, under the branch of a response, so that images and question are read once for
all criteria of both responses, and each response once for all criteria.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import lcm
from typing import Final

import numpy as np
import pandas as pd

from mrb_lib.judges.local.base import NO_NUMBER, TOO_LARGE, Positions, Records
from mrb_lib.judges.local.rating import probability_higher
from mrb_lib.judges.local.reader import CasePrompts, TreeJudge
from mrb_lib.judges.points import put_points, rubric_of
from mrb_lib.judges.tasks import image_names, responses_of
from mrb_lib.tables.rubrics import Criterion, counted, exactly
from mrb_lib.verdicts.protocol import BatchAnswer, VerdictRows

MOST_SUMS: Final = 20_000
"""Different sums of points up to which the probability of more points is computed."""


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
                self._chat(self.writer.write(row, [response], criteria=texts, criterion=place), len(pictures))
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
