"""The outcome of everything that a chat server may send: the one table, and the code that applies it.

| outcome | the server sends | verdicts and run | the user reads |
| --- | --- | --- | --- |
| reply | text, parts, arguments of tool calls, an event stream that nobody asked for | as the text reads | |
| refused | a filter's finish reason (`SAFETY`) or error, a `refusal`, a blocked prompt | `refused` | the words |
| account | `insufficient_quota`, a billing limit, 402 in any place, a closed account | judge stops | what to top up |
| key | 401, 403, `invalid_api_key`, "API key not valid" | judge stops | the variable that holds the key |
| model | 404, `model_not_found`, "model 'x' not found, try pulling it first" | judge stops | the model, `--url` |
| redirect | 3xx | judge stops, nothing is sent elsewhere | to pass the final address |
| failed | 429, 5xx, a timeout, an error in a 200 or a choice, `finish_reason: error` | retried, then `error` | why |
| not JSON | an empty body, half of one, HTML | retried, then `error` | content type and first 200 characters |
| gone | nothing but failed attempts for a minute | judge stops | the last reason |
| wait | `Retry-After`: all requests wait | longer than `--max-wait`: judge stops | until when, and why |
| option | 400, 403, 404, 422 that names `response_format`, `logprobs`, ... | asked without it | the consequence |
| declined | any other 4xx, such as a prompt that is too long | `error` | the server's message |
| cut prompt | fewer prompt tokens counted than the prompt has words | `error` | both numbers, `num_ctx` |
| thought | text in `reasoning_content` alone | `unparsed` | to raise `--max-new-tokens` or switch thinking off |
| cut reply | `finish_reason: length` | read as far as it goes | to raise `--max-new-tokens` |

A judge that stops keeps what it has, and the command ends with exit status 1. A failed attempt is repeated up to 6
times, 30 while other requests are answered; everything else takes one request.
Nothing that a server sends is trusted to have the right type. Tested by tests/judges/endpoint/test_outcomes.py.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, cast

from mrb_lib.judges.endpoint.address import Address
from mrb_lib.judges.endpoint.limits import names_an_option
from mrb_lib.judges.endpoint.reply import ChatReply, mapping_of, text_of, tokens_of, whole_characters
from mrb_lib.tables.errors import RunError

MAX_BYTES: Final = 64_000_000
GO_ON: Final = "what was judged is kept, and the same command goes on"
_LONGEST_MESSAGE: Final = 260
_LONGEST_QUOTE: Final = 200
_LARGEST_COUNT: Final = 2**53
_DEEPEST: Final = 12
_SHORTEST_CONTEXT: Final = 128

ErrorRow = Literal["refused", "account", "key", "model", "failed", "declined"]
"""The rows of the table that an error may belong to."""


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text, re.IGNORECASE | re.DOTALL)


# Found in the codes, types and messages of an error; the first row that has a sign counts.
_SIGNS: Final[Mapping[ErrorRow, re.Pattern[str]]] = {
    "refused": _pattern(
        r"content.?filter(?!_?results?)|content.?policy|prohibited.?content|inappropriate content|content exists risk"
        r"|filtered True|block(?:ed)?.?reason|blocked by|requires moderation|\bflagged\b|usage (?:policy|guidelines)"
        r"|blocked True|finish.?reason (?:image_)?(?:safety|recitation|blocklist|spii)|high risk|responsible.?ai"
        r"|data_?inspection|guardrail|不安全|敏感"
    ),
    "account": _pattern(
        r"insufficient.{0,20}(?:quota|balance|credit|funds)|quota.{0,20}(?:used up|exhausted)|exceeded_current_quota"
        r"|billing.{0,3}(?:hard|limit|not|is not)|check your billing|payment.?required|spending limit|good standing"
        r"|credit balance|credits? (?:limit|exhausted|balance)|(?:more|enough|out of|no|all available) credits"
        r"|account.{0,40}(?:deactivated|not active|suspended|overdue|disabled|terminated)|access_terminated"
        r"|inactive subscription|free.?tier.{0,60}(?:exhausted|only)|per-day\b|perday|\blimit: 0\b|arrearage"
        r"|欠费|余额不足"
        # The same words come with a limit per minute, which passes.
        r"|^(?!.*(?:RESOURCE_EXHAUSTED|retryDelay|per.?minute)).*exceeded your current quota"
    ),
    "key": _pattern(
        r"(?:invalid|incorrect).{0,20}api.?key|api.?key.{0,20}(?:not valid|invalid|expired|required)"
        r"|no auth credentials|authentication.?(?:error|fail|required)|\bunauthori[sz]ed\b|unauthenticated"
    ),
    "model": _pattern(
        r"model_(?:not_found|not_available|decommissioned|not_supported)|model not (?:found|exist)|no models? loaded"
        r"|model:? ?\S{1,120} (?:was |is )?(?:not found|does not exist|has been (?:decommissioned|deprecated))"
        r"|not a valid model|(?:unknown|invalid|no such) model|access to (?:the )?model|try pulling"
        r"|deployment ?not ?found|deployment.{0,40}does not exist"
    ),
}
# Of HTTP, or codes in a body, where no sign decides.
_STATUSES: Final[Mapping[ErrorRow, Collection[int]]] = {
    "account": (402,),
    "key": (401, 403),
    "model": (404,),
    "failed": (408, 409, 425, 429, *range(500, 600)),
}
_FILTERED: Final = re.compile(
    r"content.?filter|content.?policy|safety|prohibited|recitation|blocklist|spii|refus|guardrail|sensitive|moderat"
    r"|toxic|flagged|blocked",
    re.IGNORECASE,
)
_CUT_OFF: Final = re.compile(r"length|max.?(?:output.?|new.?)?tokens|token.?limit|context.?window", re.IGNORECASE)
_COMPLETE: Final = re.compile(
    r"^(?:finish_?reason[._])?(?:stop|eos|end|complet|done|finish|success|normal|tool|function)", re.IGNORECASE
)
_CODES: Final = re.compile(r"(?:error|http|status)?_?(?:code|status)", re.IGNORECASE)
# What quotes the prompt, in whose words no sign is looked for.
_QUOTES: Final = ("input", "flagged_input", "prompt", "messages", "body")
_MESSAGES: Final = ("error", "message", "detail", "base_resp", "status_msg", "error_msg", "msg", "errors")
_REASONS: Final = ("finish_reason", "finishReason", "native_finish_reason", "stop_reason")
_REASONING: Final = ("reasoning_content", "reasoning", "thinking")
_CJK: Final = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]")


@dataclass(frozen=True)
class Failure:
    """A request that got no reply.

    Attributes
    ----------
    reason : for the reader of the verdicts
    refused : a filter of the host declined
    reply : the reply that is none, for its cost; None where nothing came
    """

    reason: str
    refused: bool = False
    reply: ChatReply | None = None


@dataclass(frozen=True)
class Fault:
    """An attempt that may go better next time.

    Attributes
    ----------
    unreachable : no connection could be made
    busy : the server asks for fewer requests, in words or by being late
    may_cost : it was sent, and the host may have begun what it bills
    wait_s : for how long the server asks to wait, in seconds
    """

    reason: str
    unreachable: bool = False
    busy: bool = False
    may_cost: bool = False
    wait_s: float = 0.0


@dataclass(frozen=True)
class Refusal:
    """A request that the server declined, perhaps because of an option.

    Attributes
    ----------
    status : of HTTP, 400 to 499
    message : of the server
    stop : ends the judge unless asking for less helps; None where the next request may fare better
    """

    status: int
    message: str
    stop: RunError | None = None


Answer = ChatReply | Fault | Refusal | Failure


@dataclass(frozen=True)
class Received:
    """A response of a server: `status` of HTTP, `content_type`, `body`, `wait_s` asked for, `latency_s` in seconds."""

    status: int
    content_type: str
    body: bytes
    wait_s: float = 0.0
    latency_s: float = 0.0


def outcome_of(received: Received, server: Address, model: str) -> Answer:
    """Return the meaning of a response, by the table above.

    Raises
    ------
    RunError
        No other request would fare better.
    """
    if 300 <= received.status < 400:
        raise RunError(
            f"{server.host}: answers HTTP {received.status}, a redirect, and cases are sent to no address but the one "
            "that was named; find out the final base URL and pass it as --url."
        )
    try:
        data = _parsed(received)
    # Also an integer of too many digits, bytes that are not text, and nesting deeper than the stack.
    except (ValueError, RecursionError):
        start = whole_characters(received.body[: 4 * _LONGEST_QUOTE].decode("utf-8", "replace"))[:_LONGEST_QUOTE]
        data = f"{start} ({received.content_type or 'no content type'})" if start.strip() else "an empty reply"
        if received.status < 400:
            what = f"a reply that is cut off or not JSON: {data}" if start.strip() else data
            return Fault(printable(server.without_key(what)), may_cost=True)
    if received.status >= 400:
        return _error(received, data, server, model)
    body = mapping_of(data)
    wrong = _error_within(body)
    return _reply(body, received, server) if wrong is None else _error(received, wrong, server, model)


def _error_within(body: Mapping[str, object]) -> object:
    """Return the error in a body of status 200; None where it holds a reply."""
    choice = _choice(body)
    wrong = next((each for each in (body.get("error"), choice.get("error")) if any(v for _, v in _leaves(each))), None)
    return wrong if choice or wrong is not None else body


def _error(received: Received, data: object, server: Address, model: str) -> Answer:
    leaves = list(_leaves(data))
    codes = [int(str(value)) for key, value in leaves if _CODES.fullmatch(key) and re.fullmatch("[45]..", str(value))]
    status = received.status if received.status >= 400 else min(codes, default=500)
    message = printable(server.without_key(error_message(data)))
    where = f"HTTP {received.status}: {message}"
    row = _row(" ".join(f"{key} {value}" for key, value in leaves), {status, *codes})
    if row == "failed":
        busy = not {429, 503, 529}.isdisjoint({status, *codes})
        return Fault(where, busy=busy, may_cost=received.status < 400, wait_s=received.wait_s)
    if row == "refused":
        return Failure(where, refused=True)
    if row == "declined":
        return Refusal(status, where)
    stop = _stop(row, where, server, model)
    # "You are not allowed to request logprobs from this model" is a 403, too, and no word about the key.
    if row != "account" and names_an_option(message):
        return Refusal(status, where, stop)
    raise stop


def _row(text: str, codes: Collection[int]) -> ErrorRow:
    """Return the row of an error: by a sign in its text, else by its codes."""
    signed = [row for row, signs in _SIGNS.items() if signs.search(text)]
    coded = [row for row, statuses in _STATUSES.items() if not set(codes).isdisjoint(statuses)]
    return [*signed, *coded, "declined"][0]


def _stop(row: ErrorRow, where: str, server: Address, model: str) -> RunError:
    state = "is rejected" if server.key else "is not set"
    text = {
        "account": "the account has no quota or credit left, or is closed; top it up, or put another key into "
        f"{server.key_env}",
        "key": f"the key in the environment variable {server.key_env} {state}; set it to a key that may use this model",
        "model": f"knows no model {model!r}, or is not the base URL (which often ends in /v1); correct the judge's "
        "name or --url",
    }[row]
    return RunError(f"{server.host}: {text} ({where}): {GO_ON}.")


def _reply(body: Mapping[str, object], received: Received, server: Address) -> ChatReply | Fault:
    choice = _choice(body)
    message, usage = mapping_of(choice.get("message")), mapping_of(body.get("usage"))
    finishes = [str(each) for name in _REASONS if isinstance(each := choice.get(name), str) and each]
    text, refusal, thought = _texts(message)
    clean = server.without_key
    filtered = next((each for each in finishes if _FILTERED.search(each)), "")
    if not filtered and finishes and not (_COMPLETE.search(finishes[0]) or _CUT_OFF.search(finishes[0])):
        return Fault(f"finish_reason {printable(clean(finishes[0]))!r}: the reply is not complete", may_cost=True)
    if refusal or filtered:
        text = text or refusal or f"[no text, finish_reason {filtered}]"
    tokens = tokens_of(mapping_of(choice.get("logprobs")).get("content"))
    spelled = b"".join(token.content for token in tokens).decode("utf-8", "replace")
    return ChatReply(
        content=clean(text),
        reasoning=clean(thought),
        refused=bool(refusal or filtered),
        cut_off=bool(finishes) and _CUT_OFF.search(finishes[0]) is not None,
        tokens=tokens if clean(spelled) == spelled else (),
        prompt_tokens=_count(usage.get("prompt_tokens")),
        completion_tokens=_count(usage.get("completion_tokens")),
        cached_tokens=sum(_count(value) or 0 for key, value in _leaves(usage) if re.search("cache(?!_miss)", key)),
        latency_s=received.latency_s,
    )


def _choice(body: Mapping[str, object]) -> Mapping[str, object]:
    """Return the first choice if it holds a message, an error or a reason; a bare message counts as one."""
    choices = body.get("choices")
    first = mapping_of(choices[0]) if isinstance(choices, list) and choices else {}
    if not first and "content" in body:
        first = {"message": body, "stop_reason": body.get("stop_reason")}
    return first if any(first.get(name) for name in ("message", "error", *_REASONS)) else {}


def _texts(message: Mapping[str, object]) -> tuple[str, str, str]:
    """Return the text of a message with the arguments of its tool calls, its refusal, and the thought before it."""
    content = message.get("content")
    parts = [mapping_of(part) for part in content] if isinstance(content, list) else [{"text": content}]
    thought = next((found for name in _REASONING if (found := text_of(message.get(name)))), "")
    thought = thought or "".join(text_of(part.get("thinking")) for part in parts)
    refusal = text_of(message.get("refusal")) or "".join(text_of(part.get("refusal")) for part in parts)
    listed = [*_list(message.get("tool_calls")), message.get("function_call"), *parts]
    calls = [mapping_of(mapping_of(call).get("function")) or mapping_of(call) for call in listed]
    arguments = (_argument(call.get("arguments") or call.get("input")) for call in calls)
    return "\n".join(filter(None, (text_of(parts), *arguments))), refusal, thought


def _argument(value: object) -> str:
    """Return the arguments of a tool call, which are JSON as a text or as an object."""
    if not value or isinstance(value, str):
        return text_of(value)
    return whole_characters(json.dumps(value, ensure_ascii=False))


def _parsed(received: Received) -> object:
    """Return the JSON of a body, or the reply that the events of a stream make together."""
    body = received.body
    if body.startswith(b"\x1f\x8b"):
        body = _unpacked(body)
    if received.content_type.startswith("text/event-stream") or re.match(rb"\s*(?:data|event|id|retry)?:", body):
        return _joined(body.decode())
    return cast(object, json.loads(body))


def _unpacked(body: bytes) -> bytes:
    """Return a body that was compressed without a word."""
    try:
        return zlib.decompressobj(31).decompress(body, MAX_BYTES)
    except zlib.error:
        return body


def _joined(text: str) -> object:
    """Return the reply that the events of a stream make together; `ValueError` where the stream ends early."""
    events = [line[5:].strip() for line in re.split("[\r\n]+", text) if line.startswith("data:")]
    whole: dict[str, object] = {}
    choice: dict[str, object] = {}
    message: dict[str, str] = {}
    arguments: dict[str, str] = {}
    logprobs: list[object] = []
    for event in (mapping_of(json.loads(event)) for event in events if event not in ("", "[DONE]")):
        whole |= {name: value for name, value in event.items() if value}
        part = _choice(event) or mapping_of(next(iter(_list(event.get("choices"))), None))
        choice |= {name: value for name, value in part.items() if value is not None}
        delta = mapping_of(part.get("delta")) or mapping_of(part.get("message"))
        for name in ("content", "refusal", *_REASONING):
            message[name] = message.get(name, "") + text_of(delta.get(name))
        for call in map(mapping_of, _list(delta.get("tool_calls"))):
            place = str(call.get("index", 0))
            arguments[place] = arguments.get(place, "") + text_of(mapping_of(call.get("function")).get("arguments"))
        logprobs += _list(mapping_of(part.get("logprobs")).get("content"))
    if "[DONE]" not in events and not any(choice.get(name) for name in ("error", *_REASONS)) and "error" not in whole:
        raise ValueError("the stream ends early")
    calls = [{"arguments": value} for value in arguments.values()]
    choice |= {"message": message | {"tool_calls": calls}, "logprobs": {"content": logprobs}}
    return whole | {"choices": [choice] if events else []}


def cut_prompt(reply: ChatReply, content: str | Sequence[Mapping[str, object]]) -> Failure | None:
    """Return the failure that a reply to a cut prompt is; None where the server may have read all of it.

    Every tokenizer makes one token of a word at least, and of three Chinese, Japanese or Korean characters. Images,
    and tokens that were kept from earlier prompts, only add to what a server counts.

    Parameters
    ----------
    content : of the message that was sent
    """
    if reply.prompt_tokens is None:
        return None
    parts = [{"text": content}] if isinstance(content, str) else content
    text = " ".join(text_of(part.get("text")) for part in parts)
    fewest = len(_CJK.sub(" ", text).split()) + len(_CJK.findall(text)) // 3
    counted = reply.prompt_tokens + reply.cached_tokens
    if not _SHORTEST_CONTEXT < counted < fewest:
        return None
    return Failure(
        f"the server cut the prompt: it counted {counted:,} prompt tokens, far fewer than the {fewest:,} words sent "
        f"({len(text):,} characters); give it a longer context (Ollama: num_ctx or OLLAMA_CONTEXT_LENGTH)",
        reply=reply,
    )


def error_message(data: object) -> str:
    """Return the message of an error, from the JSON of a body."""
    while isinstance(data, dict | list):
        inner = next(iter(data), None) if isinstance(data, list) else next(filter(None, map(data.get, _MESSAGES)), None)
        if inner is None or (isinstance(data, list) and not isinstance(inner, dict)):
            break
        data = inner
    return whole_characters(data if isinstance(data, str) else json.dumps(data, ensure_ascii=False))


def printable(text: str) -> str:
    """Return a foreign text for a message: shortened, with control characters and line ends spelled out."""
    plain = "".join(letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in text)
    return plain if len(plain) <= _LONGEST_MESSAGE else f"{plain[: _LONGEST_MESSAGE - 3]}..."


def _leaves(value: object, key: str = "", depth: int = 0) -> Iterator[tuple[str, object]]:
    """Yield the texts, numbers and booleans in JSON with the key of each, but for what quotes the prompt."""
    if isinstance(value, dict) and depth < _DEEPEST:
        for name, inner in value.items():
            if name not in _QUOTES:
                yield from _leaves(inner, name, depth + 1)
    elif isinstance(value, list) and depth < _DEEPEST:
        for inner in value:
            yield from _leaves(inner, key, depth + 1)
    elif not isinstance(value, dict | list):
        yield key, value


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _LARGEST_COUNT else None
