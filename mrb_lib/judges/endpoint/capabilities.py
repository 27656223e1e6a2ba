"""What is asked of a server beyond a plain chat, until it refuses."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from threading import Lock
from typing import Final, Literal

Limit = Literal["max_tokens", "max_completion_tokens"]

TOP_LOGPROBS: Final = 20
_FEWER_LOGPROBS: Final = 5  # the most that several hosts give
_NAMES: Final[Mapping[str, re.Pattern[str]]] = {
    "schema": re.compile(r"response_format|json_schema|structured|guided|grammar", re.IGNORECASE),
    "logprobs": re.compile("logprobs", re.IGNORECASE),
    "seed": re.compile(r"\bseed\b", re.IGNORECASE),
    "temperature": re.compile("temperature", re.IGNORECASE),
}
_CONSEQUENCE: Final = {
    "schema": "replies are parsed as they come",
    "logprobs": "p_a is null from here on",
    "seed": "a sampled reply cannot be reproduced",
    "temperature": "replies are drawn as the server sets it, and may differ from time to time",
}


@dataclass(frozen=True)
class RequestOptions:
    """What a request asks for besides its text.

    Attributes
    ----------
    names : "schema" (a reply held to a JSON schema), "logprobs" (the alternatives of each token, with their
        probabilities), "seed" (sampling from one) and "temperature" (that of the settings), as far as they are wanted
    top_logprobs : how many alternatives
    limit : the name by which the longest reply is stated; newer hosts refuse the older one
    """

    names: frozenset[str]
    top_logprobs: int = TOP_LOGPROBS
    limit: Limit = "max_tokens"

    def relax(self, refusal: str, proven: frozenset[str]) -> RequestOptions | None:
        """Return what to try after a refusal; None if there is nothing left that could be the reason.

        Parameters
        ----------
        refusal : what the server said
        proven : the names of options that it granted before: a refusal that does not name them is not about them
        """
        if self.limit == "max_tokens" and "max_completion_tokens" in refusal:
            return replace(self, limit="max_completion_tokens")
        named = frozenset(name for name in self.names if _NAMES[name].search(refusal))
        if "logprobs" in named and self.top_logprobs > _FEWER_LOGPROBS:
            return replace(self, names=self.names - named | {"logprobs"}, top_logprobs=_FEWER_LOGPROBS)
        # Every server knows a temperature, so it is the reason only where it is named.
        suspects = named or self.names - proven - {"temperature"}
        return replace(self, names=self.names - suspects) if suspects else None


def names_an_option(refusal: str) -> bool:
    """Whether a refusal is about something that need not be asked for."""
    return any(pattern.search(refusal) for pattern in _NAMES.values())


class Notices:
    """What the user should know, each said once, from whichever thread."""

    def __init__(self) -> None:
        self._texts: dict[str, None] = {}

    def add(self, text: str) -> None:
        """Say something, unless it was said."""
        self._texts.setdefault(text)

    def all(self) -> list[str]:
        """Return what was said so far, in its order."""
        return list(self._texts)


class Negotiation:
    """What one server has granted and refused so far, for all requests to come.

    Attributes
    ----------
    options : what to ask for now
    proven : the names of what was granted before
    """

    def __init__(self, options: RequestOptions, notices: Notices) -> None:
        self.options = options
        self.proven: frozenset[str] = frozenset()
        self._notices = notices
        self._lock = Lock()

    def granted(self, options: RequestOptions, refusal: str | None) -> None:
        """Take note of a request that was answered.

        What a refusal made it leave out is asked for no more: only the answer shows
        that leaving it out was what the server wanted.

        Parameters
        ----------
        options : what the request asked for
        refusal : what the server said before to a request that asked for more; None if it did not
        """
        with self._lock:
            self.proven |= options.names
            if refusal is None:
                return
            lost = self.options.names - options.names
            fewer = min(self.options.top_logprobs, options.top_logprobs)
            self.options = RequestOptions(self.options.names - lost, fewer, options.limit)
        for name in sorted(lost):
            self._notices.add(f"the server refuses {name}, so it is not asked for: {_CONSEQUENCE[name]} ({refusal})")
