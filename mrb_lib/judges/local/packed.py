"""Judging by probabilities: every question of a case read in one pass over one tree of prompts.

The choice is the more probable of the letters A and B as the first token of the
reply, so nothing is generated and nothing is parsed. Both orders and all dimensions
of a case share what they have in common; see `mrb_lib.judges.local.tree`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import isfinite
from typing import NamedTuple

import pandas as pd

from mrb_lib.judges.local.base import NO_NUMBER, Positions, Records
from mrb_lib.judges.local.reader import CasePrompts, TreeJudge
from mrb_lib.judges.prompts import Rendered
from mrb_lib.judges.roster.engines import JudgeRequest
from mrb_lib.judges.tasks import Record, image_names, records_of, responses_of
from mrb_lib.replies.labels import LETTERS, Labels, labels_of
from mrb_lib.verdicts.orders import FIRST, SECOND, pick_of
from mrb_lib.verdicts.protocol import BatchAnswer, VerdictRows


class CaseQuestions(NamedTuple):
    """The prompts of one case, by branch and leaf, and the positions of the rows that wait for each.

    `words` has the places, in what is read, of what each prompt calls the response shown first, and the second; of a
    rating, those of the categories.
    """

    prompts: CasePrompts
    positions_of: dict[tuple[int, int], list[int]]
    words: dict[tuple[int, int], tuple[int, ...]]


def _tree_of(row: Record) -> tuple[object, ...]:
    """Return what the rows of one tree share: case, images, texts and labels, whatever is asked in either order."""
    texts = row["question"], frozenset((row[FIRST], row.get(SECOND)))
    return row["case_id"], *image_names(row), *texts, labels_of(row)


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

    def prepare(self, shown: pd.DataFrame) -> BatchAnswer:
        """See `Judge.prepare`."""
        rows = VerdictRows(shown, rated=self._settings.is_rating)
        shown = shown.assign(tree=pd.Series(map(_tree_of, records_of(shown)), index=shown.index, dtype=object))
        return partial(self._answer, rows, self.case_requests(rows, shown, self.case_questions, ("tree",)))

    def case_questions(self, positions: Positions, records: Records) -> CaseQuestions:
        """The prompts of one case's rows, made ready; see `group_rows` for the parameters.

        Raises
        ------
        InputError
            An image is missing or cannot be read, the prompt needs a reference that the case lacks, or what a probe
            calls the responses is not one token of the model.
        """
        pictures = self.pictures(image_names(records[0]))
        # In each order, prompts that differ only in what they ask share a branch, and those that do not differ a leaf.
        leaves: dict[tuple[str, str], dict[str, int]] = {}
        words: dict[tuple[int, int], tuple[int, ...]] = {}
        positions_of: dict[tuple[int, int], list[int]] = {}
        prompts: dict[tuple[object, ...], tuple[int, int]] = {}
        for position, row in zip(positions, records, strict=True):
            key = row["probe"], row["order"], row["dimension"]
            if key not in prompts:
                rendered = self._rendered(row)
                branch = str(row["order"]), rendered.case + rendered.responses
                asked = leaves.setdefault(branch, {})
                leaf = asked.setdefault(self._chat(rendered, len(pictures)) + self._lead, len(asked))
                prompts[key] = list(leaves).index(branch), leaf
                words[prompts[key]] = self._read_as(self.writer.labels(row))
            positions_of.setdefault(prompts[key], []).append(position)
        texts = [list(row) for row in leaves.values()]
        return CaseQuestions(self.reader.question(texts, pictures), positions_of, words)

    def _rendered(self, row: Record) -> Rendered:
        responses = responses_of(row, rated=self._settings.is_rating)
        return self.writer.write(row, responses, str(row["dimension"]))

    def _read_as(self, labels: Labels) -> tuple[int, ...]:
        """The places in what is read of the labels of the two responses; of a rating, those of the categories."""
        return tuple(map(self.reader.place_of, labels))

    def _answer(self, rows: VerdictRows, questions: Sequence[CaseQuestions]) -> pd.DataFrame:
        asked = [
            (one, one.prompts, [place for places in one.positions_of.values() for place in places]) for one in questions
        ]
        for (prompts, positions_of, words), reading in self.read_cases(rows, asked):
            at_first: int | None = prompts.n_tokens
            for (branch, leaf), positions in positions_of.items():
                shares = [reading[branch][leaf][place] for place in words[branch, leaf]]
                mass = sum(shares)
                if not isfinite(mass):  # neither more nor less than a half, which is not a tie
                    rows.fail(positions, NO_NUMBER)
                    continue
                pick, values = self._verdict([share / mass for share in shares])
                for position in positions:
                    self._note_mass(mass)
                    rows.put(position, "ok", pick, **values, answer_mass=mass, prompt_tokens=at_first)
                    at_first = None
        return rows.frame()

    def _verdict(self, shares: Sequence[float]) -> tuple[str, dict[str, object]]:
        """The pick, and further columns of the row, by the probabilities of what may be replied."""
        return pick_of(shares[0], 0.5), {"p_first": shares[0]}
