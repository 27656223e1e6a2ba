"""A plan of judges: read whole, checked whole, and run to the end whichever of them fail, each leaving its memory."""

import gc
import weakref
from collections.abc import Callable
from dataclasses import replace
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
from mrb_lib.runs.planned import PlannedJudge, read_judges
from mrb_lib.tables.errors import InputError, RunError
from mrb_lib.verdicts.store import load_verdicts

from .scripted import Said, Scripted, Use, mixed

USUAL = PlannedJudge("", Settings(seed=3), limit=5)


def _plan(folder: Path, text: str) -> Path:
    (folder / "judges.toml").write_text(text, encoding="utf-8")
    return folder / "judges.toml"


def test_a_plan_says_how_each_judge_is_run(tmp_path: Path) -> None:
    (tmp_path / "own.jinja").write_text("text", encoding="utf-8")
    file = _plan(
        tmp_path,
        '[common]\nconcurrency = 2\n[[judge]]\nname = "longer"\n'
        '[[judge]]\nname = "qwen2.5-vl-7b"\nengine = "generative"\nprompt = "own.jinja"\ntemperature = 1\n'
        'orders = ["AB"]\nrepeats = 2\nlimit = 7\nretry = "unparsed,error"\ndtype = "float32"\n'
        '[[judge]]\nname = "first"\nengine = "ray"\nworkers = 2\ngpus_per_worker = 1\n',
    )
    longer, writer, spread = read_judges(file, USUAL, tmp_path)
    assert longer == PlannedJudge("longer", Settings(seed=3, concurrency=2), limit=5)
    assert writer == PlannedJudge(
        "qwen2.5-vl-7b+generative",
        Settings(seed=3, concurrency=2, prompt=str(tmp_path / "own.jinja"), temperature=1, dtype="float32"),
        orders=("AB",), repeats=2, limit=7, retry=("unparsed", "error"),
    )  # fmt: skip
    assert spread == replace(longer, name="first", engine="ray", workers=2, gpus_per_worker=1)
    on_ray = replace(USUAL, engine="ray", workers=4)
    [here] = read_judges(_plan(tmp_path, '[[judge]]\nname = "first"\nengine = "local"\n'), on_ray, tmp_path)
    assert here == replace(USUAL, name="first")


@pytest.mark.parametrize(
    ("judge", "said"),
    [
        ('name = "first"\nbudgett = 1', "judge 'first', key 'budgett': is unknown. Did you mean budget?"),
        ('name = "first"\ndtype = "float8"', "dtype 'float8': must be 'auto', 'float32' or 'bfloat16'"),
        ('name = "first"\nmax_new_tokens = -3', "max_new_tokens -3: must be more than 0"),
        ('name = "first"\norders = "AC"', "orders 'AC': use AB, BA or both"),
        ('name = "first"\nrepeats = 0', "repeats 0: must be at least 1"),
        ('name = "first"\nprobe_file = "no.csv"', "no.csv: the file is missing"),
        ('name = "first"\nlimit = 0', "limit 0: must be at least 1"),
        ('name = "first"\nretry = "ok"', "retry 'ok': is no status of a failed verdict"),
        ('name = "first"\nengine = "cloud"', "engine 'cloud': is unknown; use local, ray"),
        ('name = "first"\nworkers = 2', "workers and gpus_per_worker: need engine ray"),
        ('name = "first"\nengine = "ray"\ngpus_per_worker = 1.5', "1.5: must be a share of one, or a whole number"),
        ('name = "nobody"', "judge 'nobody' is not in the roster"),
        ('name = "consensus-of:first,nobody"', "judge 'nobody' is not in the roster"),
        ('name = "consensus-of:first"', "with at least two judges"),
        ('name = "first"\nengine = "packed"', "has no weights that packed could read"),
        ("limit = 3", "judge 2, key 'name': is missing"),
    ],
)
def test_a_mistake_in_the_file_is_one_line_that_names_it(tmp_path: Path, judge: str, said: str) -> None:
    file = _plan(tmp_path, f'[[judge]]\nname = "longer"\n[[judge]]\n{judge}\n')
    with pytest.raises(InputError) as error:
        read_judges(file, USUAL, tmp_path)
    assert said in str(error.value) and str(file) in str(error.value)
    assert "\n" not in str(error.value)


def test_all_mistakes_of_a_file_are_told_at_once_and_missing_weights_are_none(tmp_path: Path) -> None:
    text = '[[judge]]\nname = "nobody"\n[[judge]]\nname = "first"\nlimit = 0\n'
    text += '[[judge]]\nname = "path:nowhere"\n[[judge]]\nname = "consensus-of:first,path:nowhere"\n'
    with pytest.raises(InputError) as error:
        read_judges(_plan(tmp_path, text), USUAL, tmp_path)
    first, second = str(error.value).split("\n")
    assert "nobody" in first and "limit 0" in second


def test_a_judge_that_cannot_start_fails_alone(
    little: Benchmark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mrb_lib.runs.scaleout.find_spec", lambda name: None)
    with pytest.raises(FailedRunsError) as error:
        judge_plan(little, tmp_path, [PlannedJudge("random", engine="ray"), PlannedJudge("first")], check_first=False)
    [failed] = error.value.failed
    assert failed.judge == "random"
    assert "needs ray; install it with `pip install 'mrb-workbench[scaleout]'`" in failed.reason
    with pytest.raises(InputError, match="a budget: needs engine local"):
        PlannedJudge("first", Settings(budget=5.0, price_prompt=1.0, price_completion=1.0), engine="ray")


def test_a_check_that_fails_is_the_failure_of_that_judge(
    little: Benchmark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreachable(bench: Benchmark, runs: Path, one: PlannedJudge, extra: object) -> list[str]:
        if one.name == "first":
            raise RunError("the Hub cannot be reached")
        return []

    monkeypatch.setattr("mrb_lib.runs.execute.problems", unreachable)
    with pytest.raises(FailedRunsError) as raised:
        judge_plan(little, tmp_path, [replace(USUAL, name="first"), replace(USUAL, name="longer")])
    [failed] = raised.value.failed
    assert (failed.judge, "the Hub cannot be reached" in failed.reason) == ("first", True)
    assert len(list(tmp_path.glob("longer-*"))) == 1


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
