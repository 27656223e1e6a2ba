"""What a server sent, read as the hostile text it is: nothing in it is believed to have the right type."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, cast

_LONGEST_MESSAGE: Final = 300
_LARGEST_COUNT: Final = 2**53
_LEAST: Final = -1e6  # logarithm of a probability; comparing excludes NaN, infinity and integers no float can hold
_CONTENT_FILTERS: Final = ("content_filter", "content_policy_violation")


class MalformedReplyError(Exception):
    """A body that is no reply, although the server called it one; worth asking again."""


@dataclass(frozen=True)
class Token:
    """A token of a reply and what could have stood there: the logarithm of the probability of each text, itself too."""

    content: bytes
    alternatives: Mapping[str, float]


@dataclass(frozen=True)
class ChatReply:
    """A reply.

    Attributes
    ----------
    content : what the model replied, or the refusal
    reasoning : what it thought before, where the server keeps that apart; otherwise empty
    refused : the model or a filter of the server declined
    cut_off : the reply ended because it was as long as allowed
    tokens : empty where the server gives no probabilities
    prompt_tokens, completion_tokens : None where the server does not say
    latency_s : from the request to the end of its reply, without earlier attempts
    """

    content: str
    reasoning: str = ""
    refused: bool = False
    cut_off: bool = False
    tokens: tuple[Token, ...] = field(default=(), repr=False)
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    latency_s: float = 0.0

    @property
    def whole(self) -> str:
        """The reasoning, enclosed as models enclose it themselves, and the reply."""
        return f"<think>\n{self.reasoning}\n</think>\n\n{self.content}" if self.reasoning else self.content


def read_reply(body: bytes, clean: Callable[[str], str], latency_s: float = 0.0) -> ChatReply:
    """The reply in a body.

    Parameters
    ----------
    body : of a response with status 200
    clean : applied to every text that is kept
    latency_s : handed through, in seconds

    Raises
    ------
    MalformedReplyError
        The body is cut off, no JSON, or holds no choice; its text says which.
    """
    data = _mapping(_json(body))
    choices = data.get("choices")
    choice = _mapping(choices[0]) if isinstance(choices, list) and choices else {}
    message = _mapping(choice.get("message"))
    if not message:
        said = error_message(body, clean) if "error" in data else ""
        raise MalformedReplyError(f"a reply without choices{': ' + said if said else ''}")
    refusal = _text(message.get("refusal"))
    finish = choice.get("finish_reason")
    usage = _mapping(data.get("usage"))
    return ChatReply(
        content=clean(_text(message.get("content")) or refusal),
        reasoning=clean(_text(message.get("reasoning_content")) or _text(message.get("reasoning"))),
        refused=bool(refusal) or finish == "content_filter",
        cut_off=finish == "length",
        tokens=_tokens(_mapping(choice.get("logprobs")).get("content")),
        prompt_tokens=_count(usage.get("prompt_tokens")),
        completion_tokens=_count(usage.get("completion_tokens")),
        latency_s=latency_s,
    )


def error_message(body: bytes, clean: Callable[[str], str]) -> str:
    """What a server says went wrong, short and without control characters; the body's start where it is no JSON."""
    try:
        data: object = _json(body)
    except MalformedReplyError:
        return shown(clean(_whole_characters(body[: 4 * _LONGEST_MESSAGE].decode("utf-8", "replace"))))
    while isinstance(data, dict):
        inner = next((data[name] for name in ("error", "message", "detail") if data.get(name)), None)
        if inner is None:
            break
        data = inner
    return shown(clean(_whole_characters(data if isinstance(data, str) else json.dumps(data))))


def is_content_filter(body: bytes) -> bool:
    """Whether an error says that a filter declined the request, as some hosts do in place of a reply."""
    try:
        error = _mapping(_mapping(_json(body)).get("error"))
    except MalformedReplyError:
        return False
    return error.get("code") in _CONTENT_FILTERS


def shown(text: str) -> str:
    """A foreign text for a message: shortened, with control characters and line ends spelled out."""
    plain = "".join(letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in text)
    return plain if len(plain) <= _LONGEST_MESSAGE else f"{plain[: _LONGEST_MESSAGE - 3]}..."


def _json(body: bytes) -> object:
    try:
        return cast(object, json.loads(body))
    # Also an integer of too many digits, bytes that are no text, and nesting deeper than the stack.
    except (ValueError, RecursionError) as error:
        raise MalformedReplyError("a reply that is cut off or no JSON") from error


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}


def _text(value: object) -> str:
    """A message's text: plain, or in parts as some servers send it."""
    if isinstance(value, list):
        return "".join(_text(_mapping(part).get("text")) for part in value)
    return _whole_characters(value) if isinstance(value, str) else ""


def _whole_characters(text: str) -> str:
    """A text without halves of surrogate pairs, which JSON can hold and no file can."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _LARGEST_COUNT else None


def _tokens(value: object) -> tuple[Token, ...]:
    if not isinstance(value, list):
        return ()
    return tuple(_token(_mapping(entry)) for entry in value)


def _token(entry: Mapping[str, object]) -> Token:
    text = _text(entry.get("token"))
    listed = entry.get("top_logprobs")
    alternatives: dict[str, float] = {}
    for other in [entry, *(listed if isinstance(listed, list) else [])]:
        word, logprob = _mapping(other).get("token"), _mapping(other).get("logprob")
        if isinstance(word, str) and isinstance(logprob, int | float) and _LEAST < logprob < 1:
            alternatives[word] = min(float(logprob), 0.0)
    raw = entry.get("bytes")
    # A token may be part of a character: its text is then a stand-in, and only its bytes say what it is.
    if isinstance(raw, list) and raw and all(isinstance(byte, int) and 0 <= byte < 256 for byte in raw):
        return Token(bytes(raw), alternatives)
    return Token(text.encode("utf-8"), alternatives)
