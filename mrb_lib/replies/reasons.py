"""The reason that a reply states: texts under a key such as `reason`, and the prose around its verdict."""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from mrb_lib.replies.forms import Span, objects, sole_object
from mrb_lib.replies.text import LONGEST, without_thinking, word_set

_KEYS: Final = word_set(
    "reason reasons reasoning rationale rationales explanation explanations justification analysis thoughts"
)
_LOOSE: Final = re.compile(
    rf"[\"'\u201c\u2018]?\b(?:{'|'.join(sorted(_KEYS))})[\"'\u201d\u2019]?\s{{0,20}}[:=]\s{{0,20}}"
    r"(?:\"((?:[^\"\\]|\\.)*+)(?:\"|\Z)|'(.*?)(?:'\s{0,20}[,}\]]|\Z))",
    re.DOTALL | re.IGNORECASE,
)
_IDLE: Final = _KEYS | word_set(
    "a b the an is are i my it its this that as in on of for to and or both neither than would will say think choose "
    "pick sure certainly okay ok here below following above given requested response responses answer answers "
    "assistant candidate option first second tie tied equal equally draw better best worse superior stronger "
    "preferred prefer verdict judgment judgement winner wins win choice decision rating score category overall final "
    "finally therefore thus so hence json object format output result results evaluation assessment quality text "
    "none null how judge two hope helps happy conclusion boxed"
)
_WORD: Final = re.compile(r"[^\W\d_]+")
_FEWEST_LETTERS, _DEEPEST = 10, 4


def stated_reason(reply: str, dimensions: Sequence[str], categories: Sequence[str] = ()) -> str | None:
    """Return the reason that a reply states for its verdict, without thoughts and without the verdict itself.

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
        better" are no reasons). A text under such a key counts whatever it is.
    """
    answer = without_thinking(reply).strip()
    if (sole := sole_object(answer)) is not None:
        return _joined(_under_keys(sole))
    idle = _IDLE | {word.casefold() for name in (*dimensions, *categories) for word in _WORD.findall(name)}
    late = answer[-LONGEST:]
    prose, at = answer[:-LONGEST], 0
    parts: list[str] = []
    for span in [*objects(late), Span(len(late), len(late), "", None)]:
        prose = re.sub(r"(?m)^[ \t]*`{3,}[A-Za-z]{0,10}[ \t]*$", "", prose + late[at : span.start]).strip()
        parts += [prose] if _says_something(prose, idle) else []
        parts += map(_unescaped, _LOOSE.finditer(span.text)) if span.value is None else _under_keys(span.value)
        prose, at = "", span.end
    return _joined(parts)


def _says_something(prose: str, idle: frozenset[str]) -> bool:
    """Return True where letters enough are left of a prose apart from idle words."""
    return sum(len(word) for word in _WORD.findall(prose) if word.casefold() not in idle) >= _FEWEST_LETTERS


def _unescaped(found: re.Match[str]) -> str:
    text = found[1] if found[1] is not None else found[2]
    try:
        return str(json.loads(f'"{text}"', strict=False))
    except ValueError:
        return text


def _under_keys(value: object, depth: int = 0, *, is_reason: bool = False) -> Iterator[str]:
    """Yield the texts under the keys of reasons, in order."""
    if isinstance(value, str) and is_reason:
        yield value
    elif depth < _DEEPEST and isinstance(value, dict | tuple):
        for key, inner in value.items() if isinstance(value, dict) else value:
            for text in _under_keys(inner, depth + 1, is_reason=is_reason or key.strip().casefold() in _KEYS):
                yield f"{key}: {text}" if is_reason or isinstance(inner, tuple) else text
    elif depth < _DEEPEST and isinstance(value, list):
        for inner in value:
            yield from _under_keys(inner, depth + 1, is_reason=is_reason)


def _joined(texts: Iterable[str]) -> str | None:
    return "\n\n".join(kept for text in texts if (kept := text.strip())) or None
