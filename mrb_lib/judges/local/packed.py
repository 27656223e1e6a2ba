"""Judging by probabilities: every question of a case read in one pass over one tree of prompts.

The choice is the more probable of the letters A and B as the first token of the
reply, so nothing is generated and nothing is parsed. Both orders and all dimensions
of a case share what they have in common; see `mrb_lib.judges.local.tree`.
"""

import json
from collections.abc import Sequence
from math import isfinite

import numpy as np

from mrb_lib.judges.context import Record, image_names
from mrb_lib.judges.local.base import NO_NUMBER, Positions, Records
from mrb_lib.judges.local.reader import Case, Probabilities, TreeJudge
from mrb_lib.judges.roster.engines import JudgeRequest
from mrb_lib.judges.tasks import responses_of
from mrb_lib.replies.categories import marks_of
from mrb_lib.replies.labels import LETTERS, Labels, labels_of
from mrb_lib.tables.schema import category_numbers
from mrb_lib.verdicts.orders import FIRST, SECOND, pick_of
from mrb_lib.verdicts.protocol import VerdictRows


class PackedJudge(TreeJudge):
    """One pass a case; every row has `p_first`, and `answer_mass`, the probability of A and B together.

    The tokens that were read for a case stand in the first of its rows, so that sums are right.
    A model that cannot share work between prompts is asked each question alone, with a notice.

    Validated by tests/judges/local/test_packed.py against scoring each question alone.
    """

    engine = "packed"
    usual_prompt = "single"
    asks = ("one",)
    _marks: Sequence[str] = LETTERS

    def __init__(self, request: JudgeRequest) -> None:
        super().__init__(request)
        if request.entry.thinking == "always":
            self.notice("reasons before it replies, so its first token is not its verdict: use NAME+generative")

    def _shared(self, row: Record) -> tuple[object, ...]:
        """See `CaseJudge._shared`: case, images, texts and labels, whatever the order, the probe or the question."""
        texts = row["question"], frozenset((row[FIRST], row.get(SECOND)))
        return row["case_id"], *image_names(row), *texts, labels_of(row)

    def case(self, positions: Positions, records: Records) -> Case:
        """See `CaseJudge.case`."""
        pictures = self.pictures(image_names(records[0]))
        # In each order, prompts that differ only in what they ask share a branch, and those that do not differ a leaf.
        leaves: dict[tuple[str, str], dict[str, int]] = {}
        asked: dict[tuple[object, ...], tuple[int, int]] = {}
        keys = [(row["probe"], row["order"], row["dimension"]) for row in records]
        for key, row in zip(keys, records, strict=True):
            if key not in asked:
                responses = responses_of(row, rated=self._settings.is_rating)
                rendered = self.writer.write(row, responses, str(row["dimension"]))
                branch = str(row["order"]), rendered.case + rendered.responses
                own = leaves.setdefault(branch, {})
                leaf = own.setdefault(self._chat(rendered, len(pictures)) + self._lead, len(own))
                asked[key] = list(leaves).index(branch), leaf
        words = [self._read_as(self.writer.labels(row)) for row in records]
        prompts = self.reader.question([list(row) for row in leaves.values()], pictures)
        return Case(positions, records, 0, prompts.n_tokens, prompts, [asked[key] for key in keys], words)

    def _read_as(self, labels: Labels) -> tuple[int, ...]:
        """The places in what is read of the labels of the two responses; of a rating, those of the categories."""
        return tuple(map(self.reader.place_of, labels))

    def _put(self, rows: VerdictRows, case: Case, reading: Probabilities) -> None:
        of_rows = zip(case.rows(prompt_tokens=case.n_tokens), case.asked, case.words, strict=True)
        for (position, _, _, took), (branch, leaf), words in of_rows:
            shares = [reading[branch][leaf][place] for place in words]
            mass = sum(shares)
            if not isfinite(mass):  # neither more nor less than a half, which is not a tie
                rows.put(position, "error", None, error=NO_NUMBER, **took)
                continue
            self._note_mass(mass)
            pick, values = self._verdict([share / mass for share in shares])
            rows.put(position, "ok", pick, **values, answer_mass=mass, **took)

    def _verdict(self, shares: Sequence[float]) -> tuple[str, dict[str, object]]:
        """The pick, and further columns of the row, by the probabilities of what may be replied."""
        return pick_of(shares[0], 0.5), {"p_first": shares[0]}


class CategoriesJudge(PackedJudge):
    """Ratings of one response: the most probable of the benchmark's categories; of two equally probable the lower.

    Categories are named by one character each, and the probability of each as the first token of the reply is read.
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
