"""What only a paper prints: complete, in one order, nothing made up, and findings that are in the data."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import mrb_lib as mrb
from mrb_lib.benchmarks.benchmark import Benchmark, save
from mrb_lib.benchmarks.meta import BenchmarkMeta
from mrb_lib.build.construct.simulated import write_simulated_work
from mrb_lib.build.construct.work import KEPT, Work, create_work
from mrb_lib.judges.prompts import load_prompt
from mrb_lib.report.construction import difficulty, funnel, left
from mrb_lib.report.paper import PaperPages
from mrb_lib.verdicts.manifest import Manifest
from mrb_lib.verdicts.store import save_imported
from tests.notebooks.conftest import full as full
from tests.notebooks.conftest import small as small
from tests.report.conftest import study_of

ORGANS = ("eye", "heart", "lung")
SKILL = {"open-a": 0.9, "open-b": 0.9, "medical-a": 0.46, "medical-b": 0.46}
GROUPS = "judge,group,base\nopen-a,open,\nopen-b,open,\nmedical-a,medical,open-a\nmedical-b,medical,gone\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An A/B set of consensus labels: judges are weak on the eye, and medical ones flip a coin."""
    out, rng, ids = tmp_path_factory.mktemp("paper"), np.random.default_rng(0), [f"c{i:03d}" for i in range(240)]
    gold = rng.choice(["A", "B"], len(ids))
    cases = pd.DataFrame({"case_id": ids, "question": ids, "response_a": "one", "response_b": "two"})
    cases["organ"] = np.resize(ORGANS, len(ids))
    votes = pd.DataFrame({"case_id": ids, "annotator": "consensus", "choice": gold})
    every = pd.concat([votes.assign(dimension=name) for name in ("accuracy", "overall")], ignore_index=True)
    meta = BenchmarkMeta("published", "clinical", ("accuracy", "overall"), ("A", "B"))
    save(Benchmark(meta, cases, every), out / "bench")
    rows = []
    for judge, skill in SKILL.items():
        right = rng.random((2, len(ids))) < np.where(cases["organ"] == "eye", min(skill, 0.5), skill)
        for name, own in zip(meta.dimensions, right, strict=True):
            choice = np.where(own, gold, np.where(gold == "A", "B", "A"))
            rows.append(
                pd.DataFrame({"judge": judge, "case_id": ids, "dimension": name, "order": "AB", "choice": choice})
            )
    save_imported(pd.concat(rows), out / "bench" / "runs", benchmark="published", kind="clinical", source="a table")
    (out / "groups.csv").write_text(GROUPS)
    return out


@pytest.fixture(scope="module")
def pages(folder: Path) -> PaperPages:
    study = mrb.open(folder / "bench", policy="official", groups=folder / "groups.csv", resamples=100)
    return mrb.paper(study)


class TestTheMainTable:
    def test_is_in_percent_by_group_with_baselines_a_coin_and_n_below(self, pages: PaperPages) -> None:
        text = pages.judges().text
        assert text.columns == ("judge", "group", "accuracy", "overall", "average")
        first = dict.fromkeys(row[1] for row in text.rows)
        assert [*first] == ["open", "medical", "baseline", ""]
        assert text.rows[-1] == ("n cases", "", "240", "240", "240")
        [coin] = [row for row in text.rows if row[0] == "coin"]
        assert coin[2:] == ("50.0", "50.0", "50.0")
        board = pages.study.table("accuracy").frame
        average = board[board["dimension"].eq("average") & board["judge"].eq("open-a")].iloc[0]
        [own] = [row for row in text.rows if row[0] == "open-a"]
        assert own[-1] == f"{100 * average['accuracy']:.1f} [{100 * average['low']:.1f}, {100 * average['high']:.1f}]"

    def test_shows_equal_baselines_once_and_none_as_the_best(self, pages: PaperPages) -> None:
        text = pages.judges().text
        values = [row[2:] for i, row in enumerate(text.rows) if i in text.references]
        assert len(set(values)) == len(values)
        assert not {row for row, _ in text.best} & set(text.references)

    def test_a_coin_scores_less_where_a_tie_can_be_gold(self, full: Path) -> None:
        study = mrb.open(full, policy="official", resamples=0)
        labels = study.labels[study.labels["dimension"] == "overall"]["choice"].dropna()
        assert mrb.paper(study)._coin("overall") == pytest.approx(labels.ne("tie").mean() / 2)
        assert mrb.paper(study.with_(policy="balanced"))._coin("overall") == 0.5


class TestFindings:
    def test_are_those_that_the_data_were_made_with(self, pages: PaperPages) -> None:
        said = pages.findings("organ")
        assert "weakest on eye (" in said
        assert "the intervals of 2 of 4 judges are below" in said
        assert "A coin scores 50%; the intervals of 2 of 2 open, 0 of 2 medical judges are above it." in said

    def test_are_numbers_of_the_table_with_intervals(self, pages: PaperPages) -> None:
        said, rows = pages.findings("organ"), pages.study.table("accuracy", by="organ").frame
        eye = rows[rows["dimension"].eq("overall") & rows["subfield"].eq("eye") & rows["kind"].eq("judge")]
        assert f"weakest on eye (mean accuracy {eye['accuracy'].mean():.0%}; " in said
        best = eye[eye["judge"] == pages.study.best_judge].iloc[0]
        assert f"{best['accuracy']:.0%} [{100 * best['low']:.0f}, {100 * best['high']:.0f}]" in said

    def test_are_in_the_conclusion_of_a_set_with_one_label_per_case(self, pages: PaperPages) -> None:
        said = pages.conclusion("accuracy", "agreement")
        assert "ranks first of 4 judges" in said
        assert "weakest on eye" in said


def test_tuned_judges_are_those_that_the_file_of_groups_states(pages: PaperPages) -> None:
    assert pages.study.pairs == [("open-a", "medical-a")]
    gains = pages.study.table("gains").query("part == 'accuracy'")
    assert set(gains["tuned"]) == {"medical-a"}
    shown = pages.gains().text
    assert shown.columns == ("base", "tuned", "accuracy", "overall", "average")
    [row] = shown.rows
    of_dimension = dict(zip(gains["dimension"], gains["gain"], strict=True))
    expected = 100 * sum(of_dimension.values()) / 2
    assert row[-1].startswith(f"{expected:.1f} [")
    low, high = map(float, row[-1].split("[")[1].rstrip("]").split(", "))
    assert low < expected < high < 0


def test_departments_that_follow_from_organs_are_said_to(pages: PaperPages) -> None:
    study = pages.study
    assert not study.derives_departments
    known = {"eye": "Ophthalmology", "heart": "Cardiology", "lung": "Pulmonology"}
    cases = study.benchmark.cases.assign(department=study.benchmark.cases["organ"].map(known))
    derived = replace(study, benchmark=replace(study.benchmark, cases=cases), _made={})
    assert mrb.paper(derived).findings("department").endswith("Departments follow from the organs.")


class TestThePrompt:
    def test_is_that_of_the_run_once_for_all_judges_that_were_asked_it(self, pages: PaperPages) -> None:
        prompt = load_prompt("official-form")
        asked = {"prompt_id": prompt.id, "prompt_hash": prompt.hash, "prompt_text": prompt.text}
        runs = [Manifest("r", "j", **asked), Manifest("s", "k", **asked), Manifest("t", "longer")]
        said = mrb.paper(replace(pages.study, manifests=runs)).prompts()
        assert said.startswith(f"j, k: were asked by this template.\n\n{prompt.text}".rstrip())
        assert said.endswith("longer: no prompt is known.")


def studied(votes: dict[str, str], said: dict[tuple[str, str], str], organs: list[str | None]) -> PaperPages:
    return mrb.paper(study_of(votes, said, organs, policy="official", resamples=0))


class TestChosenCases:
    def test_are_the_best_or_the_worst_of_each_organ_that_all_annotators_agree_on(self) -> None:
        # c2 is split, and all call c7 a tie; c6 has no organ.
        votes = {"r1": "AAABBBAT", "r2": "AAABBBAT", "r3": "AABBBBAT"}
        said = {("j", "AB"): "ABAAABAA", ("k", "AB"): "ABABAABA", ("j", "BA"): "BBBBBBBB"}
        pages = studied(votes, said, ["eye", "eye", "eye", "lung", "lung", "brain", None, "heart"])
        # Right by order AB: c0 both, c1 none, c3 k alone, c4 none, c5 j alone; of equal scores the first case.
        assert pages.chosen_cases("successes")["case_id"].tolist() == ["c0", "c3", "c5"]
        assert pages.chosen_cases("failures")["case_id"].tolist() == ["c1", "c4", "c5"]


def test_cases_are_one_per_organ_and_where_there_are_none_it_says_so(pages: PaperPages) -> None:
    drawn = pages.cases("failures")
    assert sum("gold label" in text.get_text() for axes in drawn.axes for text in axes.texts) == len(ORGANS)
    with pytest.raises(mrb.NotApplicable):
        pages.cases("failures", by="department")


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Work:
    return write_simulated_work(tmp_path_factory.mktemp("construction") / "work", items=60)


def test_the_frames_count_what_the_folder_holds(work: Work, pictured: Benchmark) -> None:
    table, (steps, _) = work.funnel(), funnel(work, pictured)
    for (_, rows), (step, own) in zip(
        steps.groupby("step", sort=False), table.groupby("step", sort=False), strict=True
    ):
        kept = own[own["reason"] == KEPT].iloc[0]
        assert (rows["n_in"].iloc[0], rows["n_out"].iloc[0]) == (kept["n_in"], kept["n_out"]), step
        assert rows["n_items"].fillna(0).sum() == kept["n_in"] - kept["n_out"]
    rows, options = left(work, pictured)
    assert options == {"by": "organ"}
    assert rows.loc[rows["step"] == "paired", "n_items"].sum() == len(work.entering("release"))
    bins, _ = difficulty(work, pictured)
    decided = work.decisions().query("step == 'filter'")["kept"]
    assert (bins["kept"].sum(), bins["left_out"].sum()) == (decided.sum(), (~decided).sum())


def test_the_gold_labels_of_a_benchmark_that_was_made_of_it_are_a_step(work: Work, pictured: Benchmark) -> None:
    items = work.items()["item_id"].head(len(pictured.cases)).tolist()
    cases = pictured.cases.assign(item=[*items, *items][: len(pictured.cases)])
    steps, _ = funnel(work, Benchmark(pictured.meta, cases, pictured.annotations, pictured.images))
    last = steps.iloc[-1]
    assert (last["step"], last["n_in"]) == ("given a gold label", len(cases))


def test_what_is_not_there_has_a_reason(pictured: Benchmark, small: Path, tmp_path: Path) -> None:
    pages = mrb.paper(mrb.open(small))
    with pytest.raises(mrb.NotApplicable, match="no work folder is named"):
        pages.made("")
    empty = create_work(tmp_path / "empty", "ours", "clinical")
    with pytest.raises(mrb.NotApplicable, match="no step of ours is finished"):
        pages.made(str(empty.path))
    with pytest.raises(mrb.InputError):
        pages.made(str(tmp_path / "nowhere"))


def test_a_simulated_folder_says_so_though_the_benchmark_is_not(work: Work, small: Path) -> None:
    drawn = mrb.paper(mrb.open(small)).made(str(work.path), "difficulty")
    assert any(text.get_gid() == "simulated" for text in drawn.texts)
    assert isinstance(funnel(work, mrb.load(small))[0], pd.DataFrame)
