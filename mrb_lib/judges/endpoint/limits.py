"""Limits of asking a server: options until it refuses them, requests at a time, waits, and when to give up."""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import ceil
from threading import Condition
from typing import Final, Literal

from PIL import Image

from mrb_lib.judges.settings import Settings

ATTEMPTS: Final = 6
_CHARACTERS_A_TOKEN: Final = 4
_PIXELS_A_TOKEN: Final = 28 * 28
_FEWEST_FAILURES: Final = 3 * ATTEMPTS
_SHORTEST_OUTAGE_S: Final = 60.0


def estimated_prompt_tokens(content: str | Sequence[Mapping[str, object]]) -> int:
    """Return roughly the tokens of a message: one for 4 characters, and one for 28 x 28 pixels of an image as sent.

    Parameters
    ----------
    content : text, or parts as the chat protocol has them, with images as data URLs
    """
    if isinstance(content, str):
        return ceil(len(content) / _CHARACTERS_A_TOKEN)
    tokens = 0
    for part in content:
        picture = part.get("image_url")
        if isinstance(picture, Mapping):
            _, _, data = str(picture["url"]).partition(",")
            with Image.open(io.BytesIO(base64.b64decode(data))) as image:  # reads the header alone
                tokens += ceil(image.width * image.height / _PIXELS_A_TOKEN)
        else:
            tokens += ceil(len(str(part.get("text", ""))) / _CHARACTERS_A_TOKEN)
    return tokens


class Turns:
    """Lets attempts through: so many at a time, and none while the server asks for time.

    A server that asks for time is asked half as many at a time, and slowly more again as it answers.

    Parameters
    ----------
    settings : `concurrency` is taken from it
    sleep : waits so many seconds
    clock : seconds since any moment
    stopped : whether nobody need wait any more

    Attributes
    ----------
    n_answered : how many attempts the server answered
    """

    def __init__(
        self,
        settings: Settings,
        sleep: Callable[[float], object],
        clock: Callable[[], float],
        stopped: Callable[[], bool],
    ) -> None:
        self._most = settings.concurrency
        self._width = float(self._most)
        self._sleep, self._clock, self._stopped = sleep, clock, stopped
        self._held_until = self._failing_since = clock()
        self._inside = self._failures = self.n_answered = 0
        self._changed = Condition()

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Wait for the turn of an attempt: until there is room, and the server does not ask for time."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._inside < int(self._width))
                wait_s = self._held_until - self._clock()
                if wait_s <= 0 or self._stopped():
                    self._inside += 1
                    break
            self._sleep(wait_s)
        try:
            yield
        finally:
            with self._changed:
                self._inside -= 1
                self._changed.notify_all()

    def hold(self, seconds: float) -> None:
        """Let no attempt begin for so long. Attempts that come back meanwhile say nothing new of the server."""
        with self._changed:
            now = self._clock()
            if now >= self._held_until:
                self._width = max(self._width / 2.0, 1.0)
            self._held_until = max(self._held_until, now + seconds)

    def answered(self) -> None:
        """Note that an attempt was answered."""
        with self._changed:
            self._width = min(self._width + 1.0 / self._width, float(self._most))
            self._failures = 0
            self.n_answered += 1
            self._changed.notify_all()

    @property
    def outage_s(self) -> float:
        """Return the seconds since the first of the attempts that failed in a row; 0 after one was answered."""
        with self._changed:
            return self._clock() - self._failing_since if self._failures else 0.0

    def failed(self) -> bool:
        """Note that an attempt failed; True once the server is gone.

        It is gone when no attempt was answered for a minute, and as many failed as all requests at a time may have; at
        least 18, so that a case that a server cannot answer in either order ends no run.
        """
        with self._changed:
            self._failing_since = self._failing_since if self._failures else self._clock()
            self._failures += 1
            is_long = self._clock() - self._failing_since >= _SHORTEST_OUTAGE_S
            return is_long and self._failures >= max(ATTEMPTS * self._most, _FEWEST_FAILURES)


Limit = Literal["max_tokens", "max_completion_tokens"]

TOP_LOGPROBS: Final = 20
_FEWER_LOGPROBS: Final = 5  # the most that several hosts give
_NAMES: Final[Mapping[str, re.Pattern[str]]] = {
    "schema": re.compile(r"response_format|json_schema|structured|guided|grammar", re.IGNORECASE),
    "logprobs": re.compile("logprobs", re.IGNORECASE),
    "seed": re.compile(r"\bseed\b", re.IGNORECASE),
    "temperature": re.compile("temperature", re.IGNORECASE),
}
CONSEQUENCES: Final[Mapping[str, str]] = {
    "schema": "replies are parsed as they come",
    "logprobs": "p_a is null from here on",
    "seed": "a sampled reply cannot be reproduced",
    "temperature": "replies are drawn as the server sets it, and may differ from time to time",
}


@dataclass(frozen=True)
class RequestOptions:
    """The options of a request.

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
        """Return the options to try after a refusal; None if there is nothing left that could be the reason.

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
    """Return whether a refusal names an option."""
    return any(pattern.search(refusal) for pattern in _NAMES.values())
