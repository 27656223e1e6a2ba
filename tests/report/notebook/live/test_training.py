"""Judges trained on the spot learn from training cases alone, say what they are, and follow from the seed."""

from __future__ import annotations

import io
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from mrb_lib.benchmarks.benchmark import load, save
from mrb_lib.demo.build import write_demo
from mrb_lib.report.notebook import open_workspace
from mrb_lib.report.notebook.absent import Absent, reason_of
from mrb_lib.report.notebook.live import training
from mrb_lib.report.notebook.live.training import (
    BLANK,
    BLANKED,
    MARK,
    TrainedJudges,
    domain_column,
    grey,
    judges_without_domains,
    lacking,
    trained_judges,
    without_images,
)
from mrb_lib.report.notebook.workspace import Workspace
from mrb_lib.verdicts.training import training_records
from tests.training_records import BASE_REVISION, manifest_of, record_of


def opened(folder: Path, **parameters: object) -> Workspace:
    return open_workspace(str(folder), resamples=40, **parameters)


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sixty simulated cases with a split, and no runs; learning takes what their words and dimensions take."""
    folder = tmp_path_factory.mktemp("small")
    write_demo(folder, cases=60, seed=5)
    whole, dimensions = load(folder), ("accuracy", "overall")
    short = {name: whole.cases[name].str[:120] for name in ("response_a", "response_b")}
    votes = whole.annotations[whole.annotations["dimension"].isin(dimensions)].reset_index(drop=True)
    meta = replace(whole.meta, dimensions=dimensions)
    save(replace(whole, meta=meta, cases=whole.cases.assign(**short), annotations=votes), folder)
    return folder


@pytest.fixture(scope="session")
def live(small: Path, tmp_path_factory: pytest.TempPathFactory) -> TrainedJudges:
    made = trained_judges(opened(small), tmp_path_factory.mktemp("live"))
    assert isinstance(made, TrainedJudges), made
    return made


@pytest.fixture(scope="session")
def recorded(small: Path) -> Workspace:
    """The same benchmark with verdicts of a base and of two judges with records, the first also with images blanked."""
    workspace = opened(small)
    benchmark = workspace.benchmark
    train = benchmark.cases.loc[benchmark.cases["split"] == "train", "case_id"].tolist()
    rng, frames = np.random.default_rng(0), []
    for judge, probe in (("base", "none"), ("tuned", "none"), ("tuned", BLANK), ("other", "none")):
        keys = pd.MultiIndex.from_product(
            [benchmark.cases["case_id"], ["accuracy", "overall"], ["AB", "BA"]], names=["case_id", "dimension", "order"]
        ).to_frame(index=False)
        choice = rng.choice(["A", "B"], len(keys))
        frames.append(keys.assign(judge=judge, probe=probe, repeat=0, status="ok", choice=choice, p_a=0.5))
    records = {
        "tuned": record_of(benchmark, train[:9]),
        "other": record_of(benchmark, train, left_out={"organ": "eye"}),
    }
    manifests = [manifest_of("base", revision=BASE_REVISION)]
    manifests += [manifest_of(name, record) for name, record in records.items()]
    return replace(workspace, verdicts=pd.concat(frames, ignore_index=True), manifests=manifests)


class TestJudgesTrainedOnTheSpot:
    def test_learn_from_more_and_more_training_cases(self, live: TrainedJudges) -> None:
        records = training_records(live.workspace.manifests).set_index("judge")
        tuned = [name for name in live.workspace.judges if name.startswith("trained-on-")]
        n = (live.workspace.benchmark.cases["split"] == "train").sum()
        assert [records["n_cases"][name] for name in tuned] == [n // 8, n // 4, n // 2, n]
        assert all(len(records["bases"][name]) == 2 for name in tuned), "the judge with random weights, by both names"
        assert set(live.curves["judge"]) == set(tuned)

    def test_judge_unseen_cases_only_and_the_largest_also_blanked_ones(self, live: TrainedJudges) -> None:
        verdicts, cases = live.workspace.verdicts, live.workspace.benchmark.cases
        unseen = set(cases.loc[cases["split"] == "test", "case_id"])
        assert set(verdicts["case_id"]) == unseen
        assert verdicts["status"].eq("ok").all()
        blanked = verdicts[verdicts["probe"] == BLANK]
        assert set(blanked["judge"]) == {max(name for name in live.workspace.judges if name.startswith("trained"))}
        assert set(blanked["case_id"]) == unseen
        training = live.workspace.training
        assert training is not None and not set(training.dropna()["case_id"]) & unseen

    def test_say_what_they_are(self, live: TrainedJudges) -> None:
        assert live.mark == MARK
        assert live.note.startswith("RANDOM WEIGHTS BEFORE TRAINING")
        assert "RANDOM-WEIGHTS+packed" in live.workspace.judges

    def test_give_every_table_about_training(self, live: TrainedJudges) -> None:
        gains = live.workspace.analyze("gains")
        pairs = gains[gains["part"] == gains["quantity"]]
        assert set(pairs["base"]) == {"RANDOM-WEIGHTS+packed"} and pairs["n_seen"].eq(0).all()
        assert {"ingredient", "size"} <= set(gains["part"])
        images = without_images(live.workspace, dimension="overall")
        pairs = images.loc[images["part"] == "accuracy", ["base", "tuned"]].to_numpy().tolist()
        (judge,) = {tuned for _, tuned in pairs if not tuned.endswith(BLANKED)}
        base = "RANDOM-WEIGHTS+packed"
        assert sorted(pairs) == sorted([[judge + BLANKED, judge], [base, judge], [base, judge + BLANKED]])

    def test_are_the_same_from_the_same_seed(
        self, live: TrainedJudges, small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(training, "_HALVINGS", 0)  # only the one that learns from all
        again = trained_judges(opened(small), tmp_path)
        assert isinstance(again, TrainedJudges) and len(again.workspace.judges) == 2
        keys = ["judge", "probe", "case_id", "dimension", "order"]
        frames = [
            made[made["judge"].isin(again.workspace.judges)].reset_index(drop=True)
            for first in (live, again)
            for made in (first.workspace.verdicts.sort_values(keys)[[*keys, "choice", "p_a"]], first.curves)
        ]
        pd.testing.assert_frame_equal(frames[0], frames[2])
        pd.testing.assert_frame_equal(frames[1], frames[3])

    def test_leave_the_threads_of_torch_as_they_were(self, live: TrainedJudges, small: Path, tmp_path: Path) -> None:
        import torch

        before = torch.get_num_threads()
        torch.set_num_threads(2)
        try:
            workspace = opened(small)
            cases = workspace.benchmark.cases
            no_test = replace(workspace.benchmark, cases=cases.assign(split=cases["split"].replace("test", None)))
            made = trained_judges(replace(workspace, benchmark=no_test), tmp_path)
            assert "no cases for test" in reason_of(made)
            assert torch.get_num_threads() == 2
        finally:
            torch.set_num_threads(before)


class TestDomains:
    def test_each_judge_is_trained_without_one_and_tested_on_all(self, small: Path, tmp_path: Path) -> None:
        made = judges_without_domains(opened(small), tmp_path, column="department")
        assert isinstance(made, TrainedJudges), made
        records = training_records(made.workspace.manifests).drop_duplicates("left_out")
        cases, training = made.workspace.benchmark.cases, made.workspace.training
        assert len(records) == 2 and records["n_cases"].nunique() == 1
        assert training is not None
        for judge, fold in records[["judge", "left_out"]].itertuples(index=False):
            learnt = cases[cases["case_id"].isin(training.loc[training["judge"] == judge, "case_id"])]
            assert fold not in set(learnt["fold"]) and len(learnt)
        assert set(made.workspace.verdicts["case_id"]) == set(cases.loc[cases["split"] == "test", "case_id"])
        table = made.workspace.analyze("gains", dimension="overall")
        assert {"trained", "out_of_domain"} <= set(table["part"])
        assert made.mark == MARK and " or ".join(records["left_out"]).split(" or ")[0] in made.note

    def test_one_domain_is_a_reason(self, small: Path, tmp_path: Path) -> None:
        workspace = opened(small)
        one = replace(workspace.benchmark, cases=workspace.benchmark.cases.assign(department="Neurology"))
        made = judges_without_domains(replace(workspace, benchmark=one), tmp_path, column="department")
        assert "makes one fold of all cases" in reason_of(made)

    def test_the_column_is_named_or_that_of_the_records(self, recorded: Workspace, small: Path) -> None:
        assert domain_column(opened(small)) == "department"
        assert domain_column(recorded) == "organ"
        assert domain_column(replace(recorded, by="modality")) == "modality"


class TestRecords:
    @pytest.mark.parametrize("left_out", [False, True])
    def test_judges_of_the_runs_go_before_and_take_no_torch(
        self, left_out: bool, recorded: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(sys.modules, "torch", None)
        assert lacking(recorded, left_out=left_out) == ""
        made = (
            judges_without_domains(recorded, tmp_path, column="organ")
            if left_out
            else trained_judges(recorded, tmp_path)
        )
        assert made == TrainedJudges(recorded)
        assert (made.note, made.mark, list(tmp_path.iterdir())) == ("", "", [])

    def test_images_count_for_what_significance_says(self, recorded: Workspace) -> None:
        images = without_images(recorded, dimension="overall")
        row = images[(images["tuned"] == "tuned") & images["base"].str.endswith(BLANKED)].iloc[0]
        verdicts = recorded.verdicts[recorded.verdicts["judge"] == "tuned"]
        names = np.where(verdicts["probe"] == BLANK, "blind", "tuned")
        both = recorded.on(verdicts.assign(judge=names, probe="none"))
        same = both.analyze("significance", dimension="overall").iloc[0]
        assert abs(row["gain"]) == pytest.approx(abs(same["difference"])) and row["n"] == same["n"]

    def test_without_blanked_verdicts_the_reason_is_said(self, recorded: Workspace) -> None:
        plain = recorded.on(recorded.verdicts[recorded.verdicts["probe"] != BLANK])
        assert "images blanked" in reason_of(without_images(plain))


class TestWhatIsLacking:
    def test_no_split(self, small: Path) -> None:
        workspace = opened(small)
        bare = replace(workspace.benchmark, cases=workspace.benchmark.cases.drop(columns="split"))
        assert "are not split (`mrb split BENCH`)" in lacking(replace(workspace, benchmark=bare))
        assert lacking(replace(workspace, benchmark=bare), left_out=True) == ""  # which makes its own
        assert lacking(workspace) == ""

    def test_no_torch(self, small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "torch", None)
        assert lacking(opened(small)) == "needs mrb-workbench[judges]: torch not installed"

    def test_a_split_that_leaks_is_a_reason_and_trains_nothing(self, small: Path, tmp_path: Path) -> None:
        loaded = load(small)
        cases = loaded.cases.copy()
        parts = cases["split"]
        for name in ("question", "response_a", "response_b", "images"):
            known = cases.loc[parts == "train", name].iloc[0]
            cases[name] = [known if part == "test" else own for part, own in zip(parts, cases[name], strict=True)]
        save(replace(loaded, cases=cases), tmp_path / "leaks")
        made = trained_judges(opened(tmp_path / "leaks"), tmp_path / "work")
        assert isinstance(made, Absent)
        assert " shares " in reason_of(made) and not reason_of(made).endswith(".")
        assert not (tmp_path / "work" / "runs-none").exists()


def test_a_grey_image_has_the_size_and_nothing_else() -> None:
    stream = io.BytesIO()
    Image.fromarray(np.arange(24, dtype="uint8").reshape(4, 6)).save(stream, format="JPEG")
    made = Image.open(io.BytesIO(grey(stream.getvalue(), "x.jpg")))
    assert made.size == (6, 4) and len(np.unique(np.asarray(made))) == 1
    assert grey(b"no image", "x.jpg") == b"no image"


def test_torch_is_imported_only_where_something_is_trained_or_judged() -> None:
    live = ", ".join(f"mrb_lib.report.notebook.live.{name}" for name in ("training", "probes", "telling"))
    program = f"import sys, {live}, mrb_lib.report.notebook.training_conclusions\nprint('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
