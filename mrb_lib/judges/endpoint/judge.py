"""Judging through any server that speaks the OpenAI chat protocol: vLLM, SGLang, TGI, llama.cpp, or a hosted model.

The parts: `address` (where, and whether cases may go there), `requests` (what is asked), `capabilities` (what is asked
for until it is refused), `cache` (what was asked before), `client` (asking, again if need be, within `limits`),
`transport` (one attempt), `reply` (what came back). `letters` asks for one letter a question.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd

from mrb_lib.judges.budget import Budget, Estimate
from mrb_lib.judges.endpoint.address import address
from mrb_lib.judges.endpoint.cache import FILE_NAME, ReplyCache
from mrb_lib.judges.endpoint.capabilities import TOP_LOGPROBS, Notices, RequestOptions
from mrb_lib.judges.endpoint.client import Ask, ChatClient, Failure, Prices
from mrb_lib.judges.endpoint.reply import ChatReply, Probability, p_of_key, p_of_letter
from mrb_lib.judges.endpoint.requests import MAX_PIXELS, RequestWriter, Task, wants_only_json
from mrb_lib.judges.endpoint.threaded_map import threaded_map
from mrb_lib.judges.endpoint.transport import Transport
from mrb_lib.judges.prompt_files import load_prompt
from mrb_lib.judges.prompts import RANKINGS, Prompt
from mrb_lib.judges.roster.entry import Entry
from mrb_lib.judges.settings import Settings
from mrb_lib.replies.answers import read_answer
from mrb_lib.replies.labels import LETTERS
from mrb_lib.replies.multi import parse_ratings
from mrb_lib.replies.reading import Reading, parse
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.schema import ANSWERED_STATUSES, Status
from mrb_lib.verdicts.orders import PICKS
from mrb_lib.verdicts.protocol import BatchAnswer, VerdictRows

_TOKENS_OF_A_LETTER: Final = 8
_TOKENS_OF_JSON: Final = 512
_TOKENS_OF_REASONS: Final = 2048
_TOKENS_OF_THOUGHT: Final = 4096
_TOKENS_OF_AN_ANSWER: Final = 1024
_THINKING_OFF: Final = (("enable_thinking", False), ("thinking", False), ("thinking_mode", "off"))

Chain = Sequence[Task]
"""Requests that are sent one after the other, because what is asked first makes the next one cheaper."""


@dataclass(frozen=True)
class Answered:
    """A task and what came of it; None where it was not asked. `cached` is what was asked, of a reply in the cache."""

    task: Task
    answer: ChatReply | Failure | None
    is_kept: bool = False
    cached: bytes | None = None


@dataclass(eq=False)
class _Batch:
    """A batch under way: its rows, open chains, ended requests, and the replies in the cache whose cost they state."""

    shown: pd.DataFrame
    rows: VerdictRows
    n_open: int
    n_stated: int = 0
    claimed: list[bytes] = field(default_factory=list)


class EndpointJudge:
    """A judge behind a server; see `mrb_lib.verdicts.protocol.Judge`.

    A prompt that asks for all dimensions is sent once for each case, order and repeat;
    one that asks for one dimension is sent once for each verdict, those of one case one after
    the other, so that a server that keeps what it read of a prompt reads the images and
    texts of a case once. Images come before the text, in one user message.

    A reply to a prompt that says "Reply with one JSON object and nothing else" is held
    to a JSON schema, and the probabilities of tokens are asked for, both until the
    server refuses; see `mrb_lib.judges.endpoint.capabilities`. `p_first` is read from these
    probabilities; see `mrb_lib.judges.endpoint.reply`.

    Where a reply answers several rows, `reply` is on each of them, and its
    `prompt_tokens`, `completion_tokens`, `latency_s` and `cost_usd` are on the first
    and null on the others, so that sums over rows count each request once. A reply that an earlier run
    was given costs 0.

    Only a reply from which every verdict could be read is kept for other runs, so what is judged again
    is asked again.

    Parameters
    ----------
    name : as in the verdicts
    entry : names the model, and the server and its key where it has its own
    settings : `url`, `allow_remote`, `prompt`, `temperature` (0 unless set), `seed`,
        `max_new_tokens`, `max_pixels`, `concurrency`, `timeout_s`, the prices, the budget and the rates
    images : the benchmark's images, by name
    runs : the folder in which replies are kept; None keeps none
    budget : shared with other judges; None makes one of the settings'
    sleep : waits so many seconds between attempts; None waits until the run stops, at most so long
    clock : seconds since any moment, which pass while `sleep` waits

    Raises
    ------
    InputError
        The server may not be used as named (see `mrb_lib.judges.endpoint.address`), the
        prompt asks for a rating, or only one of the two prices is given.

    Notes
    -----
    Validated by tests/judges/endpoint/test_endpoint_server.py against a real server.
    """

    engine = "endpoint"
    _load_prompt = staticmethod(load_prompt)
    usual_prompt = "plain"
    usual_rating_prompt: str | None = "rate"
    dimensions: tuple[str, ...] | None = None
    provenance: Mapping[str, object] = {}
    sorts_by_length = False

    def __init__(
        self,
        name: str,
        entry: Entry,
        settings: Settings,
        images: Mapping[str, bytes],
        runs: Path | None = None,
        budget: Budget | None = None,
        *,
        sleep: Callable[[float], object] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        usual = self.usual_rating_prompt if settings.is_rating else self.usual_prompt
        if usual is None:
            raise InputError(
                f"judge {entry.name}: the engine {self.engine} compares two responses, and the benchmark has "
                f"ratings of one; leave out +{self.engine}."
            )
        prompt = self._checked(self._load_prompt(settings.prompt or usual), entry)
        if prompt.asks != "answer" and prompt.rates != settings.is_rating:
            has = "ratings of one response" if settings.is_rating else "two responses to compare"
            raise InputError(f"prompt {prompt.id}: does not ask for what the benchmark has, {has}; use {usual}.")
        prompt.check_shows(settings.shows)
        self._prices, self._labels = _prices(settings), settings.labels
        server = address(entry, settings)
        sees, max_pixels = entry.vision is not False, settings.max_pixels or MAX_PIXELS
        max_tokens = settings.max_new_tokens or self._reply_length(prompt, entry)
        options = RequestOptions(wants_only_json(prompt), TOP_LOGPROBS if prompt.asks in ("all", "one") else 0)
        temperature = self._temperature(settings)
        fixed: dict[str, object] = {"model": entry.model or entry.name, "temperature": temperature}
        if template := entry.chat.get("template"):
            fixed["chat_template_kwargs"] = template
        self.name = name
        self.device = f"server {server.host}"
        self.cases_per_batch = settings.batch_size or max(2 * settings.concurrency, 8)
        self.spec: Mapping[str, object] = {
            "engine": self.engine,
            "url": server.url,
            **fixed,
            "asks": prompt.asks,
            "dimensions": list(settings.dimensions),
            "choices": list(settings.choices),
            **settings.of_benchmark,
            **self._own_spec(settings),
            "seed": settings.seed,
            "max_tokens": max_tokens,
            "max_pixels": max_pixels,
            "images": sees and not settings.without_images,
            **({"without_images": True} if settings.without_images else {}),
            "schema": options.schema,
            "top_logprobs": options.top_logprobs,
        }
        self._prompt, self._choices, self._concurrency = prompt, settings.choices, settings.concurrency
        self._rated = settings.is_rating
        self._budget = budget or (Budget(settings.budget) if settings.budget else None)
        self._notices = Notices()
        if not (server.is_local or server.is_encrypted):
            self._notices.add(f"the connection to {server.host} is not encrypted: others may read the cases")
        self._cache = ReplyCache(runs / FILE_NAME, self._notices) if runs is not None else None
        self._n_replies = self._n_kept = 0
        self._is_local = server.is_local
        self._writer = self._writer_type(prompt, settings, images, sees, max_pixels)
        self._client = ChatClient(
            Transport(server, connections=settings.concurrency, timeout_s=settings.timeout_s),
            fixed,
            max_tokens,
            options,
            settings,
            budget=self._budget,
            prices=self._prices,
            notices=self._notices,
            sleep=sleep,
            clock=clock,
        )

    @property
    def _writer_type(self) -> type[RequestWriter]:
        return RequestWriter

    @property
    def prompt_id(self) -> str:
        """The prompt's id."""
        return self._prompt.id

    @property
    def prompt_hash(self) -> str:
        """The prompt's hash."""
        return self._prompt.hash

    @property
    def prompt_text(self) -> str:
        """The prompt's template."""
        return self._prompt.text

    @property
    def notices(self) -> list[str]:
        """What the server would not do, and how it was done instead; and how many replies it was not asked for."""
        if not self._n_kept:
            return self._notices.all()
        kept = f"{self._n_kept} of {self._n_replies} replies were there from earlier requests and cost nothing again"
        other = ", as after loading other weights under the same name" if self._is_local else ""
        return [*self._notices.all(), f"{kept} (remove {FILE_NAME} from the folder of runs to ask anew{other})"]

    def load(self) -> None:
        """Nothing to read: the weights are the server's."""

    def judge(self, shown: pd.DataFrame) -> pd.DataFrame:
        """See `Judge.judge`."""
        return self.prepare(shown)()

    def prepare(self, shown: pd.DataFrame) -> BatchAnswer:
        """Encode the images and write the requests; see `Judge.prepare`."""
        return partial(self._answer, shown, self._chains(shown))

    def _answer(self, shown: pd.DataFrame, chains: Sequence[Chain]) -> pd.DataFrame:
        answered = list(self._stream([(shown, chains)]))
        return answered[0][1] if answered else VerdictRows(shown, rated=self._rated).frame(partial=True)

    def stream(self, batches: Iterable[pd.DataFrame]) -> Generator[tuple[pd.DataFrame, pd.DataFrame], None, None]:
        """Judge batches without waiting for the slowest request of one before the next is begun.

        Closed early, it sends no request that was not begun, and waits for those that were.

        Parameters
        ----------
        batches : see `Judge.judge`; drawn when there is room for more requests

        Yields
        ------
        tuple
            A batch, and its verdicts as `Judge.judge` returns them, in the order in which batches are done.

        Raises
        ------
        InputError
            The server rejects the key, does not know the model, or redirects: no other request would fare better.
        RunError
            The server is gone, or the budget is used up. The verdicts that were made before are yielded first.
        """
        return self._stream((shown, self._chains(shown)) for shown in batches)

    def estimate(self, shown: pd.DataFrame, scale: float) -> Estimate | None:
        """What requests would cost; None without a budget.

        Parameters
        ----------
        shown : some of the rows to judge
        scale : how many rows are to be judged for each of these
        """
        if self._budget is None or self._prices is None:
            return None
        requests = [task.request for task in self._writer.tasks(shown) if task.request is not None]
        if self._cache is not None:
            requests = [request for request in requests if self._client.wanted(request) not in self._cache]
            self._cache.close()
        bounds = scale * np.array([self._client.bounds(request) for request in requests]).reshape(-1, 2).sum(axis=0)
        prompt, reply = (round(float(number)) for number in bounds)
        least, most = self._prices.cost(prompt, 0) or 0.0, self._prices.cost(prompt, reply) or 0.0
        left = self._budget.usd - self._budget.spent
        return Estimate(round(scale * len(requests)), prompt, reply, least, most, left)

    def _chains(self, shown: pd.DataFrame) -> list[Chain]:
        tasks = self._writer.tasks(shown)
        if not self._prompt.is_of_one:
            return [[task] for task in tasks]
        return [list(of_case) for _, of_case in groupby(tasks, lambda task: task.case_id)]

    def _stream(
        self, batches: Iterable[tuple[pd.DataFrame, Sequence[Chain]]]
    ) -> Generator[tuple[pd.DataFrame, pd.DataFrame], None, None]:
        under_way: list[_Batch] = []

        def begun() -> Iterator[tuple[_Batch, Chain]]:
            for shown, chains in batches:
                batch = _Batch(shown, VerdictRows(shown, rated=self._rated), len(chains))
                under_way.append(batch)
                for chain in chains:
                    if self._client.is_stopped:
                        return
                    yield batch, chain

        try:
            with self._client.open() as ask:
                work = partial(self._ask_chain, ask)
                with closing(threaded_map(work, begun(), self._concurrency, self._client.stop)) as answers:
                    for (batch, _), answered in answers:
                        self._note(batch, answered)
                        if not batch.n_open and not self._client.is_stopped:
                            under_way.remove(batch)
                            yield batch.shown, self._frame(batch)
            while under_way:
                batch = under_way.pop(0)
                if batch.n_stated:
                    yield batch.shown, self._frame(batch)
        finally:
            if self._cache is not None:
                for asked in (asked for batch in under_way for asked in batch.claimed):
                    self._cache.release(asked)
                self._cache.close()
        if self._client.stopped_by is not None:
            raise self._client.stopped_by

    def _ask_chain(self, ask: Ask, item: tuple[_Batch, Chain]) -> list[Answered]:
        """Ask the requests of a chain one after the other, in one of several threads."""
        return [self._ask(ask, task) for task in item[1]]

    def _ask(self, ask: Ask, task: Task) -> Answered:
        if task.request is None:
            return Answered(task, Failure(task.problem))
        if self._cache is None:
            return Answered(task, ask(task.request))
        wanted = self._client.wanted(task.request)
        kept = self._cache.get(wanted)
        if kept is not None:
            return Answered(task, kept, is_kept=True, cached=wanted)
        answer = ask(task.request)
        if not isinstance(answer, ChatReply) or not self._is_whole(task, answer):
            return Answered(task, answer)
        self._cache.put(wanted, answer)
        return Answered(task, answer, cached=wanted)

    def _is_whole(self, task: Task, reply: ChatReply) -> bool:
        """Whether all that was asked for can be read from a reply; an answer may be cut off."""
        if reply.refused:
            return False
        if self._prompt.asks == "answer":
            return read_answer(reply.whole).status in ANSWERED_STATUSES
        reading = self._reading(task, reply)
        return all(reading.status_of(dimension) in ANSWERED_STATUSES for dimension in task.asked)

    def _note(self, batch: _Batch, answered: Sequence[Answered]) -> None:
        """Put what came of a chain into the rows of its batch; what was not asked stays open."""
        batch.n_open -= 1
        for one in answered:
            if one.answer is None:
                continue
            batch.n_stated += 1
            if isinstance(one.answer, ChatReply):
                self._n_replies += 1
                self._n_kept += one.is_kept
                is_first = self._cache is None or one.cached is None or self._cache.claim(one.cached)
                batch.claimed += [one.cached] if is_first and one.cached is not None else []
                self._put(batch.rows, one.task, one.answer, self._took(one.answer, is_stated=not is_first))
            else:
                self._put_failure(batch.rows, one.task, one.answer)

    def _put_failure(
        self, rows: VerdictRows, task: Task, failure: Failure, took: Mapping[str, object] | None = None
    ) -> None:
        """State in the rows that waited for a request why it got no reply, and on the first what others of it took."""
        for position, _ in task.rows:
            status: Status = "refused" if failure.refused else "error"
            rows.put(position, status, None, error=failure.reason, **(took or {}))
            took = None

    def _took(self, reply: ChatReply, *, is_stated: bool) -> dict[str, object]:
        """What a reply took, for the first of its rows; nothing was paid for one whose cost is stated elsewhere."""
        took: dict[str, object] = {
            "latency_s": reply.latency_s,
            "prompt_tokens": reply.prompt_tokens,
            "completion_tokens": reply.completion_tokens,
        }
        if self._prices is not None:
            cost = self._prices.cost(reply.prompt_tokens, reply.completion_tokens)
            took["cost_usd"] = 0.0 if is_stated else cost
        return took

    def _put(self, rows: VerdictRows, task: Task, reply: ChatReply, took: dict[str, object]) -> None:
        """Read a reply into its rows; what it took stands on the first of them."""
        self._note_length(reply)
        if self._prompt.asks == "answer":
            for position, _ in task.rows:
                rows.put_answer(position, reply.whole, is_cut_off=reply.cut_off, is_refused=reply.refused, **took)
            return
        self._note_probabilities(reply)
        reading = self._reading(task, reply)
        for position, dimension in task.rows:
            if reply.refused:
                rows.put(position, "refused", None, reply=reply.whole, **took)
            else:
                choice = reading.choices[dimension]
                pick = choice if self._rated or choice is None else PICKS[choice]
                # Of ratings, and under other labels than A and B, the tokens that state a choice are not looked for.
                looks = task.labels == LETTERS and not self._rated
                p_first = _columns(self._p_first(reply, dimension, choice) if looks else None)
                rows.put(position, reading.status_of(dimension), pick, reply=reply.whole, **p_first, **took)
            took = {}

    def _note_length(self, reply: ChatReply) -> None:
        if reply.cut_off:
            self._notices.add("replies were cut off at their longest length; --max-new-tokens raises it")

    def _reading(self, task: Task, reply: ChatReply) -> Reading:
        if self._rated:
            return parse_ratings(reply.content, task.asked, self._choices, self._labels, is_cut_off=reply.cut_off)
        is_cut_off, question = reply.cut_off, task.question
        return parse(reply.content, task.asked, self._choices, task.labels, question=question, is_cut_off=is_cut_off)

    def _note_probabilities(self, reply: ChatReply) -> None:
        if not reply.tokens and not self._rated:
            self._notices.add("replies came without probabilities of tokens: their p_a is null")

    def _p_first(self, reply: ChatReply, dimension: str, choice: str | None) -> Probability | None:
        if self._prompt.asks == "one":
            return p_of_letter(reply.tokens, choice)
        return p_of_key(reply.tokens, reply.content, dimension, choice)

    def _frame(self, batch: _Batch) -> pd.DataFrame:
        frame = batch.rows.frame(partial=True)
        return frame.assign(cost_usd=np.nan) if self._prices is not None and "cost_usd" not in frame else frame

    def _own_spec(self, settings: Settings) -> Mapping[str, object]:
        """What shapes the verdicts of this way of judging besides what shapes those of all."""
        return {}

    def _checked(self, prompt: Prompt, entry: Entry) -> Prompt:
        """The prompt, if this way of judging can use it."""
        if prompt.asks == "rating":
            raise InputError(
                f"prompt {prompt.id}: asks for a rating of one response, and a server is asked to compare two; "
                "use plain, rubric, reasoned, reference or single, or another engine."
            )
        if prompt.checks:
            raise InputError(
                f"prompt {prompt.id}: asks about one criterion of a rubric; use criteria, or name the judge "
                f"{entry.name}+rubric."
            )
        if prompt.asks in RANKINGS:
            raise InputError(
                f"prompt {prompt.id}: asks for a ranking of all responses to an item; name the judge "
                f"{entry.name}+batch, or use another prompt."
            )
        return prompt

    def _temperature(self, settings: Settings) -> float:
        return settings.temperature or 0.0

    def _reply_length(self, prompt: Prompt, entry: Entry) -> int:
        """Tokens a reply may have unless the user says: enough for what is asked, and for thought before it."""
        if thinks(entry):
            return _TOKENS_OF_THOUGHT
        if prompt.is_of_one:
            return _TOKENS_OF_JSON if self._labels else _TOKENS_OF_A_LETTER
        if prompt.asks == "answer":
            return _TOKENS_OF_AN_ANSWER
        return _TOKENS_OF_JSON if wants_only_json(prompt) and not prompt.gives_reason else _TOKENS_OF_REASONS


def thinks(entry: Entry) -> bool:
    """Whether a model may think before it replies: always, or where it is optional and not switched off.

    A hosted model, whose entry names its server, thinks where a request asks for it, and none does unless the entry's
    `template` says so; other servers think by default.
    """
    template = entry.chat.get("template")
    switches = template if isinstance(template, Mapping) else {}
    is_off = any(name in switches and switches[name] == off for name, off in _THINKING_OFF)
    is_off = is_off or (entry.base_url is not None and not switches)
    return entry.thinking == "always" or (entry.thinking == "optional" and not is_off)


def _columns(probability: Probability | None) -> dict[str, object]:
    return {} if probability is None else {"p_first": probability.p, "p_first_bound": probability.bound}


def _prices(settings: Settings) -> Prices | None:
    """US dollars per million tokens of the prompt and of the reply; None where the cost is not counted."""
    prompt, reply = settings.price_prompt, settings.price_completion
    if prompt is None and reply is None:
        return None
    if prompt is None or reply is None:
        raise InputError("one of price_prompt and price_completion is given; give both, or neither.")
    return Prices(prompt, reply)
