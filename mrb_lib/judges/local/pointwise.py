"""Each response alone: ratings of it, or the criteria of a rubric, by probabilities in one pass.

Judging alone leaves no order of responses to be biased by. Images and question are read once for both responses, and
each response once for all that is asked about it. A rating is the expectation over its distribution, instead of its
most probable value (Liu et al., G-Eval, EMNLP 2023, section 2).
"""

from abc import abstractmethod
from collections.abc import Mapping

import numpy as np

from mrb_lib.judges.local.base import NO_NUMBER, Positions, Records
from mrb_lib.judges.local.reader import Case, Probabilities, TreeJudge
from mrb_lib.judges.makers import put_points
from mrb_lib.judges.prompts import HIGHEST_RATING
from mrb_lib.judges.tasks import image_names, responses_of, rubric_of
from mrb_lib.verdicts.orders import pick_of
from mrb_lib.verdicts.protocol import VerdictRows


class PointwiseJudge(TreeJudge):
    """A judge that is asked about each response alone, a branch each; both orders share what it says."""

    @abstractmethod
    def _questions(self, records: Records, response: str, n_images: int) -> list[str]:
        """Return all prompts about a response of some rows of one case."""

    @abstractmethod
    def _put_shares(self, rows: VerdictRows, case: Case, shares: np.ndarray) -> None:
        """State the verdicts of a case, given the shares of the replies, (responses, questions, replies)."""

    def case(self, positions: Positions, records: Records) -> Case:
        """See `CaseJudge.case`."""
        pictures = self.pictures(image_names(records[0]))
        # Of two equal responses one is read: read side by side, rounding would find one of them better.
        responses = dict.fromkeys(responses_of(records[0]))
        texts = [self._questions(records, response, len(pictures)) for response in responses]
        prompts = self.reader.question(texts, pictures)
        return Case(positions, records, 0, prompts.n_tokens, prompts)

    def _put(self, rows: VerdictRows, case: Case, reading: Probabilities) -> None:
        self._put_shares(rows, case, np.array(reading if len(reading) == 2 else reading * 2))


class RatingJudge(PointwiseJudge):
    """Ratings from 1 to 5 of each response for each dimension.

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
    _marks = tuple(map(str, range(1, HIGHEST_RATING + 1)))

    def _questions(self, records: Records, response: str, n_images: int) -> list[str]:
        written = [self.writer.write(records[0], [response], name) for name in _dimensions(records)]
        return [self._chat(one, n_images) + self._lead for one in written]

    def _put_shares(self, rows: VerdictRows, case: Case, shares: np.ndarray) -> None:
        dimensions = _dimensions(case.records)
        for position, record, is_swapped, took in case.rows(prompt_tokens=case.n_tokens):
            of_leaf = shares[:, dimensions.index(str(record["dimension"]))]
            first, second = of_leaf[::-1] if is_swapped else of_leaf
            if not np.isfinite([first, second]).all():
                rows.put(position, "error", None, error=NO_NUMBER, **took)
                continue
            mass = float(min(first.sum(), second.sum()))
            self._note_mass(mass)
            first, second = first / first.sum(), second / second.sum()
            ratings = np.arange(1, len(first) + 1)
            one, two = float(first @ ratings), float(second @ ratings)
            scores = {"score_first": one, "score_second": two, "answer_mass": mass}
            rows.put(position, "ok", pick_of(one, two), p_first=probability_higher(first, second), **scores, **took)


class RubricJudge(PointwiseJudge):
    """The response with more expected points, from the probability that each criterion is met.

    `score_first`, `score_second` are the expected shares of the points (see `rubrics.points`), the higher of which is
    the choice. `criteria_first`, `criteria_second` are the probabilities that each criterion is met. Both orders have
    the same scores. `answer_mass` is the probability that the model replies with a decision at all, the lowest over
    criteria and responses.

    Validated by tests/judges/local/test_rubric.py.
    """

    engine = "rubric"
    usual_prompt = "criteria"
    asks = ("criterion",)
    _marks = ("Y", "N")

    @property
    def spec(self) -> Mapping[str, object]:
        """Return what shapes the verdicts besides the prompt: equal points are a tie where the benchmark has one."""
        return {**super().spec, "choices": list(self._settings.choices)}

    def _questions(self, records: Records, response: str, n_images: int) -> list[str]:
        return [
            self._chat(self.writer.write(records[0], [response], criterion=place), n_images)
            for place in range(len(rubric_of(records[0])))
        ]

    def _put_shares(self, rows: VerdictRows, case: Case, shares: np.ndarray) -> None:
        masses = shares.sum(axis=2)
        if not np.isfinite(masses).all():
            rows.fail(case.positions, NO_NUMBER)
            return
        mass = float(masses.min())
        self._note_mass(mass)
        met, criteria = shares[..., 0] / masses, rubric_of(case.records[0])
        choices = self._settings.choices
        for position, record, is_swapped, took in case.rows(prompt_tokens=case.n_tokens):
            dimension, shown = str(record["dimension"]), (met[::-1] if is_swapped else met).tolist()
            put_points(rows, position, dimension, criteria, shown, choices, "ok", answer_mass=mass, **took)


def _dimensions(records: Records) -> list[str]:
    return list(dict.fromkeys(str(record["dimension"]) for record in records))


def probability_higher(first: np.ndarray, second: np.ndarray) -> float:
    """Return the probability that a draw from `first` exceeds one from `second`, ties shared out evenly.

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
