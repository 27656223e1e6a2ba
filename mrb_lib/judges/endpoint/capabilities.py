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
    schema : a reply held to a JSON schema
    top_logprobs : how many alternatives of each token, with their probabilities; 0 for none
    seed : sampling from a seed
    temperature : that of the settings; some models that reason take their own alone
    limit : by which name the longest reply is stated; newer hosts refuse the older one
    """

    schema: bool
    top_logprobs: int
    seed: bool = True
    temperature: bool = True
    limit: Limit = "max_tokens"

    @property
    def names(self) -> frozenset[str]:
        """What is asked for, by name."""
        asked = {"schema": self.schema, "logprobs": self.top_logprobs > 0, "seed": self.seed}
        asked["temperature"] = self.temperature
        return frozenset(name for name, wanted in asked.items() if wanted)

    def without(self, names: frozenset[str]) -> RequestOptions:
        """The same but for some."""
        return replace(
            self,
            schema=self.schema and "schema" not in names,
            top_logprobs=0 if "logprobs" in names else self.top_logprobs,
            seed=self.seed and "seed" not in names,
            temperature=self.temperature and "temperature" not in names,
        )

    def relax(self, refusal: str, proven: frozenset[str]) -> RequestOptions | None:
        """What to try after a refusal; None if there is nothing left that could be the reason.

        Parameters
        ----------
        refusal : what the server said
        proven : the names of options that it granted before: a refusal that does not name them is not about them
        """
        if self.limit == "max_tokens" and "max_completion_tokens" in refusal:
            return replace(self, limit="max_completion_tokens")
        named = frozenset(name for name in self.names if _NAMES[name].search(refusal))
        if "logprobs" in named and self.top_logprobs > _FEWER_LOGPROBS:
            return replace(self.without(named - {"logprobs"}), top_logprobs=_FEWER_LOGPROBS)
        # Every server knows a temperature, so it is the reason only where it is named.
        suspects = named or self.names - proven - {"temperature"}
        return self.without(suspects) if suspects else None


def names_an_option(refusal: str) -> bool:
    """Whether a refusal is about something that need not be asked for."""
    return any(pattern.search(refusal) for pattern in _NAMES.values())


class Notices:
    """What the user should know, each said once, from whichever thread."""

    def __init__(self) -> None:
        self._texts: dict[str, None] = {}
        self._lock = Lock()

    def add(self, text: str) -> None:
        """Say something, unless it was said."""
        with self._lock:
            self._texts.setdefault(text)

    def all(self) -> list[str]:
        """What was said so far, in its order."""
        with self._lock:
            return list(self._texts)


class Negotiation:
    """What one server has granted and refused so far, for all requests to come."""

    def __init__(self, options: RequestOptions, notices: Notices) -> None:
        self._options = options
        self._proven: frozenset[str] = frozenset()
        self._notices = notices
        self._lock = Lock()

    @property
    def options(self) -> RequestOptions:
        """What to ask for now."""
        with self._lock:
            return self._options

    @property
    def proven(self) -> frozenset[str]:
        """The names of what was granted before."""
        with self._lock:
            return self._proven

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
            self._proven |= options.names
            if refusal is None:
                return
            lost = self._options.names - options.names
            fewer = min(self._options.top_logprobs, options.top_logprobs)
            self._options = replace(self._options.without(lost), top_logprobs=fewer, limit=options.limit)
        for name in sorted(lost):
            self._notices.add(f"the server refuses {name}, so it is not asked for: {_CONSEQUENCE[name]} ({refusal})")
