"""How far a run has come, and how fast it goes."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from mrb_lib.runs.plan import Plan
from mrb_lib.schema import STATUSES

WINDOW_S = 60.0


@dataclass(frozen=True)
class RunProgress:
    """Where the run of one judge stands.

    Attributes
    ----------
    judge : the judge's name
    held, planned : verdicts kept, and verdicts asked for
    cases_done, cases_planned : cases with all their verdicts, and cases asked for
    cases_per_s, tokens_per_s : over the last batches of this session, time to load weights
        excluded; None before the first batch, and tokens where the judge counts none
    eta_s : seconds until everything asked for is held, at that pace; None where unknown
    counts : how many of the verdicts held have each status
    finished : nothing more follows about this judge
    """

    judge: str
    held: int
    planned: int
    cases_done: int
    cases_planned: int
    cases_per_s: float | None = None
    tokens_per_s: float | None = None
    eta_s: float | None = None
    counts: Mapping[str, int] = field(default_factory=dict)
    finished: bool = False


ReportProgress = Callable[[RunProgress], None]


@dataclass(frozen=True)
class _Batch:
    ended: float
    seconds: float
    verdicts: int
    cases: int
    tokens: float | None


class Pace:
    """The speed of the last batches: those that ended within `WINDOW_S` seconds, and at least one.

    Parameters
    ----------
    clock : seconds since any moment
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._batches: deque[_Batch] = deque()
        self._last = clock()

    def start(self) -> None:
        """The first batch begins now."""
        self._last = self._clock()

    def add(self, verdicts: pd.DataFrame) -> None:
        """A batch is finished; its tokens are those of the prompts and of the replies."""
        now = self._clock()
        columns = [name for name in ("prompt_tokens", "completion_tokens") if name in verdicts.columns]
        counted = verdicts[columns].to_numpy(dtype=float)
        tokens = None if np.isnan(counted).all() else float(np.nansum(counted))
        self._batches.append(_Batch(now, now - self._last, len(verdicts), verdicts["case_id"].nunique(), tokens))
        self._last = now
        while len(self._batches) > 1 and self._batches[0].ended < now - WINDOW_S:
            self._batches.popleft()

    def verdicts_per_s(self) -> float | None:
        """Verdicts a second; None before the first batch."""
        return self._rate(sum(batch.verdicts for batch in self._batches))

    def cases_per_s(self) -> float | None:
        """Cases a second; None before the first batch."""
        return self._rate(sum(batch.cases for batch in self._batches))

    def tokens_per_s(self) -> float | None:
        """Tokens a second; None where no batch counted any."""
        counted = [batch.tokens for batch in self._batches if batch.tokens is not None]
        return self._rate(sum(counted)) if counted else None

    def _rate(self, amount: float) -> float | None:
        seconds = sum(batch.seconds for batch in self._batches)
        return amount / seconds if seconds > 0 else None


class Tracker:
    """Counts what a run holds, and reports it.

    Parameters
    ----------
    judge : the judge's name
    wanted : array of the numbers of the verdicts asked for
    held : those of them that the run has already, as a table with a status, and `numbers` theirs
    report : called with each status; None reports nothing
    clock : seconds since any moment
    """

    def __init__(
        self,
        judge: str,
        plan: Plan,
        wanted: np.ndarray,
        held: pd.DataFrame,
        numbers: np.ndarray,
        report: ReportProgress | None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._judge = judge
        self._plan = plan
        self.planned = len(wanted)
        self._missing = np.bincount(np.setdiff1d(wanted, numbers) // plan.per_case, minlength=len(plan.cases))
        self._cases = len(np.unique(wanted // plan.per_case))
        self._counts = dict.fromkeys(STATUSES, 0)
        self._report = report
        self._pace = Pace(clock)
        self._count(held)

    @property
    def held(self) -> int:
        """Verdicts kept."""
        return sum(self._counts.values())

    def start(self) -> None:
        """Report where the run stands, before weights are loaded."""
        self._tell()

    def start_clock(self) -> None:
        """The first batch begins now."""
        self._pace.start()

    def add(self, verdicts: pd.DataFrame) -> None:
        """Count a batch and report."""
        self._count(verdicts)
        done = np.bincount(self._plan.numbers(verdicts) // self._plan.per_case, minlength=len(self._missing))
        self._missing = self._missing - done
        self._pace.add(verdicts)
        self._tell()

    def finish(self) -> None:
        """Report for the last time."""
        self._tell(finished=True)

    def _count(self, verdicts: pd.DataFrame) -> None:
        for status, count in verdicts["status"].value_counts().items():
            self._counts[str(status)] += int(count)

    def _tell(self, *, finished: bool = False) -> None:
        if self._report is None:
            return
        rate, left = self._pace.verdicts_per_s(), self.planned - self.held
        status = RunProgress(
            judge=self._judge,
            held=self.held,
            planned=self.planned,
            cases_done=self._cases - int((self._missing > 0).sum()),
            cases_planned=self._cases,
            cases_per_s=self._pace.cases_per_s(),
            tokens_per_s=self._pace.tokens_per_s(),
            eta_s=left / rate if rate else None,
            counts={name: count for name, count in self._counts.items() if count},
            finished=finished,
        )
        self._report(status)


def pace_text(status: RunProgress) -> str:
    """The pace, the time left and the statuses in one line; what is not known is left out."""
    parts = []
    if status.cases_per_s is not None:
        parts.append(f"{status.cases_per_s:.3g} cases/s")
    if status.tokens_per_s is not None:
        parts.append(f"{status.tokens_per_s:,.0f} tokens/s")
    if status.eta_s is not None and not status.finished:
        parts.append(f"{duration_text(status.eta_s)} left")
    parts.extend(f"{name} {count}" for name, count in status.counts.items())
    return ", ".join(parts)


def duration_text(seconds: float) -> str:
    """Hours, minutes and seconds, as 1:02:03 or 2:03."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
