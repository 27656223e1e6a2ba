"""Several trainings at once on this machine, each in a process of its own with a GPU of its own where there are any."""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field
from pathlib import Path
from queue import Queue
from typing import Any

import torch

from mrb_lib.benchmarks.benchmark import load
from mrb_lib.build.training.loop import CurvePoint, Report, TrainProgress
from mrb_lib.build.training.recipe import Recipe
from mrb_lib.build.training.train import Trained, train
from mrb_lib.judges.roster.source import TRAINING
from mrb_lib.judges.settings import Settings
from mrb_lib.tables.errors import MrbError, RunError

_VISIBLE = "CUDA_VISIBLE_DEVICES"
# A training's name and the fields of its progress, which the process that holds the queue can hold without torch.
_Steps = Queue[tuple[str, dict[str, Any]] | None]


@dataclass(frozen=True)
class Training:
    """A training that any process can make: the arguments of `train.train`, the benchmark by its path.

    Attributes
    ----------
    benchmark : folder
    out : the folder to write
    model, recipe, settings, extra, replies : see `train`
    """

    benchmark: Path
    out: Path
    model: str
    recipe: Recipe
    settings: Settings = field(default_factory=Settings)
    extra: tuple[Path, ...] = ()
    replies: Path | None = None

    def run(self, report: Report = lambda progress: None) -> Trained:
        """Train, or go on; see `train`."""
        return train(
            load(self.benchmark), self.out, self.model, self.recipe, settings=self.settings, extra=self.extra,
            replies=self.replies, report=report,
        )  # fmt: skip


def train_at_once(
    trainings: Sequence[Training], n: int, report: Callable[[str, TrainProgress], None] = lambda name, progress: None
) -> Iterator[Trained | MrbError]:
    """Make trainings in so many processes at once, and give each result, or why there is none, as it comes.

    Parameters
    ----------
    trainings : with an `out` each
    n : processes; on a machine with GPUs the first has the first GPU and so on, and where there are more processes than
        GPUs they share; processors are shared out evenly
    report : called with the name of a training's folder after each of its steps

    Notes
    -----
    Each training can go on after it was broken off, as if it had been made alone; its weights are the same. Validated
    by tests/build/training/test_parallel.py.
    """
    # What was trained before is only looked up, which takes no process of its own.
    ended = [training for training in trainings if (training.out / TRAINING).is_file()]
    for training in ended:
        try:
            yield training.run()
        except MrbError as error:
            yield failure(training.out.name, error)
    if rest := [training for training in trainings if training not in ended]:
        yield from _in_processes(rest, n, report)


def _in_processes(
    trainings: Sequence[Training], n: int, report: Callable[[str, TrainProgress], None]
) -> Iterator[Trained | MrbError]:
    context = multiprocessing.get_context("spawn")
    with context.Manager() as manager:
        steps: _Steps = manager.Queue()
        seats: Queue[int] = manager.Queue()
        for seat in range(n):
            seats.put(seat)
        listener = threading.Thread(target=_listen, args=(steps, report))
        listener.start()
        try:
            seating = (seats, n, _gpus())
            with ProcessPoolExecutor(n, mp_context=context, initializer=_sit_down, initargs=seating) as pool:
                begun = {pool.submit(_run, training, steps): training for training in trainings}
                for future in as_completed(begun):
                    error = future.exception()
                    if error is None:
                        yield future.result()
                    else:
                        yield failure(begun[future].out.name, error)
        finally:
            steps.put(None)
            listener.join()


def failure(name: str, error: BaseException) -> MrbError:
    """Why a training failed, with its name."""
    if isinstance(error, MrbError):
        return type(error)(f"{name}: {error}")
    reason = " ".join(str(error).split())[:200] or type(error).__name__
    return RunError(f"{name}: the training ended ({reason}); call it again to go on.")


def _listen(steps: _Steps, report: Callable[[str, TrainProgress], None]) -> None:
    while (step := steps.get()) is not None:
        name, fields = step
        last = fields.pop("last")
        report(name, TrainProgress(**fields, last=None if last is None else CurvePoint(**last)))


def _run(training: Training, steps: _Steps) -> Trained:
    return training.run(lambda progress: steps.put((training.out.name, asdict(progress))))


def _gpus() -> list[str]:
    """The GPUs of this machine, as CUDA_VISIBLE_DEVICES names them."""
    named = os.environ.get(_VISIBLE)
    return named.split(",") if named else [str(i) for i in range(torch.cuda.device_count())]


def _sit_down(seats: Queue[int], n: int, gpus: Sequence[str]) -> None:
    """Take a GPU and a share of the processors, before anything is computed in this process."""
    seat = seats.get()
    if gpus:
        os.environ[_VISIBLE] = gpus[seat % len(gpus)]
    torch.set_num_threads(max(1, torch.get_num_threads() // n))
