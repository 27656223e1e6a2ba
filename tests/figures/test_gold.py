"""The figures of gold labels draw what the table says."""

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from mrb_lib.figures import gold as plots
from mrb_lib.figures.lettering import labels
from mrb_lib.figures.style import PAGE, Paper
from mrb_lib.tables.errors import NotApplicable
from tests.figures.read import texts

RULES = ("majority", "unanimous", "posterior", "leave_one_out", "soft_votes", "soft_posterior")
HOSTILE = ["$x_1^2$", "<b>", "nul\0l", "x" * 300, "", "模型 😀"]


def confusion(people: list[str], categories: list[str]) -> pd.DataFrame:
    names = ["annotator", "gold", "label"]
    rows = pd.MultiIndex.from_product([people, categories, categories], names=names).to_frame(index=False)
    rows["probability"] = np.random.default_rng(0).uniform(0, 1, len(rows))
    rows["n"] = 100 - pd.factorize(rows["annotator"])[0]
    rows = rows.assign(probability_low=rows["probability"] / 2, probability_high=rows["probability"])
    other = rows.assign(dimension="relevance", probability=0.5, n=1000)
    cells = pd.concat([other, rows.assign(dimension="overall")]).assign(part="confusion")
    right = pd.DataFrame({"annotator": people, "n": 10_000, "dimension": "overall", "part": "annotator"})
    return pd.concat([right, cells], ignore_index=True)


def by_rule(judges: list[str]) -> pd.DataFrame:
    generator = np.random.default_rng(1)
    rows = [
        {"judge": judge, "part": "rule", "rule": rule, "accuracy": float(generator.uniform(0.4, 0.9))}
        for judge in judges
        for rule in RULES
    ]
    table = pd.DataFrame(rows)
    table["rank"] = table.groupby("rule")["accuracy"].rank(ascending=False, method="min").astype("Int64")
    taus = pd.DataFrame({"part": "ranking", "rule": RULES, "kendall_tau": [1.0, 0.5, 0.25, 0.0, -0.5, np.nan]})
    overall = pd.concat([table, taus], ignore_index=True).assign(dimension="overall")
    return pd.concat([overall, overall.assign(dimension="relevance", rank=1)], ignore_index=True)


def cells(axes) -> list[str]:
    return texts(axes, "cell")


@pytest.mark.parametrize("people", [["a"], ["a", "b", "c"], [*HOSTILE, "b", "c"]], ids=["1", "3", "hostile"])
def test_confusions_are_the_frame(people: list[str]) -> None:
    table = confusion(people, ["A", "B", "tie"])
    first = sorted(people[: plots.MOST_MATRICES])[0]
    of_first = (table["annotator"] == first) & (table["dimension"] == "overall") & table["gold"].notna()
    ends = ["probability", "probability_low", "probability_high"]
    table.loc[of_first & (table["gold"] == "tie"), ends] = np.nan
    figure = plots.confusions(table, dimension="overall")
    assert figure.get_size_inches()[0] <= PAGE
    assert figure.png().startswith(b"\x89PNG")
    texts = cells(figure.axes[0])
    assert texts[6:] == ["n/a"] * 3
    expected = table.loc[of_first, "probability"].iloc[:6]
    assert texts[:6] == [f"{round(100 * p)}\n{round(50 * p)} to {round(100 * p)}" for p in expected]


def test_of_many_annotators_those_with_the_most_annotations_are_drawn() -> None:
    people = [f"p{i:02d}" for i in range(12)]
    figure = plots.confusions(confusion(people, ["A", "B"]), dimension="overall")
    assert [axes.get_title() for axes in figure.axes if axes.get_title()] == people[:8]


def test_more_labels_leave_the_intervals_out() -> None:
    figure = plots.confusions(confusion(["a"], list("12345")), dimension="overall")
    assert all("to" not in text for text in cells(figure.axes[0]))


@pytest.mark.parametrize("judges", [["a", "b"], [f"judge-{i}" for i in range(32)], HOSTILE], ids=["2", "32", "hostile"])
@pytest.mark.parametrize("ordered", [True, False], ids=["order of the report", "by the majority"])
def test_ranks_are_the_frame(judges: list[str], ordered: bool, flaws: Callable[[Paper], list[str]]) -> None:
    table = by_rule(judges)
    rows = table[(table["part"] == "rule") & (table["dimension"] == "overall")]
    best_first = rows[rows["rule"] == "majority"].sort_values("rank")["judge"].tolist()
    order = judges[::-1] if ordered else best_first
    figure = plots.ranks(table, dimension="overall", judges=[*order, "another"] if ordered else ())
    axes = figure.axes[0]
    assert [text.get_text() for text in axes.get_yticklabels()] == labels(order, 28)
    expected = [str(rank) for judge in order for rank in rows.loc[rows["judge"] == judge, "rank"]]
    assert cells(axes) == expected
    first = rows[rows["judge"] == order[0]].set_index("rule")["rank"]
    moved = np.asarray(axes.collections[0].get_array(), dtype=float).reshape(len(judges), len(RULES))
    assert moved[0].tolist() == [first["majority"] - first[rule] for rule in RULES]
    taus = [text.get_text().split("\n")[1] for text in axes.get_xticklabels()]
    assert taus == [f"τ = {tau}" for tau in ("1.00", "0.50", "0.25", "0.00", "-0.50", "n/a")]
    assert figure.get_size_inches()[0] <= PAGE
    assert flaws(figure) == []


def test_a_judge_without_a_rank_is_marked() -> None:
    table = by_rule(["a", "b"])
    table.loc[(table["judge"] == "a") & (table["rule"] == "posterior"), ["rank", "accuracy"]] = [pd.NA, np.nan]
    assert "n/a" in cells(plots.ranks(table, dimension="overall").axes[0])


def test_one_judge_has_no_rank() -> None:
    with pytest.raises(NotApplicable, match="one judge"):
        plots.ranks(by_rule(["a"]), dimension="overall")
