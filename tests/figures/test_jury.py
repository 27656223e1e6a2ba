"""The figures of juries draw what the table says."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mrb_lib.figures import jury
from mrb_lib.tables.errors import NotApplicable
from tests.figures.read import marks


def table(judges: int) -> pd.DataFrame:
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
    out["dimension"] = "overall"
    return pd.concat([out, out.assign(dimension="accuracy", accuracy=0.1, seconds=1e-9, shapley=0.9)])


def of(rows: pd.DataFrame, *parts: str) -> pd.DataFrame:
    return rows[rows["part"].isin(parts) & (rows["dimension"] == "overall")]


@pytest.mark.parametrize("judges", [2, 32])
def test_sizes_draw_the_curve_and_every_jury(judges: int, flaws) -> None:
    rows = table(judges)
    figure = jury.sizes(rows, dimension="overall")
    axes = figure.axes[0]
    expected = of(rows, "curve")[["size", "accuracy"]].to_numpy(dtype=float)
    assert marks(axes, "random") == pytest.approx(expected)
    for kind in jury.NAMES:
        own = of(rows, "jury")
        assert marks(axes, kind)[0, 1] == own.loc[own["kind"] == kind, "accuracy"].iloc[0]
    assert axes.get_xticks().max() <= judges
    assert [names["row"] for names, _ in figure.boxes()] == list(jury.NAMES)
    assert flaws(figure) == []


def test_one_judge_is_no_jury() -> None:
    rows = table(1)
    with pytest.raises(NotApplicable, match="two judges"):
        jury.sizes(rows[rows["part"] == "jury"], dimension="overall")
    with pytest.raises(NotApplicable, match="two judges"):
        jury.members(rows[rows["part"] == "jury"], dimension="overall")


@pytest.mark.parametrize("judges", [2, 32])
def test_cost_joins_the_most_accurate_for_the_time(judges: int, flaws) -> None:
    rows = table(judges)
    figure = jury.cost(rows[rows["part"].isin(["single", "jury"])], dimension="overall")
    axes = figure.axes[0]
    shown = of(rows, "single", "jury")
    shown = shown[shown["kind"] != "best_single"]
    expected = shown[["seconds", "accuracy"]].sort_values(["seconds", "accuracy"]).to_numpy(dtype=float)
    beaten = [any(a <= seconds and b > value for a, b in expected) for seconds, value in expected]
    assert marks(axes, "best") == pytest.approx(expected[~np.array(beaten)])
    drawn = np.concatenate([marks(axes, kind) for kind in ("single", "majority", "weighted", "dawid_skene")])
    assert drawn[np.lexsort(drawn.T[::-1])] == pytest.approx(expected)
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert set(names) == {"one judge", "most accurate for the time", *list(jury.NAMES.values())[:3]}
    if judges == 2:
        assert flaws(figure) == []


def test_a_jury_of_unknown_time_is_not_drawn() -> None:
    rows = table(6)
    rows["seconds"] = rows["seconds"].mask(rows["part"] == "jury")
    with pytest.raises(NotApplicable, match="time is not recorded for every judge"):
        jury.cost(rows, dimension="overall")


@pytest.mark.parametrize("judges", [2, 32])
def test_members_are_drawn_with_what_they_add(judges: int, flaws) -> None:
    rows = table(judges)
    names = of(rows, "member")["judge"].tolist()[::-1]
    figure = jury.members(rows, dimension="overall", judges=names)
    [axes] = figure.axes
    assert marks(axes, "values")[:, 0] == pytest.approx(of(rows, "member")["shapley"].to_numpy()[::-1])
    assert flaws(figure) == []
