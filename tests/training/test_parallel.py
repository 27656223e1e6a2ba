"""Trainings beside one another: the same judges as one after the other, and one that fails stops no other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from mrb_lib.data.benchmark import load
from mrb_lib.data.demo import write_demo
from mrb_lib.data.splits import split, write_split
from mrb_lib.errors import InputError
from mrb_lib.judges.settings import Settings
from mrb_lib.runs.ray.trainings import _trial, train_on_ray
from mrb_lib.training.loop import TrainProgress
from mrb_lib.training.parallel import Training, train_at_once
from mrb_lib.training.recipe import Recipe
from mrb_lib.training.train import Trained

WEIGHTS = "model.safetensors"


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bench")
    write_demo(folder, cases=18, seed=11)
    write_split(split(load(folder), test=0.3, validation=0.2, seed=0).benchmark)
    return folder


@pytest.fixture(scope="module")
def trainings(
    bench: Path, tiny: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], list[Training]]:
    """Two trainings that differ in their seeds, and between them one that cannot be made, below a folder of a name."""
    root = tmp_path_factory.mktemp("judges")
    recipe = Recipe(method="reward", epochs=1, batch=4, n_cases=4)
    recipes = {"first": recipe, "wrong": replace(recipe, n_cases=900), "second": replace(recipe, seed=1)}

    def make(name: str) -> list[Training]:
        base = f"path:{tiny('llama')}"
        return [
            Training(bench, root / name / key, base, value, Settings(device="cpu", without_images=True))
            for key, value in recipes.items()
        ]

    return make


@pytest.fixture(scope="module")
def alone(trainings: Callable[[str], list[Training]]) -> list[bytes]:
    """The weights of the two, each trained by itself."""
    return [(training.run().folder / WEIGHTS).read_bytes() for training in trainings("alone")[::2]]


def test_trained_at_once_they_are_the_same_judges(
    trainings: Callable[[str], list[Training]], alone: list[bytes]
) -> None:
    steps: list[tuple[str, TrainProgress]] = []
    results = list(train_at_once(trainings("at once"), 2, lambda *step: steps.append(step)))
    _check(results, alone)
    assert {name for name, _ in steps} == {"first", "second"}
    assert max(step.step for _, step in steps) == steps[-1][1].n_steps


def test_ray_tune_trains_the_same_judge_and_gives_the_error_of_one_that_cannot_be_made(
    trainings: Callable[[str], list[Training]], alone: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, wrong, _ = trainings("ray")
    results = list(train_on_ray([first]))
    monkeypatch.setattr("ray.tune.report", lambda said: results.append(said["done_as"]))
    _trial({"training": wrong, "here": str(Path.cwd())})
    _check(results, alone[:1])


def _check(results: list[Trained | Exception], alone: list[bytes]) -> None:
    made = {done.folder.name: done for done in results if isinstance(done, Trained)}
    assert [(made[name].folder / WEIGHTS).read_bytes() for name in sorted(made)] == alone
    [error] = [result for result in results if not isinstance(result, Trained)]
    assert isinstance(error, InputError)
    assert str(error).startswith("wrong: --n-cases 900: there are ")
