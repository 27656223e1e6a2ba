"""What is drawn is what the frame says: read back from the figure."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mrb_lib.figures import accuracy as accuracies
from mrb_lib.figures import gallery
from mrb_lib.figures.accuracy import leaderboard
from mrb_lib.tables.errors import NotApplicable
from tests.figures.read import marks, spans, texts

JUDGES = ["alpha", "beta", "gamma"]


def rows(axes: Axes) -> list[str]:
    return [label.get_text() for label in axes.get_yticklabels()]


def panel(figure: Figure, title: str) -> Axes:
    return next(axes for axes in figure.axes if axes.get_title() == title)


def leading(accuracy: pd.DataFrame) -> pd.DataFrame:
    """As the table `accuracy` has it: the ranking quantity beside the accuracy, judges and one reference."""
    decisive = {f"decisive_accuracy{end}": accuracy[of] - 0.01 for end, of in
                (("", "accuracy"), ("_low", "low"), ("_high", "high"))}  # fmt: skip
    judged = accuracy.assign(kind="judge", **decisive)
    return pd.concat([judged, judged.head(1).assign(judge="longer response", kind="reference")], ignore_index=True)


def test_leaderboard_draws_every_value_and_interval_of_the_ranking_quantity(frames) -> None:
    accuracy = leading(frames.accuracy(JUDGES, ["accuracy", "overall"]))
    figure = leaderboard(accuracy, dimension="overall")
    for dimension in ("accuracy", "overall"):
        axes = panel(figure, dimension.title())
        place = dict(zip(rows(figure.axes[0]), axes.get_yticks(), strict=True))
        drawn = {y: x for x, y in marks(axes)}
        ends = spans(axes)
        bars = {segment[0, 1]: (segment[0, 0], segment[1, 0]) for segment in ends}
        for row in accuracy[(accuracy["dimension"] == dimension) & (accuracy["kind"] == "judge")].itertuples():
            assert drawn[place[row.judge]] == row.decisive_accuracy
            assert bars[place[row.judge]] == (row.decisive_accuracy_low, row.decisive_accuracy_high)
        assert any(list(line.get_xdata()) == [0.5, 0.5] for line in axes.lines)


def test_leaderboard_of_ratings_draws_accuracy_without_a_line(frames) -> None:
    accuracy = leading(frames.accuracy(JUDGES, ["overall"])).assign(decisive_accuracy=np.nan)
    axes = leaderboard(accuracy).axes[0]
    assert sorted(marks(axes)[:, 0]) == sorted(accuracy.loc[accuracy["kind"] == "judge", "accuracy"])
    assert not any(list(line.get_xdata()) == [0.5, 0.5] for line in axes.lines)


def test_leaderboard_keeps_the_order_of_the_report_and_references_below(frames) -> None:
    accuracy = leading(frames.accuracy(JUDGES, ["overall"]))
    axes = leaderboard(accuracy, judges=["gamma", "alpha", "beta"]).axes[0]
    shown = sorted(zip(axes.get_yticks(), rows(axes), strict=True))
    assert [name for _, name in shown] == ["gamma", "alpha", "beta", "longer response"]


def test_a_missing_value_is_drawn_as_missing(frames) -> None:
    accuracy = leading(frames.accuracy(JUDGES, ["overall"]))
    accuracy.loc[1, ["decisive_accuracy", "decisive_accuracy_low", "decisive_accuracy_high"]] = np.nan
    axes = leaderboard(accuracy).axes[0]
    assert len(marks(axes)) == 2
    assert texts(axes) == ["n/a"]
    assert 0 not in marks(axes)[:, 0]


def test_a_judge_that_was_not_asked_about_a_dimension_is_missing_there(frames) -> None:
    accuracy = leading(frames.accuracy(JUDGES, ["accuracy", "overall"])).iloc[1:]
    drawn = panel(leaderboard(accuracy[accuracy["kind"] == "judge"]), "Accuracy")
    assert texts(drawn) == ["n/a"]


def test_a_value_without_interval_is_drawn_without_one(frames) -> None:
    accuracy = leading(frames.accuracy(JUDGES, ["overall"]))
    accuracy = accuracy.assign(decisive_accuracy_low=np.nan, decisive_accuracy_high=np.nan)
    axes = leaderboard(accuracy).axes[0]
    assert len(marks(axes)) == 3
    assert not spans(axes)


def best_first(accuracy: pd.DataFrame) -> list[str]:
    return accuracy[accuracy["subfield"].isna()].sort_values("accuracy", ascending=False)["judge"].tolist()


def test_heatmap_cells_hold_the_values(frames) -> None:
    organs = ["brain", "lung", "oral_cavity"]
    accuracy = frames.accuracy(JUDGES, ["overall"], organs)
    gone = (accuracy["judge"] == "beta") & (accuracy["subfield"] == "lung")
    accuracy.loc[gone, ["accuracy", "low", "high"]] = np.nan
    axes = accuracies.subfields(accuracy, dimension="overall").axes[0]
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
    axes = accuracies.subfields(accuracy, dimension="overall").axes[0]
    heads = [label.get_text().split("\n")[1] for label in axes.get_xticklabels()]
    assert heads == ["n = 5", "n = 0", "n = 6\u20138"]


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
