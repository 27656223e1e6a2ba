"""What the figures of agreement draw is what their frames say."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mrb_lib.figures import agreement

ROWS = {
    "percent_agreement": [0.85, 0.85, 0.9, 1.0],
    "fleiss_kappa": [0.70, 0.31, 0.40, np.nan],
    "gwet_ac1": [0.70, 0.81, 0.88, 1.0],
    "prevalence_index": [0.05, 0.75, 0.6, 1.0],
    "bias_index": [0.03, 0.05, 0.0, 0.0],
}


@pytest.fixture
def frame() -> pd.DataFrame:
    out = pd.DataFrame({"dimension": ["overall"] * 4, "subfield": [None, "eye", "lung", "$foot$"], **ROWS})
    return out.astype({"subfield": "str"})


@pytest.mark.parametrize(("panel", "index"), [(0, "prevalence_index"), (1, "bias_index")])
def test_the_paradox_draws_each_row_that_has_both_coefficients(frame: pd.DataFrame, panel: int, index: str) -> None:
    axes = agreement.paradox(frame).axes[panel]
    for name in ("percent_agreement", "fleiss_kappa", "gwet_ac1"):
        lines = [line for line in axes.lines if line.get_gid() == f"{name}-{index}"]
        drawn = sorted(tuple(point) for line in lines for point in line.get_xydata().tolist())
        expected = sorted(tuple(point) for point in frame.iloc[:3][[index, name]].to_numpy().tolist())
        assert drawn == expected
        assert [len(line.get_xdata()) for line in lines] == [2, 1]
    assert axes.get_title() == "1 of 4 rows n/a"


def test_coefficients_of_ordered_labels_are_drawn_where_there_are_any(frames) -> None:
    frame = frames.agreement(["accuracy", "overall"]).assign(linear_kappa=[0.5, np.nan], icc_2_1=np.nan)
    for name in ("linear_kappa", "icc_2_1"):
        frame[f"{name}_low"], frame[f"{name}_high"] = frame[name] - 0.1, frame[name] + 0.1
    axes = agreement.coefficients(frame).axes[0]
    drawn = {line.get_gid(): line.get_xdata().tolist() for line in axes.lines if line.get_gid()}
    assert drawn["linear_kappa"] == [0.5]
    assert "icc_2_1" not in drawn
    assert [text.get_text() for text in axes.texts] == ["linear kappa, mean of pairs: n/a"]


@pytest.mark.parametrize("size", [1, 200])
def test_the_text_of_the_figures_can_be_read(frames, flaws, frame: pd.DataFrame, size: int) -> None:
    generator = np.random.default_rng(0)
    many = pd.concat([frame] * size, ignore_index=True)
    many["prevalence_index"] = generator.random(len(many))
    assert flaws(agreement.paradox(many)) == []
    table = frames.agreement(["accuracy"] if size == 1 else [f"dimension {i}" for i in range(12)])
    for name in agreement.ORDERED:
        table[name] = generator.uniform(0.4, 0.9, len(table))
        table[f"{name}_low"], table[f"{name}_high"] = table[name] - 0.03, table[name] + 0.03
    assert flaws(agreement.coefficients(table)) == []


def test_nothing_known_is_drawn_as_nothing(frame: pd.DataFrame, flaws) -> None:
    empty = frame.assign(**dict.fromkeys(ROWS, np.nan))
    figure = agreement.paradox(empty)
    assert figure.axes[0].get_title() == "4 of 4 rows n/a"
    assert flaws(figure) == []
