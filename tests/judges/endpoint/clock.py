"""A time that passes only where somebody sleeps."""

from threading import Lock


class Clock:
    """A clock, and the sleep that moves it.

    Attributes
    ----------
    now : seconds
    waits : every sleep, in seconds
    """

    def __init__(self) -> None:
        self.now = 100.0
        self.waits: list[float] = []
        self._lock = Lock()

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        with self._lock:
            self.waits.append(seconds)
            self.now += seconds
