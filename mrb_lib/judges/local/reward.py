"""Scalar reward models: a number for each response, and from their difference a choice and a probability."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import isfinite
from typing import Final

import numpy as np
import pandas as pd
from PIL import Image

from mrb_lib.errors import InputError
from mrb_lib.judges.local.base import NO_NUMBER, TOO_LARGE, LocalJudge, image_names, responses_of, units
from mrb_lib.judges.local.heads import RewardHead, load_head
from mrb_lib.judges.prompts import defuse
from mrb_lib.judges.roster.entry import Entry
from mrb_lib.judges.roster.source import WeightsSource
from mrb_lib.judges.rows import VerdictRows
from mrb_lib.judges.settings import Settings
from mrb_lib.verdicts.orders import FIRST, SECOND, TIE
from mrb_lib.verdicts.protocol import Answer

DIMENSION: Final = "overall"


@dataclass(frozen=True)
class _Scored:
    """The conversations of a case, one a response, and the rows that wait for their scores."""

    texts: tuple[str, str]
    pictures: tuple[Image.Image, ...]
    positions: tuple[int, ...]
    swapped: tuple[bool, ...]


class RewardJudge(LocalJudge):
    """A scalar reward of each response as the assistant's reply to the question.

    Such a model has one score, so it judges `overall` and no other dimension.
    `p_first` is the logistic function of the difference of the scores (Bradley and
    Terry's model, by which these models are trained). Both orders have the same scores.

    Validated by tests/judges/local/test_reward.py.
    """

    engine = "reward"
    dimensions = (DIMENSION,)
    speaks = False

    def __init__(
        self, name: str, entry: Entry, source: WeightsSource, settings: Settings, images: Mapping[str, bytes]
    ) -> None:
        super().__init__(name, entry, source, settings, images, prompt=None, asks=())
        self._head: RewardHead | None = None

    @property
    def head(self) -> RewardHead:
        """The scalar head; loads the weights."""
        if self._head is None:
            super().load()
            self._head = load_head(self._source.folder, self._weights)
        return self._head

    def load(self) -> None:
        """Read the weights and the scalar head."""
        self.head.check()

    def prepare(self, shown: pd.DataFrame) -> Answer:
        """See `Judge.prepare`."""
        self.load()
        rows = VerdictRows(shown)
        scored: list[_Scored] = []
        for positions, records in units(shown, ("case_id", "probe")):
            try:
                scored.append(self._conversations(positions, records))
            except InputError as error:
                rows.fail(positions, str(error))
        return partial(self._answer, rows, scored)

    def _conversations(self, positions: Sequence[int], records: Sequence[Mapping[str, object]]) -> _Scored:
        row = records[0]
        pictures = self._pictures(image_names(row))
        marks = self._weights.marks
        question = defuse(str(row["question"]), marks)
        first, second = (
            self._weights.chat(question, len(pictures), self._template, reply=defuse(response, marks))
            for response in responses_of(row)
        )
        swapped = tuple(record["order"] != row["order"] for record in records)
        return _Scored((first, second), tuple(pictures), tuple(positions), swapped)

    def _answer(self, rows: VerdictRows, scored: Sequence[_Scored]) -> pd.DataFrame:
        for one, result in zip(scored, self._in_batches(scored, self._score), strict=True):
            if result is None or isinstance(result, str):
                rows.fail(one.positions, result or TOO_LARGE)
                continue
            (first, second), tokens, seconds = result
            if not (isfinite(first) and isfinite(second)):
                rows.fail(one.positions, NO_NUMBER)
                continue
            for i, (position, swapped) in enumerate(zip(one.positions, one.swapped, strict=True)):
                a, b = (second, first) if swapped else (first, second)
                rows.put(
                    position,
                    "ok",
                    FIRST if a > b else SECOND if a < b else TIE,
                    score_first=a,
                    score_second=b,
                    p_first=float(0.5 * (1.0 + np.tanh(0.5 * (a - b)))),
                    prompt_tokens=None if i else tokens,
                    latency_s=None if i else seconds,
                )
        return rows.frame()

    def _score(self, scored: Sequence[_Scored]) -> list[tuple[tuple[float, float], int, float] | str]:
        """Scores, tokens and seconds of each case, or why it could not be encoded."""
        start = time.perf_counter()
        texts = [text for one in scored for text in one.texts]
        try:
            inputs = self._weights.encode(texts, [one.pictures for one in scored for _ in one.texts])
        except InputError as error:
            # Which case it was is found by asking one at a time.
            return [str(error)] if len(scored) == 1 else [one for case in scored for one in self._score([case])]
        scores = self.head.scores(self._weights.to_device(inputs)).tolist()
        lengths = inputs["attention_mask"].sum(1).tolist()
        seconds = (time.perf_counter() - start) / len(scored)
        return [
            ((scores[2 * i], scores[2 * i + 1]), int(lengths[2 * i] + lengths[2 * i + 1]), seconds)
            for i in range(len(scored))
        ]
