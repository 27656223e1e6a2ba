"""What only a paper prints: complete, in one order, nothing made up, and findings that are in the data."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import mrb_lib as mrb
from mrb_lib.benchmarks.benchmark import Benchmark, save
from mrb_lib.benchmarks.meta import BenchmarkMeta
from mrb_lib.judges.prompt_files import load_prompt
from mrb_lib.report.paper import EVERY, PaperPages
from mrb_lib.verdicts.manifest import Manifest
from mrb_lib.verdicts.store import save_imported
from tests.notebooks.conftest import full as full

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
        said = pages.findings("organ").sentence
        assert "weakest on eye (" in said
        assert "open (2) 7" in said
        assert "A coin scores 50%; no better than a coin: medical." in said

    def test_are_means_of_the_judges_over_the_cases(self, pages: PaperPages) -> None:
        found = pages.findings("organ").groups.set_index(["group", "subfield"])["accuracy"]
        scores = pages.study.scores("overall")
        for subfield in ORGANS:
            own = scores[scores["organ"] == subfield]
            assert found[EVERY, subfield] == pytest.approx(own["score"].mean())
            medical = own[own["judge"].str.startswith("medical")]
            assert found["medical", subfield] == pytest.approx(medical["score"].mean())

    def test_compare_a_subfield_with_the_other_cases(self, pages: PaperPages) -> None:
        contrasts = pages.findings("organ").contrasts.set_index("subfield")
        scores = pages.study.scores("overall")
        eye = scores["organ"] == "eye"
        expected = scores.loc[eye, "score"].mean() - scores.loc[~eye, "score"].mean()
        assert contrasts.loc["eye", "difference"] == pytest.approx(expected)
        assert contrasts.loc["eye", "low"] < expected < contrasts.loc["eye", "high"] < 0

    def test_are_in_the_conclusion_of_a_set_with_one_label_per_case(self, pages: PaperPages) -> None:
        said = pages.conclusion("accuracy", "agreement")
        assert "ranks first of 4 judges" in said
        assert "weakest on eye" in said

    def test_do_not_apply_without_the_column(self, pages: PaperPages) -> None:
        with pytest.raises(mrb.NotApplicable, match="department"):
            pages.findings("department")


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
    assert mrb.paper(derived).findings("department").sentence.endswith("Departments follow from the organs.")


def test_every_neighbour_has_a_source(pages: PaperPages) -> None:
    shown = pages.neighbours()
    assert "SIMULATED" not in shown.caption
    assert all(row[-1].startswith("arXiv ") for row in shown.text.rows)


class TestThePrompt:
    def test_is_that_of_the_run_once_for_all_judges_that_were_asked_it(self, pages: PaperPages) -> None:
        prompt = load_prompt("official-form")
        spec = {"engine": "endpoint", "dimensions": ["accuracy", "overall"], "choices": ["A", "B"]}
        asked = {"prompt_id": prompt.id, "prompt_hash": prompt.hash, "prompt_text": prompt.text, "spec": spec}
        runs = [Manifest("r", "j", **asked), Manifest("s", "k", **asked), Manifest("t", "longer")]
        said = mrb.paper(replace(pages.study, manifests=runs)).prompts()
        assert said.startswith("Case c000, order AB, dimension overall.")
        assert "j, k: " in said
        assert "longer: this judge takes no prompt." in said

    def test_that_no_run_holds_is_named_for_what_it_is(self, pages: PaperPages) -> None:
        said = pages.prompts()
        assert "the run does not say what was asked" in said
        assert "What --prompt official-form would ask:" in said
        assert '"tie"' not in said


def test_cases_are_one_per_organ_and_where_there_are_none_it_says_so(pages: PaperPages) -> None:
    drawn = pages.cases("failures")
    assert sum("gold label" in text.get_text() for axes in drawn.axes for text in axes.texts) == len(ORGANS)
    with pytest.raises(mrb.NotApplicable):
        pages.cases("failures", by="department")


def test_the_figure_of_groups_names_the_policy_and_the_subfield(folder: Path, tmp_path: Path) -> None:
    study = mrb.open(folder / "bench", policy="official", groups=folder / "groups.csv", resamples=20)
    mrb.paper(replace(study, out=str(tmp_path))).findings("organ").plot()
    caption = json.loads((tmp_path / "figures" / "group-subfields-organ.json").read_text())["caption"]
    assert "policy: official" in caption
    assert "by organ" in caption
