"""The budget of one call for servers."""

from collections.abc import Callable
from threading import Condition
from typing import Final

_POLL_S: Final = 0.2


class Budget:
    """US dollars that may be spent, by requests that are sent from several threads.

    Before a request is sent, the most it may cost is reserved; where that is more than what is left it waits for what
    is in flight, which mostly costs less than was reserved. What replies cost corrects later reservations
    upwards, and until the first has come there is one request in flight, so a wrong estimate costs one request.

    An attempt that was sent and whose reply did not come in time, or broke off, counts the most, since a host bills
    what it has begun; one that the server declined, or that did not reach it, counts nothing.

    Parameters
    ----------
    usd : more than 0

    Attributes
    ----------
    spent : US dollars spent so far
    """

    def __init__(self, usd: float) -> None:
        self.usd = usd
        self.spent = self._reserved = 0.0
        self._correction = 1.0
        self._is_tried = False
        self._changed = Condition()

    def reserve(self, most: float, stopped: Callable[[], bool]) -> float | None:
        """Set aside what a request may cost; None if it may cost more than is left, or the run is stopped meanwhile.

        Parameters
        ----------
        most : US dollars, by the estimate

        Returns
        -------
        float
            What was set aside, for `settle`.
        """
        with self._changed:
            while not stopped():
                amount = most * self._correction
                if self._is_tried or not self._reserved:
                    if self.spent + self._reserved + amount <= self.usd:
                        self._reserved += amount
                        return amount
                    if not self._reserved:
                        return None
                self._changed.wait(_POLL_S)
        return None

    def settle(self, reserved: float, most: float, cost: float | None) -> None:
        """Replace what was reserved for a request by what it cost.

        Parameters
        ----------
        most : as given to `reserve`
        cost : 0 where the server did nothing; None where nobody says, which counts as the most
        """
        with self._changed:
            self._reserved = max(self._reserved - reserved, 0.0)
            self.spent += reserved if cost is None else cost
            if cost and most:
                self._correction = max(self._correction, cost / most)
            self._is_tried |= cost != 0
            if self._reserved < 1e-12:  # what sums of floats leave behind must not count as a request in flight
                self._reserved = 0.0
            self._changed.notify_all()
