"""Figures of the full benchmark draw, beside the value that they show, all else that their rows say."""

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from mrb_lib.figures import adjudication, ceiling, jury, transfer
from mrb_lib.figures.lettering import labels
from mrb_lib.figures.transfer import MOST_FORESTS
from mrb_lib.tables.errors import NotApplicable
from tests.figures.read import JUDGES, beside_others, copied, draw, marks, of, shown, spans, texts, ticks, titles

Flaws = Callable[[Figure], list[str]]


def test_moves_draw_both_accuracies_the_difference_and_the_ranks() -> None:
    every = shown("adjudication-moves")
    rows = of(every, rule="adjudicated").reset_index(drop=True)
    rows["rank"] = pd.array([2, 1, 3], dtype="Int64")
    rows.loc[2, ["majority_accuracy", "accuracy", "difference", "difference_low", "difference_high"]] = np.nan
    rows.loc[2, ["rank", "majority_rank"]] = pd.NA
    left, right = draw("adjudication-moves", pd.concat([of(every, rule="majority"), beside_others(rows)])).axes
    seen, changed, removed = (rows[f"n_{name}"].iloc[0] for name in ("adjudicated", "changed", "removed"))
    assert left.get_title() == f"labels reviewed: {seen}, changed: {changed}, removed: {removed}"
    assert seen == 9 and changed > 0
    for name in ("majority_accuracy", "accuracy"):
        np.testing.assert_array_equal(marks(left, name)[:, 0], rows[name])
    assert marks(right)[:, 0].tolist() == rows["difference"].dropna().tolist()
    assert texts(right, "rank") == ["1 \u2192 2", "2 \u2192 1"]
    assert [text.get_text() for text in right.texts].count("n/a") == 1


def test_reasons_are_a_cell_each_with_their_count(flaws: Flaws) -> None:
    for count in (3, adjudication.MOST_REASONS + 3):
        rows = copied(shown("adjudication-reasons").head(1), "reason_given", [f"reason_{i}" for i in range(count)])
        rows["n"] = pd.array(range(count, 0, -1), dtype="Int64")
        rows = pd.concat([rows.assign(share=rows["n"] / 40, judge=name) for name in ("j$1$", "j2")], ignore_index=True)
        figure = draw("adjudication-reasons", rows, ["j2", "j$1$"])
        columns = min(count, adjudication.MOST_REASONS)
        assert ticks(figure.axes[0]) == ["j2 (3)", r"j\$1\$ (3)"]
        assert texts(figure.axes[0], "cell") == [str(count - i) for _ in range(2) for i in range(columns)]
        values = np.asarray(figure.axes[0].collections[0].get_array(), dtype=float).reshape(2, columns)
        assert values[0].tolist() == pytest.approx([(count - i) / 40 for i in range(columns)])
        assert flaws(figure) == []


def values_by_judge(figure: Figure, panel: int) -> dict[str, float]:
    names = dict(zip(figure.axes[0].get_yticks(), ticks(figure.axes[0]), strict=True))
    return {names[y]: x for x, y in marks(figure.axes[panel])}


def test_errors_of_bias_have_a_panel_a_kind_and_are_of_the_dimension_as_a_whole() -> None:
    rows = shown("bias-errors")
    parts = rows.assign(subfield="eye", error_asymmetry=0.9)
    figure = draw("bias-errors", pd.concat([beside_others(rows, error_asymmetry=0.9), parts]))
    assert titles(figure) == ["Length", "Self preference"]
    for panel, name in enumerate(("length", "self_preference")):
        own = of(rows, bias=name).set_index("judge")["error_asymmetry"].dropna()
        assert values_by_judge(figure, panel) == own.to_dict()
    figure.png()


def test_log_odds_leave_out_markers_nobody_has_and_draw_the_largest() -> None:
    rows = shown("bias-pull").drop(columns="subfield")
    rows = rows[rows["bias"].isin(["length", "style"])].reset_index(drop=True)
    rows.loc[rows["marker"] == "bold", ["estimate", "low", "high", "association"]] = np.nan
    rows.loc[1, ["estimate", "low", "high"]] = -17.25, -20.0, -14.5
    rows = rows.assign(subfield=pd.Series(pd.NA, rows.index, dtype="str"))
    figure = draw("bias-pull", beside_others(rows, estimate=0.9))
    markers = rows.loc[rows["bias"].eq("style") & rows["estimate"].notna(), "marker"].unique()
    assert titles(figure) == ["Length", *(name.title() for name in markers)]
    assert values_by_judge(figure, 0) == of(rows, bias="length").set_index("judge")["estimate"].to_dict()
    assert figure.axes[0].get_xlim()[0] < -20
    assert {axes.get_xscale() for axes in figure.axes} == {"symlog"}
    assert "logarithmic" in figure.get_supxlabel() and "beyond quality" in figure.get_supxlabel()
    without = rows.assign(estimate=np.nan, low=np.nan, high=np.nan)
    figure = draw("bias-pull", without)
    assert "given the gold label" in figure.get_supxlabel()
    assert figure.axes[0].get_xscale() == "linear"
    assert values_by_judge(figure, 0) == of(rows, bias="length").set_index("judge")["association"].to_dict()
    ends = ["association", "association_low", "association_high", "error_asymmetry"]
    nothing = without.assign(**dict.fromkeys(ends, np.nan))
    for name in ("bias-pull", "bias-errors"):
        assert texts(draw(name, nothing.drop(columns="reason")).axes[0])
    with pytest.raises(NotApplicable, match="no pull of length or style is defined"):
        draw("bias-pull", nothing.assign(reason=None))


def test_every_bin_and_interval_is_drawn_against_the_diagonal() -> None:
    rows = shown("reliability")
    bins, summary = of(rows, part="bin"), of(rows, part="summary").set_index("judge")
    figure = draw("reliability", beside_others(rows, accuracy=0.0, ece_debiased=0.99), ["j3", "unseen", "j1", "j2"])
    assert titles(figure) == ["j3", "j1", "j2"]
    assert [names for names, _ in figure.boxes()] == [{"judge": "j3"}, {"judge": "j1"}, {"judge": "j2"}]
    for axes, judge in zip(figure.axes, ("j3", "j1", "j2"), strict=False):
        own = of(bins, judge=judge)
        np.testing.assert_array_equal(marks(axes), own[["confidence", "accuracy"]])
        known = own.dropna(subset="low")
        ends = [[span[0, 0], span[0, 1], span[1, 1]] for span in spans(axes)]
        np.testing.assert_array_equal(ends, known[["confidence", "low", "high"]])
        np.testing.assert_array_equal(marks(axes, "calibrated"), [[0.5, 0.5], [1, 1]])
        shares = np.array([patch.get_height() for patch in axes.patches])
        np.testing.assert_allclose(shares / shares.sum(), own["n"].astype(float) / own["n"].sum())
        n, error = summary.loc[judge, ["n", "ece_debiased"]]
        assert axes.get_title().endswith(f"n {n:,.0f}, ECE {100 * error:.1f}")
    alone = draw("reliability", rows[rows["part"].eq("summary") | rows["judge"].eq("j2")])
    assert [axes.get_title().split("\n")[0] for axes in alone.axes if axes.axison] == ["j2"]


def test_overconfidence_is_drawn_and_a_missing_one_said() -> None:
    rows = shown("overconfidence")
    other = rows.assign(dimension="accuracy", overconfidence=[0.1, 0.2, np.nan])
    silent = rows.head(1).assign(judge="silent", overconfidence=np.nan)
    left, right = draw("overconfidence", pd.concat([other, rows, silent]), ["j3", "j1", "silent", "j2"]).axes
    assert marks(left)[:, 0].tolist() == [0.1, 0.2]
    np.testing.assert_array_equal(marks(right)[:, 0], rows["overconfidence"].iloc[[2, 0, 1]])
    assert ticks(left) == ["j3", "j1", "j2"]
    assert (texts(left), texts(right)) == (["n/a"], [])


def test_shift_has_a_panel_a_probe() -> None:
    rows = shown("calibration-shift")
    figure = draw("calibration-shift", beside_others(rows, probe="dim"))
    assert titles(figure) == ["Image/removed", "Image/blur:1", "Image/blur:2", "Question/sex:1", "Question/sex:2"]
    own = of(rows, probe="image/removed")["overconfidence_difference"]
    assert sorted(marks(figure.axes[0])[:, 0]) == sorted(own)


@pytest.mark.parametrize(("name", "value"), [("distances", "difference"), ("alternative", "advantage_probability")])
def test_judges_beside_annotators_have_a_panel_a_dimension_and_stand_from_the_best(name: str, value: str) -> None:
    rows = shown(f"ceiling-{name}")
    figure = getattr(ceiling, name)(beside_others(rows, **{value: -rows[value]}), dimension="overall")
    assert titles(figure) == ["Overall", "Accuracy"]
    assert ticks(figure.axes[0]) == rows.sort_values(value, ascending=False)["judge"].tolist(), "on the one asked for"


def test_marked_points_are_those_that_pass_or_of_which_nobody_can_tell() -> None:
    passing = shown("ceiling-alternative")
    passing["passes"] = pd.array([True, False, pd.NA], dtype="boolean")
    [axes] = draw("ceiling-alternative", passing).axes
    beside = marks(axes, "beside")
    assert beside[~np.isnan(beside[:, 0]), 0].tolist() == [passing["advantage_probability"][0]]
    rows = shown("ceiling-distances").assign(verdict=["above", "cannot tell", "cannot tell"])
    rows.loc[2, ["verdict", "difference"]] = [None, np.nan]
    figure = draw("ceiling-distances", rows)
    beside = marks(figure.axes[0], "beside")
    assert beside[~np.isnan(beside[:, 0]), 0].tolist() == [rows["difference"][1]]
    assert {tuple(point) for point in beside[~np.isnan(beside[:, 0])]} <= {tuple(p) for p in marks(figure.axes[0])}
    assert any(set(line.get_xdata()) == {0.0} for line in figure.axes[0].get_lines() if len(line.get_xdata()))
    assert not figure.axes[0].get_legend() and len(figure.legends) == 1
    assert not draw("ceiling-distances", rows.assign(verdict="below")).legends


def test_the_average_annotator_is_a_line_and_of_many_those_with_the_most_cases_are_drawn() -> None:
    rows = shown("ceiling-annotators")
    [axes] = draw("ceiling-annotators", rows).axes
    level = of(rows, annotator="mean")["accuracy"].item()
    assert sorted(marks(axes)[:, 0]) == sorted(rows.loc[rows["annotator"] != "mean", "accuracy"])
    assert set(marks(axes, "reference")[:, 0]) == {level}
    many = pd.concat([rows.head(1).assign(annotator=f"p{i:02d}", n=100 - i, accuracy=0.9 - i / 100) for i in range(15)])
    assert ticks(draw("ceiling-annotators", many).axes[0]) == [f"p{i:02d}" for i in range(10)]


def test_preference_and_noise_are_a_panel_each() -> None:
    rows = shown("position-split")
    rows.loc[0, ["position_preference", "position_preference_low", "position_preference_high"]] = np.nan
    figure = draw("position-split", beside_others(rows, position_noise=0.9))
    for panel, name in enumerate(("position_preference", "position_noise")):
        assert values_by_judge(figure, panel) == rows.set_index("judge")[name].dropna().to_dict()
    assert [len(texts(axes)) for axes in figure.axes] == [1, 0]


def test_sizes_draw_the_curve_and_every_jury() -> None:
    rows = shown("jury-sizes")
    figure = draw("jury-sizes", beside_others(rows, accuracy=0.1))
    [axes] = figure.axes
    assert marks(axes, "random") == pytest.approx(of(rows, part="curve")[["size", "accuracy"]].to_numpy(dtype=float))
    for kind in jury.NAMES:
        assert marks(axes, kind)[0, 1] == of(rows, part="jury", kind=kind)["accuracy"].item()
    assert axes.get_xticks().max() <= len(JUDGES)
    assert [names["row"] for names, _ in figure.boxes()] == list(jury.NAMES)
    for name in ("jury-sizes", "jury-members"):
        with pytest.raises(NotApplicable, match="two judges"):
            draw(name, of(rows, part="jury"))


def test_cost_joins_the_most_accurate_for_the_time() -> None:
    rows = shown("jury-cost")
    figure = draw("jury-cost", beside_others(rows, accuracy=0.99, seconds=1e-9))
    [axes] = figure.axes
    points = rows[rows["kind"] != "best_single"][["seconds", "accuracy"]].to_numpy(dtype=float)
    points = points[np.lexsort(points.T[::-1])]
    beaten = [any(a <= seconds and b > value for a, b in points) for seconds, value in points]
    assert marks(axes, "best") == pytest.approx(points[~np.array(beaten)])
    drawn = np.concatenate([marks(axes, kind) for kind in ("single", "majority", "weighted", "dawid_skene")])
    assert drawn[np.lexsort(drawn.T[::-1])] == pytest.approx(points)
    names = {text.get_text() for text in figure.legends[0].get_texts()}
    assert names == {"one judge", "most accurate for the time", *list(jury.NAMES.values())[:3]}
    quick = rows.assign(seconds=rows["seconds"].mask(rows["kind"] == "single", 0.01))
    assert [draw("jury-cost", each).axes[0].get_xscale() for each in (rows, quick)] == ["linear", "log"]
    unknown = rows.assign(seconds=rows["seconds"].mask(rows["part"] == "jury"))
    with pytest.raises(NotApplicable, match="time is not recorded for every judge"):
        draw("jury-cost", unknown)


def test_members_are_drawn_with_what_they_add() -> None:
    rows = shown("jury-members")
    [axes] = draw("jury-members", beside_others(rows, shapley=0.9), JUDGES[::-1]).axes
    assert marks(axes)[:, 0] == pytest.approx(rows["shapley"].to_numpy()[::-1])


def test_power_draws_the_curve_the_smallest_difference_and_a_row_a_subfield() -> None:
    rows = shown("power-subfields")
    summary, least = of(rows, part="summary"), "minimum_detectable_difference"
    whole = summary[summary["subfield"].isna()].iloc[0]
    rows.loc[rows["subfield"] == "lung", least] = np.nan
    left, right = draw("power-subfields", rows).axes
    curve = of(rows, part="curve")
    assert marks(left, "power") == pytest.approx(curve[["difference", "power"]].to_numpy(), nan_ok=True)
    smallest, n = whole[[least, "n"]]
    assert marks(left, "detectable").tolist() == [[0, 0.8], [smallest, 0.8], [smallest, 0]]
    assert left.get_title() == f"power 80% at {100 * smallest:.1f} points, n = {n:,}"
    sizes = summary.set_index("subfield")["n"]
    assert ticks(right) == [f"all cases (n = {n})", f"Eye (n = {sizes['eye']})", f"Lung (n = {sizes['lung']})"]
    assert [text.get_gid() for text in right.texts] == ["not-available"]
    alone = draw("power", of(shown("power"), part="summary").assign(**{least: np.nan})).axes
    assert [[text.get_gid() for text in axes.texts] for axes in alone] == [["not-available"]]


def test_the_forest_names_domains_with_their_cases_and_draws_some_judges() -> None:
    rows = shown("transfer-forest")
    rows.loc[rows["subfield"].eq("lung") & rows["judge"].eq("j2"), "n"] = 1080
    figure = draw("transfer-forest", rows)
    eye, lung = (of(rows, judge="j1", subfield=name)["n"].item() for name in ("eye", "lung"))
    assert ticks(figure.axes[0]) == [f"Eye (n = {eye})", f"Lung (n = {lung}\u20131,080)"]
    many = [f"judge-{i}" for i in range(9)]
    assert titles(draw("transfer-forest", copied(rows, "judge", many), many[::-1])) == many[::-1][:MOST_FORESTS]


def test_predictions_have_a_row_a_judge() -> None:
    rows = shown("transfer-predictions")
    rows.loc[rows["judge"].eq("j1") & rows["part"].eq("summary"), ["accuracy", "low", "prediction_low"]] = np.nan
    ends = ["prediction_low", "prediction_high"]
    rows.loc[rows["judge"].eq("j2") & rows["part"].eq("summary"), ends] = [0.5, 0.9]
    [axes] = draw("transfer-predictions", rows, JUDGES[::-1]).axes
    summary, found = of(rows, part="summary"), marks(axes, "summary")[:, 0]
    assert sorted(found[~np.isnan(found)]) == sorted(summary["accuracy"].dropna())
    assert len(marks(axes)) == len(of(rows, part="domain"))
    assert ticks(axes) == labels(JUDGES[::-1], 34)
    known = summary.set_index("judge").loc[list(JUDGES[::-1])].dropna(subset="prediction_low")
    assert [band[:, 0].tolist() for band in spans(axes, "prediction")] == known[ends].to_numpy().tolist()
    assert [text.get_gid() for text in axes.texts].count("not-available") == 1


def test_rankings_have_a_row_a_domain_with_what_is_expected() -> None:
    rows = shown("transfer-rankings").assign(expected_low=[0.7, 0.6], expected_high=[0.9, 0.8])
    [axes] = transfer.rankings(rows, dimension="overall").axes
    assert marks(axes).tolist() == [[tau, i] for i, tau in enumerate(rows["kendall_tau"])]
    assert [band[:, 0].tolist() for band in spans(axes, "expected")] == [[0.7, 0.9], [0.6, 0.8]]


def test_effects_are_named_by_their_terms_and_an_intercept_is_left_out() -> None:
    rows = shown("models-effects")
    intercept = rows.head(1).assign(term="intercept", level="intercept", marginal_effect=0.777)
    [axes] = draw("models-effects", pd.concat([rows, intercept], ignore_index=True)).axes
    assert {"Judge", "Subfield", "Eye", "gold response shown first"} <= set(ticks(axes))
    assert "intercept" not in ticks(axes) and 0.777 not in marks(axes)
