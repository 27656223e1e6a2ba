"""Each response alone: the criteria of a rubric, by probabilities in one pass.

Judging alone leaves no order of responses to be biased by. Images and question are read once for both responses, and
each response once for all that is asked about it.
"""

from collections.abc import Mapping

import numpy as np

from mrb_lib.judges.context import image_names, rubric_of
from mrb_lib.judges.local.base import NO_NUMBER, Positions, Records
from mrb_lib.judges.local.reader import Case, Probabilities, TreeJudge
from mrb_lib.judges.makers import put_points
from mrb_lib.judges.tasks import responses_of
from mrb_lib.verdicts.protocol import VerdictRows


class RubricJudge(TreeJudge):
    """The response with more expected points, from the probability that each criterion is met; a branch a response.

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

    def case(self, positions: Positions, records: Records) -> Case:
        """See `CaseJudge.case`."""
        row, pictures = records[0], self.pictures(image_names(records[0]))
        # Of two equal responses one is read: read side by side, rounding would find one of them better.
        texts = [
            [
                self._chat(self.writer.write(row, [response], criterion=place), len(pictures))
                for place in range(len(rubric_of(row)))
            ]
            for response in dict.fromkeys(responses_of(row))
        ]
        prompts = self.reader.question(texts, pictures)
        return Case(positions, records, 0, prompts.n_tokens, prompts)

    def _put(self, rows: VerdictRows, case: Case, reading: Probabilities) -> None:
        shares = np.array(reading if len(reading) == 2 else reading * 2)  # responses, criteria, replies
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
