"""Judging through any server that speaks the OpenAI chat protocol: vLLM, SGLang, TGI, llama.cpp, or a hosted model.

The parts: `address` (where, and whether cases may go there), `requests` (what is asked), `cache` (what was asked
before), `client` (asking, again if need be, within limits), `outcomes` (what becomes of what came back), `reply` (a
reply and its probabilities).
"""

import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import cache, partial
from itertools import groupby
from typing import Final, Literal

import numpy as np
import pandas as pd

from mrb_lib.judges.endpoint.cache import FILE_NAME, ReplyCache
from mrb_lib.judges.endpoint.client import ChatClient
from mrb_lib.judges.endpoint.outcomes import Failure
from mrb_lib.judges.endpoint.reply import ChatReply, p_of_first, p_of_key, p_of_letter
from mrb_lib.judges.endpoint.requests import ChatRequest, RequestOptions, data_url
from mrb_lib.judges.makers import task_maker
from mrb_lib.judges.prompts import RANKINGS, RATES, Asks, Prompt, UsualPrompt, fitting_prompt
from mrb_lib.judges.roster.engines import JudgeRequest
from mrb_lib.judges.tasks import MAX_PIXELS, AsksPrompts, Reply, Task, stored_image
from mrb_lib.replies.labels import LETTERS
from mrb_lib.replies.reading import parse
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.schema import Status
from mrb_lib.verdicts.manifest import run_id
from mrb_lib.verdicts.orders import KEYS, PICKS, pick_of
from mrb_lib.verdicts.protocol import BatchAnswer, VerdictRows

_IDLE_S: Final = 60.0
_ONLY_THOUGHT: Final = (
    "replies are empty: all text is in reasoning_content, and a thought is no verdict. Raise --max-new-tokens; if the "
    "answer is there, switch thinking off (in a roster file: chat = { template = { enable_thinking = false } }) or "
    "start the server without its reasoning parser"
)

Chain = Sequence[tuple[Task, ChatRequest | Failure]]
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
    """A batch under way, and its chains, each in a thread."""

    shown: pd.DataFrame
    chains: Sequence[Future[list[Answered]]]


class EndpointJudge(AsksPrompts):
    """A judge behind a server; see `mrb_lib.verdicts.protocol.Judge`.

    A prompt that asks for all dimensions is sent once for each case, order and repeat;
    one that asks for one dimension is sent once for each verdict, those of one case one after
    the other, so that a server that keeps what it read of a prompt reads the images and
    texts of a case once. Images come before the text, in one user message.

    A reply to a prompt that says "Reply with one JSON object and nothing else" is held
    to a JSON schema, and the probabilities of tokens are asked for, both until the
    server refuses; see `mrb_lib.judges.endpoint.requests`. `p_first` is read from these
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
        sees, self._max_pixels = entry.vision is not False, settings.max_pixels or MAX_PIXELS
        usual_length = 1 if self.reads_first_token else prompt.reply_limit(thinks=entry.thinks, labels=settings.labels)
        max_tokens = settings.max_new_tokens or usual_length
        wanted = {"seed", "temperature", *(["schema"] if prompt.asks_json else [])}
        options = RequestOptions(frozenset(wanted | ({"logprobs"} if prompt.asks in ("all", "one") else set())))
        temperature = 0.0 if self.reads_first_token else settings.temperature or 0.0
        fixed: dict[str, object] = {"model": entry.model or entry.name, "temperature": temperature}
        if template := entry.chat.get("template"):
            fixed["chat_template_kwargs"] = template
        self._notices: dict[str, None] = {}  # each once, in their order, from any thread
        self._client = ChatClient(request, fixed, max_tokens, options, self._notices, sleep, clock)
        server = self._client.server
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
            "max_pixels": self._max_pixels,
            "images": sees and not settings.without_images,
            **({"without_images": True} if settings.without_images else {}),
            "schema": "schema" in wanted,
            "top_logprobs": options.top_logprobs if "logprobs" in options.names else 0,
        }
        if not (server.is_local or server.is_encrypted):
            self._notices.setdefault(f"the connection to {server.host} is not encrypted: others may read the cases")
        self._settings, self._images, self._fingerprint = settings, request.images, request.fingerprint
        self._cache = ReplyCache(None if runs is None else runs / FILE_NAME, self._notices)
        self._n_replies = self._n_kept = 0
        self._tasks = task_maker(prompt, settings, sees=sees)

    @property
    def notices(self) -> list[str]:
        """Return what the server refused and its consequence, and how many replies were kept from before."""
        if not self._n_kept:
            return list(self._notices)
        kept = f"{self._n_kept} of {self._n_replies} replies were there from earlier requests and cost nothing again"
        other = ", as after loading other weights under the same name" if self._client.server.is_local else ""
        return [*self._notices, f"{kept} (remove {FILE_NAME} from the folder of runs to ask anew{other})"]

    def load(self) -> None:
        """Nothing to read: the weights are the server's."""

    def prepare(self, shown: pd.DataFrame) -> BatchAnswer:
        """See `Judge.prepare`."""
        return partial(self.judge, shown)

    def judge(self, shown: pd.DataFrame) -> pd.DataFrame:
        """See `Judge.judge`."""
        done = list(self.stream([shown]))
        return done[0][1] if done else VerdictRows(shown, rated=self._settings.is_rating).frame(partial=True)

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
        source, under_way, n_wanted = iter(batches), list[_Batch](), 2 * self._settings.concurrency
        idle_s = 0.0
        with self._client.open(), ThreadPoolExecutor(self._settings.concurrency) as pool:
            try:
                while True:
                    for batch in [batch for batch in under_way if all(chain.done() for chain in batch.chains)]:
                        under_way.remove(batch)
                        if len(verdicts := self._verdicts(batch)):
                            yield batch.shown, verdicts
                    running = [chain for batch in under_way for chain in batch.chains if not chain.done()]
                    has_room = len(running) < n_wanted and not self._client.is_stopped
                    if has_room and (shown := next(source, None)) is not None:
                        chains = [pool.submit(self._ask_chain, chain) for chain in self._chains(shown)]
                        under_way.append(_Batch(shown, chains))
                    elif running:
                        idle_s = 0.0 if wait(running, _IDLE_S, FIRST_COMPLETED).done else idle_s + _IDLE_S
                        if idle_s:
                            self._client.say_idle(idle_s)
                    elif not under_way:
                        break
            finally:
                self._client.stop()
                pool.shutdown()
                self._cache.close()
        if self._client.stopped_by is not None:
            raise self._client.stopped_by

    def stop(self) -> None:
        """Ask nothing more, and wait for nothing; `stream` ends with what is under way."""
        self._client.stop()

    def estimate(self, shown: pd.DataFrame, scale: float) -> str | None:
        """Return in words the cost of the requests to come, with replies of no length and the longest.

        None without a budget. Requests whose replies are kept from earlier runs do not count.

        Parameters
        ----------
        shown : some of the rows to judge
        scale : how many rows are to be judged for each of these
        """
        budget, client = self._client.budget, self._client
        if budget is None:
            return None
        requests = [request for _, request in self._requests(shown) if isinstance(request, ChatRequest)]
        requests = [request for request in requests if client.wanted(request) not in self._cache]
        self._cache.close()
        bounds = scale * np.array([client.bounds(request) for request in requests]).reshape(-1, 2).sum(axis=0)
        prompt, reply = (round(float(number)) for number in bounds)
        least, most = client.cost(prompt, 0) or 0.0, client.cost(prompt, reply) or 0.0
        return (
            f"estimated: {round(scale * len(requests)):,} requests, about {prompt:,} prompt tokens and at most "
            f"{reply:,} reply tokens: {least:.4f} to {most:.4f} USD; the budget is {budget.usd - budget.spent:.4f} USD"
        )

    def _requests(self, shown: pd.DataFrame) -> Iterator[tuple[Task, ChatRequest | Failure]]:
        """Yield the tasks about a batch, each with its request or why there is none; an image is encoded once."""

        @cache
        def picture(name: str) -> str:
            return data_url(stored_image(self._images, name), name, self._max_pixels)

        for task in self._tasks.tasks(shown):
            if task.problem:
                yield task, Failure(task.problem)
                continue
            try:
                pictures = tuple(picture(name) for name in task.images)
            except InputError as error:
                yield task, Failure(str(error))
            else:
                schema = self._tasks.schema(task) if self._own_prompt.asks_json else None
                yield task, ChatRequest(task.text, pictures, schema, task.seed)

    def _chains(self, shown: pd.DataFrame) -> list[Chain]:
        requests = self._requests(shown)
        if not self._own_prompt.is_of_one:
            return [[request] for request in requests]
        return [list(of_case) for _, of_case in groupby(requests, lambda request: request[0].case_id)]

    def _ask_chain(self, chain: Chain) -> list[Answered]:
        """Ask the requests of a chain one after the other, in one of several threads."""
        return [self._ask(task, request) for task, request in chain]

    def _ask(self, task: Task, request: ChatRequest | Failure) -> Answered:
        if isinstance(request, Failure):
            return Answered(task, request)
        wanted = self._client.wanted(request)
        if (kept := self._cache.get(wanted)) is not None:
            return Answered(task, kept, is_kept=True, cached=wanted)
        answer = self._client.ask(request)
        if not isinstance(answer, ChatReply) or not self._is_whole(task, answer):
            return Answered(task, answer)
        self._cache.put(wanted, answer)
        return Answered(task, answer, cached=wanted)

    def _is_whole(self, task: Task, reply: ChatReply) -> bool:
        """Return whether all that was asked for can be read from a reply."""
        return self._tasks.is_whole(task, _reply(reply, {}))

    def _verdicts(self, batch: _Batch) -> pd.DataFrame:
        """Return the verdicts of a batch that is done; what was not asked stays pending.

        That a reply in the cache is paid for is claimed no earlier: a batch that nobody takes leaves it to others.
        """
        rows, run = VerdictRows(batch.shown, rated=self._settings.is_rating), run_id(self, self._fingerprint)
        answered = [one for chain in batch.chains for one in chain.result()]
        # Of two responses that are checked alone, neither makes a verdict where one was not asked about.
        halves = {id(one.task.joint) for one in answered if one.answer is None and one.task.joint is not None}
        for one in answered:
            if id(one.task.joint) in halves or one.answer is None:
                continue
            if isinstance(one.answer, ChatReply):
                self._n_replies += 1
                self._n_kept += one.is_kept
                self._note_lacks(one.answer)
                verdict = "\0".join((run, *(str(one.task.record[name]) for name in KEYS)))
                states_cost = one.cached is None or self._cache.claim(one.cached, verdict)
                self._put(rows, one.task, one.answer, self._took(one.answer, is_stated=not states_cost))
            else:
                failure = one.answer
                took = {} if failure.reply is None else self._took(failure.reply, is_stated=False)
                told = Reply(took=took, is_refused=failure.refused, problem=failure.reason)
                self._tasks.put(rows, one.task, told)
        frame = rows.frame(partial=True)
        has_prices = self._settings.price_prompt is not None
        return frame.assign(cost_usd=np.nan) if has_prices and "cost_usd" not in frame else frame

    def _took(self, reply: ChatReply, *, is_stated: bool) -> dict[str, object]:
        """Return the cost of a reply, for the first of its rows; 0 USD where it is stated elsewhere."""
        cost = self._client.cost(reply.prompt_tokens, reply.completion_tokens)
        return {
            "latency_s": reply.latency_s,
            "prompt_tokens": reply.prompt_tokens,
            "completion_tokens": reply.completion_tokens,
            "cost_usd": 0.0 if is_stated and self._settings.price_prompt is not None else cost,
        }

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

    def _written(self, task: Task, reply: ChatReply) -> str | None:
        choice = parse(reply.content, task.asked, LETTERS, task.labels).choices[task.asked[0]]
        return None if choice is None else PICKS[choice]

    def _pick(self, task: Task, reply: ChatReply) -> str | None:
        stated = p_of_first(reply.tokens, task.labels)
        is_decided = stated is not None and (stated.bound is None or (stated.p >= 0.5) == (stated.bound == "at least"))
        return pick_of(stated.p, 0.5) if stated is not None and is_decided else self._written(task, reply)

    def _put(self, rows: VerdictRows, task: Task, reply: ChatReply, took: dict[str, object]) -> None:
        [(position, _)], stated, pick = task.rows, p_of_first(reply.tokens, task.labels), self._pick(task, reply)
        if reply.refused or pick is None:
            rows.put(position, "refused" if reply.refused else "unparsed", None, reply=reply.whole, **took)
            return
        status: Status = "repaired" if self._written(task, reply) is None else "ok"
        known = stated and {"p_first": stated.p, "p_first_bound": stated.bound, "answer_mass": stated.mass}
        rows.put(position, status, pick, reply=reply.whole, **(known or {}), **took)


class ServedBatchJudge(EndpointJudge):
    """A judge behind a server that ranks all responses to an item; see `mrb_lib.judges.makers` for their order.

    A prompt for all dimensions is sent once for each item, direction and repeat. No probabilities are read.
    Validated by tests/judges/endpoint/test_served.py.
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
    Validated by tests/judges/endpoint/test_served.py.
    """

    engine = "served-rubric"
    usual_prompt = "criteria"
    asks = ("criteria",)
    rates = None


def _reply(reply: ChatReply, took: Mapping[str, object]) -> Reply:
    return Reply(reply.content, took, reply.whole, reply.refused, reply.cut_off)
