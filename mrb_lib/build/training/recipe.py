"""How a judge is to be trained: everything that shapes the weights besides the base model and the benchmark."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from importlib import resources
from pathlib import Path
from typing import Final, Literal, cast, get_args

from mrb_lib.build.training.examples import ExampleOptions
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.files import is_safe_name

Method = Literal["sft", "dpo", "reward"]
METHODS: Final[tuple[str, ...]] = get_args(Method)
_RECIPES = resources.files("mrb_lib.build.training").joinpath("recipes")

# What the trainers of TRL take where nothing else is said, per method: all weights, or adapters alone.
_LEARNING_RATES: Final[Mapping[str, tuple[float, float]]] = {
    "sft": (2e-5, 2e-4), "dpo": (1e-6, 1e-5), "reward": (1e-5, 1e-4)
}  # fmt: skip


@dataclass(frozen=True)
class Recipe:
    """A way of training.

    Attributes
    ----------
    method : "sft" (supervised fine-tuning on the answers), "dpo" (direct preference optimisation of replies) or
        "reward" (a head with a value a dimension)
    prompt : of "sft" and "dpo": id or file of the prompt, which decides the form of the answers; None is "single",
        one letter a dimension
    examples : which labels, in which form
    n_cases : learn from so many of the training cases, drawn at random; None from all
    left_out : a fold that the judge does not learn from, (column, value); None leaves none out
    lora : train low-rank adapters (Hu et al. 2021, arXiv 2106.09685) instead of all weights
    keep_adapter : write the adapters alone instead of merging them into the weights
    epochs : passes over the cases
    learning_rate : the highest; None is the method's usual
    batch : cases behind each step
    evaluations : on the validation cases, in each epoch
    patience : stop after so many evaluations without a better one; None never stops early
    max_minutes : stop after so many minutes; None never does
    seed : of the order of cases, of what is drawn, and of new weights
    trainer : further arguments of the trainer: transformers' TrainingArguments, TRL's SFTConfig or DPOConfig
    adapter : further arguments of peft's LoraConfig
    """

    method: Method = "sft"
    prompt: str | None = None
    examples: ExampleOptions = field(default_factory=ExampleOptions)
    n_cases: int | None = None
    left_out: tuple[str, str] | None = None
    lora: bool = False
    keep_adapter: bool = False
    epochs: float = 3.0
    learning_rate: float | None = None
    batch: int = 8
    evaluations: int = 2
    patience: int | None = None
    max_minutes: float | None = None
    seed: int = 0
    trainer: Mapping[str, object] = field(default_factory=dict)
    adapter: Mapping[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise InputError(f"--method {self.method!r}: use {', '.join(METHODS)}.")
        for name in ("n_cases", "epochs", "learning_rate", "batch", "evaluations", "patience", "max_minutes"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise InputError(f"{_flag(name)} {value}: must be more than 0.")
        if self.method == "reward" and self.prompt is not None:
            raise InputError("--prompt: a reward model takes no prompt; leave it out.")
        if self.keep_adapter and not self.lora:
            raise InputError("--keep-adapter: all weights are trained, so there is no adapter; add --lora.")
        if self.adapter and not self.lora:
            raise InputError("arguments of an adapter: all weights are trained; add --lora, or leave them out.")

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


def recipe_from(values: Mapping[str, object], where: str, base: Recipe | None = None) -> Recipe:
    """A recipe with some values changed, by the names of `Recipe`'s and `ExampleOptions`' attributes.

    Parameters
    ----------
    where : for messages
    base : what is changed; None for the defaults

    Raises
    ------
    InputError
        A name is unknown, or a value is of the wrong kind or out of range.
    """
    base = base or Recipe()
    of_examples = {f.name for f in fields(ExampleOptions)} - {"seed"}
    of_recipe = {f.name for f in fields(Recipe)} - {"examples"}
    chosen: dict[str, object] = {}
    for name, value in values.items():
        if name not in of_examples | of_recipe:
            known = ", ".join(sorted(of_examples | of_recipe))
            raise InputError(f"{where}, key {name!r}: is unknown; the keys are {known}.")
        chosen[name] = _checked(name, value, where)
    examples = {name: chosen.pop(name) for name in of_examples & chosen.keys()}
    seed = chosen.get("seed", base.seed)
    changed = replace(base.examples, **{**examples, "seed": seed})  # type: ignore[arg-type]  # checked above
    return replace(base, examples=changed, **chosen)  # type: ignore[arg-type]  # likewise


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


def plan_of(file: Path, base: Recipe) -> list[tuple[str, Recipe]]:
    """The recipes of a comparison, by the names of their folders: those of `[[recipe]]`, each changed from `[common]`.

    Raises
    ------
    InputError
        The file cannot be read, has no recipes, or one has no name that a folder can bear, or that of another.
    """
    tables = read_recipe(str(file))
    common, listed = tables.pop("common", {}), tables.pop("recipe", None)
    if tables or not isinstance(common, dict) or not isinstance(listed, list) or not listed:
        raise InputError(
            f"{file}: must have a table [[recipe]] for each recipe, and may have one [common] before them."
        )
    shared = recipe_from(common, f"{file}, [common]", base)
    recipes: dict[str, Recipe] = {}
    for number, values in enumerate(listed, start=1):
        name = values.pop("name", None)
        if not isinstance(name, str) or not is_safe_name(name) or name in recipes:
            raise InputError(
                f"{file}, recipe {number}, key 'name': {name!r} must name a folder of its own; correct it."
            )
        recipes[name] = recipe_from(values, f"{file}, recipe {name}", shared)
    return list(recipes.items())


def recipe_names() -> list[str]:
    """The recipes that come with the library."""
    return sorted(path.name.removesuffix(".toml") for path in _RECIPES.iterdir() if path.name.endswith(".toml"))


_KINDS: Final[Mapping[str, tuple[type, ...]]] = {
    **dict.fromkeys(("method", "prompt", "reference", "labels", "ties"), (str,)),
    **dict.fromkeys(("swap", "by_agreement", "lora", "keep_adapter"), (bool,)),
    **dict.fromkeys(("n_cases", "batch", "evaluations", "patience", "seed"), (int,)),
    **dict.fromkeys(("epochs", "learning_rate", "max_minutes"), (int, float)),
    **dict.fromkeys(("dimensions", "left_out"), (list, tuple)),
    **dict.fromkeys(("trainer", "adapter"), (dict,)),
}


def _checked(name: str, value: object, where: str) -> object:
    kinds = _KINDS[name]
    if value is None:
        return None
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
        words = " or ".join(kind.__name__ for kind in kinds)
        raise InputError(f"{where}, key {name!r}: {value!r} is not of the kind {words}; correct it.")
    if isinstance(value, list | tuple):
        return tuple(map(str, cast("list[object]", value)))
    return value


def _flag(name: str) -> str:
    return "--lr" if name == "learning_rate" else f"--{name.replace('_', '-')}"
