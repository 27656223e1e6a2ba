"""The figures of domains draw what the table says."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mrb_lib.figures import transfer
from mrb_lib.figures.lettering import labels
from tests.figures.read import marks, spans


def table(judges: list[str], domains: list[str]) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    rows = []
    for place, judge in enumerate(judges, start=1):
        mean = rng.uniform(0.4, 0.85)
        for domain in domains:
            value = float(np.clip(mean + rng.normal(0, 0.05), 0.05, 0.95))
            row = {"part": "domain", "judge": judge, "subfield": domain, "accuracy": value, "weight": 1 / len(domains)}
            rows.append({**row, "low": value - 0.04, "high": value + 0.04, "n": 80})
        ends = {"low": mean - 0.02, "high": mean + 0.02, "prediction_low": mean - 0.1, "prediction_high": mean + 0.1}
        tested = {"i2": 0.4, "p_adjusted": 0.03, "n": 320}
        rows.append({"part": "summary", "judge": judge, "rank": place, "accuracy": mean, **ends, **tested})
    for domain in domains:
        expected = {"expected_low": 0.7, "expected_high": 0.9, "p_value": 0.2}
        rows.append({"part": "ranking", "subfield": domain, "kendall_tau": rng.uniform(0.5, 0.9), **expected})
    return pd.DataFrame(rows).assign(dimension="overall").astype({"n": "Int64"})


@pytest.mark.parametrize("count", [1, 2, 9])
def test_the_forest_draws_domains_with_their_cases(count: int, flaws) -> None:
    judges = [f"judge-{i}" for i in range(count)]
    rows = table(judges, ["north", "south_east", "west"])
    rows.loc[rows["subfield"].eq("west") & rows["judge"].eq("judge-1"), "n"] = 1080
    figure = transfer.forest(rows, dimension="overall", judges=judges[::-1])
    shown = judges[::-1][: transfer.MOST_FORESTS]
    assert [axes.get_title() for axes in figure.axes if axes.get_title()] == shown
    for axes, judge in zip(figure.axes, shown, strict=False):
        own = rows[(rows["judge"] == judge) & (rows["part"] == "domain")]
        assert marks(axes, "values")[:, 0].tolist() == own["accuracy"].tolist()
        ends = spans(axes)
        assert [span[:, 0].tolist() for span in ends] == own[["low", "high"]].to_numpy().tolist()
    names = [text.get_text() for text in figure.axes[0].get_yticklabels()]
    west = "80\u20131,080" if count == 2 else "80"
    assert names == ["North (n = 80)", "South east (n = 80)", f"West (n = {west})"]
    assert flaws(figure) == []


def test_an_unknown_accuracy_of_a_domain_is_said_to_be() -> None:
    rows = table(["j0"], ["a", "b"])
    rows.loc[rows["subfield"].eq("a") & rows["part"].eq("domain"), ["accuracy", "low", "high"]] = np.nan
    axes = transfer.forest(rows, dimension="overall", judges=["j0"]).axes[0]
    assert [text.get_gid() for text in axes.texts] == ["not-available"]


@pytest.mark.parametrize("count", [1, 2, 32])
def test_predictions_have_a_row_a_judge(count: int, flaws) -> None:
    judges = [f"judge $x_{i}$ <b>" for i in range(count)]
    rows = table(judges, ["a", "b", "c"])
    rows.loc[(rows["judge"] == judges[0]) & (rows["part"] == "summary"), ["accuracy", "low", "prediction_low"]] = np.nan
    figure = transfer.predictions(rows, dimension="overall", judges=judges[::-1])
    axes = figure.axes[0]
    summary = rows[rows["part"] == "summary"]
    found = marks(axes, "summary")[:, 0]
    assert sorted(found[~np.isnan(found)]) == sorted(summary["accuracy"].dropna())
    assert len(marks(axes, "values")) == 3 * count
    assert [text.get_text() for text in axes.get_yticklabels()] == labels(judges[::-1], 34)
    bands = spans(axes, "prediction")
    expected = summary.dropna(subset="prediction_low").iloc[::-1][["prediction_low", "prediction_high"]]
    assert [band[:, 0].tolist() for band in bands] == expected.to_numpy().tolist()
    assert [text.get_gid() for text in axes.texts].count("not-available") == 1
    assert flaws(figure) == []


def test_rankings_have_a_row_a_domain(flaws) -> None:
    rows = table(["j"], [f"domain_{i:02d}" for i in range(13)])
    figure = transfer.rankings(rows, dimension="overall")
    axes = figure.axes[0]
    ranking = rows[rows["part"] == "ranking"]
    assert marks(axes).tolist() == [[tau, i] for i, tau in enumerate(ranking["kendall_tau"])]
    bands = spans(axes, "expected")
    assert [band[:, 0].tolist() for band in bands] == [[0.7, 0.9]] * 13
    assert flaws(figure) == []
