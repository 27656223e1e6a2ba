"""The gallery of cases draws what its frame says."""

import numpy as np
import pandas as pd
import pytest

from mrb_lib.figures import gallery
from mrb_lib.figures.style import PAGE, mark_simulated
from mrb_lib.tables.errors import NotApplicable


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
    cards = cards_of(6).assign(images=[["gone.png"], ["broken.png"], []] * 2)
    figure = gallery.cards(cards, images={"broken.png": b"not an image"})
    said = [text.get_text() for axes in figure.axes for text in axes.texts]
    assert {"image file missing", "image unreadable", "no image"} <= set(said)
    mark_simulated(figure)
    assert flaws(figure) == []
    assert figure.get_figwidth() <= PAGE


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


@pytest.mark.parametrize("lacking", ["response_b", "A"])
def test_gallery_of_cases_that_are_no_pairs_does_not_apply(lacking: str) -> None:
    cards = cards_of(2)
    with pytest.raises(NotApplicable, match="two responses"):
        gallery.cards(cards.drop(columns=lacking), images={})
