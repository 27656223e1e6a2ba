"""What is drawn of selective answering is what the frame says."""

import numpy as np
import pandas as pd
import pytest

from mrb_lib.figures.confidence import promised
from tests.figures.read import JUDGES, draw, marks, of, shown, spans

PROMISE = ("agreement", "coverage", "low", "high")


def rows() -> pd.DataFrame:
    """The rows of the full benchmark where j1 is promised something and j2 nothing, with promises not to be drawn."""
    made = shown("risk-coverage")
    made = made[made["judge"].isin(JUDGES[:2])]
    curve, row = of(made, part="curve"), of(made, part="guarantee").iloc[[0]]
    row = row.assign(delta=0.05, **dict(zip(PROMISE, (0.93, 0.4, 0.9, 0.95), strict=True)))
    others = [row.assign(delta=0.1), row.assign(subfield="eye"), row.assign(dimension="accuracy")]
    others = [each.assign(agreement=0.1, coverage=0.1) for each in others]
    nothing = row.assign(**dict.fromkeys(PROMISE, np.nan))
    promises = [*others, row, *(each.assign(judge="j2") for each in (*others, nothing))]
    return pd.concat([curve, *promises], ignore_index=True)


def test_curve_band_target_and_promise_are_drawn() -> None:
    figure = draw("risk-coverage", rows(), JUDGES[:2])
    first, second = figure.axes
    curve = of(rows(), part="curve", judge="j1")
    np.testing.assert_array_equal(
        marks(first, "values"), curve.assign(agreement=1 - curve["risk"])[["coverage", "agreement"]]
    )
    assert marks(first, "target")[0, 1] == 0.9
    np.testing.assert_array_equal(marks(first, "promise"), [[0.4, 0.93]])
    span = spans(first, "promise-interval")[0]
    assert (span[0, 1], span[1, 1]) == (0.9, 0.95)
    band = next(c for c in first.collections if c.get_gid() == "band").get_paths()[0].vertices
    assert band[:, 1].min() == pytest.approx(1 - curve["risk_high"].max())
    assert np.isnan(marks(second, "promise")).all()
    assert [text.get_text() for text in second.texts] == ["nothing promised"]
    assert [axes.get_title() for axes in draw("risk-coverage", rows(), ["j2", "j1"]).axes] == ["j2", "j1"]


@pytest.mark.parametrize("judges", [1, 3])
def test_a_promise_holds_for_all_judges_together(judges: int) -> None:
    made = shown("risk-coverage")
    found = promised(made[made["judge"].isin(JUDGES[:judges])])
    assert found["delta"].tolist() == pytest.approx([0.1 / judges] * judges)
    assert found["judge"].tolist() == list(JUDGES[:judges])


def test_nothing_promised_anywhere_and_intervals_left_out_still_draw() -> None:
    made = rows()
    made.loc[made["part"] == "guarantee", list(PROMISE)] = np.nan
    made[["risk_low", "risk_high"]] = np.nan
    assert draw("risk-coverage", made, JUDGES[:1]).axes[0].get_ylim()[0] <= 0.7
