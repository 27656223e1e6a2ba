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
_FEWEST_GIVEN_UP: Final = 8
_FEWEST_SILENCES: Final = 18
_SHORTEST_SILENCE_S: Final = 60.0


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
    were under way at a decrease say nothing new, and cause no second one. A server that asks for time gets it from
    all of them.

    Parameters
    ----------
    most : at a time, and at the start
    sleep : waits so many seconds
    clock : seconds since any moment
    stopped : whether nobody need wait for the server any more

    Attributes
    ----------
    width : how many attempts go at a time; the part of a whole number does not count
    decreases_in_a_row : since the server answered last
    n_answered : how many attempts the server answered
    """

    def __init__(
        self,
        most: int,
        sleep: Callable[[float], object] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
        stopped: Callable[[], bool] = lambda: False,
    ) -> None:
        self._most = most
        self.width = float(most)
        self.decreases_in_a_row = self.n_answered = 0
        self._inside = 0
        self._decreases = 0
        self._not_before = clock()
        self._sleep, self._clock, self._stopped = sleep, clock, stopped
        self._changed = Condition()

    @contextmanager
    def attempt(self) -> Iterator[int]:
        """Wait until there is room and the server has had its time; yields a number for `overloaded`."""
        decreases = self._enter()
        try:
            yield decreases
        finally:
            with self._changed:
                self._inside -= 1
                self._changed.notify_all()

    def _enter(self) -> int:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._inside < int(self.width))
                wait_s = self._not_before - self._clock()
                if wait_s <= 0 or self._stopped():
                    self._inside += 1
                    return self._decreases
            self._sleep(wait_s)

    def answered(self) -> None:
        """An attempt was answered."""
        with self._changed:
            self.width = min(self.width + 1.0 / self.width, float(self._most))
            self.decreases_in_a_row = 0
            self.n_answered += 1
            self._changed.notify_all()

    def overloaded(self, attempt: int) -> None:
        """An attempt was too much for the server."""
        with self._changed:
            if attempt == self._decreases:
                self._decreases += 1
                self.decreases_in_a_row += 1
                self.width = max(self.width / 2.0, 1.0)

    def hold(self, seconds: float) -> None:
        """Let no attempt begin for so long."""
        with self._changed:
            self._not_before = max(self._not_before, self._clock() + seconds)


class Breaker:
    """Notices that a server is gone, from attempts in any thread.

    It is gone when for a minute at least, and for twice as many attempts as go at a time, nothing came back; or when
    as many requests were given up without a reply between them. At least 18 attempts and 8 requests, so that a case
    that a server cannot answer in either order ends no run.

    Parameters
    ----------
    concurrency : requests at a time
    clock : seconds since any moment
    """

    def __init__(self, concurrency: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._most_silences = max(2 * concurrency, _FEWEST_SILENCES)
        self._most_given_up = max(2 * concurrency, _FEWEST_GIVEN_UP)
        self._silences = self._given_up = 0
        self._silent_since = 0.0
        self._clock = clock
        self._lock = Lock()

    def answered(self) -> None:
        """The server replied or refused."""
        with self._lock:
            self._silences = self._given_up = 0

    def failed(self, *, silent: bool) -> bool:
        """An attempt failed, in silence or with some answer; True once the server is gone."""
        with self._lock:
            now = self._clock()
            if silent and not self._silences:
                self._silent_since = now
            self._silences = self._silences + 1 if silent else 0
            return self._silences >= self._most_silences and now - self._silent_since >= _SHORTEST_SILENCE_S

    def gave_up(self) -> bool:
        """A request was given up after its last attempt; True once the server is gone."""
        with self._lock:
            self._given_up += 1
            return self._given_up >= self._most_given_up
