"""Judging by replies: a model writes, and the parser reads what it wrote; or keeping what it wrote as an answer."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from typing import ClassVar, Final, cast

import pandas as pd
import torch
from transformers import GenerationConfig, LogitsProcessor, LogitsProcessorList

from mrb_lib.judges.local.base import TOO_LARGE, LocalJudge, Positions, Records, image_names, responses_of
from mrb_lib.judges.local.weights import Tensors, check_context, context_length
from mrb_lib.judges.prompts import Asks
from mrb_lib.judges.roster.entry import Entry
from mrb_lib.judges.roster.source import WeightsSource
from mrb_lib.judges.settings import Settings
from mrb_lib.replies.labels import Labels, labels_of
from mrb_lib.replies.multi import parse_ratings
from mrb_lib.replies.reading import parse
from mrb_lib.verdicts.orders import KEYS, PICKS
from mrb_lib.verdicts.protocol import BatchAnswer, VerdictRows

_REPLY: Final = ("case_id", "order", "repeat", "probe")
# Tokens after which a reply is cut off, unless the user says otherwise.
_LENGTH_OF_JSON, _LENGTH_OF_LETTER, _LENGTH_OF_REASONS, _LENGTH_OF_THINKING = 256, 16, 1024, 4096
_LENGTH_OF_ANSWER: Final = 1024


@dataclass(frozen=True)
class ReplyRequest:
    """One prompt, the rows its reply answers, and the seed of its sampling."""

    inputs: Tensors
    n_images: int
    positions: tuple[int, ...]
    dimensions: tuple[str, ...]
    seed: int
    labels: Labels
    question: str = field(default="", kw_only=True)


@dataclass(frozen=True)
class Reply:
    """What was written in answer to one prompt, and what it took."""

    text: str
    prompt_tokens: int
    tokens: int
    seconds: float
    is_cut_off: bool


class GenerativeJudge(LocalJudge):
    """A reply for each case and order, or for each dimension too where the prompt asks for one.

    Greedy unless a temperature is set. Sampling draws every reply from a seed of its
    own, so that it is the same in whatever batch it is written. Where several rows
    share a reply, its tokens and seconds stand in the first of them and are null in
    the others, so that sums are right.

    Validated by tests/judges/local/test_generative.py.
    """

    engine = "generative"
    usual_prompt = "plain"
    asks: ClassVar[tuple[Asks, ...]] = ("all", "one", "answer")
    rates: ClassVar[tuple[str, tuple[Asks, ...]] | None] = ("rate", ("categories", "category"))

    def __init__(
        self, name: str, entry: Entry, source: WeightsSource, settings: Settings, images: Mapping[str, bytes]
    ) -> None:
        super().__init__(name, entry, source, settings, images)
        self._temperature = settings.temperature or 0.0
        self._length = settings.max_new_tokens or self._usual_length(entry)

    def _usual_length(self, entry: Entry) -> int:
        if entry.thinking == "always" or self._template.get("enable_thinking") is True:
            return _LENGTH_OF_THINKING
        if self._prompt.is_of_one and not self._settings.labels:
            return _LENGTH_OF_LETTER
        if self._prompt.asks == "answer":
            return _LENGTH_OF_ANSWER
        reasons = self._prompt.id == "reasoned" or self._prompt.gives_reason
        return _LENGTH_OF_REASONS if reasons else _LENGTH_OF_JSON

    @property
    def spec(self) -> Mapping[str, object]:
        """What shapes the verdicts besides the prompt; the seed only where something is drawn."""
        drawn = {"seed": self._settings.seed} if self._temperature else {}
        read = {"choices": list(self._settings.choices)}
        return {**super().spec, **read, "temperature": self._temperature, "max_new_tokens": self._length, **drawn}

    def prepare(self, shown: pd.DataFrame) -> BatchAnswer:
        """See `Judge.prepare`."""
        self.load()
        rows = VerdictRows(shown, rated=self._settings.is_rating)
        keys = KEYS if self._prompt.is_of_one else _REPLY
        return partial(self._answer, rows, self.requests(rows, shown, keys, self._ask))

    def _ask(self, positions: Positions, records: Records) -> ReplyRequest:
        row = records[0]
        wanted = tuple(str(record["dimension"]) for record in records)
        pictures = self.pictures(image_names(row))
        one = wanted[0] if self._prompt.is_of_one else ""
        responses = responses_of(row, rated=self._settings.is_rating)
        rendered = self._render(row, responses, self._settings.dimensions, one)
        key = "\0".join([str(self._settings.seed), *(str(row[name]) for name in _REPLY), one])
        seed = int.from_bytes(hashlib.blake2b(key.encode(), digest_size=7).digest(), "big")
        inputs = self.weights.encode([self._chat(rendered, len(pictures))], [pictures])
        check_context(inputs["input_ids"].shape[1], context_length(self.weights), self._length)
        return ReplyRequest(
            inputs, len(pictures), tuple(positions), wanted, seed, labels_of(row), question=str(row["question"])
        )

    def _answer(self, rows: VerdictRows, requests: Sequence[ReplyRequest]) -> pd.DataFrame:
        # Some models take images a row of the batch, and so as many in each.
        for _, alike in groupby(sorted(requests, key=_n_images), _n_images):
            some = list(alike)
            lengths = [one.inputs["input_ids"].shape[1] + self._length for one in some]
            for one, reply in zip(some, self._in_batches(some, self._write, lengths), strict=True):
                if reply is None:
                    rows.fail(one.positions, TOO_LARGE)
                else:
                    self._read(rows, one, reply)
        return rows.frame()

    def _write(self, requests: Sequence[ReplyRequest]) -> list[Reply]:
        """Let the model write the replies."""
        weights, start = self.weights, time.perf_counter()
        inputs = weights.collate([one.inputs for one in requests])
        n_prompt = inputs["input_ids"].shape[1]
        config = GenerationConfig(
            max_new_tokens=self._length,
            do_sample=False,
            num_beams=1,
            pad_token_id=weights.pad_id,
            eos_token_id=weights.ends or None,
        )
        noise = LogitsProcessorList()
        if self._temperature:
            noise.append(_Gumbel([one.seed for one in requests], self._temperature, weights.device))
        written = weights.generate(weights.to_device(inputs), config, noise)[:, n_prompt:].tolist()
        seconds = (time.perf_counter() - start) / len(requests)
        lengths = inputs["attention_mask"].sum(1).tolist()
        replies = []
        for ids, length in zip(written, lengths, strict=True):
            stop = next((i for i, token in enumerate(ids) if token in weights.ends), len(ids))
            text = weights.tokenizer.decode(ids[:stop], skip_special_tokens=False)
            replies.append(Reply(str(text), int(length), min(stop + 1, len(ids)), seconds, stop == len(ids)))
        return replies

    def _read(self, rows: VerdictRows, request: ReplyRequest, reply: Reply) -> None:
        if self._prompt.asks == "answer":
            for position in request.positions:
                rows.put_answer(
                    position,
                    reply.text,
                    is_cut_off=reply.is_cut_off,
                    prompt_tokens=reply.prompt_tokens,
                    completion_tokens=reply.tokens,
                    latency_s=reply.seconds,
                )
            return
        dimensions = request.dimensions if self._prompt.is_of_one else self._settings.dimensions
        offered, rated, cut_off = self._settings.choices, self._settings.is_rating, reply.is_cut_off
        reading = (
            parse_ratings(reply.text, dimensions, offered, self._settings.labels, is_cut_off=cut_off)
            if rated
            else parse(reply.text, dimensions, offered, request.labels, question=request.question, is_cut_off=cut_off)
        )
        for i, (position, dimension) in enumerate(zip(request.positions, request.dimensions, strict=True)):
            choice = reading.choices[dimension]
            rows.put(
                position,
                reading.status_of(dimension),
                choice if rated or choice is None else PICKS[choice],
                reply=reply.text,
                prompt_tokens=None if i else reply.prompt_tokens,
                completion_tokens=None if i else reply.tokens,
                latency_s=None if i else reply.seconds,
            )


def _n_images(request: ReplyRequest) -> int:
    return request.n_images


class _Gumbel(LogitsProcessor):
    """Sampling as a maximum: the highest of scores plus Gumbel noise is a draw from their softmax.

    Each row's noise comes from a generator of its own, whatever the rows beside it
    (Maddison, Tarlow and Minka, A* Sampling, NeurIPS 2014, section 2).
    """

    def __init__(self, seeds: Sequence[int], temperature: float, device: torch.device) -> None:
        self._generators = [torch.Generator(device).manual_seed(seed) for seed in seeds]
        self._temperature = temperature

    def __call__(self, input_ids: torch.LongTensor, scores: torch.FloatTensor) -> torch.FloatTensor:
        noise = torch.stack(
            [torch.empty(scores.shape[1], device=scores.device).exponential_(generator=one) for one in self._generators]
        )
        return cast("torch.FloatTensor", scores.float() / self._temperature - noise.log())
