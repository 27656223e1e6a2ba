"""A function of many things in a few threads: no thing waits for a slow one, and few are made before their time."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import islice
from typing import Final, TypeVar

_IDLE_S: Final = 60.0

Item = TypeVar("Item")
Result = TypeVar("Result")


def threaded_map(
    function: Callable[[Item], Result],
    items: Iterable[Item],
    threads: int,
    stop: Callable[[], None],
    idle: Callable[[float], None],
) -> Generator[tuple[Item, Result], None, None]:
    """Yield each item with its result, as they are done.

    Parameters
    ----------
    function : called in any of the threads
    items : drawn in the thread that iterates, at most twice as many ahead as there are threads
    threads : how many calls go on at a time
    stop : called where the iteration ends early; items that were not begun are left out, others are waited for
    idle : called with the seconds since the last result, every minute without one
    """
    remaining = iter(items)
    running: dict[Future[Result], Item] = {}
    idle_s = 0.0
    with ThreadPoolExecutor(threads) as pool:
        try:
            while True:
                for item in islice(remaining, 2 * threads - len(running)):
                    running[pool.submit(function, item)] = item
                if not running:
                    return
                done = wait(running, _IDLE_S, FIRST_COMPLETED).done
                idle_s = 0.0 if done else idle_s + _IDLE_S
                if not done:
                    idle(idle_s)
                for future in done:
                    yield running.pop(future), future.result()
        except BaseException:
            stop()
            pool.shutdown(cancel_futures=True)
            raise
