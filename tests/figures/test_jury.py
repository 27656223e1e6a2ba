"""The figures of juries draw what the table says."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mrb_lib.figures import jury


def table(judges: int, *, costs: bool = True) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    rows = []
    for i in range(judges):
        single = {"part": "single", "kind": "single", "judge": f"judge $x_{i}$", "size": 1}
        rows.append({**single, "accuracy": rng.uniform(0.5, 0.8), "seconds": rng.uniform(0.1, 90)})
        shapley = rng.uniform(0, 0.1)
        spread = {"shapley_low": shapley - 0.01, "shapley_high": shapley + 0.01}
        rows.append({"part": "member", "judge": f"judge $x_{i}$", "shapley": shapley, **spread})
    for kind in ("majority", "weighted", "dawid_skene", "best_single"):
        size = 1 if kind == "best_single" else judges
        rows.append(
            {"part": "jury", "kind": kind, "size": size, "accuracy": rng.uniform(0.7, 0.9), "seconds": 50.0 * size}
        )
    for size in range(1, judges + 1):
        row = {"part": "curve", "size": size, "accuracy": 0.6 + 0.3 * (1 - 1 / size)}
        rows.append({**row, "seconds": 20.0 * size})
    out = pd.DataFrame(rows)
    out["low"], out["high"] = out["accuracy"] - 0.02, out["accuracy"] + 0.02
    if not costs:
        out["seconds"] = np.nan
    out["tokens"] = np.nan
    return out


def line(axes, gid: str) -> np.ndarray:
    found = next(line for line in axes.lines if line.get_gid() == gid)
    return np.column_stack([found.get_xdata(), found.get_ydata()]).astype(float)


@pytest.mark.parametrize("judges", [2, 32])
def test_sizes_draw_the_curve_and_every_jury(judges: int, flaws) -> None:
    rows = table(judges)
    figure = jury.sizes(rows)
    axes = figure.axes[0]
    expected = rows.loc[rows["part"] == "curve", ["size", "accuracy"]].to_numpy(dtype=float)
    assert line(axes, "random") == pytest.approx(expected)
    for kind in jury.NAMES:
        assert line(axes, kind)[0, 1] == rows.loc[rows["kind"] == kind, "accuracy"].iloc[0]
    assert flaws(figure) == []


@pytest.mark.parametrize("judges", [2, 32])
def test_cost_joins_what_is_not_beaten(judges: int, flaws) -> None:
    rows = table(judges)
    figure = jury.cost(rows)
    points = next(item for item in figure.axes[0].collections if item.get_gid() == "values")
    shown = rows[rows["part"].isin(["single", "jury"])]
    shown = shown[shown["kind"] != "best_single"]
    expected = shown[["seconds", "accuracy"]].sort_values(["seconds", "accuracy"]).to_numpy(dtype=float)
    beaten = [any(a <= seconds and b > value for a, b in expected) for seconds, value in expected]
    assert line(figure.axes[0], "pareto") == pytest.approx(expected[~np.array(beaten)])
    drawn = np.asarray(points.get_offsets(), dtype=float)
    assert drawn[np.lexsort(drawn.T[::-1])] == pytest.approx(expected)
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert names[:2] == ["single judge", "majority of all"]
    assert names[-1] == "not beaten in both"
    if judges == 2:
        assert flaws(figure) == []


def test_without_costs_the_members_are_counted(flaws) -> None:
    figure = jury.cost(table(6, costs=False))
    assert figure.axes[0].get_xlabel() == "members"
    assert not [item for item in figure.axes[0].lines if item.get_gid() == "pareto"]
    assert flaws(figure) == []


@pytest.mark.parametrize("judges", [2, 32])
def test_members_are_drawn_with_what_they_add(judges: int, flaws) -> None:
    rows = table(judges)
    rows = rows[rows["part"] == "member"]
    figure = jury.members(rows)
    [axes] = figure.axes
    assert sorted(line(axes, "values")[:, 0]) == sorted(rows["shapley"])
    assert flaws(figure) == []
