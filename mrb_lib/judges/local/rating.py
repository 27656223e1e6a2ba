"""Pointwise ratings: each response rated alone, by the expectation over the rating's tokens.

Rating alone leaves no order of responses to be biased by. The expectation over the
distribution of the rating, instead of its most probable value, follows Liu et al.,
G-Eval (EMNLP 2023), section 2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd

from mrb_lib.judges.local.base import NO_NUMBER, TOO_LARGE, Positions, Records
from mrb_lib.judges.local.reader import CasePrompts, TreeJudge
from mrb_lib.judges.tasks import image_names, responses_of
from mrb_lib.verdicts.orders import pick_of
from mrb_lib.verdicts.protocol import BatchAnswer, VerdictRows


@dataclass(frozen=True)
class _Rated:
    """The two prompts of a case, one a response, and which rows wait for them."""

    question: CasePrompts
    positions: tuple[int, ...]
    leaves: tuple[int, ...]
    swapped: tuple[bool, ...]


class RatingJudge(TreeJudge):
    """Ratings from 1 to 5 or 10 of each response for each dimension.

    `score_first` and `score_second` are the expected ratings, the higher of which is
    the choice; `p_first` is the probability that the first's rating exceeds the
    second's, with equal ratings shared out evenly, taking the two as independent.
    Both orders have the same scores. `answer_mass` is the probability that the model
    replies with a rating at all, the lower of the two responses'.

    Validated by tests/judges/local/test_rating.py.
    """

    engine = "rating"
    usual_prompt = "rating"
    asks = ("rating",)
    _splits, _lead = False, ""

    @property
    def spec(self) -> Mapping[str, object]:
        """What shapes the verdicts besides the prompt."""
        return {**super().spec, "scale": self._settings.scale}

    def _groups(self) -> Sequence[Sequence[str]]:
        scale = self._settings.scale
        self._splits = scale == 10 and not self.weights.single_tokens("10", " 10")
        # Where a reply's first number is a space and then its digits, as in Llama 2, it is read after the space.
        self._lead = " " if len(self.weights.tokens_of("1")) > 1 else ""
        ratings = [str(rating) for rating in range(1, scale + (not self._splits))]
        return [*([rating, f" {rating}"] for rating in ratings), *([["0"]] if self._splits else [])]

    def prepare(self, shown: pd.DataFrame) -> BatchAnswer:
        """See `Judge.prepare`."""
        rows = VerdictRows(shown)
        return partial(self._answer, rows, self.case_requests(rows, shown, self._rate))

    def _rate(self, positions: Positions, records: Records) -> _Rated:
        row = records[0]
        dimensions = list(dict.fromkeys(str(record["dimension"]) for record in records))
        pictures = self.pictures(image_names(row))
        texts = []
        # Of two equal responses one is read: read side by side, rounding would find one of them better.
        for response in dict.fromkeys(responses_of(row)):
            rendered = [self.writer.write(row, [response], one) for one in dimensions]
            chats = [self._chat(one, len(pictures)) + self._lead for one in rendered]
            if self._splits:  # "10" is "1" and then "0": ask what follows the "1" as well
                chats += [f"{chat}1" for chat in chats]
            texts.append(chats)
        return _Rated(
            self.reader.question(texts, pictures),
            tuple(positions),
            tuple(dimensions.index(str(record["dimension"])) for record in records),
            tuple(record["order"] != row["order"] for record in records),
        )

    def _answer(self, rows: VerdictRows, rated: Sequence[_Rated]) -> pd.DataFrame:
        readings = self._in_batches(
            [one.question for one in rated], self.reader.read, [one.question.n_tokens for one in rated]
        )
        for one, reading in zip(rated, readings, strict=True):
            if reading is None:
                rows.fail(one.positions, TOO_LARGE)
                continue
            shares = np.array(reading if len(reading) == 2 else reading * 2)  # (responses, leaves, words)
            if self._splits:
                shares = _with_ten(shares)
            at_first: int | None = one.question.n_tokens
            for position, leaf, swapped in zip(one.positions, one.leaves, one.swapped, strict=True):
                first, second = shares[::-1, leaf] if swapped else shares[:, leaf]
                self._put(rows, position, first, second, at_first)
                at_first = None
        return rows.frame()

    def _put(self, rows: VerdictRows, position: int, first: np.ndarray, second: np.ndarray, tokens: int | None) -> None:
        if not np.isfinite([first, second]).all():
            rows.fail([position], NO_NUMBER)
            return
        mass = min(first.sum(), second.sum())
        self._note_mass(float(mass))
        first, second = first / first.sum(), second / second.sum()
        ratings = np.arange(1, len(first) + 1)
        one, two = float(first @ ratings), float(second @ ratings)
        rows.put(
            position,
            "ok",
            pick_of(one, two),
            p_first=probability_higher(first, second),
            score_first=one,
            score_second=two,
            answer_mass=float(mass),
            prompt_tokens=tokens,
        )


def probability_higher(first: np.ndarray, second: np.ndarray) -> float:
    """The probability that a draw from `first` exceeds one from `second`, ties shared out evenly.

    Parameters
    ----------
    first, second : probabilities of the ratings 1, 2, ..., shape (ratings,), each summing to 1

    Returns
    -------
    float
        In [0, 1]; swapping the two gives one minus it.
    """
    below = np.concatenate([[0.0], second.cumsum()[:-1]])
    return float(np.clip(first @ below + 0.5 * (first @ second), 0.0, 1.0))


def _with_ten(shares: np.ndarray) -> np.ndarray:
    """Shares of the ratings 1 to 10, from those of the digits 1 to 9 and 0, and of what follows a "1".

    Parameters
    ----------
    shares : shape (responses, 2 * dimensions, 10): digits after each question, then after the question and "1"
    """
    n = shares.shape[1] // 2
    digits, after = shares[:, :n], shares[:, n:]
    ten = digits[..., 0] * after[..., 9]
    out = np.concatenate([digits[..., :9], ten[..., None]], axis=-1)
    out[..., 0] -= ten
    return out
