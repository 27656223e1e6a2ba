"""The progress of a run: verdicts held, pace and time left."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta

import pandas as pd

from mrb_lib.tables.schema import STATUSES


@dataclass(frozen=True)
class RunProgress:
    """The progress of one judge's run.

    Attributes
    ----------
    judge : the judge's name
    held, planned : verdicts kept, and verdicts asked for
    cases_per_s, tokens_per_s : in this session, time to load weights excluded; None before the first batch, and
        tokens where the judge counts none
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
        self._report, self._clock = report, clock
        self._start: float | None = None
        self._verdicts, self._cases, self._tokens = 0, 0, 0.0

    @property
    def held(self) -> int:
        """Verdicts kept."""
        return sum(self._counts.values())

    def start(self) -> None:
        """Report where the run stands, before weights are loaded."""
        self._tell(loading=self.held < self.planned)

    def start_clock(self) -> None:
        """Note that the first batch begins now."""
        self._start = self._clock()

    def add(self, verdicts: pd.DataFrame) -> None:
        """Count a batch and report."""
        for status, count in verdicts["status"].value_counts().items():
            self._counts[str(status)] += int(count)
        self._verdicts += len(verdicts)
        self._cases += verdicts["case_id"].nunique()
        self._tokens += float(verdicts.filter(["prompt_tokens", "completion_tokens"]).sum().sum())
        if "cost_usd" in verdicts.columns:
            self._cost_usd = (self._cost_usd or 0.0) + float(verdicts["cost_usd"].sum())
        self._tell()

    def finish(self) -> None:
        """Report for the last time."""
        self._tell(finished=True)

    def _tell(self, *, finished: bool = False, loading: bool = False) -> None:
        if self._report is None:
            return
        seconds = 0.0 if self._start is None else self._clock() - self._start
        verdicts, cases, tokens = (
            made / seconds if made and seconds else None for made in (self._verdicts, self._cases, self._tokens)
        )
        eta_s = (self.planned - self.held) / verdicts if verdicts else None
        counts = {name: count for name, count in self._counts.items() if count}
        self._report(
            RunProgress(
                self._judge, self.held, self.planned, cases, tokens, eta_s, counts, finished, self._cost_usd, loading
            )
        )


def pace_text(status: RunProgress) -> str:
    """Return the pace, the time left and the statuses in one line; what is unknown is left out."""
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
