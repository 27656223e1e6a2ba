"""The probability that the first is better, read from the probabilities of a reply's tokens.

It is P(A) / (P(A) + P(B)) at the token that states the choice; what a tie or anything
else could have got there is left out of the ratio. All tokens that are the letter
besides spaces, quotes, brackets and asterisks count. Where either letter is not among
the alternatives that the server lists, its probability is unknown, and so is the ratio.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import Final

from mrb_lib.judges.endpoint.reply import Token

# Spaces, quotes, brackets and other marks around a letter, full-width ones and those of tokenizers' own spelling too.
_WRAPPING: Final = " \t\r\n\"'`*_[](){}<>:,.;" + "".join(
    map(
        chr, [*range(0x2018, 0x201F), *range(0x300A, 0x3012), 0xAB, 0xBB, 0xFF08, 0xFF09, 0xFF0C, 0xFF1A, 0x120, 0x2581]
    )
)


def p_of_letter(tokens: Sequence[Token], choice: str | None) -> float | None:
    """For a reply of one letter: at the first token that is A or B.

    Parameters
    ----------
    choice : what the reply was read as; None is returned unless that token states it, as
        where the reply begins with the article "A" and chooses later
    """
    for token in tokens:
        letter = _bare(token.content.decode("utf-8", "replace"))
        if letter in ("A", "B"):
            return _ratio(token) if letter == choice else None
    return None


def p_of_key(tokens: Sequence[Token], reply: str, dimension: str, choice: str | None) -> float | None:
    """For a reply in JSON: at the token that holds the first letter of a dimension's value.

    Parameters
    ----------
    tokens : of the reply, and perhaps of reasoning before it and marks around it
    reply : the text in which the value is looked up; the last one counts
    choice : what the reply was read as; None is returned where the value found is another
    """
    pattern = rf"""["']{re.escape(dimension)}["']\s*:\s*["']?(A|B|tie)\b"""
    stated = list(re.finditer(pattern, reply))
    if not stated or stated[-1][1] != choice:
        return None
    written = b"".join(token.content for token in tokens)
    start = written.rfind(reply.encode("utf-8", "replace"))
    if start < 0:
        return None
    place = start + len(reply[: stated[-1].start(1)].encode("utf-8", "replace"))
    return _ratio(_at(tokens, place))


def _at(tokens: Iterable[Token], place: int) -> Token:
    """The token that holds the byte at a place of the tokens' whole text."""
    end = 0
    for token in tokens:
        end += len(token.content)
        if end > place:
            return token
    raise ValueError(f"no token holds byte {place}")


def _ratio(token: Token) -> float | None:
    letters: dict[str, list[float]] = {"A": [], "B": []}
    for text, logprob in token.alternatives.items():
        letters.get(_bare(text), []).append(logprob)
    if not letters["A"] or not letters["B"]:
        return None
    difference = _log_sum(letters["B"]) - _log_sum(letters["A"])
    # The logistic function, with the argument that cannot overflow.
    if difference <= 0:
        return 1.0 / (1.0 + math.exp(difference))
    return math.exp(-difference) / (1.0 + math.exp(-difference))


def _log_sum(logarithms: Sequence[float]) -> float:
    top = max(logarithms)
    return top + math.log(math.fsum(math.exp(value - top) for value in logarithms))


def _bare(text: str) -> str:
    return text.strip(_WRAPPING)
