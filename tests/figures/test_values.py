"""What is drawn is what the frame says: read back from the figure."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mrb_lib.figures import gallery
from mrb_lib.tables.errors import NotApplicable
from tests.figures.read import beside_others, draw, marks, of, shown, spans, texts, ticks

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


def cards_of(count: int) -> pd.DataFrame:
    """Cases with responses of some length, and the counts of their judges' choices."""
    return pd.DataFrame(
        {
            "case_id": [f"case-{i:04d}" for i in range(count)],
            "question": "Axial CT of the chest: which side shows the larger effusion, how many nodules?",
            "response_a": "There is a large left pleural effusion with two nodules in the right upper lobe, " * 2,
            "response_b": "The image shows no abnormality; clinical correlation is recommended. " * 3,
            "images": [["x.png"]] * count, "organ": "lung", "gold": np.resize(["A", "B", "tie"], count),
            "votes_gold": 2, "n_annotators": 3, "n_judges": 4, "A": np.resize([1, 4, 2], count), "B": 5, "tie": 1,
            "none": 0,
        }
    )  # fmt: skip


def test_gallery_says_when_an_image_cannot_be_shown(flaws) -> None:
    cards = cards_of(3).assign(images=[["gone.png"], ["broken.png"], []])
    figure = gallery.cards(cards, images={"broken.png": b"not an image"})
    said = [text.get_text() for axes in figure.axes for text in axes.texts]
    assert {"image file missing", "image unreadable", "no image"} <= set(said)
    assert flaws(figure) == []


def test_gallery_draws_the_verdicts_and_the_gold_label() -> None:
    cards = cards_of(2).assign(tie=0, images=[[], []], organ=None)
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


def test_gallery_cuts_a_text_visibly_or_not_at_all(flaws) -> None:
    cards = cards_of(2).assign(
        response_a=["A short answer.", "Many words " * 200], response_b="WIDE CAPITALS MMM " * 40
    )
    figure = gallery.cards(cards, images={})
    first, second = (" ".join(text.get_text() for text in axes.texts[:6]) for axes in figure.axes[1::2])
    assert not flaws(figure)
    assert "A short answer." in first
    assert "[...]" not in first
    assert "Many words [...]" in " ".join(second.split())


@pytest.mark.parametrize("lacking", ["response_b", "A"])
def test_gallery_of_cases_that_are_no_pairs_does_not_apply(lacking: str) -> None:
    cards = cards_of(2)
    with pytest.raises(NotApplicable, match="two responses"):
        gallery.cards(cards.drop(columns=lacking), images={})
