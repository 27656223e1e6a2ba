"""Work made ready in other threads while what came before is used: numpy leaves the interpreter free."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")

_THREADS = 2


def threaded_map(function: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
    """What `function` gives for each item, in their order; at most three results are in memory at a time.

    OMP_NUM_THREADS=1, as where several processes share the processors, computes one after another in this thread.
    """
    if os.environ.get("OMP_NUM_THREADS") == "1":
        yield from map(function, items)
        return
    with ThreadPoolExecutor(max_workers=_THREADS) as pool:
        pending: deque[Future[R]] = deque()
        for item in items:
            pending.append(pool.submit(function, item))
            if len(pending) > _THREADS:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
