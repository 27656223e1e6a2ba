from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mrb_lib.figures import gold as plots
from mrb_lib.figures.style import PAGE

RULES = ("majority", "unanimous", "posterior", "leave_one_out", "soft_votes", "soft_posterior")
HOSTILE = ["$x_1^2$", "<b>", "nul\0l", "x" * 300, "", "模型 😀"]


def confusion(people: list[str], categories: list[str]) -> pd.DataFrame:
    names = ["annotator", "gold", "label"]
    rows = pd.MultiIndex.from_product([people, categories, categories], names=names).to_frame(index=False)
    rows["probability"] = np.random.default_rng(0).uniform(0, 1, len(rows))
    return rows.assign(probability_low=rows["probability"] / 2, probability_high=rows["probability"])


def by_rule(judges: list[str]) -> pd.DataFrame:
    generator = np.random.default_rng(1)
    rows = [
        {"judge": judge, "part": "rule", "rule": rule, "accuracy": float(generator.uniform(0.4, 0.9))}
        for judge in judges
        for rule in RULES
    ]
    table = pd.DataFrame(rows)
    table["rank"] = table.groupby("rule")["accuracy"].rank(ascending=False, method="min").astype("Int64")
    tau = pd.DataFrame({"judge": [None], "part": ["ranking"], "rule": ["majority"]})
    return pd.concat([table.assign(low=table["accuracy"] - 0.02, high=table["accuracy"] + 0.02), tau])


def cells(axes) -> list[str]:
    return [text.get_text() for text in axes.texts if text.get_gid() == "cell"]


@pytest.mark.parametrize("people", [["a"], ["a", "b", "c"], [*HOSTILE, "b", "c"]], ids=["1", "3", "hostile"])
def test_confusions_are_the_frame(people: list[str]) -> None:
    table = confusion(people, ["A", "B", "tie"])
    table.loc[
        (table["annotator"] == people[0]) & (table["gold"] == "tie"),
        ["probability", "probability_low", "probability_high"],
    ] = np.nan
    figure = plots.confusions(table, annotators=people, categories=["A", "B", "tie"])
    assert figure.get_size_inches()[0] <= PAGE
    assert figure.png().startswith(b"\x89PNG")
    first = cells(figure.axes[0])
    assert first[6:] == ["n/a"] * 3
    value = table["probability"].iloc[0]
    assert first[0] == f"{round(100 * value)}\n{round(50 * value)} to {round(100 * value)}"


def test_more_labels_leave_the_intervals_out() -> None:
    categories = list("12345")
    figure = plots.confusions(confusion(["a"], categories), annotators=["a"], categories=categories)
    assert all("to" not in text for text in cells(figure.axes[0]))


@pytest.mark.parametrize("judges", [["a", "b"], [f"judge-{i}" for i in range(32)], HOSTILE], ids=["2", "32", "hostile"])
def test_rules_and_ranks_are_the_frame(judges: list[str]) -> None:
    table = by_rule(judges)
    rules = plots.rules(table)
    shown = [axes.get_title() for axes in rules.axes if axes.get_title()]
    assert shown == ["Majority", "Unanimous", "Posterior", "Leave one out", "Soft votes"]
    for axes, rule in zip(rules.axes, ["majority", "unanimous"], strict=False):
        expected = table[(table["part"] == "rule") & (table["rule"] == rule)]["accuracy"]
        points = np.concatenate([line.get_xdata() for line in axes.get_lines() if line.get_gid() == "values"])
        assert sorted(points) == pytest.approx(sorted(expected))
    ranks = plots.ranks(table)
    texts = np.array(cells(ranks.axes[0])).reshape(len(judges), len(RULES))
    assert texts[:, 0].astype(int).tolist() == sorted(range(1, len(judges) + 1))
    best = table[(table["part"] == "rule") & (table["rule"] == "majority")].sort_values("rank")["judge"].iloc[0]
    others = table[(table["judge"] == best) & (table["part"] == "rule")]["rank"].tolist()
    assert texts[0].astype(int).tolist() == others
    for figure in (rules, ranks):
        assert figure.get_size_inches()[0] <= PAGE
        assert figure.png().startswith(b"\x89PNG")


def test_a_judge_without_a_rank_is_marked() -> None:
    table = by_rule(["a", "b"])
    table.loc[(table["judge"] == "a") & (table["rule"] == "posterior"), ["rank", "accuracy"]] = [pd.NA, np.nan]
    assert "n/a" in cells(plots.ranks(table).axes[0])
