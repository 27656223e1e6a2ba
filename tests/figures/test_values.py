"""What is drawn is what the frame says: read back from the figure."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mrb_lib.figures import accuracy as accuracies
from mrb_lib.figures import agreement, composition, consistency, gallery, significance
from mrb_lib.figures.accuracy import leaderboard
from mrb_lib.figures.style import SERIES
from mrb_lib.tables.errors import NotApplicable
from mrb_lib.tables.schema import ORDERS, POLICIES
from tests.stats.small_tables import rows_of

JUDGES = ["alpha", "beta", "gamma"]


def texts(axes: Axes, gid: str) -> list[str]:
    return [text.get_text() for text in axes.texts if text.get_gid() == gid]


def points(axes: Axes, gid: str = "values") -> np.ndarray:
    line = next(line for line in axes.lines if line.get_gid() == gid)
    return np.column_stack([line.get_xdata(), line.get_ydata()]).astype(float)


def rows(axes: Axes) -> list[str]:
    return [label.get_text() for label in axes.get_yticklabels()]


def panel(figure: Figure, title: str) -> Axes:
    return next(axes for axes in figure.axes if axes.get_title() == title)


def test_leaderboard_draws_every_value_and_interval(frames) -> None:
    accuracy, ceiling = frames.accuracy(JUDGES, ["accuracy", "overall"]), frames.ceiling(["accuracy", "overall"])
    figure = leaderboard(accuracy, ceiling=ceiling)
    for dimension in ("accuracy", "overall"):
        axes = panel(figure, dimension.title())
        place = dict(zip(rows(figure.axes[0]), axes.get_yticks(), strict=True))
        expected = accuracy[accuracy["dimension"] == dimension]
        drawn = {y: x for x, y in points(axes)}
        spans = next(c for c in axes.collections if c.get_gid() == "intervals").get_segments()
        bars = {segment[0, 1]: (segment[0, 0], segment[1, 0]) for segment in spans}
        for row in expected.itertuples():
            assert drawn[place[row.judge]] == row.accuracy
            assert bars[place[row.judge]] == (row.low, row.high)
        reference = next(line for line in axes.lines if line.get_gid() == "reference")
        assert reference.get_xdata()[0] == ceiling.set_index("dimension")["accuracy"][dimension]


def test_leaderboard_orders_by_group_then_value(frames) -> None:
    accuracy = pd.DataFrame(
        {
            "judge": ["a", "b", "c", "d"],
            "dimension": "overall",
            "accuracy": [0.4, 0.9, np.nan, 0.6],
            "low": np.nan,
            "high": np.nan,
            "group": ["open", "heuristic", "heuristic", "open"],
        }
    )
    axes = leaderboard(accuracy, group="group").axes[0]
    shown = sorted(zip(axes.get_yticks(), rows(axes), strict=True))
    assert [name for _, name in shown] == ["Heuristic", "b", "c", "Open", "d", "a"]


def test_a_missing_value_is_drawn_as_missing(frames) -> None:
    accuracy = frames.accuracy(JUDGES, ["overall"])
    accuracy.loc[1, ["accuracy", "low", "high"]] = np.nan
    axes = leaderboard(accuracy).axes[0]
    assert len(points(axes)) == 2
    assert texts(axes, "not-available") == ["n/a"]
    assert 0 not in points(axes)[:, 0]


def test_a_judge_that_was_not_asked_about_a_dimension_is_missing_there(frames) -> None:
    accuracy = frames.accuracy(JUDGES, ["accuracy", "overall"]).iloc[1:]
    assert texts(panel(leaderboard(accuracy), "Accuracy"), "not-available") == ["n/a"]


def test_a_value_without_interval_is_drawn_without_one(frames) -> None:
    accuracy = frames.accuracy(JUDGES, ["overall"]).assign(low=np.nan, high=np.nan)
    axes = leaderboard(accuracy).axes[0]
    assert len(points(axes)) == 3
    assert not next(c for c in axes.collections if c.get_gid() == "intervals").get_segments()


def test_position_bias_has_a_line_at_zero_and_signs_survive() -> None:
    frame = pd.DataFrame(
        {
            "judge": ["x"],
            "dimension": "overall",
            "position_bias": -0.4,
            "position_bias_low": -0.5,
            "position_bias_high": -0.3,
        }
    )
    axes = consistency.position_bias(frame).axes[0]
    assert points(axes)[0, 0] == -0.4
    assert any(list(line.get_xdata()) == [0.0, 0.0] for line in axes.lines)


def best_first(accuracy: pd.DataFrame) -> list[str]:
    return accuracy[accuracy["subfield"].isna()].sort_values("accuracy", ascending=False)["judge"].tolist()


def test_heatmap_cells_hold_the_values(frames) -> None:
    organs = ["brain", "lung", "oral_cavity"]
    accuracy = frames.accuracy(JUDGES, ["overall"], organs)
    gone = (accuracy["judge"] == "beta") & (accuracy["subfield"] == "lung")
    accuracy.loc[gone, ["accuracy", "low", "high"]] = np.nan
    axes = accuracies.heatmap(accuracy).axes[0]
    mesh = next(c for c in axes.collections if c.get_gid() == "cells")
    drawn = np.ma.filled(mesh.get_array().astype(float), np.nan).reshape(3, 3)
    expected = accuracy.pivot(index="judge", columns="subfield", values="accuracy").loc[best_first(accuracy), organs]
    np.testing.assert_array_equal(drawn, expected)
    assert len([patch for patch in axes.patches if patch.get_gid() == "not-available"]) == 1
    cells = texts(axes, "cell")
    assert cells.count("n/a") == 1
    best = accuracy["judge"] == best_first(accuracy)[0]
    first = accuracy[best & accuracy["subfield"].notna()].iloc[0]
    assert cells[0] == f"{100 * first.accuracy:.0f}\n{100 * first.low:.0f}\u2013{100 * first.high:.0f}"
    assert [label.get_text().split("\n")[0] for label in axes.get_xticklabels()] == ["Brain", "Lung", "Oral cavity"]


def test_heatmap_says_where_judges_were_scored_on_different_numbers_of_cases(frames) -> None:
    accuracy = frames.accuracy(JUDGES, ["overall"], ["brain", "eye", "lung"])
    accuracy["n"] = [9, 5, np.nan, 7, 9, 5, np.nan, 8, 9, 5, np.nan, 6]
    axes = accuracies.heatmap(accuracy).axes[0]
    heads = [label.get_text().split("\n")[1] for label in axes.get_xticklabels()]
    assert heads == ["n = 5", "n = 0", "n = 6\u20138"]


def test_radar_breaks_where_a_value_is_missing(frames) -> None:
    organs = ["brain", "eye", "foot", "lung"]
    accuracy = frames.accuracy(JUDGES, ["overall"], organs)
    accuracy.loc[(accuracy["judge"] == "alpha") & (accuracy["subfield"] == "eye"), "accuracy"] = np.nan
    figure = accuracies.radar(accuracy)
    radius = points(panel(figure, "alpha"))[:, 1]
    expected = accuracy[(accuracy["judge"] == "alpha") & accuracy["subfield"].notna()]["accuracy"].to_numpy()
    np.testing.assert_array_equal(radius, [*expected, expected[0]])
    assert np.isnan(radius[1])
    assert len(points(panel(figure, "alpha"), "not-available")) == 1
    assert len(points(panel(figure, "beta"), "not-available")) == 0


def test_radar_refuses_what_it_cannot_show(frames) -> None:
    accuracy = frames.accuracy(JUDGES, ["overall"], ["brain", "lung"])
    with pytest.raises(ValueError, match="needs 3 subfields"):
        accuracies.radar(accuracy)


def test_radar_shows_the_best_judges(frames) -> None:
    many = frames.judges(len(SERIES) + 1)
    accuracy = frames.accuracy(many, ["overall"], JUDGES)
    shown = [axes.get_title() for axes in accuracies.radar(accuracy).axes]
    assert shown == best_first(accuracy)[: len(SERIES)]


def test_differences_change_sign_across_the_diagonal() -> None:
    pairs = pd.DataFrame(
        {
            "judge_1": ["alpha"],
            "judge_2": ["beta"],
            "difference": [0.12],
            "low": [0.05],
            "high": [0.2],
            "p_adjusted": [0.03],
        }
    )
    for judges, expected in ((["alpha", "beta"], ["+12\n5 to 20", "\u221212\n\u221220 to \u22125"]),
                             (["beta", "alpha"], ["\u221212\n\u221220 to \u22125", "+12\n5 to 20"])):  # fmt: skip
        axes = significance.differences(pairs, judges=judges).axes[0]
        assert texts(axes, "cell") == expected


def test_many_judges_get_a_dot_where_the_interval_leaves_out_zero() -> None:
    judges = [f"j{i:02d}" for i in range(14)]
    rows = [(a, b, 0.1, 0.05 if b == "j13" else -0.05, 0.2) for i, a in enumerate(judges) for b in judges[i + 1 :]]
    pairs = pd.DataFrame(rows, columns=["judge_1", "judge_2", "difference", "low", "high"])
    assert len(texts(significance.differences(pairs, judges=judges).axes[0], "cell")) == 2 * 13


@pytest.mark.parametrize("policy", POLICIES)
def test_the_name_of_the_test_is_that_of_the_test_that_was_made(policy: str) -> None:
    ids = ["c0", "c1", "c2"]
    said = [
        (judge, case, "overall", order, "AB"[i]) for i, judge in enumerate("xy") for case in ids for order in ORDERS
    ]
    verdicts = pd.DataFrame(said, columns=["judge", "case_id", "dimension", "order", "choice"])
    gold = pd.DataFrame({"case_id": ids, "dimension": "overall", "choice": "A"})
    made = rows_of("significance", pd.DataFrame({"case_id": ids}), verdicts, gold, policy=policy, resamples=0)["test"]
    kind = "permutation tests of the mean difference" if policy in ("balanced", "answered") else "McNemar tests"
    assert kind in significance.TESTS[made.iloc[0]]


def test_p_values_are_written_and_undefined_ones_hatched() -> None:
    pairs = pd.DataFrame(
        {"judge_1": ["a", "a", "b"], "judge_2": ["b", "c", "c"], "p_adjusted": [0.00001, 0.043, np.nan]}
    )
    axes = significance.p_values(pairs, judges=["a", "b", "c"]).axes[0]
    assert texts(axes, "cell") == ["<.001", ".043", "n/a"]
    assert len([patch for patch in axes.patches if patch.get_gid() == "not-available"]) == 1


def test_agreement_draws_each_coefficient_and_says_which_is_undefined(frames) -> None:
    frame = frames.agreement(["accuracy", "overall"])
    frame.loc[1, ["fleiss_kappa", "fleiss_kappa_low", "fleiss_kappa_high"]] = np.nan
    axes = agreement.coefficients(frame).axes[0]
    np.testing.assert_array_equal(points(axes, "gwet_ac1")[:, 0], frame["gwet_ac1"])
    assert len(points(axes, "fleiss_kappa")) == 1
    assert texts(axes, "not-available") == ["Fleiss\u2019 kappa: n/a"]


def test_annotator_pairs_ignore_the_order_of_the_two() -> None:
    frame = pd.DataFrame(
        {
            "dimension": "overall",
            "annotator_1": ["c", "a"],
            "annotator_2": ["a", "b"],
            "n_cases": 10,
            "cohen_kappa": [0.5, -0.25],
            "cohen_kappa_low": [0.4, -0.5],
            "cohen_kappa_high": [0.6, 0.0],
        }
    )
    axes = agreement.pairs(frame, annotators=["a", "b", "c"]).axes[0]
    assert texts(axes, "cell") == ["\u2212.25\n\u2212.50 to .00\nn = 10", ".50\n.40 to .60\nn = 10", "n/a"]


def test_bars_keep_the_cases_that_state_nothing() -> None:
    counts = pd.DataFrame({"organ": ["lung", None, "brain"], "n_cases": [3, 7, 5]})
    axes = composition.bars(counts, by="organ").axes[0]
    assert rows(axes) == ["Brain", "Lung", "not stated"]
    assert [bar.get_width() for bar in axes.patches] == [5, 3, 7]
    assert [bool(bar.get_hatch()) for bar in axes.patches] == [False, False, True]


def test_lengths_reach_one_at_the_longest() -> None:
    frame = pd.DataFrame({"side": ["A"] * 3 + ["B"], "words": [1, 5, 10, 4]})
    axes = composition.lengths(frame).axes[0]
    first = next(line for line in axes.lines if line.get_label() == "response A")
    assert first.get_xdata()[-1] == 10
    assert first.get_ydata()[-1] == 1


def test_gallery_says_when_an_image_cannot_be_shown(frames) -> None:
    cards = frames.cards(3, "x.png")
    cards["images"] = [["gone.png"], ["broken.png"], []]
    figure = gallery.cards(cards, images={"broken.png": b"not an image"})
    said = [text.get_text() for axes in figure.axes for text in axes.texts]
    assert {"image file missing", "image unreadable", "no image"} <= set(said)


def test_gallery_draws_the_verdicts_and_the_gold_label(frames) -> None:
    cards = frames.cards(2, "x.png").assign(tie=0, images=[[], []], organ=None)
    figure = gallery.cards(cards, images={})
    legend = [text.get_text() for text in figure.legends[0].get_texts()]
    assert legend == ["A", "B", "gold label"]  # no tie, and no verdict without a choice
    for (_, card), axes in zip(cards.iterrows(), figure.axes[1::2], strict=True):
        shares = [card[name] / (card["A"] + card["B"]) for name in ("A", "B")]
        assert [bar.get_width() for bar in axes.patches] == pytest.approx(shares)
        gold = next(line for line in axes.lines if line.get_gid() == "gold").get_xdata()
        assert list(gold) == pytest.approx([0, shares[0]] if card["gold"] == "A" else [shares[0], 1])
        assert any(f"gold label: {card['gold']} (2 of 3 annotators)" in text.get_text() for text in axes.texts)
    only = gallery.cards(cards.assign(n_annotators=1, votes_gold=1), images={})
    assert any("(the only label)" in text.get_text() for text in only.axes[1].texts)


def test_gallery_cuts_a_text_visibly_or_not_at_all(frames, flaws) -> None:
    cards = frames.cards(2, "x.png").assign(
        response_a=["A short answer.", "Many words " * 200], response_b="WIDE CAPITALS MMM " * 40
    )
    figure = gallery.cards(cards, images={})
    first, second = (" ".join(text.get_text() for text in axes.texts[:6]) for axes in figure.axes[1::2])
    assert not flaws(figure)
    assert "A short answer." in first
    assert "[...]" not in first
    assert "Many words [...]" in " ".join(second.split())


@pytest.mark.parametrize("lacking", ["response_b", "A"])
def test_gallery_of_cases_that_are_no_pairs_does_not_apply(frames, lacking: str) -> None:
    cards = frames.cards(2, "x.png")
    with pytest.raises(NotApplicable, match="two responses"):
        gallery.cards(cards.drop(columns=lacking), images={})
    with pytest.raises(NotApplicable, match="two responses"):
        gallery.cards(cards.head(0), images={})
