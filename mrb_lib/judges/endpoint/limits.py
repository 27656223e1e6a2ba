"""How much a server is asked: how many requests at a time and a minute, what they may cost, and when to give up."""

from __future__ import annotations

import base64
import io
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import ceil
from threading import Condition, Lock
from typing import Final

from PIL import Image

_CHARACTERS_A_TOKEN: Final = 4
_PIXELS_A_TOKEN: Final = 28 * 28
_FEWEST_ATTEMPTS: Final = 8


def estimated_prompt_tokens(content: str | Sequence[Mapping[str, object]]) -> int:
    """Roughly the tokens of a message: one for 4 characters of text, and one for 28 x 28 pixels of an image as sent.

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


class Pace:
    """So many units a minute, evenly spread, so that no minute has more.

    Parameters
    ----------
    per_minute : more than 0
    sleep : waits so many seconds
    clock : seconds since any moment
    """

    def __init__(
        self, per_minute: float, sleep: Callable[[float], object], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._seconds_a_unit = 60.0 / per_minute
        self._sleep = sleep
        self._clock = clock
        self._free_at = clock()
        self._lock = Lock()

    def wait(self, units: float = 1.0) -> None:
        """Wait for the turn of a request of so many units."""
        with self._lock:
            now = self._clock()
            start = max(now, self._free_at)
            self._free_at = start + units * self._seconds_a_unit
        if start > now:
            self._sleep(start - now)


class Gate:
    """Lets a number of attempts through at a time: half as many when the server is overloaded, then slowly more again.

    Additive increase, multiplicative decrease (Chiu and Jain 1989, doi:10.1016/0169-7552(89)90019-6). Attempts that
    were under way at a decrease say nothing new, and cause no second one.

    Parameters
    ----------
    most : at a time, and at the start
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self.width = float(most)
        self._inside = 0
        self._decreases = 0
        self._changed = Condition()

    @contextmanager
    def attempt(self) -> Iterator[int]:
        """Wait until there is room; yields a number for `overloaded`."""
        with self._changed:
            self._changed.wait_for(lambda: self._inside < int(self.width))
            self._inside += 1
            decreases = self._decreases
        try:
            yield decreases
        finally:
            with self._changed:
                self._inside -= 1
                self._changed.notify_all()

    def answered(self) -> None:
        """An attempt was answered."""
        with self._changed:
            self.width = min(self.width + 1.0 / self.width, float(self._most))
            self._changed.notify_all()

    def overloaded(self, attempt: int) -> None:
        """An attempt was too much for the server."""
        with self._changed:
            if attempt == self._decreases:
                self._decreases += 1
                self.width = max(self.width / 2.0, 1.0)


class Breaker:
    """Notices that a server is gone, from attempts in any thread.

    It is gone when twice as many attempts as go at a time, one after the other, met nothing but silence, or
    when as many requests were given up without a reply between them; in any case at least 8, so that one request
    that a server cannot answer ends no run.

    Parameters
    ----------
    concurrency : requests at a time
    """

    def __init__(self, concurrency: int) -> None:
        self.limit = max(2 * concurrency, _FEWEST_ATTEMPTS)
        self._silences = self._given_up = 0
        self._lock = Lock()

    def answered(self) -> None:
        """The server replied or refused."""
        with self._lock:
            self._silences = self._given_up = 0

    def failed(self, *, silent: bool) -> bool:
        """An attempt failed, in silence or with some answer; True once the server is gone."""
        with self._lock:
            self._silences = self._silences + 1 if silent else 0
            return self._silences >= self.limit

    def gave_up(self) -> bool:
        """A request was given up after its last attempt; True once the server is gone."""
        with self._lock:
            self._given_up += 1
            return self._given_up >= self.limit
