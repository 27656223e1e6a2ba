"""The local backend: batches answered in this process, the next one prepared meanwhile, or several at a time."""

import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from typing import Final, Protocol, runtime_checkable

import numpy as np
import pandas as pd

from mrb_lib.runs.plan import Plan
from mrb_lib.tables.errors import RunError
from mrb_lib.tables.schema import KEYS
from mrb_lib.tables.validation import Rules, conform
from mrb_lib.verdicts.orders import to_case_frame, to_shown_frame
from mrb_lib.verdicts.protocol import Judge

_KEY = list(KEYS["verdicts"][1:])
_TEXTS = ("reply", "error", "finish", "p_a_bound", "p_categories", "criteria")
_CASES_ESTIMATED: Final = 50


@dataclass(frozen=True)
class Job:
    """Work for a backend.

    Attributes
    ----------
    judge : whose weights are not loaded yet
    plan : what the numbers of verdicts mean
    batches : arrays of numbers of verdicts, in the order to answer them; at least one
    images : of the cases, by name
    devices, notices : what the batches are answered on, and what the user should know about that; filled in by a
        backend that answers them elsewhere
    """

    judge: Judge
    plan: Plan
    batches: Sequence[np.ndarray]
    images: Mapping[str, bytes]
    devices: list[str] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)


@runtime_checkable
class HoldsWeights(Protocol):
    """A judge that can forget what `Judge.load` read, and free the memory; `load` reads it again."""

    def unload(self) -> None: ...


# A backend gets ready when it is called (it loads weights, starts workers); what it then yields are
# verdicts tables, one a batch in any order, without the verdicts that must wait.
Backend = Callable[[Job], Generator[pd.DataFrame, None, None]]


@runtime_checkable
class StreamingJudge(Protocol):
    """A judge that has several batches under way at a time; see `mrb_lib.judges.endpoint.judge.EndpointJudge`."""

    def stream(self, batches: Iterable[pd.DataFrame]) -> Generator[tuple[pd.DataFrame, pd.DataFrame], None, None]: ...

    def estimate(self, shown: pd.DataFrame, scale: float) -> str | None: ...

    def stop(self) -> None: ...


# Called with the judge's name and what its requests may cost, before the first.
ReportEstimate = Callable[[str, str], None]


def run_locally(job: Job, expect: ReportEstimate | None = None) -> Generator[pd.DataFrame, None, None]:
    """Load the judge and answer the batches of a job, one after the other where the judge does not stream them."""
    job.judge.load()
    if not isinstance(job.judge, StreamingJudge):
        return _answers(job)
    if expect is not None and (estimate := _estimate(job.judge, job)) is not None:
        expect(job.judge.name, estimate)
    return _streamed(job.judge, job)


def _estimate(judge: StreamingJudge, job: Job) -> str | None:
    """Return the likely cost of a job, from cases that are evenly spread over it."""
    numbers = np.concatenate(job.batches)
    case = job.plan.units(numbers)
    cases = np.unique(case)
    spread = np.linspace(0, len(cases) - 1, min(len(cases), _CASES_ESTIMATED)).round().astype(np.int64)
    some = numbers[np.isin(case, cases[spread])]
    return judge.estimate(to_shown_frame(job.plan.rows(some)), len(numbers) / len(some))


def _streamed(judge: StreamingJudge, job: Job) -> Generator[pd.DataFrame, None, None]:
    shown = (to_shown_frame(job.plan.rows(numbers)) for numbers in job.batches)
    with closing(judge.stream(shown)) as answers:
        for rows, verdicts in answers:
            yield _conforming(job.judge, rows, verdicts, job.plan.rules)


def _answers(job: Job) -> Generator[pd.DataFrame, None, None]:
    with ThreadPoolExecutor(1, thread_name_prefix="prepare") as background:

        def prepare(numbers: np.ndarray) -> Callable[[], pd.DataFrame]:
            return prepared(job.judge, to_shown_frame(job.plan.rows(numbers)), job.plan.rules)

        ahead = background.submit(prepare, job.batches[0])
        for following in [*job.batches[1:], None]:
            answer = ahead.result()
            if following is not None:
                ahead = background.submit(prepare, following)
            yield answer()


def prepared(judge: Judge, shown: pd.DataFrame, rules: Rules) -> Callable[[], pd.DataFrame]:
    """Do what needs no accelerator for rows as a judge is shown them, and return what answers them.

    Parameters
    ----------
    judge : loaded
    rules : see `mrb_lib.runs.plan.Plan`

    Returns
    -------
    The call that returns the verdicts table. It raises `RunError` where the judge breaks its protocol.
    """
    start = time.perf_counter()
    answer = judge.prepare(shown)
    seconds = time.perf_counter() - start

    def answered() -> pd.DataFrame:
        start = time.perf_counter()
        answers = answer()
        if "latency_s" not in answers.columns and len(answers):
            answers["latency_s"] = (seconds + time.perf_counter() - start) / len(answers)
        return _conforming(judge, shown, answers, rules)

    return answered


def _conforming(judge: Judge, shown: pd.DataFrame, answers: pd.DataFrame, rules: Rules) -> pd.DataFrame:
    verdicts = to_case_frame(answers).assign(judge=judge.name)
    _check_keys(judge, shown, verdicts)
    if judge.prompt_id:
        verdicts["prompt_id"] = judge.prompt_id
    texts = dict.fromkeys((name for name in _TEXTS if name in verdicts.columns), "str")
    return conform(verdicts.astype(texts), "verdicts", f"judge {judge.name}", **rules)


def _check_keys(judge: Judge, shown: pd.DataFrame, verdicts: pd.DataFrame) -> None:
    # Plain sets: an index of pandas costs more than all of a small batch.
    asked = set(shown[_KEY].itertuples(index=False, name=None))
    answered = list(verdicts[_KEY].itertuples(index=False, name=None))
    if len(set(answered)) < len(answered):
        raise RunError(f"judge {judge.name}: answered a verdict twice; nothing of this batch was kept.")
    if not asked.issuperset(answered):
        raise RunError(f"judge {judge.name}: answered what was not asked; nothing of this batch was kept.")
