"""Of several judges one that fails keeps no other from its work, and leaves its memory to the next."""

import gc
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.judges.local.checkpoint import load_checkpoint
from mrb_lib.judges.local.generative import BatchJudge
from mrb_lib.judges.local.weights import Weights
from mrb_lib.judges.roster.roster import resolve
from mrb_lib.judges.settings import Settings
from mrb_lib.runs.execute import judge_plan
from mrb_lib.runs.local import HoldsWeights
from mrb_lib.runs.outcomes import FailedRun, FailedRunsError, Outcome, RunSummary
from mrb_lib.runs.planned import PlannedJudge
from mrb_lib.tables.errors import RunError
from mrb_lib.verdicts.store import load_verdicts

from .scripted import Said, Scripted, Use, mixed


def _breaking(error: Exception, case: str = "c6") -> Callable[[tuple[object, ...]], Said]:
    def say(key: tuple[object, ...]) -> Said:
        if key[0] == case:
            raise error
        return mixed(key)

    return say


def run(
    bench: Benchmark, runs: Path, names: list[str], outcomes: list[Outcome], settings: Settings | None = None,
    limit: int | None = None,
) -> None:  # fmt: skip
    judges = [PlannedJudge(name, settings or Settings(), limit=limit) for name in names]
    judge_plan(bench, runs, judges, finished=lambda _, outcome: outcomes.append(outcome), check_first=False)


def test_a_judge_that_fails_is_reported_and_the_next_one_runs(little: Benchmark, tmp_path: Path, use: Use) -> None:
    broken = {"lost": RunError("the server\nis gone"), "odd": KeyError("k")}
    use(*(Scripted(name, _breaking(error)) for name, error in broken.items()))
    outcomes: list[Outcome] = []
    settings = Settings(batch_size=3)
    with pytest.raises(FailedRunsError) as error:
        run(little, tmp_path, ["lost", "first", "odd", "first"], outcomes, settings)
    assert error.value.exit_code == 1
    assert str(error.value).split("\n") == [
        "2 of 3 judges failed; what the others did is kept:", "lost: the server is gone", "odd: KeyError: 'k'"
    ]  # fmt: skip
    lost, first, odd = outcomes
    assert isinstance(first, RunSummary) and first.made == 160
    assert isinstance(lost, FailedRun) and isinstance(odd, FailedRun)
    assert lost.folder is not None and len(load_verdicts(lost.folder)) == 2 * 3 * 4, "what it had is kept"
    assert error.value.failed == (lost, odd)


def test_of_one_judge_the_error_is_what_it_was(little: Benchmark, tmp_path: Path, use: Use) -> None:
    use(Scripted("odd", _breaking(KeyError("k"))))
    outcomes: list[Outcome] = []
    with pytest.raises(KeyError, match="k"):
        run(little, tmp_path, ["odd"], outcomes)
    assert [outcome.judge for outcome in outcomes] == ["odd"]


@pytest.fixture
def alive(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return how many models were in memory each time that another had been loaded."""
    models: list[weakref.ref[object]] = []
    counts: list[int] = []

    def counting(*arguments: Any, **options: Any) -> Weights:
        gc.collect()
        weights = load_checkpoint(*arguments, **options)
        models.append(weakref.ref(weights.model))
        counts.append(sum(model() is not None for model in models))
        return weights

    monkeypatch.setattr("mrb_lib.judges.local.base.load_checkpoint", counting)
    return counts


CPU = Settings(device="cpu", max_new_tokens=4, max_pixels=3136)


def test_judges_and_members_of_a_jury_leave_their_memory_to_the_next_and_so_does_one_that_fails(
    pictured: Benchmark, tiny: Callable[..., Path], tmp_path: Path, alive: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(judge: BatchJudge, *_: object) -> pd.DataFrame:
        model = judge.weights.model
        raise RunError(f"{type(model).__name__} fails with the model in its hands")

    monkeypatch.setattr(BatchJudge, "_answer", fail)
    name, outcomes = f"path:{tiny('llava')}", list[Outcome]()
    with pytest.raises(FailedRunsError, match="1 of 2 judges failed"):
        run(pictured, tmp_path, [f"{name}+batch", f"consensus-of:{name},{name}+generative"], outcomes, CPU, limit=2)
    _, jury = outcomes
    assert isinstance(jury, RunSummary) and len(jury.members) == 2
    assert alive == [1, 1, 1]


def test_a_judge_that_forgot_its_weights_reads_them_again(
    pictured: Benchmark, tiny: Callable[..., Path], ask_for: Callable[..., pd.DataFrame], alive: list[int]
) -> None:
    folder = tiny("llava")
    packed = resolve(f"path:{folder}", runs=folder / "none", images=pictured.images, settings=CPU)
    assert isinstance(packed, HoldsWeights)
    shown = ask_for(pictured.cases.head(1))
    packed.load()
    before = packed.judge(shown)
    packed.unload()
    pd.testing.assert_frame_equal(packed.judge(shown), before)
    assert alive == [1, 1]
