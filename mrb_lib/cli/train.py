"""`mrb train`: fine-tune a judge."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from math import sqrt
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mrb_lib.benchmarks.benchmark import Benchmark, load
from mrb_lib.build.training.recipe import Recipe, read_recipe, recipe_from
from mrb_lib.cli.options import Bench, Rosters, declares, options_from
from mrb_lib.cli.progress import training_bars
from mrb_lib.judges.settings import Settings
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.options import Option, checked_dataclass

if TYPE_CHECKING:
    from mrb_lib.build.training.train import Trained

_EXTRA = "mrb-workbench[judges,train]"
_OF_WEIGHTS = ("device", "dtype", "quantize", "max_pixels", "without_images", "revision", "download")


@checked_dataclass
class TrainOptions:
    """Options of `mrb train`."""

    model: Annotated[str, Option("Train this model further.", "NAME|path:DIR")] = ""
    from_: Annotated[
        Path | None, Option("Train a judge further that was trained before, in place of --model.", "DIR", "from")
    ] = None
    config: Annotated[
        str | None, Option("Start from a recipe in TOML, which these options change; see above.", "NAME|FILE")
    ] = None
    leave_out: Annotated[str | None, Option("Learn nothing of one fold of the split.", "COLUMN=VALUE")] = None
    leave_one_out: Annotated[
        str | None, Option("Train a judge for each fold, which it does not learn from.", "COLUMN")
    ] = None

    def check(self) -> None:
        """Raise `InputError` unless these options go together."""
        if bool(self.model) == (self.from_ is not None):
            raise InputError("name either --model, the model to train, or --from, a judge that was trained before.")
        if self.from_ is not None and not (self.from_ / "training.json").is_file():
            raise InputError(f"--from {self.from_}: holds no training.json; name what `mrb train` wrote.")
        if self.leave_out is not None and self.leave_one_out is not None:
            raise InputError("--leave-out and --leave-one-out each say what to train; name one of them.")


COMMAND = declares(TrainOptions(), Recipe(), Settings(), only=_OF_WEIGHTS)


def train(
    context: typer.Context,
    bench: Bench,
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The folder to write: a judge, or one per fold.")],
    rosters: Rosters = None,
) -> None:
    """Fine-tune a judge on the training cases of a benchmark. Run the same command again to resume.

    OUT is what `mrb judge --judge path:OUT` judges with; its training.json says what it has seen, and every table
    leaves those cases out. Several GPUs: accelerate launch -m mrb_lib.cli.main train ...

    A recipe is tiny-reward, tiny-letters, or a TOML file. Its keys are the options from --method to --seed, with
    underscores (dimensions, learning_rate and swap in full), and two tables: trainer, with any argument of the trainer
    of transformers or TRL, and adapter, with any of peft's LoraConfig.
    """
    options = options_from(TrainOptions(), context)
    options.check()
    _check_packages()
    benchmark = load(bench)
    settings = options_from(Settings(), context, only=_OF_WEIGHTS)
    recipes = _recipes(benchmark, out, options, context)
    for recipe in recipes.values():
        recipe.check()
    from mrb_lib.build.training.loop import is_main_process
    from mrb_lib.build.training.train import train as make

    model = options.model or f"path:{options.from_}"
    with training_bars() as report:
        for folder, recipe in recipes.items():

            def announce(text: str, folder: Path = folder) -> None:
                if is_main_process():
                    typer.echo(f"{folder}: {text}", err=True)

            done = make(
                benchmark, folder, model, recipe, settings=settings, extra=tuple(rosters or ()),
                report=partial(report, folder.name), announce=announce,
            )  # fmt: skip
            if is_main_process():
                _say(done, benchmark)


def _check_packages() -> None:
    missing = [name for name in ("torch", "transformers", "peft", "trl", "datasets") if find_spec(name) is None]
    if missing:
        raise InputError(f"training needs {', '.join(missing)}; install it with `pip install '{_EXTRA}'`.")


def _recipes(
    benchmark: Benchmark,
    out: Path,
    options: TrainOptions,
    context: typer.Context,
) -> dict[Path, Recipe]:
    """Return the recipe of each judge, by the folder to write; all are checked before the first is trained."""
    config, folds = options.config, options.leave_one_out
    base = recipe_from(read_recipe(config) if config else {}, config or "--config")
    recipe = options_from(base, context)
    if folds is not None:
        from mrb_lib.build.training.plan import fold_names

        names = fold_names(benchmark, folds)
        return {out / name: replace(recipe, left_out=(folds, fold)) for name, fold in names.items()}
    if options.leave_out is None:
        return {out: recipe}
    column, sign, value = options.leave_out.partition("=")
    if not sign or not value:
        raise InputError(f"--leave-out {options.leave_out!r}: write COLUMN=VALUE, as in department=Neurology.")
    return {out: replace(recipe, left_out=(column.strip(), value.strip()))}


def _say(done: Trained, benchmark: Benchmark) -> None:
    """Print what became of one training: the result on stdout, what else its user should know on stderr."""
    mark = " SIMULATED" if benchmark.meta.kind == "simulated" else ""
    points = [point for point in done.curve if point.accuracy is not None]
    typer.echo(f"{done.folder}: trained on {done.n_cases}{mark} cases in {done.curve[-1].seconds:.0f} s")
    if points:
        best = max(points, key=lambda point: point.accuracy or 0.0)
        typer.echo(
            f"{done.folder}: on {done.n_validation} cases for validation, in both orders, accuracy "
            f"{points[0].accuracy:.3f} before and "
            f"{best.accuracy:.3f} at best (step {best.step}), the same choice in both orders "
            f"{points[0].consistency:.3f} and {best.consistency:.3f}; the best of several flatters"
        )
        if done.baseline is not None:
            typer.echo(
                f"{done.folder}: a bag-of-words baseline, trained on the same cases in a second, has accuracy "
                f"{done.baseline:.3f} there"
            )
    else:
        typer.echo(f"{done.folder}: there is no validation case, so the last weights are kept unseen", err=True)
    for reason, n in done.left_out.items():
        typer.echo(f"{done.folder}: {n:,} labels or cases not learnt from: {reason}", err=True)
    for notice in done.notices:
        typer.echo(f"{done.folder}: {notice}", err=True)
    if points and not _is_beyond_chance(points[0].accuracy or 0.0, best.accuracy or 0.0, done.n_validation):
        text = "the weights are those it began with" if best.step == 0 else "that is within chance"
        text += "; try another --lr or --method, more training cases, or another --model"
        typer.echo(f"{done.folder}: no sign that it learnt anything: {text}", err=True)


def _is_beyond_chance(before: float, best: float, n: int) -> bool:
    """Return True where a share of `n` cases rose by more than two of its standard errors."""
    middle = (before + best) / 2
    return best - before > 2 * sqrt(middle * (1 - middle) / n)
