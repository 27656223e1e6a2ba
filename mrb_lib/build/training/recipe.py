"""The recipe of a training: everything that shapes the weights besides the base model and the benchmark."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, field
from importlib import resources
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import Field

from mrb_lib.build.training.examples import ExampleOptions
from mrb_lib.judges.plan_file import changed_by_table
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.options import Option, checked_dataclass

Method = Literal["sft", "dpo", "reward"]
# Arguments of trainers that would change what a judge reads, break what resumes, or use the network.
_REFUSED: Final[Mapping[str, str]] = {
    "max_(prompt_|completion_)?length|truncation_mode": "prompts are never cut, as a judge reads whole ones",
    "push_to_hub.*|hub_.*|trackio_.*": "training does not use the network; upload OUT when it is finished",
    "report_to|logging_dir": "training.json keeps the curve, and no other tracker is used",
    "deepspeed|fsdp.*": "checkpoints hold whole weights; for several GPUs use accelerate launch",
    "output_dir|resume_from_checkpoint": "OUT says where a training is kept and goes on",
    "eval_strategy|eval_on_start|do_eval|do_predict|load_best_model_at_end": "the judge itself is evaluated; "
    "see --evaluations",
}
_RECIPES = resources.files("mrb_lib.build.training").joinpath("recipes")

# What the trainers of TRL take where nothing else is said, per method: all weights, or adapters alone.
_LEARNING_RATES: Final[Mapping[str, tuple[float, float]]] = {
    "sft": (2e-5, 2e-4), "dpo": (1e-6, 1e-5), "reward": (1e-5, 1e-4)
}  # fmt: skip


@checked_dataclass
class Recipe:
    """A way of training; its options are the keys of a recipe in TOML.

    Attributes
    ----------
    examples : labels to learn from, and their form
    left_out : a fold that the judge does not learn from, (column, value); None leaves none out
    """

    method: Annotated[
        Method,
        Option("Fine-tune on answers (sft), optimise preferences between replies (dpo), or add a head with one value."),
    ] = "sft"
    prompt: Annotated[
        str | None,
        Option("With sft and dpo: train on this prompt, by id or template file; default: single.", "ID|FILE"),
    ] = None
    examples: ExampleOptions = field(default_factory=ExampleOptions)
    n_cases: Annotated[int | None, Field(gt=0), Option("Learn from N training cases, drawn at random.", "N")] = None
    left_out: tuple[str, str] | None = None
    lora: Annotated[
        bool, Option("Train low-rank adapters (Hu et al. 2021, arXiv 2106.09685), and merge them at the end.")
    ] = False
    keep_adapter: Annotated[bool, Option("Write the adapters alone, as is usual with --quantize.")] = False
    gradient_checkpointing: Annotated[bool, Option("Compute activations twice, which takes less memory.")] = False
    epochs: Annotated[float, Field(gt=0), Option("Pass over the training cases N times.", "N")] = 3.0
    learning_rate: Annotated[
        float | None, Field(gt=0), Option("Start from this learning rate; default: the method's usual.", flag="lr")
    ] = None
    batch: Annotated[int, Field(gt=0), Option("Take N cases per step.", "N")] = 8
    evaluations: Annotated[int, Field(gt=0), Option("Evaluate N times per epoch on validation cases.", "N")] = 2
    patience: Annotated[
        int | None, Field(gt=0), Option("Stop after N evaluations without a better one; default: never.", "N")
    ] = None
    max_minutes: Annotated[float | None, Field(gt=0), Option("Stop after N minutes; default: never.", "N")] = None
    seed: Annotated[int, Field(ge=0), Option("Set the seed of the order of cases, draws and new weights.")] = 0
    trainer: Annotated[
        Mapping[str, object], Option("Pass these to transformers' TrainingArguments, TRL's SFTConfig or DPOConfig.")
    ] = field(default_factory=dict)
    adapter: Annotated[Mapping[str, object], Option("Pass these to peft's LoraConfig.")] = field(default_factory=dict)

    def check(self) -> None:
        """Raise `InputError` unless these values go together, and the trainer may be given its arguments."""
        if self.method == "reward" and self.prompt is not None:
            raise InputError("--prompt: a reward model takes no prompt; leave it out.")
        if self.keep_adapter and not self.lora:
            raise InputError("--keep-adapter: all weights are trained, so there is no adapter; add --lora.")
        if self.adapter and not self.lora:
            raise InputError("arguments of an adapter: all weights are trained; add --lora, or leave them out.")
        for name, value in self.trainer.items():
            reason = next((reason for names, reason in _REFUSED.items() if re.fullmatch(names, name)), None)
            if reason is not None and value not in (False, "none", "no", []):
                raise InputError(f"[trainer], key {name!r}: {reason}; leave it out.")

    @property
    def rate(self) -> float:
        """The highest learning rate."""
        return self.learning_rate or _LEARNING_RATES[self.method][self.lora]

    def stated(self) -> dict[str, object]:
        """The recipe in JSON values, as `training.json` keeps it."""
        values = asdict(self)
        values.update(values.pop("examples"))
        values["learning_rate"] = self.rate
        return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}


def recipe_from(values: Mapping[str, object], where: str) -> Recipe:
    """Return a recipe with the values of a table.

    Parameters
    ----------
    where : for messages

    Raises
    ------
    InputError
        A name is unknown, or a value is of the wrong type or out of range.
    """
    recipe, wrong = changed_by_table(Recipe(), values, where, Path())
    if wrong:
        raise InputError("\n".join(wrong))
    return recipe


def read_recipe(name_or_file: str) -> dict[str, object]:
    """The values of a recipe by its name, or from a TOML file.

    Raises
    ------
    InputError
        There is no such recipe or file, or it is not TOML.
    """
    try:
        if name_or_file in recipe_names():
            return tomllib.loads(_RECIPES.joinpath(f"{name_or_file}.toml").read_text(encoding="utf-8"))
        return tomllib.loads(Path(name_or_file).read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"--config {name_or_file!r}: is none of {', '.join(recipe_names())} and cannot be read as a file."
        ) from error
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{name_or_file}: is not TOML ({error}); correct it.") from error


def recipe_names() -> list[str]:
    """The recipes that come with the library."""
    return sorted(path.name.removesuffix(".toml") for path in _RECIPES.iterdir() if path.name.endswith(".toml"))
