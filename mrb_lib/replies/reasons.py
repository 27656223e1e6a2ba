"""The reason that a reply states: what is under a key such as `reason`, and the prose around its verdict."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Final

from mrb_lib.replies.names import names_of, word_set
from mrb_lib.replies.objects import read_objects
from mrb_lib.replies.reading import sole_object
from mrb_lib.replies.text import plainly_written, without_thinking

KEYS: Final = word_set(
    "reason reasons reasoning rationale rationales explanation explanations justification analysis thoughts"
)
LONGEST_READ: Final = 20_000
"""Characters at the end of a reply among which its objects are sought."""
_FEWEST_LETTERS: Final = 10
_DEPTH: Final = 4
_WORDS: Final = re.compile(r"[^\W\d_]+")
_FENCE: Final = re.compile(r"^[ \t]*`{3,}[A-Za-z]{0,10}[ \t]*$", re.MULTILINE)
_SAYS_NOTHING: Final = word_set(
    "a b the an is are i my it its this that as in on of for to and or both neither than would will say think choose "
    "pick sure certainly okay ok here below following above given requested response responses answer answers "
    "assistant candidate option first second tie tied equal equally draw better best worse superior stronger preferred "
    "prefer verdict judgment judgement winner wins win choice decision rating score category overall final "
    "finally therefore thus so hence json object format output result results evaluation assessment quality "
    "reason reasons reasoning rationale explanation justification analysis conclusion boxed text none null how judge "
    "two hope helps happy"
)
_LOOSE: Final = re.compile(
    rf"[\"'\u201c\u2018]?\b(?:{'|'.join(sorted(KEYS))})[\"'\u201d\u2019]?\s{{0,20}}[:=]\s{{0,20}}"
    r"(?:\"((?:[^\"\\]|\\.)*+)(?:\"|\Z)|'(.*?)(?:'\s{0,20}[,}\]]|\Z))",
    re.DOTALL | re.IGNORECASE,
)


def stated_reason(reply: str, dimensions: Sequence[str], categories: Sequence[str] = ()) -> str | None:
    """The reason that a reply states for its verdict, without what was thought aloud and without the verdict itself.

    Parameters
    ----------
    reply : any text
    dimensions : those that were asked; their names, and those of `categories`, are no reasons

    Returns
    -------
    str or None
        The texts under keys such as `reason` or `explanation` in its objects, and its prose before and after them, in
        the order of the reply; paragraphs are separated by an empty line. None where it states none: prose counts if,
        apart from the words in which verdicts are put, ten letters are left of it ("My verdict is:" and "Response A is
        better" are no reasons). What is under such a key counts whatever it says.

    Notes
    -----
    Never raises on any text. Objects are sought among the last `LONGEST_READ` characters of a reply that is not one
    object as a whole; one before them is left in the prose. Validated by tests/replies/test_reasons.py.
    """
    answer = without_thinking(reply).strip()
    if (sole := sole_object(answer)) is not None:
        return _joined(_under_keys(sole))
    idle = _SAYS_NOTHING | {word.casefold() for name in (*dimensions, *categories) for word in _WORDS.findall(name)}
    early, late = answer[:-LONGEST_READ], answer[-LONGEST_READ:]
    text, objects = _objects(late, dimensions)
    text, shift = early + text, len(early)
    parts, at = [], 0
    for start, end in [*objects, (len(text) - shift,) * 2]:
        prose = _FENCE.sub("", text[at : start + shift]).strip()
        parts += [prose] if _says_something(prose, idle) else []
        at = end + shift
        parts += _in_object(text[start + shift : at])
    return _joined(parts)


def _objects(text: str, dimensions: Sequence[str]) -> tuple[str, list[tuple[int, int]]]:
    """Where the objects of a text stand in it, or in the text as plainly written where that differs within one."""
    plain, places, end = plainly_written(text), [], 0
    spans = [(span.start, span.end) for span in read_objects(plain, names_of(tuple(dimensions)))]
    for first, last in spans:
        start = text.find(plain[first:last], end)
        if start < 0:
            return plain, spans
        end = start + last - first
        places.append((start, end))
    return text, places


def _says_something(prose: str, idle: frozenset[str]) -> bool:
    """Whether prose says more than a verdict does."""
    left = 0
    for match in _WORDS.finditer(prose):
        left += len(match.group()) if match.group().casefold() not in idle else 0
        if left >= _FEWEST_LETTERS:
            return True
    return False


def _in_object(text: str) -> list[str]:
    """The reasons in what is, or resembles, a JSON object."""
    value = sole_object(text)
    if value is not None:
        return list(_under_keys(value))
    return [_unescaped(match[1] if match[1] is not None else match[2]) for match in _LOOSE.finditer(text)]


def _unescaped(text: str) -> str:
    try:
        return str(json.loads(f'"{text}"', strict=False))
    except ValueError:
        return text


def _under_keys(value: object, depth: int = 0, *, is_reason: bool = False) -> Iterator[str]:
    """The texts under the keys of reasons, in order; an object inside another is a tuple of pairs."""
    if isinstance(value, str):
        if is_reason:
            yield value
    elif depth < _DEPTH and isinstance(value, dict | tuple):
        for key, inner in value.items() if isinstance(value, dict) else value:
            for text in _under_keys(inner, depth + 1, is_reason=is_reason or key.strip().casefold() in KEYS):
                yield f"{key}: {text}" if is_reason or isinstance(inner, tuple) else text
    elif depth < _DEPTH and isinstance(value, list):
        for inner in value:
            yield from _under_keys(inner, depth + 1, is_reason=is_reason)


def _joined(texts: Iterator[str] | Sequence[str]) -> str | None:
    return "\n\n".join(kept for text in texts if (kept := text.strip())) or None
