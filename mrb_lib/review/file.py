"""A file that answers a question of a page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class File:
    """A file that answers a question.

    Attributes
    ----------
    content, kind : its bytes and their media type
    facts : what the page is told with it, such as the `name` to save it under
    """

    content: bytes
    kind: str
    facts: Mapping[str, Any] = field(default_factory=dict)
