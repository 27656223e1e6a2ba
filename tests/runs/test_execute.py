from collections.abc import Callable
from pathlib import Path

import hypothesis
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mrb_lib.benchmarks.benchmark import Benchmark, save
from mrb_lib.benchmarks.meta import BenchmarkMeta
from mrb_lib.judges.settings import Settings
from mrb_lib.runs.execute import judge
from mrb_lib.tables.errors import InputError, RunError
from mrb_lib.tables.schema import KEYS
from mrb_lib.verdicts.store import load_verdicts

from .scripted import Said, Scripted, Use, little_benchmark, rows_held
from .scripted import use as use_judges

KEY = list(KEYS["verdicts"])
ALL = ["random", "first", "longer", "shorter", "lexical"]


def _sorted(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.sort_values(KEY).reset_index(drop=True)


def test_every_judge_gives_every_verdict_in_the_frame_of_the_case(little: Benchmark, tmp_path: Path) -> None:
    judge(little, tmp_path / "runs", ALL)
    verdicts = load_verdicts(tmp_path / "runs", little.cases)
    assert len(verdicts) == len(ALL) * 40 * 2 * 2
    assert not verdicts.duplicated(KEY).any()
    both = verdicts.pivot(index=["judge", "case_id", "dimension"], columns="order", values="choice")
    same = (both["AB"] == both["BA"]).groupby("judge").mean()
    assert same[["longer", "shorter", "lexical"]].tolist() == [1, 1, 1], "they judge the text, not its place"
    assert same["first"] == 0
    assert 0.2 < same["random"] < 0.8


def test_a_changed_setting_starts_a_new_run_and_says_so(little: Benchmark, tmp_path: Path) -> None:
    [one] = judge(little, tmp_path, ["random"], settings=Settings(seed=0))
    [two] = judge(little, tmp_path, ["random"], settings=Settings(seed=1))
    assert one.folder != two.folder
    assert two.other_runs == (f"seed 0 -> 1 differs from run {one.folder.name}, which is kept beside it",)
    assert set(load_verdicts(tmp_path)["judge"]) == {f"random@{one.folder.name}", f"random@{two.folder.name}"}
    [first] = judge(little, tmp_path, ["first"], settings=Settings(seed=0))
    assert judge(little, tmp_path, ["first"], settings=Settings(seed=1))[0].folder == first.folder, (
        "its verdicts do not depend on the seed"
    )


def test_a_corrected_label_keeps_the_run_and_a_corrected_case_starts_another(little: Benchmark, tmp_path: Path) -> None:
    from mrb_lib.benchmarks.benchmark import load

    [one] = judge(little, tmp_path / "runs", ["longer"])
    relabelled = Benchmark(little.meta, little.cases, little.annotations.iloc[1:])
    reworded = Benchmark(little.meta, little.cases.assign(question="other"), little.annotations)
    for name, bench, same in (("l", relabelled, True), ("w", reworded, False)):
        save(bench, tmp_path / name)
        [two] = judge(load(tmp_path / name), tmp_path / "runs", ["longer"])
        assert (two.folder == one.folder) is same


def test_labels_that_are_no_preference_cannot_be_judged(little: Benchmark, tmp_path: Path) -> None:
    meta = BenchmarkMeta("nli", "general", ("overall", "accuracy"), categories=("Yes", "No"))
    with pytest.raises(InputError, match="not preferences"):
        judge(Benchmark(meta, little.cases, little.annotations, path=little.path), tmp_path / "runs", ["first"])


@pytest.fixture(scope="module")
def in_one_go(tmp_path_factory: pytest.TempPathFactory) -> tuple[Benchmark, pd.DataFrame]:
    """A benchmark of fifteen cases, and the verdicts on it made at once."""
    folder = tmp_path_factory.mktemp("whole")
    bench = little_benchmark(folder / "bench", cases=15)
    with pytest.MonkeyPatch.context() as patch:
        use_judges(patch, Scripted())
        judge(bench, folder / "runs", ["scripted"])
    return bench, rows_held(folder / "runs")


@hypothesis.settings(max_examples=12)
@given(
    batch_size=st.integers(1, 20),
    limits=st.lists(st.integers(1, 15), max_size=3),
    orders=st.permutations(["AB", "BA"]),
    sorts=st.booleans(),
)
def test_neither_batches_nor_pieces_nor_orders_change_a_row(
    tmp_path_factory: pytest.TempPathFactory, in_one_go: tuple[Benchmark, pd.DataFrame],
    batch_size: int, limits: list[int], orders: list[str], sorts: bool,
) -> None:  # fmt: skip
    (bench, whole), runs = in_one_go, tmp_path_factory.mktemp("pieces")
    with pytest.MonkeyPatch.context() as patch:
        scripted = Scripted()
        scripted.sorts_by_length = sorts
        use_judges(patch, scripted)
        for limit in [*limits, None]:
            judge(bench, runs, ["scripted"], orders=orders, limit=limit, settings=Settings(batch_size=batch_size))
    pd.testing.assert_frame_equal(whole, rows_held(runs))
    assert scripted.asked == len(whole)


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (lambda frame: pd.concat([frame, frame.head(1)]), "answered a verdict twice"),
        (lambda frame: frame.assign(case_id="c0x"), "answered what was not asked"),
        (lambda frame: frame.assign(repeat=1), "answered what was not asked"),
    ],
)
def test_a_judge_that_answers_something_else_is_stopped(
    little: Benchmark, tmp_path: Path, use: Use, answer: Callable, why: str
) -> None:
    class Wrong(Scripted):
        def judge(self, shown: pd.DataFrame) -> pd.DataFrame:
            return answer(super().judge(shown).head(3))

    use(Wrong())
    with pytest.raises(RunError, match=f"{why}; nothing of this batch was kept"):
        judge(little, tmp_path / "runs", ["scripted"])
    assert load_verdicts(tmp_path / "runs").empty


def test_a_text_that_only_some_batches_have_is_kept(little: Benchmark, tmp_path: Path, use: Use) -> None:
    def say(key: tuple[object, ...]) -> Said:
        if key[0] == "c7":
            return {"pick": None, "status": "error", "error": "broken", "cost_usd": 1.5}
        return {"pick": "first", "status": "ok", "error": None, "cost_usd": None}

    use(Scripted(say=say))
    judge(little, tmp_path, ["scripted"], settings=Settings(batch_size=5))
    found = load_verdicts(tmp_path, replies=True).set_index("case_id")[["error", "cost_usd"]]
    assert found.dropna().drop_duplicates().to_dict("index") == {"c7": {"error": "broken", "cost_usd": 1.5}}
    assert found.isna().all(axis=1).sum() == 156
