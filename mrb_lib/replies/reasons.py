"""The reason that a reply states: what is under a key such as `reason`, and the prose around its verdict."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence

from mrb_lib.replies.forms import objects, sole_object
from mrb_lib.replies.text import LONGEST, without_thinking

_KEYS = frozenset(
    [
        "reason",
        "reasons",
        "reasoning",
        "rationale",
        "rationales",
        "explanation",
        "explanations",
        "justification",
        "analysis",
        "thoughts",
    ]
)
_LOOSE = re.compile(
    rf"[\"'\u201c\u2018]?\b(?:{'|'.join(sorted(_KEYS))})[\"'\u201d\u2019]?\s{{0,20}}[:=]\s{{0,20}}"
    r"(?:\"((?:[^\"\\]|\\.)*+)(?:\"|\Z)|'(.*?)(?:'\s{0,20}[,}\]]|\Z))",
    re.DOTALL | re.IGNORECASE,
)
_IDLE = (
    frozenset(
        [
            "a",
            "b",
            "the",
            "an",
            "is",
            "are",
            "i",
            "my",
            "it",
            "its",
            "this",
            "that",
            "as",
            "in",
            "on",
            "of",
            "for",
            "to",
            "and",
            "or",
            "both",
            "neither",
            "than",
            "would",
            "will",
            "say",
            "think",
            "choose",
            "pick",
            "sure",
            "certainly",
            "okay",
            "ok",
            "here",
            "below",
            "following",
            "above",
            "given",
            "requested",
            "response",
            "responses",
            "answer",
            "answers",
            "assistant",
            "candidate",
            "option",
            "first",
            "second",
            "tie",
            "tied",
            "equal",
            "draw",
            "better",
            "best",
            "worse",
            "superior",
            "preferred",
            "prefer",
            "verdict",
            "judgment",
            "winner",
            "wins",
            "choice",
            "decision",
            "rating",
            "score",
            "category",
            "overall",
            "final",
            "finally",
            "therefore",
            "thus",
            "so",
            "hence",
            "json",
            "object",
            "format",
            "output",
            "result",
            "results",
            "evaluation",
            "assessment",
            "quality",
            "text",
            "none",
            "null",
            "how",
            "judge",
            "two",
            "hope",
            "helps",
            "happy",
            "conclusion",
            "boxed",
        ]
    )
    | _KEYS
)


def stated_reason(reply: str, dimensions: Sequence[str], categories: Sequence[str] = ()) -> str | None:
    """The reason that a reply states for its verdict, without what was thought aloud and without the verdict itself."""
    answer = without_thinking(reply).strip()
    if (sole := sole_object(answer)) is not None:
        return _joined(_under_keys(sole))
    idle = _IDLE | {word.casefold() for name in (*dimensions, *categories) for word in re.findall(r"[^\W\d_]+", name)}
    late = answer[-LONGEST:]
    parts, at = [answer[:-LONGEST]], 0
    for start, end, value in [*objects(late), (len(late), len(late), "")]:
        parts[-1] += late[at:start]
        inner = (
            list(_under_keys(value))
            if not isinstance(value, str)
            else [_unescaped(m[1] if m[1] is not None else m[2]) for m in _LOOSE.finditer(value)]
        )
        parts, at = [*parts, *(f"\0{text}" for text in inner), ""], end
    prose = (re.sub(r"(?m)^[ \t]*`{3,}[A-Za-z]{0,10}[ \t]*$", "", part).strip() for part in parts)
    return _joined(part.lstrip("\0") for part in prose if part.startswith("\0") or _says_something(part, idle))


def _says_something(prose: str, idle: frozenset[str]) -> bool:
    """Whether ten letters are left of a prose apart from the words in which verdicts are put."""
    left = 0
    for match in re.finditer(r"[^\W\d_]+", prose):
        left += len(match.group()) if match.group().casefold() not in idle else 0
        if left >= 10:
            return True
    return False


def _unescaped(text: str) -> str:
    try:
        return str(json.loads(f'"{text}"', strict=False))
    except ValueError:
        return text


def _under_keys(value: object, depth: int = 0, *, is_reason: bool = False) -> Iterator[str]:
    """The texts under the keys of reasons, in order."""
    if isinstance(value, str) and is_reason:
        yield value
    elif depth < 4 and isinstance(value, dict | tuple):
        for key, inner in value.items() if isinstance(value, dict) else value:
            for text in _under_keys(inner, depth + 1, is_reason=is_reason or key.strip().casefold() in _KEYS):
                yield f"{key}: {text}" if is_reason or isinstance(inner, tuple) else text
    elif depth < 4 and isinstance(value, list):
        for inner in value:
            yield from _under_keys(inner, depth + 1, is_reason=is_reason)


def _joined(texts: Iterator[str]) -> str | None:
    return "\n\n".join(kept for text in texts if (kept := text.strip())) or None
