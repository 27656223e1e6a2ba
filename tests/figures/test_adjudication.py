"""The figures of adjudication draw what the table says."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mrb_lib.figures import adjudication as plots


def table(judges: int, reasons: int = 5) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    rows: list[dict[str, object]] = []
    for i in range(judges):
        before, moved = rng.uniform(0.5, 0.8), rng.normal(0, 0.02)
        row: dict[str, object] = {
            "part": "rule",
            "rule": "adjudicated",
            "dimension": "overall",
            "judge": f"judge $x_{i}$",
        }
        row |= {"majority_accuracy": before, "accuracy": before + moved, "difference": moved}
        row |= {"difference_low": moved - 0.02, "difference_high": moved + 0.02, "majority_rank": i + 1}
        rows.append(row | {"rank": judges - i, "n_adjudicated": 1200, "n_changed": 30, "n_removed": 4})
        rows.append(row | {"rule": "majority", "accuracy": 0.1})
        rows.append(row | {"dimension": "relevance", "accuracy": 0.2})
        for j in range(reasons):
            reason: dict[str, object] = {"part": "reasons", "judge": f"judge $x_{i}$", "reason_given": f"reason_{j}"}
            rows.append(reason | {"n": reasons - j, "n_cases": 40, "share": (reasons - j) / 40})
    return pd.DataFrame(rows)


def part(frame: pd.DataFrame, name: str) -> pd.DataFrame:
    rows = frame[frame["part"] == name].reset_index(drop=True)
    counts = ("rank", "majority_rank", "n", "n_cases", "n_adjudicated", "n_changed", "n_removed")
    return rows.astype(dict.fromkeys(counts, "Int64"))


@pytest.mark.parametrize("judges", [1, 2, 32])
def test_moves_draw_both_accuracies_the_difference_and_the_ranks(judges: int, flaws) -> None:
    every = part(table(judges), "rule")
    rows = every[(every["rule"] == "adjudicated") & (every["dimension"] == "overall")]
    figure = plots.moves(every, dimension="overall", judges=rows["judge"].tolist())
    left, right = figure.axes
    assert left.get_title() == "labels reviewed: 1,200, changed: 30, removed: 4"
    for name in ("majority_accuracy", "accuracy"):
        drawn = next(line for line in left.lines if line.get_gid() == name)
        assert drawn.get_xdata().tolist() == rows[name].tolist()
    drawn = next(line for line in right.lines if line.get_gid() == "values")
    assert drawn.get_xdata().tolist() == rows["difference"].tolist()
    texts = [text.get_text() for text in right.texts if text.get_gid() == "rank"]
    assert texts == [str(i + 1) if 2 * i + 1 == judges else f"{i + 1} \u2192 {judges - i}" for i in range(judges)]
    assert flaws(figure) == []


def test_a_judge_without_a_value_is_said_to_have_none(flaws) -> None:
    rows = part(table(3), "rule")
    rows = rows[(rows["rule"] == "adjudicated") & (rows["dimension"] == "overall")].reset_index(drop=True)
    rows.loc[1, ["majority_accuracy", "accuracy", "difference", "difference_low", "difference_high"]] = np.nan
    rows.loc[1, ["rank", "majority_rank"]] = pd.NA
    figure = plots.moves(rows, dimension="overall")
    assert [text.get_text() for text in figure.axes[1].texts if text.get_text() == "n/a"] == ["n/a"]
    assert flaws(figure) == []


@pytest.mark.parametrize(("judges", "reasons"), [(1, 1), (2, 5), (32, 15)])
def test_reasons_are_a_cell_each_with_their_count(judges: int, reasons: int, flaws) -> None:
    rows = part(table(judges, reasons), "reasons")
    order = rows["judge"].unique()[::-1].tolist()
    figure = plots.reasons(rows, judges=order)
    assert figure.axes[0].get_yticklabels()[0].get_text().startswith(order[0].replace("$", r"\$"))
    columns = min(reasons, plots.MOST_REASONS)
    cells = [text.get_text() for text in figure.axes[0].texts if text.get_gid() == "cell"]
    assert cells == [str(reasons - j) for _ in range(judges) for j in range(columns)]
    values = np.asarray(figure.axes[0].collections[0].get_array(), dtype=float).reshape(judges, columns)
    assert values[0].tolist() == pytest.approx([(reasons - j) / 40 for j in range(columns)])
    assert flaws(figure) == []
