"""A server's reply, and the probability that its tokens give to the first response.

Nothing in a reply is believed to have the right type. The probability is P(A) / (P(A) + P(B)) at the token that
states the choice; what a tie or anything else could have got there is left out of the ratio. All tokens that are the
letter besides spaces, quotes, brackets and asterisks count. Where one letter alone is among the alternatives that the
server lists, each spelling of the other has at most the probability of the least likely one listed, and all together at
most what the listed ones leave; the ratio is the bound that this implies. Where neither is, the ratio is unknown.
"""

import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from math import exp, log
from typing import Final, cast

from scipy.special import expit, logsumexp

from mrb_lib.replies.labels import LETTERS, Labels
from mrb_lib.tables.schema import Bound
from mrb_lib.verdicts.orders import TIE

_LEAST: Final = -1e6  # logarithm of a probability; comparing excludes NaN, infinity and integers no float can hold
# Tokens that are one letter besides marks: 16 for A in o200k, 15 in cl100k and in that of Qwen, 2 in that of GPT-2.
_SPELLINGS: Final = 16
_ROUNDING: Final = 1e-6  # of a sum of probabilities in single precision


@dataclass(frozen=True)
class Token:
    """A token of a reply and what could have stood there.

    Attributes
    ----------
    content : its text
    alternatives : the logarithm of the probability of each text that is one letter or digit besides marks and could
        have stood there, itself too
    unlisted : the logarithm of the probability that a letter of which the server lists no spelling has at most. None
        where it lists nothing
    """

    content: bytes
    alternatives: Mapping[str, float]
    unlisted: float | None = None


@dataclass(frozen=True)
class Probability:
    """The probability that the first response is better.

    Attributes
    ----------
    p : from 0 to 1
    bound : None where `p` is exact; "at least" or "at most" where the server lists one of the two letters alone
    mass : the probability of the two letters together; of the one that is listed, where it is one
    """

    p: float
    bound: Bound | None
    mass: float


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
    cached_tokens : of the prompt, that the server kept from earlier ones; some servers count them in `prompt_tokens`
    latency_s : from the request to the end of its reply, without earlier attempts
    """

    content: str
    reasoning: str = ""
    refused: bool = False
    cut_off: bool = False
    tokens: tuple[Token, ...] = field(default=(), repr=False)
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int = 0
    latency_s: float = 0.0

    @property
    def whole(self) -> str:
        """Return the reasoning, enclosed as models enclose it themselves, and the reply."""
        return f"<think>\n{self.reasoning}\n</think>\n\n{self.content}" if self.reasoning else self.content


def mapping_of(value: object) -> Mapping[str, object]:
    """Return an object of JSON; an empty one where it is something else."""
    return value if isinstance(value, dict) else {}


def text_of(value: object) -> str:
    """Return a text of JSON, plain or in parts; an empty one where it is something else."""
    if isinstance(value, list):
        return "".join(text_of(mapping_of(piece).get("text", piece)) for piece in value)
    value = mapping_of(value).get("text", value)
    return whole_characters(value) if isinstance(value, str) else ""


def whole_characters(text: str) -> str:
    """Return a text without halves of surrogate pairs, which JSON can hold and no file can."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def tokens_of(value: object) -> tuple[Token, ...]:
    """Return the tokens of the `logprobs.content` of a choice; empty where there are none."""
    if not isinstance(value, list):
        return ()
    return tuple(_token(mapping_of(entry)) for entry in value)


def _token(entry: Mapping[str, object]) -> Token:
    raw, top = entry.get("bytes"), entry.get("top_logprobs")
    listed = _logprobs(top if isinstance(top, list) else [])
    # The token itself may be less likely than all that are listed.
    known = _logprobs([entry]) | listed
    letters = {word: logprob for word, logprob in known.items() if len(_bare(word)) == 1 and _bare(word).isalnum()}
    left = max(1.0 - sum(map(exp, known.values())), _ROUNDING)
    unlisted = min(log(_SPELLINGS) + min(listed.values()), log(left)) if listed else None
    # A token may be part of a character: its text is then a stand-in, and only its bytes say what it is.
    if isinstance(raw, list) and raw and all(isinstance(byte, int) and 0 <= byte < 256 for byte in raw):
        return Token(bytes(raw), letters, unlisted)
    return Token(text_of(entry.get("token")).encode("utf-8"), letters, unlisted)


def _logprobs(entries: Sequence[object]) -> dict[str, float]:
    """Return the logarithm of the probability of each token's text; what is not such a pair is left out."""
    out: dict[str, float] = {}
    for entry in entries:
        word, logprob = mapping_of(entry).get("token"), mapping_of(entry).get("logprob")
        if isinstance(word, str) and isinstance(logprob, int | float) and _LEAST < logprob < 1:
            out[whole_characters(word)] = min(float(logprob), 0.0)
    return out


# Spaces, quotes, brackets and other marks around a letter, full-width ones and those of tokenizers' own spelling too.
_WRAPPING: Final = " \t\r\n\"'`*_[](){}<>:,.;" + "".join(
    map(
        chr, [*range(0x2018, 0x201F), *range(0x300A, 0x3012), 0xAB, 0xBB, 0xFF08, 0xFF09, 0xFF0C, 0xFF1A, 0x120, 0x2581]
    )
)


def p_of_letter(tokens: Sequence[Token], choice: str | None, labels: Labels = LETTERS) -> Probability | None:
    """Return the probability at the first token that is one of two labels, of a reply of one letter.

    Parameters
    ----------
    labels : what the prompt calls the response shown first, and the second
    choice : by the letters A and B, what the reply was read as; None is returned unless that token states it, as
        where the reply begins with the article "A" and chooses later
    """
    for token in tokens:
        letter = _bare(token.content.decode("utf-8", "replace"))
        if letter in labels:
            return _ratio(token, labels) if letter == _label_of(choice, labels) else None
    return None


def p_of_first(tokens: Sequence[Token], labels: Labels = LETTERS) -> Probability | None:
    """Return the probability at the first token, whichever it is."""
    return _ratio(tokens[0], labels) if tokens else None


def p_of_key(
    tokens: Sequence[Token], reply: str, dimension: str, choice: str | None, labels: Labels = LETTERS
) -> Probability | None:
    """Return the probability at the first letter of a dimension's value, of a reply in JSON.

    Parameters
    ----------
    tokens : of the reply, and perhaps of reasoning before it and marks around it
    reply : the text in which the value is looked up; the last one counts
    choice : what the reply was read as; None is returned where the value found is another
    """
    values = "|".join(map(re.escape, (*labels, TIE)))
    pattern = rf"""["']{re.escape(dimension)}["']\s*:\s*["']?({values})\b"""
    stated = list(re.finditer(pattern, reply))
    if not stated or stated[-1][1] != _label_of(choice, labels):
        return None
    written = b"".join(token.content for token in tokens)
    start = written.rfind(reply.encode("utf-8", "replace"))
    if start < 0:
        return None
    offset = start + len(reply[: stated[-1].start(1)].encode("utf-8", "replace"))
    ends = list(accumulate(len(token.content) for token in tokens))
    return _ratio(tokens[bisect_right(ends, offset)], labels)


def _label_of(choice: str | None, labels: Labels) -> str | None:
    return dict(zip(LETTERS, labels, strict=True)).get(choice or "", choice)


def _ratio(token: Token, labels: Labels) -> Probability | None:
    """Return the share of the first label; None where too little is known of either."""
    letters: dict[str, list[float]] = {label: [] for label in labels}
    for text, logprob in token.alternatives.items():
        letters.get(_bare(text), []).append(logprob)
    listed = {letter: float(logsumexp(values)) for letter, values in letters.items() if values}
    if not listed or (len(listed) == 1 and token.unlisted is None):
        return None
    a, b = (listed.get(letter, token.unlisted) for letter in labels)
    bound: Bound | None = None
    if len(listed) == 1:
        bound = "at least" if labels[0] in listed else "at most"
    mass = min(float(exp(logsumexp(list(listed.values())))), 1.0)
    return Probability(float(expit(cast(float, a) - cast(float, b))), bound, mass)


def _bare(text: str) -> str:
    return text.strip(_WRAPPING)
