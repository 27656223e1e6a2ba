"""Rating one response by the probabilities of the benchmark's categories, all dimensions in one pass.

The categories are named by one character each, and the probability of each as the first token of the reply is read.
"""

import json
from collections.abc import Sequence

import numpy as np

from mrb_lib.judges.local.packed import PackedJudge
from mrb_lib.judges.roster.engines import JudgeRequest
from mrb_lib.replies.categories import marks_of
from mrb_lib.replies.labels import Labels
from mrb_lib.tables.schema import category_numbers


class CategoriesJudge(PackedJudge):
    """The most probable category; of two that are equally probable the lower.

    `p_categories` holds the probabilities of the categories in their order, as JSON, which sum to 1; `answer_mass` that
    of all of them together. Where the categories are ordered, `score_a` is the expectation over their numbers: the
    categories themselves where all are numbers, else 1, 2, ...

    It judges no dimension in which several labels may apply.

    Validated by tests/judges/local/test_categories.py.
    """

    rates = ("single-rate", ("category",))

    def __init__(self, request: JudgeRequest) -> None:
        super().__init__(request)
        self._marks = marks_of(self._settings.choices)
        if self._settings.labels:
            self.dimensions = self._settings.one_choice
            self.notice(
                f"judges no {' or '.join(self._settings.labels)}, where several labels may apply: use +generative"
            )

    def _read_as(self, labels: Labels) -> tuple[int, ...]:
        return tuple(range(len(self._settings.choices)))

    def _verdict(self, shares: Sequence[float]) -> tuple[str, dict[str, object]]:
        expected = float(np.dot(shares, category_numbers(self._settings.choices)))
        score = {"score_first": expected} if self._settings.is_ordered else {}
        stated = json.dumps([float(f"{share:.9g}") for share in shares])
        return self._settings.choices[int(np.argmax(shares))], {"p_categories": stated, **score}
