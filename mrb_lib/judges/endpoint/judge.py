"""Judging through any server that speaks the OpenAI chat protocol: vLLM, SGLang, TGI, llama.cpp, or a hosted model.

The parts: `address` (where, and whether cases may go there), `requests` (what is asked), `cache` (what was asked
before), `client` (asking, again if need be, within `limits`), `transport` (one attempt), `outcomes` (what becomes of
what came back), `reply` (a reply and its probabilities).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby, islice
from typing import Final, Literal

import numpy as np
import pandas as pd

from mrb_lib.judges.budget import Budget, Estimate
from mrb_lib.judges.endpoint.address import address
from mrb_lib.judges.endpoint.cache import FILE_NAME, ReplyCache
from mrb_lib.judges.endpoint.client import Ask, ChatClient, Prices
from mrb_lib.judges.endpoint.limits import RequestOptions
from mrb_lib.judges.endpoint.outcomes import Failure
from mrb_lib.judges.endpoint.reply import ChatReply, p_of_first, p_of_key, p_of_letter
from mrb_lib.judges.endpoint.requests import RequestWriter, ServedTask
from mrb_lib.judges.endpoint.transport import Transport
from mrb_lib.judges.prompts import RANKINGS, RATES, Asks, Prompt, UsualPrompt, fitting_prompt
from mrb_lib.judges.roster.engines import JudgeRequest
from mrb_lib.judges.settings import Settings
from mrb_lib.judges.tasks import MAX_PIXELS, AsksPrompts, Reply, Task, task_maker
from mrb_lib.replies.labels import LETTERS
from mrb_lib.replies.reading import parse
from mrb_lib.tables.errors import InputError
from mrb_lib.verdicts.orders import FIRST, PICKS, SECOND, pick_of
from mrb_lib.verdicts.protocol import BatchAnswer, VerdictRows

_IDLE_S: Final = 60.0
_ONLY_THOUGHT: Final = (
    "replies are empty: all text is in reasoning_content, and a thought is no verdict. Raise --max-new-tokens; if the "
    "answer is there, switch thinking off (in a roster file: chat = { template = { enable_thinking = false } }) or "
    "start the server without its reasoning parser"
)

Chain = Sequence[ServedTask]
"""Requests that are sent one after the other, because what is asked first makes the next one cheaper."""


@dataclass(frozen=True)
class Answered:
    """A task and what came of it; None where it was not asked. `cached` is what was asked, of a reply in the cache."""

    task: ServedTask
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


class EndpointJudge(AsksPrompts):
    """A judge behind a server; see `mrb_lib.verdicts.protocol.Judge`.

    A prompt that asks for all dimensions is sent once for each case, order and repeat;
    one that asks for one dimension is sent once for each verdict, those of one case one after
    the other, so that a server that keeps what it read of a prompt reads the images and
    texts of a case once. Images come before the text, in one user message.

    A reply to a prompt that says "Reply with one JSON object and nothing else" is held
    to a JSON schema, and the probabilities of tokens are asked for, both until the
    server refuses; see `mrb_lib.judges.endpoint.limits`. `p_first` is read from these
    probabilities; see `mrb_lib.judges.endpoint.reply`.

    Where a reply answers several rows, `reply` is on each of them, and its
    `prompt_tokens`, `completion_tokens`, `latency_s` and `cost_usd` are on the first
    and null on the others, so that sums over rows count each request once. A reply that an earlier run
    was given costs 0.

    Only a reply from which every verdict could be read is kept for other runs, so what is judged again
    is asked again.

    Parameters
    ----------
    request : the entry names the model, and the server and its key where it has its own
    sleep : waits so many seconds between attempts; None waits until the run stops, at most so long
    clock : seconds since any moment, which pass while `sleep` waits

    Raises
    ------
    InputError
        The server may not be used as named (see `mrb_lib.judges.endpoint.address`), the
        prompt asks for something else, or only one of the two prices is given.

    Notes
    -----
    Validated by tests/judges/endpoint/test_endpoint.py, also against a real server.
    """

    engine = "endpoint"
    usual_prompt = "plain"
    asks: tuple[Asks, ...] = ("all", "one", "answer", "criteria")
    rates: UsualPrompt | None = RATES
    reads_first_token = False
    provenance: Mapping[str, object] = {}
    _own_prompt: Prompt

    def __init__(
        self,
        request: JudgeRequest,
        *,
        sleep: Callable[[float], object] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        entry, settings, runs = request.entry, request.settings, request.runs
        if self.reads_first_token and entry.thinks:
            raise InputError(
                f"judge {entry.name}: the model thinks before it replies, so its first token is not its verdict; "
                f"leave out +{self.engine}, or switch thinking off in a roster file."
            )
        compares = self.usual_prompt, self.asks
        prompt = self._own_prompt = fitting_prompt(entry.name, self.engine, settings, compares, self.rates)
        self._prices = _prices(settings)
        server = address(entry, settings)
        sees, max_pixels = entry.vision is not False, settings.max_pixels or MAX_PIXELS
        usual_length = 1 if self.reads_first_token else prompt.reply_limit(thinks=entry.thinks, labels=settings.labels)
        max_tokens = settings.max_new_tokens or usual_length
        wanted = {"seed", "temperature", *(["schema"] if prompt.asks_json else [])}
        options = RequestOptions(frozenset(wanted | ({"logprobs"} if prompt.asks in ("all", "one") else set())))
        temperature = 0.0 if self.reads_first_token else settings.temperature or 0.0
        fixed: dict[str, object] = {"model": entry.model or entry.name, "temperature": temperature}
        if template := entry.chat.get("template"):
            fixed["chat_template_kwargs"] = template
        self.name = entry.name
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
            **({"items": settings.items} if prompt.asks in RANKINGS else {}),
            "seed": settings.seed,
            "max_tokens": max_tokens,
            "max_pixels": max_pixels,
            "images": sees and not settings.without_images,
            **({"without_images": True} if settings.without_images else {}),
            "schema": "schema" in wanted,
            "top_logprobs": options.top_logprobs if "logprobs" in options.names else 0,
        }
        self._concurrency = settings.concurrency
        self._rated = settings.is_rating
        self._budget = request.budget or (Budget(settings.budget) if settings.budget else None)
        self._notices: dict[str, None] = {}  # each once, in their order, from any thread
        if not (server.is_local or server.is_encrypted):
            self._notices.setdefault(f"the connection to {server.host} is not encrypted: others may read the cases")
        self._cache = ReplyCache(runs / FILE_NAME, self._notices) if runs is not None else None
        self._n_replies = self._n_kept = 0
        self._is_local = server.is_local
        self._tasks = task_maker(prompt, settings, sees=sees)
        self._writer = RequestWriter(self._tasks, request.images, max_pixels)
        self._client = ChatClient(
            self.name,
            Transport(server, str(fixed["model"]), settings),
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
    def notices(self) -> list[str]:
        """Return what the server refused and its consequence, and how many replies were kept from before."""
        if not self._n_kept:
            return list(self._notices)
        kept = f"{self._n_kept} of {self._n_replies} replies were there from earlier requests and cost nothing again"
        other = ", as after loading other weights under the same name" if self._is_local else ""
        return [*self._notices, f"{kept} (remove {FILE_NAME} from the folder of runs to ask anew{other})"]

    def load(self) -> None:
        """Nothing to read: the weights are the server's."""

    def prepare(self, shown: pd.DataFrame) -> BatchAnswer:
        """See `Judge.prepare`."""
        return partial(self.judge, shown)

    def judge(self, shown: pd.DataFrame) -> pd.DataFrame:
        """See `Judge.judge`."""
        done = list(self.stream([shown]))
        return done[0][1] if done else VerdictRows(shown, rated=self._rated).frame(partial=True)

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
        RunError
            No other request would fare better (see `mrb_lib.judges.endpoint.outcomes`), the server is gone, or the
            budget is used up. The verdicts that were made before are yielded first.
        """
        under_way: list[_Batch] = []

        def begun() -> Iterator[tuple[_Batch, Chain]]:
            for shown in batches:
                chains = self._chains(shown)
                batch = _Batch(shown, VerdictRows(shown, rated=self._rated), len(chains))
                under_way.append(batch)
                for chain in chains:
                    if self._client.is_stopped:
                        return
                    yield batch, chain

        try:
            with self._client.open() as ask, closing(self._answers(ask, begun())) as answers:
                for batch, answered in answers:
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

    def stop(self) -> None:
        """Ask nothing more, and wait for nothing; `stream` ends with what is under way."""
        self._client.stop()

    def estimate(self, shown: pd.DataFrame, scale: float) -> Estimate | None:
        """Return the cost of the requests to come; None without a budget.

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
        if not self._own_prompt.is_of_one:
            return [[task] for task in tasks]
        return [list(of_case) for _, of_case in groupby(tasks, lambda task: task.case_id)]

    def _answers(
        self, ask: Ask, begun: Iterator[tuple[_Batch, Chain]]
    ) -> Generator[tuple[_Batch, list[Answered]], None, None]:
        """Yield what came of each chain as it ends, asked in a few threads.

        No chain waits for a slow one, and few are drawn before their time. Where the iteration ends early, chains that
        were not begun are left out, and others are waited for.
        """
        running: dict[Future[list[Answered]], _Batch] = {}
        idle_s = 0.0
        with ThreadPoolExecutor(self._concurrency) as pool:
            try:
                while True:
                    for batch, chain in islice(begun, 2 * self._concurrency - len(running)):
                        running[pool.submit(self._ask_chain, ask, chain)] = batch
                    if not running:
                        return
                    done = wait(running, _IDLE_S, FIRST_COMPLETED).done
                    idle_s = 0.0 if done else idle_s + _IDLE_S
                    if not done:
                        self._client.say_idle(idle_s)
                    for future in done:
                        yield running.pop(future), future.result()
            except BaseException:
                self._client.stop()
                pool.shutdown(cancel_futures=True)
                raise

    def _ask_chain(self, ask: Ask, chain: Chain) -> list[Answered]:
        """Ask the requests of a chain one after the other, in one of several threads."""
        return [self._ask(ask, task) for task in chain]

    def _ask(self, ask: Ask, task: ServedTask) -> Answered:
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
        """Return whether all that was asked for can be read from a reply."""
        return self._tasks.is_whole(task, _reply(reply, {}))

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
                self._note_lacks(one.answer)
                is_first = self._cache is None or one.cached is None or self._cache.claim(one.cached)
                batch.claimed += [one.cached] if is_first and one.cached is not None else []
                self._put(batch.rows, one.task, one.answer, self._took(one.answer, is_stated=not is_first))
            else:
                failure = one.answer
                took = {} if failure.reply is None else self._took(failure.reply, is_stated=False)
                told = Reply(took=took, is_refused=failure.refused, problem=failure.reason)
                self._tasks.put(batch.rows, one.task, told)

    def _took(self, reply: ChatReply, *, is_stated: bool) -> dict[str, object]:
        """Return the cost of a reply, for the first of its rows; 0 USD where it is stated elsewhere."""
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

        def p_first(dimension: str, choice: str | None) -> Mapping[str, object]:
            if self._own_prompt.asks == "one":
                stated = p_of_letter(reply.tokens, choice, task.labels)
            else:
                stated = p_of_key(reply.tokens, reply.content, dimension, choice, task.labels)
            return {} if stated is None else {"p_first": stated.p, "p_first_bound": stated.bound}

        looks = self._own_prompt.asks in ("all", "one")
        self._tasks.put(rows, task, _reply(reply, took), *([p_first] if looks else []))

    def _note_lacks(self, reply: ChatReply) -> None:
        """Say what replies lack."""
        if reply.cut_off and not self.reads_first_token:
            self._notices.setdefault("replies were cut off at their longest length; --max-new-tokens raises it")
        if not reply.content.strip() and not reply.refused:
            self._notices.setdefault(_ONLY_THOUGHT if reply.reasoning else "replies are empty: the server sent no text")
        if self._own_prompt.asks in ("all", "one") and not reply.tokens:
            self._notices.setdefault("replies came without probabilities of tokens: their p_a is null")

    def _frame(self, batch: _Batch) -> pd.DataFrame:
        frame = batch.rows.frame(partial=True)
        return frame.assign(cost_usd=np.nan) if self._prices is not None and "cost_usd" not in frame else frame


class LettersJudge(EndpointJudge):
    """A judge that replies with one token a question; see `EndpointJudge` for the parameters.

    The pick is the likelier of the two letters as first token, `p_first` their ratio, `answer_mass` their probability
    together. The status is `repaired` where the token that the server drew is neither. Without probabilities the token
    itself is the pick. The temperature is 0 and there is nothing to sample: repeats are alike.

    Raises
    ------
    InputError
        As `EndpointJudge`; or the model thinks before it replies, or the prompt asks for more than a letter.

    Notes
    -----
    Validated by tests/judges/endpoint/test_letters.py, also against a real server.
    """

    engine = "letters"
    usual_prompt = "single"
    asks = ("one",)
    rates = None
    reads_first_token = True

    def _is_whole(self, task: Task, reply: ChatReply) -> bool:
        return not reply.refused and self._pick(task, reply) is not None

    def _pick(self, task: Task, reply: ChatReply) -> str | None:
        stated = p_of_first(reply.tokens, task.labels)
        if stated is not None and stated.bound is None:
            return pick_of(stated.p, 0.5)
        if stated is not None and (stated.p >= 0.5) == (stated.bound == "at least"):
            return FIRST if stated.bound == "at least" else SECOND
        choice = parse(reply.content, task.asked, LETTERS, task.labels).choices[task.asked[0]]
        return None if choice is None else PICKS[choice]

    def _put(self, rows: VerdictRows, task: Task, reply: ChatReply, took: dict[str, object]) -> None:
        [(position, _)], [dimension] = task.rows, task.asked
        stated, pick = p_of_first(reply.tokens, task.labels), self._pick(task, reply)
        if reply.refused or pick is None:
            rows.put(position, "refused" if reply.refused else "unparsed", None, reply=reply.whole, **took)
            return
        is_clean = parse(reply.content, task.asked, LETTERS, task.labels).choices[dimension] is not None
        known = (
            {} if stated is None else {"p_first": stated.p, "p_first_bound": stated.bound, "answer_mass": stated.mass}
        )
        rows.put(position, "ok" if is_clean else "repaired", pick, reply=reply.whole, **known, **took)


class ServedBatchJudge(EndpointJudge):
    """A judge behind a server that ranks all responses to an item; see `mrb_lib.judges.tasks` for their order.

    A prompt for all dimensions is sent once for each item, direction and repeat. No probabilities are read.
    Validated by tests/judges/endpoint/test_served_batch.py.
    """

    engine = "served-batch"
    usual_prompt = "batch"
    asks = RANKINGS
    rates = None
    ranks_items: Literal[True] = True


class ServedRubricJudge(EndpointJudge):
    """A judge behind a server that decides all criteria of a rubric, of each response alone.

    Both orders share the replies, of which `reply` holds both. What they took stands in the first row of the case, also
    where a request failed, so that the case has no verdict. No probabilities are read.
    Validated by tests/judges/endpoint/test_served_rubric.py.
    """

    engine = "served-rubric"
    usual_prompt = "criteria"
    asks = ("criteria",)
    rates = None


def _reply(reply: ChatReply, took: Mapping[str, object]) -> Reply:
    return Reply(reply.content, took, reply.whole, reply.refused, reply.cut_off)


def _prices(settings: Settings) -> Prices | None:
    """Return US dollars per million tokens of the prompt and of the reply; None where the cost is not counted."""
    prompt, reply = settings.price_prompt, settings.price_completion
    if prompt is None and reply is None:
        return None
    if prompt is None or reply is None:
        raise InputError("one of price_prompt and price_completion is given; give both, or neither.")
    return Prices(prompt, reply)
