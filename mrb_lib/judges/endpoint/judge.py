"""Judging through any server that speaks the OpenAI chat protocol: vLLM, SGLang, TGI, llama.cpp, or a hosted model.

The parts: `address` (where, and whether cases may go there), `requests` (what is asked), `capabilities` (what is asked
for until it is refused), `client` (asking, again if need be), `reply` (what came back).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final

import pandas as pd

from mrb_lib.errors import InputError
from mrb_lib.judges.endpoint.address import address
from mrb_lib.judges.endpoint.capabilities import TOP_LOGPROBS, Notices, RequestOptions
from mrb_lib.judges.endpoint.client import ChatClient, Transport
from mrb_lib.judges.endpoint.reply import ChatReply, p_of_key, p_of_letter
from mrb_lib.judges.endpoint.requests import MAX_PIXELS, RequestWriter, Task, wants_only_json
from mrb_lib.judges.prompts import Prompt, load_prompt
from mrb_lib.judges.roster.entry import Entry
from mrb_lib.judges.settings import Settings
from mrb_lib.replies.reading import parse
from mrb_lib.verdicts.orders import PICKS
from mrb_lib.verdicts.protocol import BatchAnswer, VerdictRows

_TOKENS_OF_A_LETTER: Final = 8
_TOKENS_OF_JSON: Final = 512
_TOKENS_OF_REASONS: Final = 2048
_TOKENS_OF_THOUGHT: Final = 4096
_TOKENS_OF_AN_ANSWER: Final = 1024


class EndpointJudge:
    """A judge behind a server; see `mrb_lib.verdicts.protocol.Judge`.

    A prompt that asks for all dimensions is sent once for each case, order and repeat;
    one that asks for one dimension is sent once for each verdict. Images come before
    the text, in one user message.

    A reply to a prompt that says "Reply with one JSON object and nothing else" is held
    to a JSON schema, and the probabilities of tokens are asked for, both until the
    server refuses; see `mrb_lib.judges.endpoint.capabilities`. `p_first` is read from these
    probabilities; see `mrb_lib.judges.endpoint.reply`.

    Where a reply answers several rows, `reply` is on each of them, and its
    `prompt_tokens`, `completion_tokens`, `latency_s` and `cost_usd` are on the first
    and null on the others, so that sums over rows count each request once.

    Parameters
    ----------
    name : as in the verdicts
    entry : names the model, and the server and its key where it has its own
    settings : `url`, `allow_remote`, `prompt`, `temperature` (0 unless set), `seed`,
        `max_new_tokens`, `max_pixels`, `concurrency`, `timeout_s`, the prices
    images : the benchmark's images, by name
    sleep : waits so many seconds between attempts

    Raises
    ------
    InputError
        The server may not be used as named (see `mrb_lib.judges.endpoint.address`), the
        prompt asks for a rating, or only one of the two prices is given.

    Notes
    -----
    Validated by tests/judges/endpoint/test_endpoint_server.py against a real server.
    """

    dimensions: tuple[str, ...] | None = None
    provenance: Mapping[str, object] = {}
    sorts_by_length = False

    def __init__(
        self,
        name: str,
        entry: Entry,
        settings: Settings,
        images: Mapping[str, bytes],
        *,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        prompt = _comparing(load_prompt(settings.prompt or "plain"))
        self._prices = _prices(settings)
        server = address(entry, settings)
        sees, max_pixels = entry.vision is not False, settings.max_pixels or MAX_PIXELS
        max_tokens = settings.max_new_tokens or _reply_length(prompt, entry)
        options = RequestOptions(wants_only_json(prompt), 0 if prompt.asks == "answer" else TOP_LOGPROBS)
        fixed: dict[str, object] = {"model": entry.model or entry.name, "temperature": settings.temperature or 0.0}
        if template := entry.chat.get("template"):
            fixed["chat_template_kwargs"] = template
        self.name = name
        self.device = f"server {server.host}"
        self.cases_per_batch = settings.batch_size or max(2 * settings.concurrency, 8)
        self.spec: Mapping[str, object] = {
            "engine": "endpoint",
            "url": server.url,
            **fixed,
            "asks": prompt.asks,
            "dimensions": list(settings.dimensions),
            "choices": list(settings.choices),
            "seed": settings.seed,
            "max_tokens": max_tokens,
            "max_pixels": max_pixels,
            "images": sees,
            "schema": options.schema,
            "top_logprobs": options.top_logprobs,
        }
        self._prompt, self._choices = prompt, settings.choices
        self._notices = Notices()
        if not (server.is_local or server.is_encrypted):
            self._notices.add(f"the connection to {server.host} is not encrypted: others may read the cases")
        self._writer = RequestWriter(prompt, settings, images, sees, max_pixels, self._notices)
        self._client = ChatClient(
            Transport(server, connections=settings.concurrency, timeout_s=settings.timeout_s),
            fixed,
            max_tokens,
            options,
            concurrency=settings.concurrency,
            notices=self._notices,
            sleep=sleep,
        )

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
        """What the server would not do, and how it was done instead."""
        return self._notices.all()

    def load(self) -> None:
        """Nothing to read: the weights are the server's."""

    def judge(self, shown: pd.DataFrame) -> pd.DataFrame:
        """See `Judge.judge`."""
        return self.prepare(shown)()

    def prepare(self, shown: pd.DataFrame) -> BatchAnswer:
        """Encode the images and write the requests; see `Judge.prepare`."""
        return partial(self._answer, shown, list(self._writer.tasks(shown)))

    def _answer(self, shown: pd.DataFrame, tasks: Sequence[Task]) -> pd.DataFrame:
        rows = VerdictRows(shown)
        answers = iter(self._client.ask_all([task.request for task in tasks if task.request is not None]))
        for task in tasks:
            positions = [position for position, _ in task.rows]
            answer = next(answers) if task.request is not None else None
            if answer is None:
                rows.fail(positions, task.problem)
            elif isinstance(answer, ChatReply):
                self._put(rows, task, answer)
            elif answer.refused:
                for position in positions:
                    rows.put(position, "refused", None, error=answer.reason)
            else:
                rows.fail(positions, answer.reason)
        return self._priced(rows.frame())

    def _put(self, rows: VerdictRows, task: Task, reply: ChatReply) -> None:
        """Read a reply into its rows; what it took stands on the first of them."""
        if reply.cut_off:
            self._notices.add("replies were cut off at their longest length; --max-new-tokens raises it")
        if not reply.tokens and self._prompt.asks != "answer":
            self._notices.add("replies came without probabilities of tokens: their p_a is null")
        took: dict[str, object] = {
            "latency_s": reply.latency_s,
            "prompt_tokens": reply.prompt_tokens,
            "completion_tokens": reply.completion_tokens,
        }
        if self._prompt.asks == "answer":
            for position, _ in task.rows:
                rows.put_answer(position, reply.whole, is_cut_off=reply.cut_off, is_refused=reply.refused, **took)
            return
        reading = parse(reply.content, task.asked, self._choices)
        for position, dimension in task.rows:
            if reply.refused:
                rows.put(position, "refused", None, reply=reply.whole, **took)
            else:
                choice = reading.choices[dimension]
                pick = None if choice is None else PICKS[choice]
                p_first = self._p_first(reply, dimension, choice)
                rows.put(position, reading.status_of(dimension), pick, reply=reply.whole, p_first=p_first, **took)
            took = {}

    def _p_first(self, reply: ChatReply, dimension: str, choice: str | None) -> float | None:
        if self._prompt.asks == "one":
            return p_of_letter(reply.tokens, choice)
        return p_of_key(reply.tokens, reply.content, dimension, choice)

    def _priced(self, frame: pd.DataFrame) -> pd.DataFrame:
        if self._prices is None:
            return frame
        counts = frame.reindex(columns=["prompt_tokens", "completion_tokens"]).astype("float64").to_numpy()
        return frame.assign(cost_usd=counts @ self._prices / 1e6)


def _comparing(prompt: Prompt) -> Prompt:
    if prompt.asks == "rating":
        raise InputError(
            f"prompt {prompt.id}: asks for a rating of one response, and a server is asked to compare two; "
            "use plain, rubric, reasoned, reference or single, or another engine."
        )
    return prompt


def _prices(settings: Settings) -> tuple[float, float] | None:
    """US dollars per million tokens of the prompt and of the reply; None where the cost is not counted."""
    prompt, reply = settings.price_prompt, settings.price_completion
    if prompt is None and reply is None:
        return None
    if prompt is None or reply is None:
        raise InputError("one of price_prompt and price_completion is given; give both, or neither.")
    return prompt, reply


def _reply_length(prompt: Prompt, entry: Entry) -> int:
    """Tokens a reply may have unless the user says: enough for what is asked, and for thought before it."""
    if entry.thinking == "always":
        return _TOKENS_OF_THOUGHT
    if prompt.asks == "one":
        return _TOKENS_OF_A_LETTER
    if prompt.asks == "answer":
        return _TOKENS_OF_AN_ANSWER
    return _TOKENS_OF_JSON if wants_only_json(prompt) and not prompt.gives_reason else _TOKENS_OF_REASONS
