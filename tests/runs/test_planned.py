"""A plan of judges: read whole, checked whole, and run to the end whichever of them fail."""

from dataclasses import replace
from pathlib import Path

import pytest

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.judges.settings import Settings
from mrb_lib.runs.execute import judge_plan
from mrb_lib.runs.outcomes import FailedRunsError
from mrb_lib.runs.plan import ProbeOptions
from mrb_lib.runs.planned import PlannedJudge, read_judges
from mrb_lib.tables.errors import InputError, RunError

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


def test_files_of_probes_are_named_from_the_folder_of_the_plan(tmp_path: Path) -> None:
    (tmp_path / "own.csv").write_text("case_id,question\nc1,x\n", encoding="utf-8")
    (tmp_path / "a,b").mkdir()
    (tmp_path / "a,b" / "own.jsonl").write_text('{"case_id": "c1", "response_a": "x"}', encoding="utf-8")
    file = _plan(
        tmp_path,
        '[common]\nprobe_file = "own.csv"\n[[judge]]\nname = "longer"\nprobe_cases = 3\n'
        '[[judge]]\nname = "first"\nprobe_file = ["own.csv", "a,b/own.jsonl"]\n'
        '[[judge]]\nname = "random"\nprobe_file = []\n',
    )
    longer, first, random = read_judges(file, USUAL, tmp_path)
    assert longer.probes == ProbeOptions((), 3, (tmp_path / "own.csv",))
    assert first.probes.files == (tmp_path / "own.csv", tmp_path / "a,b" / "own.jsonl")
    assert random.probes == ProbeOptions()


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
    with pytest.raises(InputError, match="a budget: servers are asked by engine"):
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
