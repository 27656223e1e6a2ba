"""Training a judge from a benchmark's training cases to a folder that `mrb judge --judge path:OUT` runs."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pandas as pd
from safetensors import safe_open

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
from mrb_lib.build.training.record import model_card, training_record
from mrb_lib.build.training.reward import RewardTrainee
from mrb_lib.build.training.trainee import Trainee
from mrb_lib.judges.prompts import load_prompt
from mrb_lib.judges.roster.machine import inspect_machine
from mrb_lib.judges.roster.source import TRAINING, adapter_base, loaded_bytes, provenance_of
from mrb_lib.judges.settings import Settings
from mrb_lib.stats.methods.word_baseline import prefers_a
from mrb_lib.tables.errors import InputError, MrbError
from mrb_lib.tables.files import staged_folder, write_atomic
from mrb_lib.tables.schema import ORDERS
from mrb_lib.verdicts.orders import TIE

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
    baseline : accuracy of a bag-of-words baseline on these cases, see `word_baseline`; None where there is none
    left_out : what could not be learnt from, by the reason
    notices : what the user should know
    """

    folder: Path
    curve: Sequence[CurvePoint]
    n_cases: int
    n_validation: int
    baseline: float | None
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
    announce: Callable[[str], None] = lambda text: None,
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
    announce : called with an estimate of the memory before weights are read

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
    announce(_memory(plan))
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
    done = Trained(out, curve, n_cases, n_validation, word_baseline(plan), trainee.left_out, notices + trainee.notices)
    if not is_main_process():
        return done
    with full_disk_named(work), staged_folder(out) as folder:
        trainee.save(folder)
        record = training_record(plan, trainee, model, curve)
        write_atomic(folder / "README.md", model_card(out.name, record, plan.entry.licence or "see there"))
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
    if not last_checkpoint(work):
        shutil.rmtree(work, ignore_errors=True)


def _finished(out: Path, plan: Plan) -> Trained:
    record = provenance_of(out)["training"]
    if not isinstance(record, dict) or record.get("plan") != plan.digest:
        raise InputError(f"{out}: holds a judge that was trained in another way; name another folder.")
    curve = [CurvePoint(**point) for point in record["curve"]]
    n_cases, n_validation = len(record["cases"]), len(record["validation"])
    left_out = dict(record["left_out_labels"])
    return Trained(out, curve, n_cases, n_validation, word_baseline(plan), left_out, ["was trained already"])


def _memory(plan: Plan) -> str:
    """Return a line with the memory that training takes, as far as it follows from the weights' files."""
    settings, recipe = plan.settings, plan.recipe
    machine = inspect_machine()
    on_gpu = bool(machine.gpus) and settings.device != "cpu"
    dtype = settings.dtype if settings.dtype != "auto" else "bfloat16" if on_gpu else "float32"
    n_trained, rank = 0, int(str(recipe.adapter.get("r", 16)))
    for path in (adapter_base(plan.source.folder) or plan.source.folder).glob("*.safetensors"):
        with safe_open(path, "pt") as file:
            names = file.keys()
            shapes = [file.get_slice(name).get_shape() for name in names]
        if recipe.lora:  # two maps beside each matrix
            shapes = [[rank, sum(shape)] for shape in shapes if len(shape) > 1]
        n_trained += sum(map(prod, shapes))
    weights = loaded_bytes(plan.source.folder, dtype, settings.quantize) / 1e9
    # A gradient and the two moments of AdamW, each as wide as what is trained.
    states = n_trained * 3 * (4 if recipe.lora or dtype == "float32" else 2) / 1e9
    room = machine.memory_gb(settings.device)
    text = f"estimated memory: {weights:.1f} GB of weights, {states:.1f} GB of gradients and optimizer, and activations"
    if room is None:
        return text
    used = [recipe.lora, settings.quantize or not on_gpu, recipe.gradient_checkpointing]
    saves = [flag for flag, value in zip(_SAVES, used, strict=True) if not value]
    cure = f", which may be too little; add {', '.join(saves)}" if weights + states > 0.8 * room and saves else ""
    return f"{text}; there are {room:.1f} GB{cure}"


_SAVES: Final = ("--lora", "--quantize 4bit", "--gradient-checkpointing")


def word_baseline(plan: Plan) -> float | None:
    """Return the accuracy on the validation cases of a bag-of-words baseline that learns from the same cases.

    See `mrb_lib.stats.methods.word_baseline`; a tie is half right. None without validation cases, or where the training
    labels are all alike or no response holds a word.
    """
    rows = plan.examples.rows
    learnt = rows[(rows["dimension"] == plan.main) & (rows["order"] == ORDERS[0]) & (rows["p_first"] != 0.5)]
    place = pd.Index(plan.benchmark.cases["case_id"]).get_indexer
    winners, weight = learnt["p_first"].to_numpy(), learnt["weight"].to_numpy()
    better = prefers_a(plan.benchmark.cases, place(learnt["case_id"]), winners, weight)
    if not plan.validated or not len(better):
        return None
    score = plan.gold[plan.validated].map({"A": 1.0, "B": 0.0, TIE: 0.5}).to_numpy()
    return float((1 - abs(better[place(plan.validated)] - score)).mean())
