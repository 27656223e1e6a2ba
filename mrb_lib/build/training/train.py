"""Training a judge from a benchmark's training cases to a folder that `mrb judge --judge path:OUT` runs."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.build.training.letters import LetterTrainee
from mrb_lib.build.training.loop import (
    CurvePoint,
    Report,
    check_arguments,
    fit_in_memory,
    full_disk_named,
    is_main_process,
    last_checkpoint,
    n_processes,
)
from mrb_lib.build.training.plan import Plan
from mrb_lib.build.training.recipe import Recipe
from mrb_lib.build.training.record import training_record
from mrb_lib.build.training.reward import RewardTrainee
from mrb_lib.build.training.trainee import Trainee
from mrb_lib.judges.prompt_files import load_prompt
from mrb_lib.judges.roster.source import TRAINING, provenance_of
from mrb_lib.judges.settings import Settings
from mrb_lib.tables.errors import InputError, MrbError
from mrb_lib.tables.files import staged_folder, write_atomic

if TYPE_CHECKING:
    from mrb_lib.build.training.trl_trainee import ReplyTrainee

_PLAN: Final = "plan.json"


@dataclass(frozen=True)
class Trained:
    """The result of a training.

    Attributes
    ----------
    folder : the judge
    curve : the evaluations
    n_cases : cases that it was trained on
    n_validation : cases that every evaluation judges
    left_out : what could not be learnt from, by the reason
    notices : what the user should know
    """

    folder: Path
    curve: Sequence[CurvePoint]
    n_cases: int
    n_validation: int
    left_out: dict[str, int]
    notices: Sequence[str]


def train(
    benchmark: Benchmark,
    out: Path,
    model: str,
    recipe: Recipe,
    *,
    settings: Settings | None = None,
    extra: Sequence[Path] = (),
    report: Report = lambda progress: None,
) -> Trained:
    """Train a judge.

    A training that was broken off goes on from its last checkpoint when it is called again with the same arguments; one
    that is finished is not made again.

    Parameters
    ----------
    benchmark : loaded from a folder, with a split that names cases to train on
    out : the folder to write
    model : what is trained further: a name of the roster, or `path:DIR`, which may be an earlier training's folder
    recipe : how
    settings : of the judge: device, dtype, max_pixels, download
    extra : the user's own roster files
    report : called after every step

    Raises
    ------
    InputError
        There is no split, it leaks, or nothing to learn from is left; the model cannot be trained in this way; or `out`
        holds something else.
    RunError
        The memory does not hold a single example.

    Notes
    -----
    Validated by tests/build/training/test_train.py.
    """
    plan = Plan(benchmark, model, recipe, settings or Settings(), extra)
    if (out / TRAINING).is_file():
        return _finished(out, plan)
    kind = _trainee_of(plan)
    check_arguments(kind.arguments(recipe.method), recipe, plan.settings)
    work = out.resolve().parent / f".{out.name}.training"
    _begin(work, plan, out)
    notices: list[str] = []
    trainees: list[Trainee] = []

    def attempt(micro_batch: int) -> list[CurvePoint]:
        trainees.clear()  # frees the memory before the model is read again
        trainee = kind(plan)
        trainees.append(trainee)
        return trainee.fit(work, micro_batch, report)

    try:
        with full_disk_named(work):
            curve = fit_in_memory(attempt, max(1, recipe.batch // n_processes()), notices.append)
    except MrbError:
        _clear_unless_begun(work)
        raise
    trainee = trainees[0]
    n_cases, n_validation = len(trainee.case_ids), len(trainee.validated)
    done = Trained(out, curve, n_cases, n_validation, trainee.left_out, notices + trainee.notices)
    if not is_main_process():
        return done
    with full_disk_named(work), staged_folder(out) as folder:
        trainee.save(folder)
        record = training_record(plan, trainee, model, curve)
        write_atomic(folder / TRAINING, json.dumps(record, indent=1) + "\n")
    shutil.rmtree(work)
    return done


def _trainee_of(plan: Plan) -> type[RewardTrainee] | type[LetterTrainee] | type[ReplyTrainee]:
    """Return the class of the judge of a plan; TRL, which takes seconds to import, only where it trains."""
    recipe = plan.recipe
    if recipe.method == "reward":
        return RewardTrainee
    one_letter = recipe.prompt is None or load_prompt(recipe.prompt).asks == "one"
    if recipe.method == "sft" and one_letter:
        return LetterTrainee
    from mrb_lib.build.training.trl_trainee import ReplyTrainee

    return ReplyTrainee


def _begin(work: Path, plan: Plan, out: Path) -> None:
    """Make the folder of checkpoints, or take that of the same training; `InputError` where it is of another."""
    note = work / _PLAN
    if note.is_file() and json.loads(note.read_text(encoding="utf-8"))["digest"] != plan.digest:
        _clear_unless_begun(work)
        if work.exists():
            raise InputError(
                f"{out}: a training with another recipe, model or split was interrupted here; finish it with its own "
                f"arguments, or remove {work.name}."
            )
    work.mkdir(parents=True, exist_ok=True)
    write_atomic(note, json.dumps({"digest": plan.digest}))


def _clear_unless_begun(work: Path) -> None:
    """Remove a folder of checkpoints that holds none."""
    if last_checkpoint(work) is None:
        shutil.rmtree(work, ignore_errors=True)


def _finished(out: Path, plan: Plan) -> Trained:
    record = provenance_of(out)["training"]
    if not isinstance(record, dict) or record.get("plan") != plan.digest:
        raise InputError(f"{out}: holds a judge that was trained in another way; name another folder.")
    curve = [CurvePoint(**point) for point in record["curve"]]
    n_cases, n_validation = len(record["cases"]), len(record["validation"])
    left_out = dict(record["left_out_labels"])
    return Trained(out, curve, n_cases, n_validation, left_out, ["was trained already"])
