"""The outcome of a judge: a summary of its run, or the reason why it failed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mrb_lib.runs.interruption import InterruptedRunError
from mrb_lib.tables.errors import MrbError, RunError


@dataclass(frozen=True)
class RunSummary:
    """The outcome of one judge's run.

    Attributes
    ----------
    made, before : verdicts made now, and found from earlier
    waiting : verdicts that could not be made yet (a jury waits for its members)
    seconds : with the time to load weights
    other_runs : a line per run of the same judge with other settings, beside this one, with what differs
    retried : verdicts that were set aside to be made again; of a jury also those whose
        members have changed their choice
    notices : what the user should know about how the judge worked
    members : of a jury: what became of the members that it had to ask
    """

    judge: str
    folder: Path
    made: int
    before: int
    waiting: int
    seconds: float
    other_runs: tuple[str, ...]
    retried: int = 0
    notices: tuple[str, ...] = ()
    members: tuple[RunSummary, ...] = ()


@dataclass(frozen=True)
class FailedRun:
    """A judge that could not do what was asked; what it had kept stays.

    Attributes
    ----------
    judge : its name as it was given
    error : what was raised; `InterruptedRunError` or `KeyboardInterrupt` where somebody stopped it
    folder : its run, which need not exist; None where that is not known
    """

    judge: str
    error: BaseException
    folder: Path | None = None

    @property
    def is_interrupted(self) -> bool:
        """True where somebody stopped it."""
        return isinstance(self.error, InterruptedRunError) or not isinstance(self.error, Exception)

    @property
    def reason(self) -> str:
        """Why, in one line."""
        text = " ".join(str(self.error).split())
        if self.is_interrupted:
            return text or "interrupted"
        return text if isinstance(self.error, MrbError) else f"{type(self.error).__name__}: {text}"


Outcome = RunSummary | FailedRun


class FailedRunsError(RunError):
    """Some of several judges failed; the others did their work."""

    def __init__(self, failed: Sequence[FailedRun], n_judges: int) -> None:
        reasons = "".join(f"\n{run.judge}: {run.reason}" for run in failed)
        super().__init__(f"{len(failed)} of {n_judges} judges failed; what the others did is kept:{reasons}")
        self.failed = tuple(failed)
        self.n_judges = n_judges
