"""Texts of others in a prompt: enclosed so that none can end its enclosure, and with no mark of a model's own."""

import hashlib
import re
from collections.abc import Callable, Iterable, Sequence
from itertools import count
from typing import Final

from mrb_lib.replies.labels import Labels, relabelled

_BREAK: Final = "\u200b"  # zero-width space
# Text that some chat template or processor takes for a mark of its own; a tokenizer's own marks are added to these.
_MARKS: Final = (
    r"<\|[^<>|\s]{1,40}\|>|</?s>|\[/?INST\]|\[IMG(?:_[A-Z]{1,8})?\]|<</?SYS>>|◁/?think▷|"
    r"</?(?:image|video|img|audio|bos|eos|pad|unk|think|start_of_turn|end_of_turn|start_of_image|end_of_image|"
    r"image_soft_token|image_placeholder)>"
)
_SECTION: Final = re.compile(r"\[(?=\s*The\s+(?:Start|End)\s+of\b)", re.IGNORECASE)


def marks_pattern(tokens: Iterable[str]) -> re.Pattern[str]:
    """A pattern of a tokenizer's special tokens and of the usual marks of chat templates."""
    own = sorted((token for token in tokens if len(token.strip()) > 1 and _BREAK not in token), key=len, reverse=True)
    return re.compile("|".join([*map(re.escape, own), _MARKS]))


def defuse(text: str, marks: re.Pattern[str]) -> str:
    """Break every mark in a text with a zero-width space, so that a tokenizer reads it as plain text.

    Otherwise a response that holds a chat template's end mark would end the user's turn and speak for the judge.
    """
    while True:
        text, n_broken = marks.subn(lambda match: f"{match[0][0]}{_BREAK}{match[0][1:]}", text)
        if not n_broken:
            return text


GENERIC: Final = marks_pattern(())
"""The usual marks alone, for texts that no tokenizer is known to read."""


def fence_key(texts: Sequence[str], *others: str) -> str:
    """A short key that no text holds, the same for both orders of the responses and, but by chance, with any others."""
    material = "\0".join(sorted(texts)).encode("utf-8", "surrogatepass")
    keys = (hashlib.sha256(number.to_bytes(4, "big") + material).hexdigest()[:8] for number in count())
    return next(key for key in keys if not any(key in text for text in (*texts, *others)))


def section(name: str, text: str) -> str:
    """Return a text between the marks of the published pipeline, which carry no key: those within it are broken."""
    inside = _SECTION.sub(f"[{_BREAK}", text)
    return f"[The Start of {name}]\n{inside}\n[The End of {name}]"


def fence_of(key: str, labels: Labels) -> Callable[[str, str], str]:
    """Return a function that encloses a text, by its name, between marks that carry a key."""

    def fence(name: str, text: str) -> str:
        name = relabelled(name, labels)
        return f"<<<{name} {key}>>>\n{text}\n<<<end of {name} {key}>>>"

    return fence
