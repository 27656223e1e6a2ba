"""The cases of a study, from the hardest on, and judges that a study runs on a few of them."""

import sys
from pathlib import Path

import pandas as pd
import pytest

import mrb_lib as mrb
from mrb_lib.benchmarks.benchmark import Benchmark, save
from mrb_lib.report import study as study_module
from mrb_lib.report.study import Study
from mrb_lib.tables.errors import InputError
from mrb_lib.verdicts.parts import part_paths
from mrb_lib.verdicts.store import run_folders
from tests.report.conftest import study_of

VOTES = {"r1": "AABB", "r2": "AABT", "r3": "ABBB"}
SAID = {("j", "AB"): "ABBB", ("j", "BA"): "AB?B", ("k", "AB"): "BBBB", ("k", "BA"): "BBBB"}


def made(said: dict[tuple[str, str], str] = SAID) -> Study:
    return study_of(VOTES, said, resamples=200)


def test_cases_come_from_the_hardest_on_with_votes_and_verdicts() -> None:
    cases = made().cases().set_index("case_id")
    assert cases.index.tolist() == ["c1", "c0", "c2", "c3"]
    assert cases["score"].tolist() == pytest.approx([0, 0.5, 0.75, 1])
    assert cases["gold"].tolist() == ["A", "A", "B", "B"]
    assert cases[["votes_gold", "n_annotators"]].to_numpy().tolist() == [[2, 3], [3, 3], [3, 3], [2, 3]]
    assert cases.loc["c2", ["A", "B", "tie", "none"]].tolist() == [0, 3, 0, 1]
    assert cases["n_judges"].tolist() == [2, 2, 2, 2]


def test_wrong_cases_are_those_below_one_half_of_one_judge_or_all() -> None:
    study = made()
    assert study.cases(wrong=True)["case_id"].tolist() == ["c1"]
    assert set(study.cases(wrong=False)["case_id"]) == {"c0", "c2", "c3"}
    assert set(study.cases(judge="k", wrong=True)["case_id"]) == {"c0", "c1"}
    with pytest.raises(InputError, match="judge"):
        study.cases(judge="nobody")


def test_the_bootstrap_takes_columns_for_their_means() -> None:
    study = made()
    frame = study.cases()[["case_id", "score"]].assign(wrong=[True, False, False, False])
    found = study.bootstrap(frame, ["score", "wrong"]).set_index("quantity")
    whole = study.bootstrap(frame, lambda rows: {"score": rows["score"].mean()})
    assert found["estimate"].to_dict() == pytest.approx({"score": frame["score"].mean(), "wrong": 0.25})
    assert found.loc["score", "low"] == pytest.approx(whole["low"].item())


KEYS = ["judge", "case_id", "dimension", "order"]


@pytest.fixture(autouse=True)
def own_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(study_module, "DEFAULTS", {})
    monkeypatch.setenv("MRB_STATIC", "1")


@pytest.fixture
def study(pictured: Benchmark, tmp_path: Path) -> mrb.Study:
    save(pictured, tmp_path / "bench")
    return mrb.open(tmp_path / "bench", seed=3, resamples=50)


def sorted_rows(study: mrb.Study) -> pd.DataFrame:
    return study.verdicts.sort_values(KEYS, ignore_index=True)[[*KEYS, "choice", "p_a"]]


def test_judges_that_are_named_judge_the_first_cases_and_their_tables_follow(study: mrb.Study) -> None:
    tried = study.judge("longer, random", limit=2)
    first = study.benchmark.cases["case_id"].head(2).tolist()
    assert tried.judges == ["longer", "random"]
    assert set(tried.verdicts["case_id"]) == set(first) == set(tried.benchmark.cases["case_id"])
    assert set(tried.verdicts["order"]) == {"AB", "BA"}
    assert tried.remark == study.remark == "" and tried.note == study.note
    table = tried.table("consistency", dimension=tried.dimension)
    assert table.frame.set_index("judge")["consistency"]["longer"] == 1.0
    assert study.judges == []  # the study itself is as it was


def test_the_runs_beside_the_benchmark_are_not_touched(study: mrb.Study, tmp_path: Path) -> None:
    before = sorted(tmp_path.rglob("*"))
    study.judge("longer", limit=2)
    assert sorted(tmp_path.rglob("*")) == before


def test_verdicts_are_kept_where_that_is_asked_for_and_a_second_time_goes_on(study: mrb.Study, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    study.judge(["random"], limit=2, keep=kept)
    [folder] = run_folders(kept)
    first = {path.name: path.read_bytes() for path in part_paths(folder)}
    assert first
    again = study.judge(["random"], limit=5, keep=kept)
    parts = {path.name: path.read_bytes() for path in part_paths(folder)}
    assert first.items() < parts.items(), "what was there is not judged again"
    assert again.verdicts["case_id"].nunique() == 5
    pd.testing.assert_frame_equal(sorted_rows(again), sorted_rows(study.judge("random", limit=5)))
    few = study.judge("random", limit=1, keep=kept)
    assert few.verdicts["case_id"].unique().tolist() == study.benchmark.cases["case_id"].head(1).tolist()


def test_an_unknown_judge_or_setting_is_refused_with_the_nearest(study: mrb.Study) -> None:
    with pytest.raises(mrb.InputError, match="is not in the roster"):
        study.judge("no-such-judge")
    with pytest.raises(mrb.InputError, match="device"):
        study.judge("longer", devise="cpu")


def test_the_stand_in_says_what_it_is_and_follows_from_the_seed(study: mrb.Study) -> None:
    tried = study.judge(limit=2, device="cpu")
    assert tried.judges == ["RANDOM-WEIGHTS+generative", "RANDOM-WEIGHTS+packed"]
    assert tried.remark.startswith("RANDOM WEIGHTS") and "noise" in tried.remark
    assert all(tried.remark in said for said in (tried.note, repr(tried), tried._repr_html_()))
    assert tried.remark in tried.conclude("consistency")
    by_judge = tried.verdicts.set_index("judge")
    assert by_judge.loc["RANDOM-WEIGHTS+packed", "p_a"].notna().all()
    assert by_judge.loc["RANDOM-WEIGHTS+generative", "reply"].str.len().gt(0).all()
    page = tried.show(str(tried.verdicts["case_id"].iloc[0]))._repr_html_()
    assert "RANDOM WEIGHTS" in page and 'data-mrb="reply"' in page
    pd.testing.assert_frame_equal(sorted_rows(tried), sorted_rows(study.judge(limit=2, device="cpu")))
    other = study.with_(seed=4).judge(limit=2, device="cpu")
    assert not sorted_rows(other).equals(sorted_rows(tried))


def test_without_torch_a_stand_in_does_not_apply_and_the_reason_says_what_to_install(
    study: mrb.Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(mrb.NotApplicable, match=r"mrb-workbench\[judges\].*torch"):
        study.judge()
    assert study.judge("longer", limit=1).judges == ["longer"]
