"""The figures of domains draw what the table says."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes

from mrb_lib.figures import transfer


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
    return pd.DataFrame(rows).reindex(columns=[*dict.fromkeys(key for row in rows for key in row)])


def drawn(axes: Axes, gid: str) -> np.ndarray:
    line = next(line for line in axes.lines if line.get_gid() == gid)
    return np.column_stack([line.get_xdata(), line.get_ydata()]).astype(float)


@pytest.mark.parametrize("count", [1, 2, 6])
def test_the_forest_draws_domains_summary_and_prediction(count: int, flaws) -> None:
    judges = [f"judge-{i}" for i in range(count)]
    rows = table(judges, ["north", "south_east", "west"])
    figure = transfer.forest(rows, judges=judges)
    for axes, judge in zip(figure.axes, judges, strict=False):
        own = rows[rows["judge"] == judge]
        points = next(item for item in axes.collections if item.get_gid() == "values").get_offsets()
        assert points[:, 0].tolist() == own.loc[own["part"] == "domain", "accuracy"].tolist()
        band = next(item for item in axes.collections if item.get_gid() == "prediction").get_segments()[0]
        summary = own[own["part"] == "summary"].iloc[0]
        assert band[:, 0].tolist() == [summary["prediction_low"], summary["prediction_high"]]
        diamond = next(item for item in axes.patches if item.get_gid() == "summary").get_xy()
        assert diamond[:3, 0].tolist() == [summary["low"], summary["accuracy"], summary["high"]]
    assert flaws(figure) == []


def test_a_forest_of_many_judges_is_refused_and_undefined_values_are_named() -> None:
    judges = [f"j{i}" for i in range(7)]
    rows = table(judges, ["a", "b"])
    with pytest.raises(ValueError, match="at most 6"):
        transfer.forest(rows, judges=judges)
    rows.loc[rows["judge"] == "j0", ["accuracy", "low", "high", "weight", "i2", "prediction_low"]] = np.nan
    axes = transfer.forest(rows, judges=["j0"]).axes[0]
    assert [text.get_gid() for text in axes.texts].count("not-available") == 3


@pytest.mark.parametrize("count", [1, 2, 32])
def test_predictions_have_a_row_a_judge(count: int, flaws) -> None:
    judges = [f"judge $x_{i}$ <b>" for i in range(count)]
    rows = table(judges, ["a", "b", "c"])
    rows.loc[(rows["judge"] == judges[0]) & (rows["part"] == "summary"), ["accuracy", "low", "prediction_low"]] = np.nan
    figure = transfer.predictions(rows)
    axes = figure.axes[0]
    summary = rows[rows["part"] == "summary"]
    found = drawn(axes, "summary")[:, 0]
    assert sorted(found[~np.isnan(found)]) == sorted(summary["accuracy"].dropna())
    assert len(drawn(axes, "values")) == 3 * count
    assert [text.get_gid() for text in axes.texts].count("not-available") == 1
    assert flaws(figure) == []


def test_rankings_have_a_row_a_domain(flaws) -> None:
    rows = table(["j"], [f"domain_{i:02d}" for i in range(13)])
    figure = transfer.rankings(rows)
    axes = figure.axes[0]
    ranking = rows[rows["part"] == "ranking"]
    assert drawn(axes, "values").tolist() == [[tau, i] for i, tau in enumerate(ranking["kendall_tau"])]
    bands = next(item for item in axes.collections if item.get_gid() == "expected").get_segments()
    assert [band[:, 0].tolist() for band in bands] == [[0.7, 0.9]] * 13
    assert flaws(figure) == []
