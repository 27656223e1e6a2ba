"""Asking a chat server: again, for less, or not at all, within limits of pace and cost."""

import json
import logging
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from functools import cache
from threading import Condition, Event, Lock
from typing import Final

import httpx
import numpy as np

from mrb_lib.judges.budget import Budget
from mrb_lib.judges.endpoint.address import Address, address
from mrb_lib.judges.endpoint.outcomes import (
    GO_ON,
    MAX_BYTES,
    Answer,
    Failure,
    Fault,
    Received,
    cut_prompt,
    outcome_of,
    printable,
)
from mrb_lib.judges.endpoint.reply import ChatReply
from mrb_lib.judges.endpoint.requests import ChatRequest, RequestOptions, without_option
from mrb_lib.judges.roster.engines import JudgeRequest
from mrb_lib.tables.errors import InputError, RunError

_CONNECT_S: Final = 10.0
_ATTEMPTS: Final = 6
# Of a request that a busy server put off while it answered others.
_ATTEMPTS_IF_PUT_OFF: Final = 30
# A server that has never answered is more likely not there than restarting.
_ATTEMPTS_AT_FIRST: Final = 3
_LONGEST_BACKOFF_S: Final = 30.0
_FEWEST_FAILURES: Final = 3 * _ATTEMPTS
_SHORTEST_OUTAGE_S: Final = 60.0
_SHORTEST_SAID_S: Final = 5.0
_LOG: Final = logging.getLogger(__name__)

Sleep = Callable[[float], object]
Clock = Callable[[], float]


@cache
def _trusted(ca_file: str | None) -> ssl.SSLContext:
    """Return the certificate authorities that servers are checked with; reading them takes longer than many answers."""
    context = httpx.create_ssl_context(trust_env=False)
    if ca_file is not None:
        try:
            context.load_verify_locations(ca_file)
        except OSError as error:
            raise InputError(f"ca_file {ca_file}: holds no certificates in PEM form ({error}); correct it.") from error
    return context


def http_client(server: Address, timeout_s: float, connections: int = 1) -> httpx.Client:
    """Return connections to a server. Nothing of the environment (proxies, .netrc) decides where the key goes.

    Parameters
    ----------
    timeout_s : of one attempt, in seconds
    connections : at a time
    """
    headers = {"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": "mrb-workbench"}
    if server.key:
        headers["Authorization"] = f"Bearer {server.key}"
    return httpx.Client(
        headers=headers,
        trust_env=False,
        proxy=server.proxy,
        verify=_trusted(server.ca_file),
        follow_redirects=False,
        limits=httpx.Limits(max_connections=connections, max_keepalive_connections=connections),
        timeout=httpx.Timeout(timeout_s, connect=min(timeout_s, _CONNECT_S), pool=None),
    )


class Turns:
    """Lets attempts through: so many at a time, and none while the server asks for time.

    A server that asks for time is asked half as many at a time, and slowly more again as it answers.

    Parameters
    ----------
    most : at a time
    sleep : waits so many seconds
    clock : seconds since any moment
    stopped : whether nobody need wait any more

    Attributes
    ----------
    n_answered : how many attempts the server answered
    """

    def __init__(self, most: int, sleep: Sleep, clock: Clock, stopped: Callable[[], bool]) -> None:
        self._most, self._width = most, float(most)
        self._sleep, self._clock, self._stopped = sleep, clock, stopped
        self._held_until = self._failing_since = clock()
        self._inside = self._failures = self.n_answered = 0
        self._changed = Condition()

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Wait for the turn of an attempt: until there is room, and the server does not ask for time."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._inside < int(self._width))
                wait_s = self._held_until - self._clock()
                if wait_s <= 0 or self._stopped():
                    self._inside += 1
                    break
            self._sleep(wait_s)
        try:
            yield
        finally:
            with self._changed:
                self._inside -= 1
                self._changed.notify_all()

    def hold(self, seconds: float) -> None:
        """Let no attempt begin for so long. Attempts that come back meanwhile say nothing new of the server."""
        with self._changed:
            now = self._clock()
            if now >= self._held_until:
                self._width = max(self._width / 2.0, 1.0)
            self._held_until = max(self._held_until, now + seconds)

    def answered(self) -> None:
        """Note that an attempt was answered."""
        with self._changed:
            self._width = min(self._width + 1.0 / self._width, float(self._most))
            self._failures = 0
            self.n_answered += 1
            self._changed.notify_all()

    @property
    def outage_s(self) -> float:
        """Return the seconds since the first of the attempts that failed in a row; 0 after one was answered."""
        with self._changed:
            return self._clock() - self._failing_since if self._failures else 0.0

    def failed(self) -> bool:
        """Note that an attempt failed; True once the server is gone.

        It is gone when no attempt was answered for a minute, and as many failed as all requests at a time may have; at
        least 18, so that a case that a server cannot answer in either order ends no run.
        """
        with self._changed:
            self._failing_since = self._failing_since if self._failures else self._clock()
            self._failures += 1
            is_long = self._clock() - self._failing_since >= _SHORTEST_OUTAGE_S
            return is_long and self._failures >= max(_ATTEMPTS * self._most, _FEWEST_FAILURES)


class ChatClient:
    """The chat endpoint of one server, for any number of threads.

    What it waits for and until when is logged as a warning, which the command line shows.

    Parameters
    ----------
    request : the judge's name, its server, the limits of pace, waits and cost, and the prices
    fixed : what every request holds: the model, the sampling
    max_tokens : at which a reply is cut off
    options : what to ask for until it is refused
    notices : grows with what the user should know
    sleep : waits so many seconds; None waits until the run stops, at most so long
    clock : seconds since any moment, which pass while `sleep` waits

    Attributes
    ----------
    server : where it asks
    budget : what may be spent; None is no limit
    stopped_by : why nothing is asked any more; None while the client works, and where its user stopped it

    Raises
    ------
    InputError
        The server may not be used as named (see `mrb_lib.judges.endpoint.address`), or only one price is given.
    """

    _http: httpx.Client

    def __init__(
        self,
        request: JudgeRequest,
        fixed: Mapping[str, object],
        max_tokens: int,
        options: RequestOptions,
        notices: dict[str, None],
        sleep: Sleep | None = None,
        clock: Clock = time.monotonic,
    ) -> None:
        settings = request.settings
        if (settings.price_prompt is None) != (settings.price_completion is None):
            raise InputError("one of price_prompt and price_completion is given; give both, or neither.")
        self.server = address(request.entry, settings)
        self.budget = request.budget or (Budget(settings.budget) if settings.budget else None)
        self.stopped_by: RunError | None = None
        self._name, self._settings, self._notices = request.entry.name, settings, notices
        self._fixed, self._max_tokens = fixed, max_tokens
        self._wanted = self._options = options
        self._proven: frozenset[str] = frozenset()
        self._reached = False
        self._stop, self._lock = Event(), Lock()
        self._sleep, self._clock = sleep or self._stop.wait, clock
        self._turns = Turns(settings.concurrency, self._sleep, clock, self._stop.is_set)
        self._said_until = clock()

    @contextmanager
    def open(self) -> Iterator[None]:
        """Open connections for one run, in which any thread may `ask`."""
        self._stop.clear()
        self.stopped_by = None
        with http_client(self.server, self._settings.timeout_s, self._settings.concurrency) as self._http:
            yield

    @property
    def is_stopped(self) -> bool:
        """Return whether nothing is asked any more."""
        return self._stop.is_set()

    def stop(self) -> None:
        """Ask nothing more, and wait for nothing; what is under way is finished."""
        self._stop.set()

    def wanted(self, request: ChatRequest) -> bytes:
        """Return what is asked for as long as nothing is refused, and where: the same bytes for the same request."""
        body = json.dumps(self._body(request, self._wanted), sort_keys=True)
        return f"{self.server.url}\0{body}".encode()

    def bounds(self, request: ChatRequest) -> tuple[int, int]:
        """Return the tokens of a prompt, estimated, and of its reply, at most."""
        return request.prompt_tokens, self._max_tokens

    def cost(self, prompt_tokens: int | None, completion_tokens: int | None) -> float | None:
        """Return the cost in US dollars; None where prices are not given or the server does not count the tokens."""
        prompt, completion = self._settings.price_prompt, self._settings.price_completion
        if prompt is None or completion is None or prompt_tokens is None or completion_tokens is None:
            return None
        return (prompt_tokens * prompt + completion_tokens * completion) / 1e6

    def say_idle(self, seconds: float) -> None:
        """Say that no reply has come for so long, unless a longer wait was said."""
        allowed = f"a request may take {self._settings.timeout_s:g} s, see --timeout"
        self._say(f"no reply from {self.server.host} for {seconds:.0f} s ({allowed})", 0.0)

    def ask(self, request: ChatRequest) -> ChatReply | Failure | None:
        """Ask with all options, and with fewer as long as the server refuses.

        Returns
        -------
        ChatReply, Failure or None
            None for a request that has no answer because the run stops: no other request would fare better, the server
            is gone, or the budget is used up. `stopped_by` then holds why.
        """
        options, refusal = self._options, None
        try:
            while True:
                answer = self._attempts(request, options)
                if isinstance(answer, ChatReply):
                    self._note_granted(options, refusal)
                    return cut_prompt(answer, request.text) or answer
                if answer is None:
                    return None
                # What would stop the judge is about an option only where it names one.
                proven = self._proven if answer.stop is None else options.names
                relaxed = options.relax(answer.reason, proven) if answer.is_negotiable else None
                if relaxed is None:
                    if answer.stop is not None:
                        raise answer.stop
                    return answer
                options, refusal = relaxed, answer.reason
        except RunError as error:
            # Here rather than where it is caught: requests that wait behind this one must not be sent any more.
            self.stopped_by = self.stopped_by or error
            self.stop()
            return None

    def _note_granted(self, options: RequestOptions, refusal: str | None) -> None:
        """Note a request that was answered, and ask no more for what a refusal made it leave out.

        Only the answer shows that leaving it out was what the server wanted.

        Parameters
        ----------
        refusal : of the server to a request that asked for more; None where there was none
        """
        with self._lock:
            self._proven |= options.names
            if refusal is None:
                return
            lost = self._options.names - options.names
            fewer = min(self._options.top_logprobs, options.top_logprobs)
            self._options = RequestOptions(self._options.names - lost, fewer, options.limit)
        for name in sorted(lost):
            self._notices.setdefault(without_option(name, refusal))

    def _attempts(self, request: ChatRequest, options: RequestOptions) -> ChatReply | Failure | None:
        """Try until there is an answer; None if the run stops before.

        The waits between attempts grow, and are drawn from the request's seed so that those of different requests
        do not fall together. While a server is busy, all requests wait.
        """
        body = json.dumps(self._body(request, options)).encode()
        waits = np.random.default_rng(request.seed)
        n_attempts = n_counted = 0
        n_answered = self._turns.n_answered
        while True:
            with self._turns.turn():
                answer = None if self._stop.is_set() else self._billed(request, body)
            if answer is None:
                return None
            if not isinstance(answer, Fault):
                self._turns.answered()
                return answer
            n_attempts += 1
            # A busy server that answers others in the meantime will answer this one.
            n_answered_before, n_answered = n_answered, self._turns.n_answered
            n_counted += not (answer.busy and n_answered > n_answered_before)
            is_missing = answer.unreachable and not self._reached and n_counted >= _ATTEMPTS_AT_FIRST
            if self._turns.failed() or is_missing:
                raise self._gone(answer)
            if n_counted >= _ATTEMPTS or n_attempts >= _ATTEMPTS_IF_PUT_OFF:
                return Failure(f"after {n_attempts} attempts: {answer.reason}")
            backoff = min(2.0 ** max(n_counted - 1, 0), _LONGEST_BACKOFF_S) * (0.5 + 0.5 * float(waits.random()))
            self._wait(answer, max(backoff, answer.wait_s))

    def _wait(self, fault: Fault, seconds: float) -> None:
        """Wait before the next attempt, all requests where the server is busy; `RunError` for more than is allowed."""
        outage_s, most_s = self._turns.outage_s, self._settings.max_wait_s
        if fault.wait_s and outage_s + fault.wait_s > most_s:
            before = f" after {outage_s:.0f} s without an answer" if outage_s >= 1 else ""
            raise RunError(
                f"{self.server.host} asks to wait until {_time_in(fault.wait_s)}{before}, longer than the "
                f"{most_s:g} s of --max-wait ({fault.reason}); {GO_ON} then."
            )
        until = _time_in(seconds)
        self._say(f"waits {seconds:.0f} s, until {until}, for {self.server.host} ({fault.reason})", seconds)
        (self._turns.hold if fault.busy else self._sleep)(seconds)

    def _say(self, text: str, seconds: float) -> None:
        """Log why nothing happens for so long, unless that is short or ends with a wait that was logged."""
        with self._lock:
            until = self._clock() + seconds
            if 0 < seconds < _SHORTEST_SAID_S or until < self._said_until + min(seconds, 1.0):
                return
            self._said_until = until
        _LOG.warning("%s: %s; Ctrl-C stops and keeps what is judged", self._name, text)

    def _billed(self, request: ChatRequest, body: bytes) -> Answer | None:
        """Make one attempt within the budget; None if the run stops before."""
        if self.budget is None:
            return self._send(body)
        most = self.cost(*self.bounds(request)) or 0.0
        reserved = self.budget.reserve(most, self._stop.is_set)
        if reserved is None and not self._stop.is_set():
            raise RunError(
                f"the budget of {self.budget.usd:.4f} USD leaves no room for another request: "
                f"{self.budget.spent:.4f} USD were spent; {GO_ON} with a new --budget."
            )
        if reserved is None:
            return None
        cost: float | None = 0.0
        try:
            answer = self._send(body)
            reply = answer.reply if isinstance(answer, Failure) else answer
            if isinstance(reply, ChatReply):
                cost = self.cost(reply.prompt_tokens, reply.completion_tokens)
            elif isinstance(reply, Fault) and reply.may_cost:
                cost = None
        finally:  # others wait for what is reserved
            self.budget.settle(reserved, most, cost)
        return answer

    def _send(self, body: bytes) -> Answer:
        """Make one attempt."""
        start, timeout_s = time.perf_counter(), self._settings.timeout_s
        url, headers = f"{self.server.url}/chat/completions", {"Content-Type": "application/json"}
        try:
            with self._http.stream("POST", url, content=body, headers=headers) as response:
                self._reached = True
                content = _read(response, start + timeout_s)
        except httpx.RequestError as error:
            is_away = isinstance(error, httpx.ConnectError | httpx.ConnectTimeout | httpx.ProxyError)
            reason = printable(self.server.without_key(str(error))) or type(error).__name__
            if isinstance(error, httpx.TimeoutException) and not is_away:
                reason = f"no reply within {timeout_s:g} s"
            return Fault(reason, unreachable=is_away, may_cost=not is_away)
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        wait_s = _retry_after(response.headers.get("retry-after", ""))
        received = Received(response.status_code, kind, content, wait_s, time.perf_counter() - start)
        return outcome_of(received, self.server, str(self._fixed["model"]))

    def _gone(self, fault: Fault) -> RunError:
        host = self.server.host
        if self._reached:
            return RunError(f"{host} answers no more ({fault.reason}); {GO_ON} once it does.")
        cure = "trust it with --ca-file" if "CERTIFICATE" in fault.reason else "start it or correct --url"
        return RunError(f"no server at {host} ({fault.reason}); {cure}: {GO_ON}.")

    def _body(self, request: ChatRequest, options: RequestOptions) -> dict[str, object]:
        body = {name: value for name, value in self._fixed.items() if name != "temperature" or name in options.names}
        body |= {"messages": [{"role": "user", "content": request.content}], options.limit: self._max_tokens}
        if "seed" in options.names:
            body["seed"] = request.seed
        if "logprobs" in options.names:
            body |= {"logprobs": True, "top_logprobs": options.top_logprobs}
        if "schema" in options.names and request.schema is not None:
            held = {"name": "verdicts", "strict": True, "schema": request.schema}
            body["response_format"] = {"type": "json_schema", "json_schema": held}
        return body


def _read(response: httpx.Response, deadline: float) -> bytes:
    """Return the body, unless it is too long. A server that sends byte by byte runs into the deadline."""
    received = bytearray()
    for chunk in response.iter_bytes():
        received += chunk
        if len(received) > MAX_BYTES:
            raise httpx.ReadError(f"a reply of more than {MAX_BYTES / 1e6:.0f} MB")
        if time.perf_counter() > deadline:
            raise httpx.ReadTimeout("the reply took too long")
    return bytes(received)


def _retry_after(header: str) -> float:
    """Return the seconds of a Retry-After header, which holds a number or a date; 0 where it holds neither."""
    seconds = 0.0
    with suppress(ValueError, OverflowError):
        date = parsedate_to_datetime(header)
        seconds = (date.replace(tzinfo=date.tzinfo or UTC) - datetime.now(UTC)).total_seconds()
    with suppress(ValueError):
        seconds = float(header)
    return seconds if seconds > 0 else 0.0


def _time_in(seconds: float) -> str:
    """Return the date and time, of this machine's clock, in so many seconds, at most three years."""
    return f"{datetime.now() + timedelta(seconds=min(seconds, 1e8)):%Y-%m-%d %H:%M:%S}"
