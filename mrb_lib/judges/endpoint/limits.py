"""Limits of asking a server: requests at a time, waits, and when to give up."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Condition
from typing import Final

ATTEMPTS: Final = 6
_FEWEST_FAILURES: Final = 3 * ATTEMPTS
_SHORTEST_OUTAGE_S: Final = 60.0


class Turns:
    """Lets attempts through: so many at a time, and none while the server asks for time.

    A server that asks for time is asked half as many at a time, and slowly more again as it answers.

    Parameters
    ----------
    most : at a time
    sleep : waits so many seconds
    clock : seconds since any moment
    stopped : whether nobody need wait any more

    Attributes
    ----------
    n_answered : how many attempts the server answered
    """

    def __init__(
        self,
        most: int,
        sleep: Callable[[float], object],
        clock: Callable[[], float],
        stopped: Callable[[], bool],
    ) -> None:
        self._most, self._width = most, float(most)
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
