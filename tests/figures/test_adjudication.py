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
        rows.append(row | {"rank": judges - i})
        for j in range(reasons):
            reason: dict[str, object] = {"part": "reasons", "judge": f"judge $x_{i}$", "reason_given": f"reason_{j}"}
            rows.append(reason | {"n": reasons - j, "n_cases": 40, "share": (reasons - j) / 40})
    for dimension in ("overall", "all"):
        agreed: dict[str, object] = {"part": "reviewers", "dimension": dimension, "percent_agreement": 0.8}
        lone = dimension == "all"
        agreed |= {"krippendorff_alpha": np.nan if lone else 0.4, "krippendorff_alpha_low": np.nan if lone else 0.2}
        rows.append(agreed | {"krippendorff_alpha_high": np.nan if lone else 0.6})
    return pd.DataFrame(rows)


def part(frame: pd.DataFrame, name: str) -> pd.DataFrame:
    rows = frame[frame["part"] == name].reset_index(drop=True)
    return rows.astype(dict.fromkeys(("rank", "majority_rank", "n", "n_cases"), "Int64"))


@pytest.mark.parametrize("judges", [1, 2, 32])
def test_moves_draw_both_accuracies_the_difference_and_the_ranks(judges: int, flaws) -> None:
    rows = part(table(judges), "rule")
    figure = plots.moves(rows)
    left, right = figure.axes
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
    rows.loc[1, ["majority_accuracy", "accuracy", "difference", "difference_low", "difference_high"]] = np.nan
    rows.loc[1, ["rank", "majority_rank"]] = pd.NA
    figure = plots.moves(rows)
    assert [text.get_text() for text in figure.axes[1].texts if text.get_text() == "n/a"] == ["n/a"]
    assert flaws(figure) == []


def test_reviewers_have_a_panel_a_measure_and_undefined_is_not_zero(flaws) -> None:
    figure = plots.reviewers(part(table(2), "reviewers"))
    drawn = [line.get_xdata().tolist() for axes in figure.axes for line in axes.lines if line.get_gid() == "values"]
    assert drawn == [[0.8, 0.8], [0.4]]
    assert [text.get_gid() for axes in figure.axes for text in axes.texts].count("not-available") == 1
    assert flaws(figure) == []


@pytest.mark.parametrize(("judges", "reasons"), [(1, 1), (2, 5), (32, 15)])
def test_reasons_are_a_cell_each_with_their_count(judges: int, reasons: int, flaws) -> None:
    rows = part(table(judges, reasons), "reasons")
    figure = plots.reasons(rows)
    columns = min(reasons, plots.MOST_REASONS)
    cells = [text.get_text() for text in figure.axes[0].texts if text.get_gid() == "cell"]
    assert cells == [str(reasons - j) for _ in range(judges) for j in range(columns)]
    values = np.asarray(figure.axes[0].collections[0].get_array(), dtype=float).reshape(judges, columns)
    assert values[0].tolist() == pytest.approx([(reasons - j) / 40 for j in range(columns)])
    assert flaws(figure) == []
