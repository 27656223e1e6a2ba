"""The outcome of everything that a chat server may send: the one table, and the code that applies it.

| outcome | the server sends | verdicts and run | the user reads |
| --- | --- | --- | --- |
| reply | text, parts, arguments of tool calls, an event stream or lines of JSON unasked for | as the text reads | |
| own form | the same as Gemini, Claude or OpenAI's Responses send it, a body or a stream | as the text reads | |
| refused | a filter's finish reason (`SAFETY`) or error, a `refusal`, a blocked prompt | `refused` | the words |
| account | `insufficient_quota`, a billing limit, any 402, a closed account | judge stops | what to top up |
| daily | a limit per day that states no wait | judge stops | what to top up |
| key | 401, 403, `invalid_api_key`, "API key not valid" | judge stops | the variable that holds the key |
| blind | "No endpoints found that support image input", "not a multimodal model" | judge stops | `--without-images` |
| model | 404, 405, 410, `model_not_found`, "model 'x' not found, try pulling it" | judge stops | the model, `--url` |
| redirect | 3xx | judge stops, nothing is sent elsewhere | to pass the final address |
| failed | 429, 5xx, a timeout, an error in a 200 or a choice, `finish_reason: error` | retried, then `error` | why |
| incomplete | any other finish reason, such as `other` | `error` | the finish reason |
| not JSON | an empty body, half of one, HTML | retried, then `error` | content type and first 200 characters |
| gone | nothing but failed attempts for a minute | judge stops | the last reason |
| wait | `Retry-After`, "try again in 7m12s": all wait | longer than `--max-wait`: judge stops | until when, and why |
| option | 400, 403, 404, 422 that names `response_format`, `logprobs`, ... | asked without it | the consequence |
| declined | any other 4xx, such as a prompt that is too long | `error` | the server's message |
| cut prompt | fewer prompt tokens counted than the prompt has words | `error` | both numbers, `num_ctx` |
| thought | text in `reasoning_content` alone | `unparsed` | to raise `--max-new-tokens` or switch thinking off |
| cut reply | `finish_reason: length` | read as far as it goes | to raise `--max-new-tokens` |

A judge that stops keeps what it has, and the command ends with exit status 1. A failed attempt is repeated up to 6
times, 30 while other requests are answered; everything else takes one request.
Nothing that a server sends is trusted to have the right type. Tested by tests/judges/endpoint/test_outcomes.py.
"""

import json
import re
import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final, NamedTuple

from mrb_lib.judges.endpoint.address import Address
from mrb_lib.judges.endpoint.reply import ChatReply, mapping_of, text_of, tokens_of, whole_characters
from mrb_lib.tables.errors import RunError

MAX_BYTES: Final = 64_000_000
GO_ON: Final = "what was judged is kept, and the same command goes on"
_LONGEST_MESSAGE: Final = 260
_LONGEST_QUOTE: Final = 200
_DEEPEST: Final = 12
_SHORTEST_CONTEXT: Final = 128


class _Row(NamedTuple):
    """A row of the table that an error may belong to.

    Attributes
    ----------
    signs : found in the codes, types and messages of an error; the first row that has one counts
    statuses : of HTTP, or codes in a body, where no sign decides
    stop : what the user reads where the judge stops
    """

    signs: re.Pattern[str]
    statuses: Collection[int] = ()
    stop: str = ""


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text, re.IGNORECASE | re.DOTALL)


_TOP_UP: Final = (
    "the account has no quota or credit left, or is closed; top it up, or put another key into {server.key_env}"
)
_ROWS: Final[Mapping[str, _Row]] = {
    "refused": _Row(
        _pattern(
            r"content.?filter(?!_?results?)|content.?(?:management.)?policy|prohibited.?content|inappropriate content"
            r"|content exists risk|filtered True|block(?:ed)?.?reason|blocked by|blocked True|requires moderation"
            r"|moderation.?blocked|\bflagged\b|usage (?:policy|guidelines)|high risk|responsible.?ai|guardrail"
            r"|data_?inspection|finish.?reason (?:image_)?(?:safety|recitation|blocklist|spii)|safety system"
            r"|不安全|敏感"
        )
    ),
    "account": _Row(
        _pattern(
            r"insufficient.{0,20}(?:quota|balance|credit|funds)|quota.{0,20}(?:used up|exhausted)|spending limit"
            r"|exceeded_current_quota|billing.{0,3}(?:hard|limit|not|is not|to be enabled)|check your billing|arrearage"
            r"|payment.?required|good standing|credit balance|credits? (?:limit|exhausted|balance)|key limit exceeded"
            r"|(?:more|enough|out of|no|all available) credits|budget(?: has been |_)exceeded|access_terminated"
            r"|account.{0,40}(?:deactivated|not active|suspended|overdue|disabled|terminated)|inactive subscription"
            r"|free.?tier.{0,60}(?:exhausted|only)|\blimit: 0\b|欠费|余额不足"
            # The same words come with a limit per minute, which passes.
            r"|^(?!.*(?:RESOURCE_EXHAUSTED|retryDelay|per.?minute)).*exceeded your current quota"
        ),
        (402,),
        _TOP_UP,
    ),
    "daily": _Row(_pattern("per.?day"), stop=_TOP_UP),
    "key": _Row(
        _pattern(
            r"(?:invalid|incorrect).{0,20}api.?key|api.?key.{0,20}(?:not valid|invalid|expired|required)"
            r"|no auth credentials|authentication.?(?:error|fail|required)|\bunauthori[sz]ed\b|unauthenticated"
        ),
        (401, 403),
        "the key in the environment variable {server.key_env} {state}; set it to a key that may use this model",
    ),
    "blind": _Row(
        _pattern(
            r"(?:found that|not|n't|cannot) (?:support|accept|take|process) (?:images\b|image.?(?:inputs?|url)|vision"
            r"|multimodal)|image inputs? (?:are|is) not supported|not a (?:multimodal|vision)"
        ),
        stop="{model!r} takes no images; name a model that does, or judge the cases by their text (--without-images)",
    ),
    "model": _Row(
        _pattern(
            r"model_(?:not_found|not_available|decommissioned|deprecated|not_supported)|no models? loaded|try pulling"
            r"|model:? ?\S{1,120} (?:was |is )?(?:not found|does not exist|has been (?:decommissioned|deprecated))"
            r"|model not (?:found|exist)|not a valid model|(?:unknown|invalid|no such) model|access to (?:the )?model"
            r"|deployment ?not ?found|deployment.{0,40}does not exist"
        ),
        (404, 405, 410),
        "knows no model {model!r}, or is not the base URL (which often ends in /v1); correct the judge's name or --url",
    ),
}
_RETRIED: Final = (408, 409, 425, 429, *range(500, 600))
_BUSY: Final = (429, 503, 529)
_NEGOTIABLE: Final = (400, 403, 404, 422)
_STATED_WAIT: Final = _pattern(r"try again in (?:(\d{1,3})h)?(?:(\d{1,4})m(?!s))?(?:(\d{1,6}(?:\.\d+)?)s)?")
_FILTERED: Final = _pattern(
    r"filter|content.?policy|safety|prohibited|recitation|blocklist|spii|refus|guardrail|sensitive|moderat|toxic|flagged"
    r"|blocked"
)
_CUT_OFF: Final = _pattern(r"length|max.?(?:output.?|new.?)?tokens|token.?limit|context.?window")
_COMPLETE: Final = _pattern(
    r"^(?:finish_?reason[._])?(?:stop|eos|end|complet|done|finish|success|normal|tool|function)"
)
_BROKEN: Final = _pattern(r"error|abort|malformed|fail|cancel|time.?out|interrupt|overload|resource")
_CODES: Final = _pattern(r"(?:error|http|status)?_?(?:code|status)")
# What quotes the prompt, in whose words no sign is looked for.
_QUOTES: Final = ("input", "flagged_input", "prompt", "messages", "body")
_MESSAGES: Final = ("error", "message", "detail", "base_resp", "status_msg", "error_msg", "msg", "errors")
_REASONS: Final = ("finish_reason", "finishReason", "native_finish_reason", "stop_reason", "done_reason")
_REASONING: Final = ("reasoning_content", "reasoning", "thinking")
_PROMPT_TOKENS: Final = ("prompt_tokens", "input_tokens", "promptTokenCount")
_REPLY_TOKENS: Final = ("completion_tokens", "output_tokens", "candidatesTokenCount")
_CJK: Final = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]")


@dataclass(frozen=True)
class Failure:
    """A request that got no reply, and that would get none if it were repeated.

    Attributes
    ----------
    reason : for the reader of the verdicts
    refused : a filter of the host declined
    reply : the reply that is none, for its cost; None where nothing came
    stop : ends the judge; None where the next request may fare better
    is_negotiable : the server may have declined because of an option
    """

    reason: str
    refused: bool = False
    reply: ChatReply | None = None
    stop: RunError | None = None
    is_negotiable: bool = False


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


Answer = ChatReply | Fault | Failure


@dataclass(frozen=True)
class Received:
    """A response of a server: `status` of HTTP, `content_type`, `body`, `wait_s` asked for, `latency_s` in seconds."""

    status: int
    content_type: str
    body: bytes
    wait_s: float = 0.0
    latency_s: float = 0.0


def outcome_of(received: Received, server: Address, model: str) -> Answer:
    """Return the meaning of a response, by the table above."""
    if 300 <= received.status < 400:
        why = (
            f"{server.host}: answers HTTP {received.status}, a redirect, and cases are sent to no address but the one "
            "that was named; find out the final base URL and pass it as --url."
        )
        return Failure(why, stop=RunError(why))
    try:
        data = _parsed(received.body)
        if received.status >= 400:
            return _error(received, data, server, model)
        body = mapping_of(data)
        wrong = _error_within(body)
        return _reply(body, received, server) if wrong is None else _error(received, wrong, server, model)
    # Also an integer of too many digits, bytes that are not text, and nesting deeper than the stack.
    except (ValueError, RecursionError, zlib.error):
        start = whole_characters(received.body[: 4 * _LONGEST_QUOTE].decode("utf-8", "replace"))[:_LONGEST_QUOTE]
        quote = f"{start} ({received.content_type or 'no content type'})" if start.strip() else "an empty reply"
        if received.status >= 400:
            return _error(received, quote, server, model)
        what = f"a reply that is cut off or not JSON: {quote}" if start.strip() else quote
        return Fault(printable(server.without_key(what)), may_cost=True)


def _error_within(body: Mapping[str, object]) -> object:
    """Return the error in a body of status 200; None where it holds a reply."""
    choice = _choice(body)
    wrong = next((each for each in (body.get("error"), choice.get("error")) if any(v for _, v in _leaves(each))), None)
    return body if wrong is True or not (choice or wrong is not None) else wrong


def _error(received: Received, data: object, server: Address, model: str) -> Failure | Fault:
    leaves = list(_leaves(data))
    stated = [
        int(str(value)) for key, value in leaves if _CODES.fullmatch(key) and re.fullmatch(r"[45]\d\d", str(value))
    ]
    status = received.status if received.status >= 400 else min(stated, default=500)
    codes, text = {status, *stated}, " ".join(f"{key} {value}" for key, value in leaves)
    where = f"HTTP {received.status}: {printable(server.without_key(error_message(data)))}"
    signed = [name for name, row in _ROWS.items() if row.signs.search(text)]
    coded = [name for name, row in _ROWS.items() if not codes.isdisjoint(row.statuses)]
    name = next(iter([*signed, *coded]), "")
    wait_s = received.wait_s or _stated_wait(text)
    if (not name or (name == "daily" and wait_s)) and not codes.isdisjoint(_RETRIED):
        is_busy = not codes.isdisjoint(_BUSY)
        return Fault(where, busy=is_busy, may_cost=received.status < 400, wait_s=wait_s)
    stop = None
    if name in _ROWS and _ROWS[name].stop:
        state = "is rejected" if server.key else "is not set"
        cure = _ROWS[name].stop.format(server=server, state=state, model=model)
        stop = RunError(f"{server.host}: {cure} ({where}): {GO_ON}.")
    # "You are not allowed to request logprobs from this model" is a 403, too, and no word about the key.
    is_negotiable = status in _NEGOTIABLE and name not in ("refused", "account", "daily", "blind")
    return Failure(where, refused=name == "refused", stop=stop, is_negotiable=is_negotiable)


def _stated_wait(text: str) -> float:
    """Return the seconds in a text like "try again in 7m12s"; 0 where it has none."""
    found = _STATED_WAIT.search(text)
    hours, minutes, seconds = (float(part or 0) for part in found.groups()) if found else (0.0, 0.0, 0.0)
    return 3600 * hours + 60 * minutes + seconds


def _reply(body: Mapping[str, object], received: Received, server: Address) -> Answer:
    choice, usage, clean = _choice(body), mapping_of(body.get("usage")), server.without_key
    finishes = list(filter(None, (text_of(choice.get(name)) for name in _REASONS)))
    finish = finishes[0] if finishes else ""
    filtered = next((each for each in finishes if _FILTERED.search(each)), "")
    is_cut_off = bool(_CUT_OFF.search(finish))
    is_complete = filtered or is_cut_off or not finish or _COMPLETE.search(finish)
    incomplete = f"finish_reason {printable(clean(finish))!r}: the reply is not complete"
    if not is_complete and _BROKEN.search(finish):
        return Fault(incomplete, may_cost=True)
    if body.get("done") is False:
        return Fault("the stream ends early: the reply is not complete", may_cost=True)
    text, refusal, thought = _texts(_message(choice))
    if refusal or filtered:
        text = text or refusal or f"[no text, finish_reason {filtered}]"
    tokens = tokens_of(mapping_of(choice.get("logprobs")).get("content"))
    spelled = b"".join(token.content for token in tokens).decode("utf-8", "replace")
    reply = ChatReply(
        content=clean(text),
        reasoning=clean(thought),
        refused=bool(refusal or filtered),
        cut_off=is_cut_off,
        tokens=tokens if clean(spelled) == spelled else (),
        prompt_tokens=_count(usage, _PROMPT_TOKENS),
        completion_tokens=_count(usage, _REPLY_TOKENS),
        cached_tokens=sum(_number(value) or 0 for key, value in _leaves(usage) if re.search("cache(?!_miss)", key)),
        latency_s=received.latency_s,
    )
    return reply if is_complete else Failure(incomplete, reply=reply)


def _choice(body: Mapping[str, object]) -> Mapping[str, object]:
    """Return the first choice if it holds a message, an error or a reason; a bare message counts as one."""
    first = _first(body.get("choices"))
    if not first and ("content" in body or isinstance(body.get("message"), dict)):
        first = {**body, "message": mapping_of(body.get("message")) or body}
    return first if any(first.get(name) for name in ("message", "text", "error", *_REASONS)) else {}


def _message(choice: Mapping[str, object]) -> Mapping[str, object]:
    """Return the message of a choice, or the part of it that an event holds; of a mere text, one of that text."""
    members = (mapping_of(choice.get(name)) for name in ("delta", "message", "content"))
    return next(filter(None, members), {"content": choice.get("text")})


def _texts(message: Mapping[str, object]) -> tuple[str, str, str]:
    """Return the text of a message with the arguments of its tool calls, its refusal, and the thought before it."""
    content = message.get("content")
    parts = [mapping_of(part) or {"text": part} for part in _list(content)]
    thought = next((found for name in _REASONING if (found := text_of(message.get(name)))), "")
    thought = thought or "".join(
        text_of(part if part.get("thought") is True else part.get("thinking")) for part in parts
    )
    parts = [part for part in parts if part.get("thought") is not True]
    refusal = text_of(message.get("refusal")) or "".join(text_of(part.get("refusal")) for part in parts)
    listed = [*_list(message.get("tool_calls")), message.get("function_call"), *parts]
    calls = [mapping_of(mapping_of(call).get("function")) or mapping_of(call) for call in listed]
    arguments = [_argument(call.get("arguments") or call.get("input")) for call in calls]
    # Some hosts parse a reply in JSON before they send it.
    parsed = _argument(content) if isinstance(content, dict) and not {"type", "text"} & content.keys() else ""
    return "\n".join(filter(None, (text_of(parts), *arguments, parsed))), refusal, thought


def _argument(value: object) -> str:
    """Return the arguments of a tool call, which are JSON as a text or as an object."""
    if not value or isinstance(value, str):
        return text_of(value)
    return whole_characters(json.dumps(value, ensure_ascii=False))


def _parsed(body: bytes) -> object:
    """Return the JSON of a body, or the reply that the events of a stream, or lines of JSON, make together."""
    if body.startswith(b"\x1f\x8b"):  # compressed without a word
        body = zlib.decompressobj(31).decompress(body, MAX_BYTES)
    try:
        data = json.loads(body)
    except ValueError:
        lines = (line for line in re.split("[\r\n]+", body.decode()) if line.startswith(("data:", "{")))
        events = (line.removeprefix("data:").strip() for line in lines)
        data = [{"done": True} if event == "[DONE]" else json.loads(event) for event in events if event]
    return _joined(data) if isinstance(data, list) else _in_chat_form(data) if isinstance(data, dict) else data


def _in_chat_form(event: object) -> Mapping[str, object]:
    """Return a body or an event of Gemini, of Claude or of OpenAI's Responses as a chat server would send it."""
    body, choice = mapping_of(event), dict[str, object]()
    if str(body.get("type")).startswith("response."):  # of Responses, whose last event holds the whole reply
        body = mapping_of(body.get("response"))
    if candidate := _first(body.get("candidates")):
        parts = map(mapping_of, _list(mapping_of(candidate.get("content")).get("parts")))
        said = [{"thinking": part.get("text")} if part.get("thought") else part for part in parts]
        choice = {**candidate, "message": {"content": said}}
    elif output := [mapping_of(item) for item in _list(body.get("output"))]:
        contents = [_list(item.get("content")) or [item] for item in output if item.get("type") != "reasoning"]
        ended = mapping_of(body.get("incomplete_details")).get("reason") or body.get("status")
        choice = {"message": {"content": list(chain(*contents))}, "finish_reason": ended}
    elif delta := mapping_of(body.get("delta")):  # of Claude
        choice = {"delta": {"content": delta.get("text"), **delta}, "stop_reason": delta.get("stop_reason")}
    usage = body.get("usage") or body.get("usageMetadata") or mapping_of(body.get("message")).get("usage")
    return {**body, **({"usage": usage} if usage else {}), **({"choices": [choice]} if choice else {})}


def _joined(events: Sequence[object]) -> object:
    """Return the reply that the events of a stream make together; `ValueError` where the stream ends early."""
    whole: dict[str, object] = {}
    usage: dict[str, object] = {}
    choice: dict[str, object] = {}
    message: dict[str, str] = {}
    arguments: dict[str, str] = {}
    logprobs: list[object] = []
    for event in map(_in_chat_form, events):
        whole |= {name: value for name, value in event.items() if value}
        usage |= mapping_of(event.get("usage"))
        part = _choice(event) or _first(event.get("choices"))
        choice |= {name: value for name, value in part.items() if value is not None}
        delta = _message(part)
        for name in ("content", "refusal", *_REASONING):
            said = delta.get(name)
            if isinstance(said, list):
                said = [one for one in said if mapping_of(one).get("thought") is not True]
            message[name] = message.get(name, "") + text_of(said)
        for call in map(mapping_of, _list(delta.get("tool_calls"))):
            place = str(call.get("index", 0))
            arguments[place] = arguments.get(place, "") + _argument(mapping_of(call.get("function")).get("arguments"))
        logprobs += _list(mapping_of(part.get("logprobs")).get("content"))
    if not any(whole.get(name) for name in ("done", "error")) and not any(map(choice.get, ("error", *_REASONS))):
        raise ValueError("the stream ends early")
    calls = [{"arguments": value} for value in arguments.values()]
    choice |= {"delta": None, "message": message | {"tool_calls": calls}, "logprobs": {"content": logprobs}}
    return whole | {"choices": [choice], "usage": usage}


def cut_prompt(reply: ChatReply, text: str) -> Failure | None:
    """Return the failure that a reply to a cut prompt is; None where the server may have read all of it.

    Every tokenizer makes one token of a word at least, and of three Chinese, Japanese or Korean characters. Images,
    and tokens that were kept from earlier prompts, only add to what a server counts.

    Parameters
    ----------
    text : of the message that was sent
    """
    if reply.prompt_tokens is None:
        return None
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
        found = data if isinstance(data, list) else [one for one in map(data.get, _MESSAGES) if one and one is not True]
        inner = next(iter(found), None)
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


def _first(value: object) -> Mapping[str, object]:
    """Return the first object in a list of JSON; an empty one where there is none."""
    return mapping_of(next(iter(_list(value)), None))


def _list(value: object) -> list[object]:
    """Return a list of JSON; one of a single element where it is an object or a text."""
    return value if isinstance(value, list) else [value] if isinstance(value, dict | str) else []


def _count(usage: Mapping[str, object], names: Sequence[str]) -> int | None:
    """Return a number of tokens by the first of its names; None where it is not stated."""
    return next((count for name in names if (count := _number(usage.get(name))) is not None), None)


def _number(value: object) -> int | None:
    """Return a whole number, which some servers write as 12.0 or "12"; None where it is something else."""
    written = re.fullmatch(r"(\d{1,15})(?:\.0+)?", str(value))
    return None if written is None else int(written[1])
