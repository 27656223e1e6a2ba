"""Trainings beside one another: the same judges as one after the other, and one that fails stops no other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from mrb_lib.benchmarks.benchmark import Benchmark, save
from mrb_lib.build.training.loop import TrainProgress
from mrb_lib.build.training.parallel import Training, train_at_once
from mrb_lib.build.training.recipe import Recipe
from mrb_lib.build.training.train import Trained
from mrb_lib.judges.settings import Settings
from mrb_lib.tables.errors import InputError

WEIGHTS = "reward_head.safetensors"  # which is what a reward model is trained in


def test_trained_at_once_they_are_the_same_judges(
    with_split: Benchmark, tiny: Callable[[str], Path], tmp_path: Path
) -> None:
    """Two trainings that differ in their seeds, and between them one that cannot be made."""
    unvalidated = with_split.cases["split"].replace("validation", "test")  # the last weights are kept then
    save(replace(with_split, cases=with_split.cases.assign(split=unvalidated)), tmp_path / "bench")
    recipe = Recipe(method="reward", epochs=1, batch=4, n_cases=4)
    recipes = {"first": recipe, "wrong": replace(recipe, n_cases=900), "second": replace(recipe, seed=1)}
    base, settings = f"path:{tiny('llama')}", Settings(device="cpu", without_images=True)

    def trainings(name: str) -> list[Training]:
        return [
            Training(tmp_path / "bench", tmp_path / name / key, base, value, settings) for key, value in recipes.items()
        ]

    alone = [(training.run().folder / WEIGHTS).read_bytes() for training in trainings("alone")[::2]]
    steps: list[tuple[str, TrainProgress]] = []
    results = list(train_at_once(trainings("at once"), 2, lambda *step: steps.append(step)))
    made = {done.folder.name: done for done in results if isinstance(done, Trained)}
    assert [(made[name].folder / WEIGHTS).read_bytes() for name in ("first", "second")] == alone
    assert alone[0] != alone[1]
    [error] = [result for result in results if not isinstance(result, Trained)]
    assert isinstance(error, InputError)
    assert str(error).startswith("wrong: --n-cases 900: there are ")
    assert {name for name, _ in steps} == {"first", "second"}
    assert max(step.step for _, step in steps) == steps[-1][1].n_steps
