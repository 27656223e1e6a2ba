"""A workspace analyses with its own options, draws by name, and passes on what its data lack."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from operator import methodcaller
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import mrb_lib
from mrb_lib.benchmarks.benchmark import Benchmark, empty_annotations
from mrb_lib.benchmarks.meta import BenchmarkMeta
from mrb_lib.report.notebook.absent import Absent, reason_of
from mrb_lib.report.notebook.live import figures
from mrb_lib.report.notebook.workspace import Workspace
from mrb_lib.report.publish import PublishedTable
from mrb_lib.tables.errors import InputError

CASES = [f"c{i:02d}" for i in range(40)]


@pytest.fixture(scope="module")
def workspace() -> Workspace:
    """Forty cases of two organs, three annotators, two judges in both orders."""
    rng = np.random.default_rng(0)
    cases = pd.DataFrame({"case_id": CASES, "question": "q", "response_a": "a b", "response_b": "a"})
    cases = cases.assign(images=[[] for _ in CASES], organ=["lung", "eye"] * 20, ward=[f"w{i // 4}" for i in range(40)])
    votes = pd.DataFrame(itertools.product(CASES, ["r1", "r2", "r3"]), columns=["case_id", "annotator"])
    votes = votes.assign(dimension="overall", choice=rng.choice(["A", "B"], len(votes), p=[0.8, 0.2]))
    verdicts = pd.DataFrame(
        itertools.product(["one", "two"], CASES, ["AB", "BA"]), columns=["judge", "case_id", "order"]
    ).assign(dimension="overall", repeat=0, probe="none", p_a=np.nan)
    verdicts["choice"] = rng.choice(["A", "B"], len(verdicts), p=[0.7, 0.3])
    benchmark = Benchmark(BenchmarkMeta("bench", "clinical", ("overall",)), cases, votes)
    return Workspace(benchmark, verdicts, [], "overall", resamples=100)


def test_a_table_is_that_of_analyze_with_the_workspaces_options(workspace: Workspace) -> None:
    chosen = {"policy": "strict", "gold": "unanimous", "resamples": 60, "seed": 3}
    w = replace(workspace, **chosen, cluster="ward")
    expected = mrb_lib.analyze(w.benchmark, w.verdicts, "accuracy", **chosen, cluster="ward", by="organ")
    pd.testing.assert_frame_equal(w.analyze("accuracy", by="organ"), expected)
    assert w.analyze("accuracy").attrs == {"policy": "strict", "gold": "unanimous"}
    assert w.analyze("consistency").attrs == {}


@pytest.mark.parametrize(
    ("table", "options", "reason"),
    [
        ("accuracy", {"by": "department"}, "no case of bench states its department"),
        ("ranking", {}, "do not name their responders"),
        ("accuracy", {"needs": ["probabilities"]}, "no judge gives a probability"),
        ("accuracy", {"unless": "it is Sunday"}, "it is Sunday"),
    ],
)
def test_a_table_that_the_data_cannot_give_is_absent(
    workspace: Workspace, table: str, options: dict[str, object], reason: str
) -> None:
    assert reason in reason_of(workspace.analyze(table, **options))


def test_labels_that_are_not_preferences_and_no_verdicts_are_said(workspace: Workspace) -> None:
    unlabelled = replace(workspace.benchmark, annotations=empty_annotations())
    assert "has no annotations" in reason_of(replace(workspace, benchmark=unlabelled).analyze("accuracy"))
    assert "no run was given" in reason_of(workspace.on(Absent("nothing")).analyze("accuracy"))
    meta = replace(workspace.benchmark.meta, categories=("yes", "no"))
    other = replace(workspace, benchmark=replace(workspace.benchmark, meta=meta))
    assert "are not preferences" in reason_of(other.analyze("accuracy"))


def test_a_wrong_option_is_refused_and_not_absent(workspace: Workspace) -> None:
    with pytest.raises(InputError, match="gold rule"):
        workspace.analyze("accuracy", gold="mine")


def test_a_figure_is_drawn_by_its_name_with_the_policy_that_was_used(workspace: Workspace, tmp_path: Path) -> None:
    w = replace(workspace, out=str(tmp_path), policy="net")
    accuracy = w.analyze("accuracy", by="organ", dimension="overall")
    w.figure("organs-heatmap", accuracy, words={"by": "organ"}, n=40)
    sidecar = json.loads((tmp_path / "figures" / "organs-heatmap.json").read_text())
    assert sidecar["policy"] == "net"
    assert "on overall by organ" in sidecar["caption"]
    w.figure("organs-heatmap", accuracy, words={"by": "organ"}, publish_as="mine", title="Mine", scored=False)
    again = json.loads((tmp_path / "figures" / "mine.json").read_text())
    assert (again["title"], again["policy"]) == ("Mine", None)


def test_a_figure_that_does_not_apply_says_why(workspace: Workspace, tmp_path: Path) -> None:
    w = replace(workspace, out=str(tmp_path))
    accuracy = w.analyze("accuracy", by="department")
    shown = [
        w.figure("departments-heatmap", accuracy[accuracy["subfield"].notna()], words={"by": "department"}),
        w.figure("order-consistency", w.analyze("consistency"), applies=False, otherwise="nobody was asked twice"),
        w.figure("leaderboard", w.analyze("accuracy").head(0)),
        w.figure("leaderboard", w.analyze("accuracy"), ceiling=Absent("no annotators")),
    ]
    assert [reason_of(one) for one in shown] == [
        "no case of bench states its department", "nobody was asked twice", "these data hold nothing to show",
        "no annotators",
    ]  # fmt: skip
    assert json.loads((tmp_path / "figures" / "leaderboard.json").read_text())["absent"] is True


def test_another_column_takes_the_place_of_the_one_a_figure_needs(workspace: Workspace) -> None:
    accuracy = workspace.analyze("accuracy", by="ward")
    assert not isinstance(workspace.figure("departments-heatmap", accuracy, words={"by": "ward"}), Absent)


def test_an_unknown_figure_is_refused(workspace: Workspace) -> None:
    with pytest.raises(InputError, match="figure 'organ-heatmap' is unknown"):
        workspace.figure("organ-heatmap", workspace.analyze("accuracy"))


def test_scores_have_the_mean_that_accuracy_has_and_bootstrap_its_interval(workspace: Workspace) -> None:
    scores = workspace.scores()
    accuracy = workspace.analyze("accuracy", references=0).set_index("judge")
    assert scores.groupby("judge")["score"].mean().to_dict() == pytest.approx(accuracy["accuracy"].to_dict())
    assert (scores["votes_gold"] <= scores["n_annotators"]).all()
    wide = scores.pivot(index="case_id", columns="judge", values="score").reset_index()
    made = workspace.bootstrap(wide, methodcaller("mean", numeric_only=True), by="organ")
    whole = made[made["subfield"].isna()].set_index("quantity")
    assert whole["estimate"].to_dict() == pytest.approx(accuracy["accuracy"].to_dict())
    assert whole["interval"].to_dict() == accuracy["interval"].to_dict() == {"one": "t", "two": "t"}
    assert whole["standard_error"].to_dict() == pytest.approx(accuracy["standard_error"].to_dict(), rel=0.1)  # drawn
    assert whole["low"].to_dict() == pytest.approx(accuracy["low"].to_dict(), abs=0.01)
    assert set(made["subfield"].dropna()) == {"lung", "eye"}


def test_what_is_made_of_scores_names_the_policy_where_it_is_said_to_be(workspace: Workspace) -> None:
    each = workspace.scores().groupby("case_id", as_index=False)["score"].agg(best="max")
    mean = methodcaller("mean", numeric_only=True)
    said = {flag: workspace.bootstrap(each, mean, scored=flag) for flag in (True, False)}
    shown = workspace.table("mine", said[True], title="Mine", caption="Scores.")
    assert isinstance(shown, PublishedTable)
    assert "policy: balanced" in shown.caption
    assert said[False].attrs == {}


def test_clusters_that_are_named_are_those_that_bootstrap_draws(workspace: Workspace) -> None:
    scores = workspace.scores()[["case_id", "score"]]
    made = replace(workspace, cluster="ward").bootstrap(scores, methodcaller("mean", numeric_only=True))
    assert made["n_clusters"].iloc[0] == 10


def test_a_function_is_not_called_where_something_is_missing(workspace: Workspace) -> None:
    assert workspace.apply(len, [1, 2]) == 2
    for made in (
        workspace.apply(len, [Absent("gone")]),
        workspace.apply(len, [], unless="gone"),
        workspace.apply(dict, a=Absent("gone")),
    ):
        assert reason_of(made) == "gone"
    assert "organ" not in reason_of(workspace.apply(len, [], needs=["organ"]))
    assert "department" in reason_of(workspace.apply(len, [], needs=["department"]))


def test_one_judge_the_best_and_none(workspace: Workspace) -> None:
    accuracy = workspace.analyze("accuracy", dimension=workspace.dimension).set_index("judge")
    assert accuracy.loc[workspace.best_judge(), "rank"] == 1
    assert workspace.only("two").judges == ["two"]
    assert workspace.on(Absent("none")).best_judge() == ""
    with pytest.raises(InputError, match="three"):
        workspace.only("three")


def test_the_longer_response_has_more_words(workspace: Workspace) -> None:
    assert set(workspace.longer()) == {"A"}


def test_what_is_drawn_live_follows_the_choice_and_publishes_nothing(workspace: Workspace, tmp_path: Path) -> None:
    w = replace(workspace, out=str(tmp_path))
    drawn = figures.leaderboard(w)(dimension="overall", policy="strict", judges=["two"])
    assert not isinstance(drawn, Absent)
    assert [text.get_text() for text in drawn.axes[0].get_yticklabels()][:2] == ["two", "always tie"]
    for by in ("organ", None):
        assert not isinstance(
            figures.subfields(w)(dimension="overall", policy="net", by=by, judges=["one", "two"]), Absent
        )
    assert list(tmp_path.iterdir()) == []


def test_a_conclusion_is_text_with_the_note_or_says_why_there_is_none(workspace: Workspace) -> None:
    assert repr(workspace.conclude("It is {share:.0%} <b>.", share=0.5)) == "It is 50% <b>."
    assert "<b>" not in workspace.conclude("<b>")._repr_html_()
    assert repr(workspace.conclude(len, Absent("no run was given"))) == "Not applicable: no run was given."
    meta = replace(workspace.benchmark.meta, kind="simulated")
    simulated = replace(workspace, benchmark=replace(workspace.benchmark, meta=meta))
    assert repr(simulated.conclude("So.")).startswith("SIMULATED")
