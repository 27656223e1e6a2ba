"""Ranking all responses to an item in one written reply, from which the verdicts of its pairs are read."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Literal, cast

import pandas as pd

from mrb_lib.judges.lineup import PROMPT_KEY, Pair, lineup_of, pair_of, put_pairs, with_lineups
from mrb_lib.judges.local.base import Positions, Records, image_names
from mrb_lib.judges.local.generative import GenerativeJudge, Reply, ReplyRequest
from mrb_lib.judges.local.weights import check_context, context_length
from mrb_lib.judges.prompts import RANKINGS
from mrb_lib.judges.roster.entry import Entry
from mrb_lib.replies.labels import LETTERS
from mrb_lib.replies.rankings import parse_rankings
from mrb_lib.verdicts.protocol import BatchAnswer, VerdictRows

_LENGTH_OF_RANKINGS = 1024


@dataclass(frozen=True)
class _RankingRequest(ReplyRequest):
    """As of a pair, and where the two responses of each row stand among the `n` that are shown."""

    n: int
    pairs: tuple[Pair, ...]


class BatchJudge(GenerativeJudge):
    """A reply for each item, direction and repeat, or for each dimension too where the prompt asks for one ranking.

    See `mrb_lib.judges.lineup` for the order in which the responses are shown. It depends on the seed, which therefore
    is part of `spec`. Tokens and seconds of a reply stand in the first of the rows that it answers and are null in the
    others, so that sums are right.

    Validated by tests/judges/local/test_batch.py.
    """

    engine = "batch"
    usual_prompt = "batch"
    rates = None
    asks = RANKINGS  # a tuple of other literals than the base class has
    ranks_items: Literal[True] = True

    def _usual_length(self, entry: Entry) -> int:
        return max(super()._usual_length(entry), _LENGTH_OF_RANKINGS)

    @property
    def spec(self) -> Mapping[str, object]:
        """What shapes the verdicts besides the prompt: the seed, by which responses are ordered, and the items, too."""
        return {**super().spec, "seed": self._settings.seed, "items": self._settings.items}

    def prepare(self, shown: pd.DataFrame) -> BatchAnswer:
        """See `Judge.prepare`."""
        self.load()
        rows = VerdictRows(shown)
        keys = [PROMPT_KEY, "dimension"] if self._prompt.asks == "ranking" else [PROMPT_KEY]
        return partial(
            self._answer, rows, self.requests(rows, with_lineups(shown, self._settings.seed), keys, self._ask)
        )

    def _ask(self, positions: Positions, records: Records) -> _RankingRequest:
        row, responses = records[0], lineup_of(records[0])
        wanted = tuple(str(record["dimension"]) for record in records)
        one = wanted[0] if self._prompt.asks == "ranking" else ""
        pictures = self.pictures(image_names(row))
        rendered = self._render(row, responses, self._settings.dimensions, one)
        digest = hashlib.blake2b(f"{row[PROMPT_KEY]}\0{one}".encode(), digest_size=7).digest()
        inputs = self.weights.encode([self._chat(rendered, len(pictures))], [pictures])
        check_context(inputs["input_ids"].shape[1], context_length(self.weights), self._length)
        return _RankingRequest(
            inputs, len(pictures), tuple(positions), wanted, int.from_bytes(digest, "big"), LETTERS,
            len(responses), tuple(map(pair_of, records)),
        )  # fmt: skip

    def _read(self, rows: VerdictRows, request: ReplyRequest, reply: Reply) -> None:
        ranked = cast("_RankingRequest", request)
        dimensions = request.dimensions[:1] if self._prompt.asks == "ranking" else self._settings.dimensions
        reading = parse_rankings(reply.text, dimensions, ranked.n, is_cut_off=reply.is_cut_off)
        took = {
            "prompt_tokens": reply.prompt_tokens,
            "completion_tokens": reply.tokens,
            "latency_s": reply.seconds,
        }
        asked = list(zip(request.positions, request.dimensions, ranked.pairs, strict=True))
        put_pairs(rows, asked, reading, self._settings.choices, reply.text, took)
