"""Figures of the full benchmark draw, beside the value that they show, all else that their rows say.

Of every figure see `test_every_figure`: value and interval, other dimensions and subfields, the order of judges.
"""

from collections.abc import Callable
from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mrb_lib.figures import adjudication, agreement, jury, ratings
from mrb_lib.tables.errors import NotApplicable
from tests.figures.read import JUDGES, beside_others, copied, draw, known, marks, of, shown, spans, texts, ticks, titles

Flaws = Callable[[Figure], list[str]]


def test_moves_draw_both_accuracies_the_difference_and_the_ranks() -> None:
    every = shown("adjudication-moves")
    rows = of(every, rule="adjudicated").reset_index(drop=True)
    rows["rank"] = pd.array([2, 1, 3], dtype="Int64")
    rows.loc[2, ["majority_accuracy", "accuracy", "difference", "difference_low", "difference_high"]] = np.nan
    rows.loc[2, ["rank", "majority_rank"]] = pd.NA
    left, right = draw("adjudication-moves", pd.concat([of(every, rule="majority"), rows])).axes
    seen, changed, removed = (rows[f"n_{name}"].iloc[0] for name in ("adjudicated", "changed", "removed"))
    assert left.get_title() == f"labels reviewed: {seen}, changed: {changed}, removed: {removed}"
    assert seen == 9 and changed > 0
    for name in ("majority_accuracy", "accuracy"):
        np.testing.assert_array_equal(marks(left, name)[:, 0], rows[name])
    assert marks(right)[:, 0].tolist() == rows["difference"].dropna().tolist()
    assert texts(right, "rank") == ["1 \u2192 2", "2 \u2192 1"]
    assert [text.get_text() for text in right.texts].count("n/a") == 1


@pytest.mark.parametrize("count", [3, adjudication.MOST_REASONS + 3])
def test_reasons_are_a_cell_each_with_their_count(flaws: Flaws, count: int) -> None:
    rows = copied(shown("adjudication-reasons").head(1), "reason_given", [f"reason_{i}" for i in range(count)])
    rows["n"] = pd.array(range(count, 0, -1), dtype="Int64")
    figure = draw("adjudication-reasons", copied(rows, "judge", ["j$1$", "j2"]), ["j2", "j$1$"])
    assert ticks(figure.axes[0]) == ["j2 (3)", r"j\$1\$ (3)"]
    drawn = [str(count - i) for i in range(min(count, adjudication.MOST_REASONS))]
    assert texts(figure.axes[0], "cell") == 2 * drawn
    assert flaws(figure) == []


def values_by_judge(figure: Figure, panel: int) -> dict[str, float]:
    names = dict(zip(figure.axes[0].get_yticks(), ticks(figure.axes[0]), strict=True))
    return {names[y]: x for x, y in marks(figure.axes[panel])}


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
    with pytest.raises(NotApplicable, match="no pull of length or style is defined"):
        draw("bias-pull", nothing.assign(reason=None))


def test_every_bin_and_interval_is_drawn_against_the_diagonal() -> None:
    rows = shown("reliability")
    bins, summary = of(rows, part="bin"), of(rows, part="summary").set_index("judge")
    figure = draw("reliability", rows)
    assert [names for names, _ in figure.boxes()] == [{"judge": judge} for judge in JUDGES]
    for axes, judge in zip(figure.axes, JUDGES, strict=False):
        own = of(bins, judge=judge)
        np.testing.assert_array_equal(marks(axes), own[["confidence", "accuracy"]])
        ends = [[span[0, 0], span[0, 1], span[1, 1]] for span in spans(axes)]
        np.testing.assert_array_equal(ends, own.dropna(subset="low")[["confidence", "low", "high"]])
        np.testing.assert_array_equal(marks(axes, "calibrated"), [[0.5, 0.5], [1, 1]])
        shares = np.array([patch.get_height() for patch in axes.patches])
        np.testing.assert_allclose(shares / shares.sum(), own["n"].astype(float) / own["n"].sum())
        n, error = summary.loc[judge, ["n", "ece_debiased"]]
        assert axes.get_title().endswith(f"n {n:,.0f}, ECE {100 * error:.1f}")
    alone = draw("reliability", rows[rows["part"].eq("summary") | rows["judge"].eq("j2")])
    assert [axes.get_title().split("\n")[0] for axes in alone.axes if axes.axison] == ["j2"]


def test_marked_points_are_those_that_pass_or_of_which_nobody_can_tell() -> None:
    passing = shown("ceiling-alternative")
    passing["passes"] = pd.array([True, False, pd.NA], dtype="boolean")
    [axes] = draw("ceiling-alternative", passing).axes
    assert known(marks(axes, "beside"))[:, 0].tolist() == [passing["advantage_probability"][0]]
    rows = shown("ceiling-distances").assign(verdict=["above", "cannot tell", "cannot tell"])
    rows.loc[2, ["verdict", "difference"]] = [None, np.nan]
    figure = draw("ceiling-distances", rows)
    [axes] = figure.axes
    assert known(marks(axes, "beside"))[:, 0].tolist() == [rows["difference"][1]]
    assert any(set(line.get_xdata()) == {0.0} for line in axes.get_lines() if len(line.get_xdata()))
    assert not axes.get_legend() and len(figure.legends) == 1
    assert not draw("ceiling-distances", rows.assign(verdict="below")).legends


def test_sizes_draw_the_curve_and_every_jury() -> None:
    rows = shown("jury-sizes")
    figure = draw("jury-sizes", rows)
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
    with pytest.raises(NotApplicable, match="time is not recorded for every judge"):
        draw("jury-cost", rows.assign(seconds=rows["seconds"].mask(rows["part"] == "jury")))


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


def test_predictions_have_a_row_a_judge() -> None:
    rows, ends = shown("transfer-predictions"), ["prediction_low", "prediction_high"]
    is_summary = rows["part"].eq("summary")
    rows.loc[rows["judge"].eq("j1") & is_summary, ["accuracy", "low", "prediction_low"]] = np.nan
    rows.loc[rows["judge"].eq("j2") & is_summary, ends] = [0.5, 0.9]
    [axes] = draw("transfer-predictions", rows, JUDGES[::-1]).axes
    assert sorted(known(marks(axes, "summary"))[:, 0]) == sorted(rows.loc[is_summary, "accuracy"].dropna())
    assert len(marks(axes)) == len(of(rows, part="domain"))
    bands = rows[is_summary].set_index("judge").loc[list(JUDGES[::-1])].dropna(subset="prediction_low")
    assert [band[:, 0].tolist() for band in spans(axes, "prediction")] == bands[ends].to_numpy().tolist()
    assert [text.get_gid() for text in axes.texts].count("not-available") == 1


def test_judges_and_cases_share_a_scale() -> None:
    rows = shown("models-difficulty")
    rows.loc[rows.index[rows["part"] == "case"][0], "difficulty"] = np.nan
    cases, judges = of(rows, part="case"), of(rows, part="judge").sort_values("ability", ascending=False)
    n = int(cases["difficulty"].notna().sum())
    above, below = draw("models-difficulty", rows, ()).axes
    assert above.get_xlim() == below.get_xlim()
    assert sum(patch.get_height() for patch in above.patches) == n
    assert f"{n} cases, {len(cases) - n} n/a" in above.get_title()
    np.testing.assert_allclose(marks(below)[:, 0], judges["ability"])
    assert ticks(below) == judges["judge"].tolist()
    assert below.get_ylim()[0] > below.get_ylim()[1]


def test_every_case_is_a_point_coloured_by_suspicion() -> None:
    rows = shown("models-suspicion").dropna(subset=["suspicion", "discrimination"]).sort_values("suspicion")
    drawn = draw("models-suspicion", rows)
    points = next(c for c in drawn.axes[0].collections if c.get_gid() == "cases")
    np.testing.assert_allclose(points.get_offsets(), rows[["accuracy", "discrimination"]])
    np.testing.assert_allclose(points.get_array(), rows["suspicion"])
    assert (np.diff(points.get_sizes()) >= 0).all() and np.ptp(points.get_sizes()) > 0
    assert [names for names, _ in drawn.boxes()] == [{"row": "suspect"}]


def test_a_cell_holds_delta_class_and_significance() -> None:
    rows = of(shown("models-dif"), judge="j1", subfield="eye")
    rows = pd.concat([rows.assign(judge=judge, subfield=part) for judge in ("a", "b") for part in ("eye", "lung")])
    rows = rows.assign(ets_delta=[-2.3, 0.04, np.nan, 1.2], ets_class=["C", "A", None, "B"])
    axes = draw("models-dif", rows.assign(p_adjusted=[0.01, 0.9, np.nan, 0.2]), ()).axes[0]
    drawn = sorted((t.get_position()[::-1], t.get_text()) for t in axes.texts if t.get_gid() == "cell")
    assert [text for _, text in drawn] == ["\u22122.3 C*", "0.0", "n/a", "+1.2 B"]
    norm = next(c for c in axes.collections if c.get_gid() == "cells").norm
    assert norm.vcenter == 0
    assert 2.3 <= norm.vmax == -norm.vmin


def in_order(points: np.ndarray) -> np.ndarray:
    """What points say, from the first row to the last."""
    return points[np.argsort(points[:, 1]), 0]


def test_both_intervals_and_the_truth_are_drawn_of_the_judges_that_help_most() -> None:
    rows = shown("ppi-win-rates")
    rows["expected_label_saving"] = rows["judge"].map({"j1": 0.1, "j2": 0.3, "j3": 0.5})
    rows["full_estimate"] = rows["responder"].map({"j1": 0.2, "m2": 0.9, "m3": np.nan})
    other = rows.assign(part="estimate", expected_label_saving=1 - rows["expected_label_saving"])
    figure = draw("ppi-win-rates", pd.concat([other, rows], ignore_index=True))
    assert [axes.get_title() for axes in figure.axes] == ["j3", "j2"]
    axes, own = figure.axes[0], of(rows, judge="j3").dropna(subset="responder").set_index("responder")
    assert ticks(axes) == ["m2", "j1", "m3"]
    own = own.loc[["m2", "j1", "m3"]]
    for gid, column in (("estimates", "estimate"), ("classical", "classical_estimate"), ("full", "full_estimate")):
        np.testing.assert_allclose(in_order(marks(axes, gid)), own[column])
    ends = sorted((span[0, 0], span[1, 0]) for span in spans(axes, "classical-intervals"))
    np.testing.assert_allclose(ends, sorted(own[["classical_low", "classical_high"]].to_numpy().tolist()))


def test_every_strength_and_interval_is_drawn_beside_the_annotators() -> None:
    rows = shown("responder-strengths")
    figure = draw("responder-strengths", rows, ["j3", "unseen", "j1"])
    strengths = of(rows, part="strength")
    gold = of(strengths, source="gold").sort_values("strength", ascending=False)
    assert ticks(figure.axes[0]) == gold["responder"].tolist()
    for axes, judge in zip(figure.axes, ["j3", "j1"], strict=True):
        assert (axes.get_title(), axes.get_xscale()) == (judge, "log")
        own = of(strengths, judge=judge).set_index("responder").loc[gold["responder"]]
        for gid, expected in (("annotators", gold), ("judge", own)):
            np.testing.assert_allclose(in_order(marks(axes, gid)), expected["strength"])
            found = sorted((span[0, 1], span[0, 0], span[1, 0]) for span in spans(axes, f"{gid}-intervals"))
            np.testing.assert_allclose([item[1:] for item in found], expected[["low", "high"]])


def test_confusions_are_the_frame_and_more_labels_leave_the_intervals_out() -> None:
    rows = shown("gold-confusion")
    ends = ["probability", "probability_low", "probability_high"]
    first = rows["annotator"].eq("a") & rows["part"].eq("confusion")
    rows.loc[first & rows["gold"].eq("tie"), ends] = np.nan
    cells = texts(draw("gold-confusion", rows).axes[0], "cell")
    assert cells[6:] == ["n/a"] * 3
    assert cells[:6] == [
        f"{round(100 * p)}\n{round(100 * low)} to {round(100 * high)}"
        for p, low, high in rows.loc[first, ends].iloc[:6].itertuples(index=False)
    ]
    one = rows[first].head(1)
    graded = [one.assign(gold=gold, label=label) for gold, label in product("12345", repeat=2)]
    drawn = draw("gold-confusion", pd.concat([rows[~first & rows["annotator"].eq("a")], *graded])).axes[0]
    assert len(texts(drawn, "cell")) == 25 and all("to" not in text for text in texts(drawn, "cell"))


def test_ranks_are_the_frame_in_the_order_of_the_report() -> None:
    rows, order = shown("gold-ranks"), JUDGES[::-1]
    axes = draw("gold-ranks", rows, [*order, "another"]).axes[0]
    rules = list(dict.fromkeys(of(rows, part="rule")["rule"]))
    assert ticks(axes) == list(order)
    own = of(rows, part="rule").set_index(["judge", "rule"])["rank"]
    drawn = [rule for rule in rules if own.xs(rule, level="rule").notna().any()]
    assert texts(axes, "cell") == [str(own[judge, rule]) for judge in order for rule in drawn]
    moved = np.asarray(axes.collections[0].get_array(), dtype=float).reshape(len(order), len(drawn))
    assert moved[0].tolist() == [own[order[0], "majority"] - own[order[0], rule] for rule in drawn]
    taus = of(rows, part="ranking").set_index("rule")["kendall_tau"]
    named = [text.get_text().split("\n")[1] for text in axes.get_xticklabels()]
    assert named == [f"\u03c4 = {taus[rule]:.2f}" if pd.notna(taus[rule]) else "\u03c4 = n/a" for rule in drawn]


def test_a_judge_without_a_rank_is_marked_and_one_judge_has_none() -> None:
    rows = shown("gold-ranks")
    rows.loc[rows["judge"].eq(JUDGES[0]) & rows["rule"].eq("posterior"), ["rank", "accuracy"]] = [pd.NA, np.nan]
    assert "n/a" in texts(draw("gold-ranks", rows).axes[0], "cell")
    with pytest.raises(NotApplicable, match="one judge"):
        draw("gold-ranks", of(rows, judge="j1"))


def coefficients(axes: Axes) -> dict[str, list[float]]:
    return {line.get_gid(): list(line.get_xdata()) for line in axes.lines if line.get_gid()}


def test_each_coefficient_of_agreement_is_drawn_and_an_undefined_one_is_named() -> None:
    rows = pd.concat([shown("agreement-dimensions").assign(dimension=name) for name in ("accuracy", "overall")])
    rows = rows.reset_index(drop=True).assign(linear_kappa=[0.5, np.nan], icc_2_1=np.nan)
    rows = rows.assign(linear_kappa_low=rows["linear_kappa"] - 0.1, linear_kappa_high=rows["linear_kappa"] + 0.1)
    rows.loc[1, ["fleiss_kappa", "fleiss_kappa_low", "fleiss_kappa_high"]] = np.nan
    axes = draw("agreement-dimensions", rows).axes[0]
    drawn = coefficients(axes)
    for name in (*agreement.COEFFICIENTS, "linear_kappa"):
        assert drawn[name] == rows[name].dropna().tolist()
    assert "icc_2_1" not in drawn, "no dimension has any"
    assert sorted(texts(axes)) == ["Fleiss\u2019 kappa: n/a", "linear kappa, mean of pairs: n/a"]
    nothing = rows.assign(**dict.fromkeys(rows.select_dtypes(float).columns, np.nan)).tail(1)
    assert len(texts(draw("agreement-dimensions", nothing).axes[0])) == len(agreement.COEFFICIENTS)


def test_of_many_annotators_those_who_share_most_are_drawn_on_one_dimension() -> None:
    people = [f"p{i:02d}" for i in range(14)]
    pairs = pd.DataFrame(combinations(people, 2), columns=["annotator_1", "annotator_2"])
    pairs = pairs.assign(cohen_kappa=np.linspace(0.4, 0.9, len(pairs)), dimension="overall")
    pairs = pairs.assign(cohen_kappa_low=pairs["cohen_kappa"] - 0.04, cohen_kappa_high=pairs["cohen_kappa"] + 0.04)
    rare = pairs[["annotator_1", "annotator_2"]].isin(people[2:6]).any(axis=1)
    panel, _ = draw("agreement-pairs", beside_others(pairs.assign(n_cases=np.where(rare, 30, 60)))).axes
    assert [text.get_text() for text in panel.get_xticklabels()] == [*people[:2], *people[6:-1]]
    drawn = sorted(text.split("\n")[0] for text in texts(panel, "cell"))
    assert drawn == sorted(f"{kappa:.2f}"[1:] for kappa in pairs.loc[~rare, "cohen_kappa"])


def test_gains_are_filled_where_they_are_significant() -> None:
    count = 7
    gain = np.linspace(0.1, -0.05, count)
    table = pd.concat([shown("gains").assign(tuned=f"tuned-{i}") for i in range(count)], ignore_index=True)
    table = table.assign(gain=gain, low=gain - 0.04, high=gain + 0.04, p_adjusted=np.where(abs(gain) > 0.04, 0.01, 0.5))
    table.loc[count - 1, ["accuracy_base", "accuracy_tuned", "gain", "low", "high", "p_adjusted"]] = np.nan
    drawn = draw("gains", table)
    left, right = drawn.axes
    rows = table.dropna(subset="gain")
    for gid, column in (("base", "accuracy_base"), ("tuned", "accuracy_tuned")):
        assert marks(left, gid)[: len(rows), 0] == pytest.approx(rows[column])
    assert known(marks(right, "not-shown"))[:, 0] == pytest.approx(rows.loc[rows["p_adjusted"] > 0.05, "gain"])


def probed() -> pd.DataFrame:
    """Two judges under blur of two steps and without the image; j1 breaks what is expected of it."""
    made = shown("probe-severity")
    made = made[made["judge"].isin(["j1", "j2"]) & made["probe"].isin(["image/blur", "image/removed"])].copy()
    made["kept_expectation"] = made["judge"].ne("j1").astype("boolean")
    for name, value in zip(("changed", "changed_low", "changed_high"), (0.2, 0.15, 0.25), strict=True):
        made[name] = value * made["severity"].fillna(1).astype(float)
    unknown = {"probe": "their/own", "severity": None, "expected": None, "kept_expectation": None}
    return pd.concat([made, copied(made.head(1), "judge", ["j1"]).assign(**unknown)])


def test_the_profile_shows_the_highest_severity_and_frames_what_is_not_kept() -> None:
    for judges, order, broken in (((), ["j1", "j2"], 0.0), (["not-probed", "j2", "j1"], ["j2", "j1"], 1.0)):
        axes = draw("probe-profile", probed(), judges).axes[0]
        assert [text.get_text() for text in axes.get_xticklabels()] == order
        framed = {tuple(np.floor(patch.get_xy())) for patch in axes.patches if patch.get_gid() == "broken"}
        assert framed == {(broken, 0.0), (broken, 1.0)}
    assert ticks(axes) == ["image/blur (same)", "image/removed (worse)", "their/own (?)"]
    written = [text.get_text() for text in axes.texts]
    assert written[:2] == ["40\n30\u201350"] * 2
    assert written.count("n/a") == 1


def test_severities_are_drawn_as_a_line_a_judge() -> None:
    [axes] = draw("probe-severity", probed()).axes
    drawn = [line.get_ydata() for line in axes.get_lines() if line.get_gid() == "values"]
    np.testing.assert_allclose(drawn, [[0.2, 0.4]] * 2)
    with pytest.raises(NotApplicable, match="no probe of these verdicts has several steps"):
        draw("probe-severity", of(probed(), probe="image/removed"))


def rated() -> pd.DataFrame:
    """Two judges on two dimensions, and rows of a subfield that are not drawn."""
    index = pd.MultiIndex.from_product([["j1", "j2"], ["other", "overall"]], names=["judge", "dimension"])
    rows = index.to_frame(index=False).assign(subfield=None, part="rating")
    for i, name in enumerate((*ratings.NEARNESS, *ratings.SAFETY, "mean_difference")):
        rows[name] = 0.1 + 0.02 * i + 0.2 * np.arange(len(rows))
        rows[f"{name}_low"], rows[f"{name}_high"] = rows[name] - 0.05, rows[name] + 0.05
    rows.loc[0, ["mean_difference", "mean_difference_low", "mean_difference_high"]] = np.nan
    return pd.concat([rows, rows.assign(subfield="lung", exact=0.9)], ignore_index=True)


@pytest.mark.parametrize(
    ("draw_it", "measures"),
    [(ratings.rating_agreement, ratings.NEARNESS), (ratings.rating_safety, ratings.SAFETY)],
    ids=["agreement", "safety"],
)
def test_measures_of_ratings_have_a_panel_each(
    draw_it: Callable[..., Figure], measures: dict[str, str], flaws: Flaws
) -> None:
    figure = draw_it(rated(), dimension="overall", judges=["j2", "j1"])
    own = of(rated(), dimension="overall").query("subfield.isna()").set_index("judge").loc[["j2", "j1"]]
    for axes, name in zip(figure.axes, measures, strict=True):
        assert marks(axes)[:, 0].tolist() == own[name].tolist()
    assert ticks(figure.axes[0]) == ["j2", "j1"]
    assert flaws(figure) == []


def test_leniency_has_a_panel_per_dimension(flaws: Flaws) -> None:
    figure = ratings.rating_leniency(rated(), dimension="overall", judges=["j1", "j2"])
    whole = rated().query("subfield.isna()").dropna(subset="mean_difference")
    for axes, name in zip(figure.axes, ("other", "overall"), strict=True):
        assert marks(axes)[:, 0].tolist() == of(whole, dimension=name)["mean_difference"].tolist()
    assert [len(texts(axes)) for axes in figure.axes] == [1, 0]
    assert flaws(figure) == []


ENDS = ["decisive_accuracy", "decisive_accuracy_low", "decisive_accuracy_high"]


def board() -> pd.DataFrame:
    """The rows of the leaderboard, on two dimensions."""
    return beside_others(shown("leaderboard"))


def panel(figure: Figure, title: str) -> Axes:
    return next(axes for axes in figure.axes if axes.get_title() == title)


def test_leaderboard_draws_every_value_and_interval_of_the_ranking_quantity() -> None:
    figure = draw("leaderboard", board())
    for dimension in ("accuracy", "overall"):
        axes = panel(figure, dimension.title())
        place = dict(zip(ticks(figure.axes[0]), axes.get_yticks(), strict=True))
        drawn = {y: x for x, y in marks(axes)}
        bars = {segment[0, 1]: (segment[0, 0], segment[1, 0]) for segment in spans(axes)}
        for row in of(board(), dimension=dimension, kind="judge").itertuples():
            assert drawn[place[row.judge]] == row.decisive_accuracy
            assert bars[place[row.judge]] == (row.decisive_accuracy_low, row.decisive_accuracy_high)
        assert any(list(line.get_xdata()) == [0.5, 0.5] for line in axes.lines)


def test_leaderboard_of_ratings_draws_accuracy_without_a_line() -> None:
    rows = shown("leaderboard").assign(**dict.fromkeys(ENDS, np.nan))
    axes = draw("leaderboard", rows).axes[0]
    assert sorted(marks(axes)[:, 0]) == sorted(of(rows, kind="judge")["accuracy"])
    assert not any(list(line.get_xdata()) == [0.5, 0.5] for line in axes.lines)


def test_a_missing_value_or_interval_is_drawn_as_missing() -> None:
    judged = of(shown("leaderboard"), kind="judge").reset_index(drop=True)
    judged.loc[1, ENDS] = np.nan
    axes = draw("leaderboard", judged).axes[0]
    assert (len(marks(axes)), texts(axes)) == (2, ["n/a"])
    assert 0 not in marks(axes)[:, 0]
    axes = draw("leaderboard", judged.assign(**dict.fromkeys(ENDS[1:], np.nan))).axes[0]
    assert (len(marks(axes)), spans(axes)) == (2, [])
    unasked = of(board(), kind="judge").iloc[:-1]
    assert texts(panel(draw("leaderboard", unasked), "Accuracy")) == ["n/a"], "not asked about a dimension"


def test_heatmap_cells_hold_the_values_and_heads_their_numbers_of_cases() -> None:
    rows = shown("subfields").replace({"subfield": {"lung": "oral_cavity"}})
    rows = rows[rows["kind"].eq("judge")].reset_index(drop=True)
    gone = rows["judge"].eq("j2") & rows["subfield"].eq("oral_cavity")
    rows.loc[gone, ["accuracy", "low", "high"]] = np.nan
    rows["n"] = rows["n"].astype(float).mask(gone, 5)
    axes = draw("subfields", rows).axes[0]
    mesh = next(c for c in axes.collections if c.get_gid() == "cells")
    drawn = np.ma.filled(mesh.get_array().astype(float), np.nan).reshape(3, 2)
    expected = rows.pivot(index="judge", columns="subfield", values="accuracy").loc[ticks(axes), ["eye", "oral_cavity"]]
    np.testing.assert_array_equal(drawn, expected)
    assert len([patch for patch in axes.patches if patch.get_gid() == "not-available"]) == 1
    cells = texts(axes, "cell")
    assert cells.count("n/a") == 1
    first = of(rows, judge=ticks(axes)[0], subfield="eye").iloc[0]
    assert cells[0] == f"{100 * first.accuracy:.0f}\n{100 * first.low:.0f}\u2013{100 * first.high:.0f}"
    n = rows.groupby("subfield")["n"].max()
    heads = [f"Eye\nn = {n['eye']:.0f}", f"Oral cavity\nn = 5\u2013{n['oral_cavity']:.0f}"]
    assert [label.get_text() for label in axes.get_xticklabels()] == heads
