"""Judging by replies: a model writes, and the parser reads what it wrote; or keeping what it wrote as an answer."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Literal, cast

import pandas as pd
import torch
from transformers import GenerationConfig, LogitsProcessor, LogitsProcessorList

from mrb_lib.judges.local.base import TOO_LARGE, LocalJudge, Waiting
from mrb_lib.judges.local.weights import Tensors, check_context
from mrb_lib.judges.makers import task_maker
from mrb_lib.judges.prompts import RANKINGS, RATES, Asks, UsualPrompt
from mrb_lib.judges.roster.engines import JudgeRequest
from mrb_lib.judges.tasks import Reply, Task
from mrb_lib.tables.errors import InputError
from mrb_lib.verdicts.protocol import BatchAnswer, VerdictRows


@dataclass(frozen=True)
class _Request(Waiting):
    """A task as the model reads it; its tokens are those of the prompt and of the longest reply."""

    task: Task
    inputs: Tensors


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
    asks: ClassVar[tuple[Asks, ...]] = ("all", "one", "answer", "criteria")
    rates: ClassVar[UsualPrompt | None] = RATES

    def __init__(self, request: JudgeRequest) -> None:
        super().__init__(request)
        self._temperature = self._settings.temperature or 0.0
        usual = self._prompt.reply_limit(thinks=self._entry.thinks, labels=self._settings.labels)
        self._length = self._settings.max_new_tokens or usual

    @property
    def spec(self) -> Mapping[str, object]:
        """Return what shapes the verdicts besides the prompt; the seed only where something is drawn."""
        drawn = {"seed": self._settings.seed} if self._temperature else {}
        read = {"choices": list(self._settings.choices)}
        return {**super().spec, **read, "temperature": self._temperature, "max_new_tokens": self._length, **drawn}

    def prepare(self, shown: pd.DataFrame) -> BatchAnswer:
        """See `Judge.prepare`."""
        self.load()
        self._tasks = task_maker(self._prompt, self._settings, sees=self.weights.sees_images, marks=self.weights.marks)
        rows, requests = VerdictRows(shown, rated=self._settings.is_rating), list[_Request]()
        tasks = list(self._tasks.tasks(shown))
        for task, made in zip(tasks, self._workers.map(self._request, tasks), strict=True):
            if isinstance(made, InputError):
                self._tasks.put(rows, task, Reply(problem=str(made)))
            else:
                requests.append(made)
        return partial(self._answer, rows, requests)

    def _request(self, task: Task) -> _Request | InputError:
        """Return the inputs of a task, or the reason why it cannot be asked."""
        if task.problem:
            return InputError(task.problem)
        try:
            pictures = self.pictures(task.images)
            inputs = self.weights.encode(self.weights.chat(task.text, len(pictures), self._template), pictures)
            n_prompt = inputs["input_ids"].shape[1]
            check_context(self.weights, n_prompt, self._length)
        except InputError as error:
            return error
        positions, records = [position for position, _ in task.rows], [row for _, row in task.rows]
        return _Request(positions, records, len(pictures), n_prompt + self._length, task, inputs)

    def _answer(self, rows: VerdictRows, requests: Sequence[_Request]) -> pd.DataFrame:
        for one, reply in self.in_batches(requests, self._write):
            self._tasks.put(rows, one.task, reply or Reply(problem=TOO_LARGE))
        return rows.frame()

    def _write(self, requests: Sequence[_Request]) -> list[Reply]:
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
            noise.append(_Gumbel([one.task.seed for one in requests], self._temperature, weights.device))
        written = weights.generate(weights.to_device(inputs), config, noise)[:, n_prompt:].tolist()
        seconds = (time.perf_counter() - start) / len(requests)
        lengths = inputs["attention_mask"].sum(1).tolist()
        replies = []
        for ids, length in zip(written, lengths, strict=True):
            stop = next((i for i, token in enumerate(ids) if token in weights.ends), len(ids))
            text = weights.tokenizer.decode(ids[:stop], skip_special_tokens=False)
            took = {"prompt_tokens": int(length), "completion_tokens": min(stop + 1, len(ids)), "latency_s": seconds}
            replies.append(Reply(str(text), took, is_cut_off=stop == len(ids)))
        return replies


class BatchJudge(GenerativeJudge):
    """A reply for each item, direction and repeat, or for each dimension too where the prompt asks for one ranking.

    See `mrb_lib.judges.makers` for the order in which the responses are shown. It depends on the seed, which therefore
    is part of `spec`.

    Validated by tests/judges/local/test_batch.py.
    """

    engine = "batch"
    usual_prompt = "batch"
    rates = None
    asks = RANKINGS
    ranks_items: Literal[True] = True

    @property
    def spec(self) -> Mapping[str, object]:
        """Return what shapes the verdicts besides the prompt: the items, and the seed that orders responses, too."""
        return {**super().spec, "seed": self._settings.seed, "items": self._settings.items}


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
