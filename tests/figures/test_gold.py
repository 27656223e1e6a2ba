"""The figures of gold labels draw, beside their values, what the table says."""

from collections.abc import Callable
from itertools import product

import numpy as np
import pandas as pd
import pytest

from mrb_lib.figures import gold as plots
from mrb_lib.figures.lettering import labels
from mrb_lib.figures.style import Paper
from mrb_lib.tables.errors import NotApplicable
from tests.figures.read import JUDGES, beside_others, draw, of, shown, texts, ticks


def test_confusions_are_the_frame_and_more_labels_leave_the_intervals_out() -> None:
    rows = shown("gold-confusion")
    ends = ["probability", "probability_low", "probability_high"]
    first = rows["annotator"].eq("a") & rows["part"].eq("confusion")
    rows.loc[first & rows["gold"].eq("tie"), ends] = np.nan
    cells = texts(draw("gold-confusion", beside_others(rows, probability=0.5)).axes[0], "cell")
    assert cells[6:] == ["n/a"] * 3
    assert cells[:6] == [
        f"{round(100 * p)}\n{round(100 * low)} to {round(100 * high)}"
        for p, low, high in rows.loc[first, ends].iloc[:6].itertuples(index=False)
    ]
    one = rows[first].head(1)
    graded = [one.assign(gold=gold, label=label) for gold, label in product("12345", repeat=2)]
    drawn = draw("gold-confusion", pd.concat([rows[~first & rows["annotator"].eq("a")], *graded])).axes[0]
    assert len(texts(drawn, "cell")) == 25 and all("to" not in text for text in texts(drawn, "cell"))


def test_of_many_annotators_those_with_the_most_annotations_are_drawn() -> None:
    one = of(shown("gold-confusion"), annotator="a")
    people = [f"p{i:02d}" for i in range(12)]
    figure = draw("gold-confusion", pd.concat([one.assign(annotator=who, n=100 - i) for i, who in enumerate(people)]))
    assert [axes.get_title() for axes in figure.axes if axes.get_title()] == people[: plots.MOST_MATRICES]


@pytest.mark.parametrize("n", [1, 11])
def test_ranks_are_the_frame_in_the_order_of_the_report(n: int, flaws: Callable[[Paper], list[str]]) -> None:
    rows = shown("gold-ranks")
    judged = of(rows, part="rule")
    every = [judged.assign(judge=judged["judge"] + f" {i}" * (n > 1)) for i in range(n)]
    rows = pd.concat([of(rows, part="ranking"), *every], ignore_index=True)
    order = list(dict.fromkeys(rows["judge"].dropna()))[::-1]
    figure = draw("gold-ranks", beside_others(rows, rank=1), [*order, "another"])
    axes, rules = figure.axes[0], list(dict.fromkeys(judged["rule"]))
    assert ticks(axes) == labels(order, 28)
    own = of(rows, part="rule").set_index(["judge", "rule"])["rank"]
    drawn = [rule for rule in rules if own.xs(rule, level="rule").notna().any()]
    assert texts(axes, "cell") == [str(own[judge, rule]) for judge in order for rule in drawn]
    moved = np.asarray(axes.collections[0].get_array(), dtype=float).reshape(len(order), len(drawn))
    assert moved[0].tolist() == [own[order[0], "majority"] - own[order[0], rule] for rule in drawn]
    taus = of(rows, part="ranking").set_index("rule")["kendall_tau"]
    named = [text.get_text().split("\n")[1] for text in axes.get_xticklabels()]
    assert named == [f"\u03c4 = {taus[rule]:.2f}" if pd.notna(taus[rule]) else "\u03c4 = n/a" for rule in drawn]
    assert flaws(figure) == []


def test_judges_without_an_order_stand_from_the_best_and_one_without_a_rank_is_marked() -> None:
    rows = shown("gold-ranks")
    majority = of(rows, part="rule", rule="majority").sort_values("rank")
    assert ticks(draw("gold-ranks", rows, ()).axes[0]) == majority["judge"].tolist()
    gone = rows["judge"].eq(JUDGES[0]) & rows["rule"].eq("posterior")
    rows.loc[gone, ["rank", "accuracy"]] = [pd.NA, np.nan]
    assert "n/a" in texts(draw("gold-ranks", rows).axes[0], "cell")


def test_one_judge_has_no_rank() -> None:
    with pytest.raises(NotApplicable, match="one judge"):
        draw("gold-ranks", of(shown("gold-ranks"), judge="j1"))
