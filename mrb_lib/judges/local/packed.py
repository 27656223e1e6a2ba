"""Judging by probabilities: every question of a case read in one pass over one tree of prompts.

The choice is the more probable of the letters A and B as the first token of the
reply, so nothing is generated and nothing is parsed. Both orders and all dimensions
of a case share what they have in common; see `mrb_lib.judges.local.tree`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from math import isfinite

import pandas as pd

from mrb_lib.errors import InputError
from mrb_lib.judges.local.base import NO_NUMBER, TOO_LARGE, LocalJudge, group_rows, image_names, responses_of
from mrb_lib.judges.local.reader import CasePrompts, TreeReader
from mrb_lib.judges.roster.entry import Entry
from mrb_lib.judges.roster.source import WeightsSource
from mrb_lib.judges.settings import Settings
from mrb_lib.verdicts.orders import FIRST, SECOND, TIE
from mrb_lib.verdicts.protocol import BatchAnswer, VerdictRows


class PackedJudge(LocalJudge):
    """One pass a case; every row has `p_first`, and `answer_mass`, the probability of A and B together.

    The tokens that were read for a case stand in the first of its rows, so that sums are right.
    A model that cannot share work between prompts is asked each question alone, with a notice.

    Validated by tests/judges/local/test_packed.py against scoring each question alone.
    """

    engine = "packed"

    def __init__(
        self, name: str, entry: Entry, source: WeightsSource, settings: Settings, images: Mapping[str, bytes]
    ) -> None:
        super().__init__(name, entry, source, settings, images, prompt="single", asks=("one",))
        if entry.thinking == "always":
            self.notice("reasons before it replies, so its first token is not its verdict: use NAME+generative")
        self._reader: TreeReader | None = None

    def load(self) -> None:
        """Read the weights, and try whether prompts can share their beginnings."""
        if self.reader.why_alone:
            self.notice(f"cannot share work between questions ({self.reader.why_alone}): each is read alone")

    def prepare(self, shown: pd.DataFrame) -> BatchAnswer:
        """See `Judge.prepare`."""
        self.load()
        rows = VerdictRows(shown)
        questions: list[CasePrompts] = []
        wanted: list[dict[tuple[int, int], list[int]]] = []
        for positions, records in group_rows(shown, ("case_id", "probe")):
            try:
                question, positions_of = self._question(positions, records)
            except InputError as error:
                rows.fail(positions, str(error))
                continue
            questions.append(question)
            wanted.append(positions_of)
        if self.reader.why_apart:
            self.notice(f"some cases are read one question at a time ({self.reader.why_apart})")
        return partial(self._answer, rows, questions, wanted)

    def _question(
        self, positions: Sequence[int], records: Sequence[Mapping[str, object]]
    ) -> tuple[CasePrompts, dict[tuple[int, int], list[int]]]:
        """The prompts of one case, by order and dimension, and the rows that wait for each."""
        orders = list(dict.fromkeys(str(record["order"]) for record in records))
        dimensions = list(dict.fromkeys(str(record["dimension"]) for record in records))
        first_of = {str(record["order"]): record for record in reversed(records)}
        pictures = self._pictures(image_names(records[0]))
        texts = []
        for order in orders:
            row = first_of[order]
            rendered = [
                self._render(row, responses_of(row), self._settings.dimensions, dimension) for dimension in dimensions
            ]
            texts.append([self._chat(one, len(pictures)) for one in rendered])
        positions_of: dict[tuple[int, int], list[int]] = {}
        for position, record in zip(positions, records, strict=True):
            prompt = (orders.index(str(record["order"])), dimensions.index(str(record["dimension"])))
            positions_of.setdefault(prompt, []).append(position)
        return self.reader.question(texts, pictures), positions_of

    @property
    def reader(self) -> TreeReader:
        """What reads the probabilities; loads the weights."""
        if self._reader is None:
            super().load()
            self._reader = TreeReader(self._weights, [["A", " A"], ["B", " B"]])
        return self._reader

    def _answer(
        self, rows: VerdictRows, questions: Sequence[CasePrompts], wanted: Sequence[Mapping[tuple[int, int], list[int]]]
    ) -> pd.DataFrame:
        readings = self._in_batches(questions, self.reader.read)
        for question, positions_of, reading in zip(questions, wanted, readings, strict=True):
            at_first: int | None = question.n_tokens
            for (branch, leaf), positions in positions_of.items():
                if reading is None:
                    rows.fail(positions, TOO_LARGE)
                    continue
                first, second = reading[branch][leaf]
                if not isfinite(first + second):  # neither more nor less than a half, which is not a tie
                    rows.fail(positions, NO_NUMBER)
                    continue
                p_first, mass = first / (first + second), first + second
                pick = FIRST if p_first > 0.5 else SECOND if p_first < 0.5 else TIE
                for position in positions:
                    self._note_mass(mass)
                    rows.put(position, "ok", pick, p_first=p_first, answer_mass=mass, prompt_tokens=at_first)
                    at_first = None
        return rows.frame()
