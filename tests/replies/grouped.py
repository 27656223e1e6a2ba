"""Replies with what is expected of each, stated once for all that are alike."""

from collections.abc import Mapping, Sequence


def grouped(replies: Mapping[object, Sequence[str]]) -> list[tuple[object, ...]]:
    """A row for each reply: the reply, and the value, or the tuple of values, that it is listed under."""
    return [(reply, *(key if isinstance(key, tuple) else (key,))) for key, alike in replies.items() for reply in alike]
