"""How far a run has come, and how fast it goes."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from math import inf
from typing import Final

import numpy as np
import pandas as pd
from rich.console import Console
from rich.progress import Progress

from mrb_lib.tables.schema import STATUSES

_COUNTED: Final = ("verdicts", "cases", "tokens")
_TOKENS: Final = ("prompt_tokens", "completion_tokens")


@dataclass(frozen=True)
class RunProgress:
    """Where the run of one judge stands.

    Attributes
    ----------
    judge : the judge's name
    held, planned : verdicts kept, and verdicts asked for
    cases_per_s, tokens_per_s : over the last 1,000 batches of this session, time to load weights
        excluded; None before the first batch, and tokens where the judge counts none
    eta_s : seconds until everything asked for is held, at that pace; None where unknown
    counts : how many of the verdicts held have each status
    finished : nothing more follows about this judge
    cost_usd : what the verdicts of this session cost; None where no price is known
    loading : the judge gets ready, as by reading its weights
    """

    judge: str
    held: int
    planned: int
    cases_per_s: float | None = None
    tokens_per_s: float | None = None
    eta_s: float | None = None
    counts: Mapping[str, int] = field(default_factory=dict)
    finished: bool = False
    cost_usd: float | None = None
    loading: bool = False


ReportProgress = Callable[[RunProgress], None]


class Tracker:
    """Counts what a run holds, and reports it.

    Parameters
    ----------
    judge : the judge's name
    planned : how many verdicts are asked for
    held : how many of them the run has already, by status
    report : called with each status; None reports nothing
    clock : seconds since any moment
    """

    def __init__(
        self,
        judge: str,
        planned: int,
        held: Mapping[str, int],
        report: ReportProgress | None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._judge = judge
        self.planned = planned
        self._counts = dict.fromkeys(STATUSES, 0) | dict(held)
        self._cost_usd: float | None = None
        self._report = report
        # rich keeps the samples that speeds are estimated from; nothing is drawn here.
        self._samples = Progress(
            console=Console(quiet=True), auto_refresh=False, speed_estimate_period=inf, get_time=clock
        )
        self._tasks = {name: self._samples.add_task(name, total=None) for name in _COUNTED}

    @property
    def held(self) -> int:
        """Verdicts kept."""
        return sum(self._counts.values())

    def start(self) -> None:
        """Report where the run stands, before weights are loaded."""
        self._tell(loading=self.held < self.planned)

    def start_clock(self) -> None:
        """The first batch begins now."""
        for task in self._tasks.values():
            self._samples.advance(task, 0)

    def add(self, verdicts: pd.DataFrame) -> None:
        """Count a batch and report."""
        for status, count in verdicts["status"].value_counts().items():
            self._counts[str(status)] += int(count)
        tokens = verdicts.reindex(columns=list(_TOKENS)).to_numpy(dtype=float)
        for name, amount in zip(
            _COUNTED, (len(verdicts), verdicts["case_id"].nunique(), np.nansum(tokens)), strict=True
        ):
            self._samples.advance(self._tasks[name], float(amount))
        if "cost_usd" in verdicts.columns:
            self._cost_usd = (self._cost_usd or 0.0) + float(verdicts["cost_usd"].sum())
        self._tell()

    def finish(self) -> None:
        """Report for the last time."""
        self._tell(finished=True)

    def _speed(self, name: str) -> float | None:
        """A second; None before the first batch, and where nothing was counted."""
        return self._samples.tasks[self._tasks[name]].speed or None

    def _tell(self, *, finished: bool = False, loading: bool = False) -> None:
        if self._report is None:
            return
        rate, left = self._speed("verdicts"), self.planned - self.held
        status = RunProgress(
            judge=self._judge,
            held=self.held,
            planned=self.planned,
            cases_per_s=self._speed("cases"),
            tokens_per_s=self._speed("tokens"),
            eta_s=left / rate if rate else None,
            counts={name: count for name, count in self._counts.items() if count},
            finished=finished,
            cost_usd=self._cost_usd,
            loading=loading,
        )
        self._report(status)


def pace_text(status: RunProgress) -> str:
    """The pace, the time left and the statuses in one line; what is unknown is left out."""
    parts = ["loading"] if status.loading else []
    if status.cases_per_s is not None:
        parts.append(f"{status.cases_per_s:.3g} cases/s")
    if status.tokens_per_s is not None:
        parts.append(f"{status.tokens_per_s:,.0f} tokens/s")
    if status.eta_s is not None and not status.finished:
        parts.append(f"{timedelta(seconds=round(status.eta_s))} left")
    if status.cost_usd is not None:
        parts.append(f"{status.cost_usd:.4f} USD")
    parts.extend(f"{name} {count}" for name, count in status.counts.items())
    return ", ".join(parts)
