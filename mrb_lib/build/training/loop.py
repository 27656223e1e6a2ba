"""The loop around the trainers of transformers and TRL: validation by the judge itself, checkpoints, limits of time."""

import json
import os
import re
import shutil
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from difflib import get_close_matches
from math import isfinite
from pathlib import Path
from typing import Any, Final, get_type_hints

import torch
import transformers
from pydantic import TypeAdapter, ValidationError
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch.distributed.tensor import DTensor, distribute_tensor
from transformers import PreTrainedModel, TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from mrb_lib.build.training.recipe import Recipe
from mrb_lib.judges.local.base import TOO_LARGE
from mrb_lib.judges.settings import Settings
from mrb_lib.tables.errors import InputError, RunError
from mrb_lib.tables.files import write_atomic

CURVE: Final = "curve.json"
BEST: Final = "best.safetensors"
TRAINED: Final = "trained.safetensors"
_STATE: Final = "trainer_state.json"
_STEP: Final = "checkpoint-"
# Messages of the operating system, safetensors and torch.
_NO_ROOM: Final = re.compile("No space left|File too large|quota exceeded|file write failed|unexpected pos")


@dataclass(frozen=True)
class CurvePoint:
    """An evaluation during training.

    Attributes
    ----------
    step, epoch : when; step 0 is before training
    loss : mean over the steps since the point before; None at step 0
    accuracy : over validation cases and both orders: 1 for the gold choice, 1/2 where exactly one of choice and gold is
        a tie, else 0; None without validation cases
    consistency : the share of validation cases with the same choice in both orders
    seconds : of training so far, evaluations included
    """

    step: int
    epoch: float
    loss: float | None
    accuracy: float | None
    consistency: float | None
    seconds: float


@dataclass(frozen=True)
class TrainProgress:
    """The progress of training; `seconds_left` is None before anything can be said."""

    step: int
    n_steps: int
    loss: float | None
    last: CurvePoint | None
    seconds_left: float | None

    @property
    def text(self) -> str:
        """Loss, the last evaluation, and the time left."""
        words = [] if self.loss is None else [f"loss {self.loss:.3f}"]
        if self.last is not None and self.last.accuracy is not None:
            words.append(
                f"validation accuracy {self.last.accuracy:.3f}, same in both orders {self.last.consistency:.3f}"
            )
        if self.seconds_left is not None:
            words.append(f"{self.seconds_left / 60:.0f} min left")
        return ", ".join(words)


Report = Callable[[TrainProgress], None]
Validate = Callable[[], tuple[float | None, float | None]]
MakeTrainer = Callable[[TrainingArguments, Sequence[TrainerCallback]], transformers.Trainer]


class ExactResume:
    """A trainer whose checkpoints hold the parameters that are trained, under their own names.

    With transformers 5.23 a vision model's checkpoint is written under other names than it is read by, so that training
    would go on from the weights it began with.
    """

    model: Any
    args: Any

    def _save(self, output_dir: str | None = None, state_dict: Mapping[str, torch.Tensor] | None = None) -> None:
        folder = Path(output_dir or str(self.args.output_dir))
        folder.mkdir(parents=True, exist_ok=True)
        held = trained_state(self.model) if state_dict is None else state_dict
        trained = {name for name, parameter in self.model.named_parameters() if parameter.requires_grad}
        _write(folder / TRAINED, {name: value for name, value in held.items() if name in trained})

    def _load_from_checkpoint(self, resume_from_checkpoint: str, model: torch.nn.Module | None = None) -> None:
        read_trained(self.model, Path(resume_from_checkpoint) / TRAINED)


class CaseTrainer(ExactResume, transformers.Trainer):
    """A trainer whose batches are cases, and whose loss is a function of the model and such a batch."""

    def __init__(self, *, case_loss: Callable[..., torch.Tensor], **arguments: Any) -> None:
        super().__init__(data_collator=lambda cases: {"cases": cases}, **arguments)
        self._case_loss = case_loss

    def compute_loss(
        self, model: torch.nn.Module, inputs: Any, return_outputs: bool = False, num_items_in_batch: Any = None
    ) -> Any:
        """See `transformers.Trainer.compute_loss`."""
        loss = self._case_loss(model, inputs["cases"])
        return (loss, None) if return_outputs else loss


def fit(
    make: MakeTrainer,
    weights_to_train: PreTrainedModel,
    recipe: Recipe,
    work: Path,
    *,
    n_examples: int,
    validate: Validate,
    report: Report,
    micro_batch: int,
    arguments: type[TrainingArguments] = TrainingArguments,
) -> list[CurvePoint]:
    """Train a model in place; goes on from the last complete checkpoint in `work`.

    Parameters
    ----------
    make : builds the trainer
    weights_to_train : whose parameters that require gradients are trained; afterwards they are those of the evaluation
        with the highest accuracy, or the last ones without validation cases
    work : the folder of checkpoints
    n_examples : of the training set
    validate : the accuracy and consistency of the model as it is
    micro_batch : examples that the memory holds at a time; the gradients of several make up a step
    arguments : the class of the trainer's arguments

    Returns
    -------
    list of CurvePoint
        Of this and earlier sessions.

    Raises
    ------
    torch.OutOfMemoryError
        The memory does not hold `micro_batch` examples.
    """
    steps_an_epoch = max(1, -(-n_examples // recipe.batch))
    watch = _Watch(weights_to_train, recipe, work, max(1, steps_an_epoch // recipe.evaluations), validate, report)
    transformers.utils.logging.set_verbosity_error()
    weight = next(weights_to_train.parameters())
    with warnings.catch_warnings():
        # TRL 1.16 and peft 0.21 use names that transformers has begun to rename; a user can do nothing about it.
        warnings.simplefilter("ignore", FutureWarning)
        made = _arguments(arguments, recipe, work, micro_batch, weight.device, weight.dtype)
        try:
            trainer = make(made, [watch])
            trainer.remove_callback(transformers.PrinterCallback)
            trainer.remove_callback(transformers.ProgressCallback)
            trainer.train(resume_from_checkpoint=watch.resume_from)
        except (ImportError, TypeError, ValueError) as error:
            if not recipe.trainer or watch.has_stepped:
                raise
            raise _refusal("trainer", error) from error
    watch.take_best()
    return watch.curve


def n_processes() -> int:
    """Of a training that `accelerate launch` has started, one a GPU; 1 for any other."""
    return int(os.environ.get("WORLD_SIZE", "1"))


def is_main_process() -> bool:
    """Return True in the process that writes."""
    return os.environ.get("RANK", "0") == "0"


def _arguments(
    kind: type[TrainingArguments],
    recipe: Recipe,
    work: Path,
    micro_batch: int,
    device: torch.device,
    dtype: torch.dtype,
) -> TrainingArguments:
    """The trainer's arguments; those that the recipe names win."""
    # Prompts are never cut: where TRL would, it is told not to. Cases are no columns that could be unused.
    own = {"max_length": None} if "max_length" in kind.__dataclass_fields__ else {"remove_unused_columns": False}
    values: dict[str, Any] = {
        "output_dir": str(work),
        "per_device_train_batch_size": micro_batch,
        "gradient_accumulation_steps": max(1, recipe.batch // (micro_batch * n_processes())),
        "learning_rate": recipe.rate,
        "num_train_epochs": recipe.epochs,
        "lr_scheduler_type": "cosine",
        "warmup_steps": 0.1,
        "weight_decay": 0.01,
        "seed": recipe.seed,
        "data_seed": recipe.seed,
        "logging_steps": 1,
        "logging_nan_inf_filter": False,  # which reports a loss of 0 for one that is not a number
        "save_strategy": "no",
        "save_total_limit": 2,
        "report_to": "none",
        "disable_tqdm": True,
        "use_cpu": device.type == "cpu",
        # On a GPU, weights in single precision are multiplied in bfloat16.
        "bf16": device.type == "cuda" and dtype == torch.float32,
        **({"gradient_checkpointing": True} if recipe.gradient_checkpointing else {}),
        **own,
        **recipe.trainer,
    }
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # TRL 1.16 uses names that transformers has begun to rename
            arguments = kind(**values)
    except (ImportError, TypeError, ValueError) as error:
        raise _refusal("trainer", error) from error
    arguments._n_gpu = min(1, arguments.n_gpu)  # several GPUs are `accelerate launch`'s, not one process's
    return arguments


def check_arguments(kind: type[TrainingArguments], recipe: Recipe, settings: Settings) -> None:
    """Raise `InputError` for arguments that the trainer, peft or bitsandbytes refuse, before weights are read."""
    import peft

    has_gpu = torch.cuda.is_available() and settings.device != "cpu"
    if settings.quantize == "4bit" and not has_gpu:  # bitsandbytes 0.50 computes no gradients there
        raise InputError("--quantize 4bit: adapters on such weights are trained on a GPU only; use 8bit, or leave out.")

    for name, of, values in (("trainer", kind, recipe.trainer), ("adapter", peft.LoraConfig, recipe.adapter)):
        kinds = get_type_hints(of)
        for key, value in values.items():
            if key not in kinds:
                near = get_close_matches(key, kinds, 1)
                raise _refusal(name, f"{key!r} is unknown" + (f"; did you mean {near[0]}?" if near else ""))
            try:
                TypeAdapter(kinds[key]).validate_python(value, strict=True)
            except ValidationError as error:
                # A text may stand for a list of one, and of texts to choose from examples are listed: pissa_niter_16.
                if not {"list_type", "literal_error"} & {one["type"] for one in error.errors()}:
                    raise _refusal(name, f"{key} = {value!r}: {error.errors()[0]['msg'].lower()}") from error
    if int(str(recipe.adapter.get("r", 1))) < 1:  # which peft refuses only where it meets the weights
        raise _refusal("adapter", "r must be at least 1")
    _arguments(kind, recipe, Path(), 1, torch.device("cuda" if has_gpu else "cpu"), torch.float32)


def _refusal(table: str, reason: object) -> InputError:
    text = " ".join(str(reason).split())[:200]
    return InputError(f"the {table} refuses its arguments ({text}); correct [{table}] in --config.")


@contextmanager
def full_disk_named(work: Path) -> Iterator[None]:
    """Raise `RunError` where a file cannot be written for want of room, whatever library wrote it."""
    try:
        yield
    except (OSError, RuntimeError, SafetensorError) as error:
        if not _NO_ROOM.search(str(error)):
            raise
        raise RunError(
            f"{work.parent}: has no room for the checkpoint or the judge ({shutil.disk_usage(work).free / 1e9:.1f} GB "
            "are free); free some, and run the same command again, which goes on from the last checkpoint."
        ) from error


class _Watch(TrainerCallback):
    """Evaluates, keeps the best weights, has checkpoints made after each evaluation, and stops in time."""

    def __init__(
        self, model: PreTrainedModel, recipe: Recipe, work: Path, every: int, validate: Validate, report: Report
    ) -> None:
        self._model, self._recipe, self._work, self._every = model, recipe, work, every
        self._validate, self._report = validate, report
        self.resume_from = last_checkpoint(work)
        step = int(Path(self.resume_from).name.removeprefix(_STEP)) if self.resume_from else -1
        self.curve = [point for point in _read_curve(work / CURVE) if point.step <= step]
        self._before = self.curve[-1].seconds if self.curve else 0.0
        self._start, self._start_step = time.monotonic(), max(0, step)
        self.has_stepped = False

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        """The evaluation before training, or of a checkpoint after which the session before was cut off."""
        self._start = time.monotonic()
        if not self.curve or self.curve[-1].step < state.global_step:
            self._evaluate(state)

    def on_log(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        """Report a step."""
        loss = (kwargs.get("logs") or {}).get("loss")
        if loss is None:
            return
        if not isfinite(loss):
            raise self._diverged(state, f"the loss is {loss}")
        done = state.global_step - self._start_step
        left = (time.monotonic() - self._start) / done * (state.max_steps - state.global_step) if done else None
        last = self.curve[-1] if self.curve else None
        self._report(TrainProgress(state.global_step, state.max_steps, float(loss), last, left))

    def on_step_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        """Evaluate when it is time, and say whether to stop."""
        self.has_stepped = True
        recipe, is_over = self._recipe, state.global_step >= state.max_steps
        minutes = (self._before + time.monotonic() - self._start) / 60
        if recipe.max_minutes is not None and minutes >= recipe.max_minutes:
            is_over = True
        if not is_over and state.global_step % self._every:
            return
        if not all(bool(p.isfinite().all()) for p in self._model.parameters() if p.requires_grad):
            raise self._diverged(state, "weights are no longer numbers")
        control.should_log = True
        control.should_save = True
        control.should_training_stop = is_over

    def _diverged(self, state: TrainerState, reason: str) -> RunError:
        last = last_checkpoint(self._work)
        kept = f"{last} is the last good checkpoint" if last else "there is no checkpoint yet"
        return RunError(
            f"step {state.global_step}: {reason}, so training stops; {kept}. Use a lower --lr (now "
            f"{self._recipe.rate:g}), or --dtype float32 if it was another, and write to another folder."
        )

    def on_save(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        """Evaluate what was saved; the point belongs to the checkpoint of its step."""
        self._evaluate(state)
        recipe = self._recipe
        if recipe.patience is not None and self._evaluations_since_best() >= recipe.patience:
            control.should_training_stop = True

    def _evaluate(self, state: TrainerState) -> None:
        was_training = self._model.training
        self._model.eval()
        accuracy, consistency = self._validate()
        self._model.train(was_training)
        since = self.curve[-1].step if self.curve else 0
        losses = [log["loss"] for log in state.log_history if "loss" in log and log["step"] > since]
        loss = sum(losses) / len(losses) if losses else None
        seconds = self._before + time.monotonic() - self._start
        point = CurvePoint(state.global_step, float(state.epoch or 0.0), loss, accuracy, consistency, seconds)
        best = max((p.accuracy for p in self.curve if p.accuracy is not None), default=-1.0)
        self.curve.append(point)
        if accuracy is not None and accuracy > best:
            held = trained_state(self._model)  # in every process: each may hold a part
            if state.is_world_process_zero:
                _write(self._work / BEST, held)
        if state.is_world_process_zero:
            write_atomic(self._work / CURVE, json.dumps([asdict(point) for point in self.curve], indent=1) + "\n")

    def _evaluations_since_best(self) -> int:
        accuracies = [point.accuracy or 0.0 for point in self.curve]
        return len(accuracies) - 1 - accuracies.index(max(accuracies))

    def take_best(self) -> None:
        """Put the best weights into the model; without validation cases those are the last."""
        if (self._work / BEST).is_file():
            read_trained(self._model, self._work / BEST)


def trained_state(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    """Return the parameters of a model that are trained, whole, also where FSDP spreads them over processes."""
    trained = {name: p.detach() for name, p in model.named_parameters() if p.requires_grad}
    return {name: p.full_tensor() if isinstance(p, DTensor) else p for name, p in trained.items()}


def _write(path: Path, held: Mapping[str, torch.Tensor]) -> None:
    stage = path.with_suffix(".tmp")
    save_file({name: value.detach().cpu().contiguous() for name, value in held.items()}, stage)
    stage.replace(path)


def read_trained(model: torch.nn.Module, path: Path) -> None:
    """Put parameters that were written into a model of the same shape."""
    held = load_file(path)
    with torch.no_grad():
        for name, p in model.named_parameters():
            if p.requires_grad:
                whole = held[name].to(p.device)
                p.copy_(distribute_tensor(whole, p.device_mesh, p.placements) if isinstance(p, DTensor) else whole)


def _read_curve(path: Path) -> list[CurvePoint]:
    return [CurvePoint(**point) for point in json.loads(path.read_text(encoding="utf-8"))] if path.is_file() else []


def last_checkpoint(work: Path) -> str | None:
    """The newest complete checkpoint; those whose writing was cut off are removed."""
    complete = []
    for folder in work.glob(f"{_STEP}*"):
        try:
            json.loads((folder / _STATE).read_text(encoding="utf-8"))  # written last
        except (OSError, ValueError):
            shutil.rmtree(folder, ignore_errors=True)  # by whichever process comes first
        else:
            complete.append((int(folder.name.removeprefix(_STEP)), str(folder)))
    return max(complete)[1] if complete else None


def fit_in_memory(
    attempt: Callable[[int], list[CurvePoint]], batch: int, notice: Callable[[str], None]
) -> list[CurvePoint]:
    """Train with half as many examples at a time where the memory does not suffice; a step still has all of them.

    Parameters
    ----------
    attempt : trains from the last checkpoint with so many examples at a time; loads the model anew
    """
    while True:
        try:
            return attempt(batch)
        except torch.OutOfMemoryError as error:
            if batch == 1:
                raise RunError(TOO_LARGE) from error
            batch = (batch + 1) // 2
            notice(f"the memory did not hold {batch * 2}: going on with {batch} at a time")
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
