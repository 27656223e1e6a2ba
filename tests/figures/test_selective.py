"""What is drawn of selective answering is what the frame says."""

import numpy as np
import pandas as pd
import pytest

from mrb_lib.figures.confidence import promised, risk_coverage
from tests.figures.read import marks, spans


def rows_and_promises(judges: list[str], seed: int = 0) -> tuple[pd.DataFrame, pd.DataFrame]:
    generator = np.random.default_rng(seed)
    curves, promises = [], []
    for judge in judges:
        coverage = np.arange(1, 21) / 20
        risk = 0.3 * coverage * generator.uniform(0.5, 1)
        curves.append(
            pd.DataFrame({"judge": judge, "coverage": coverage, "risk": risk}).assign(
                risk_low=risk * 0.8, risk_high=risk * 1.2
            )
        )
        promises.append((judge, "overall", 0.4, 0.35, 0.45, 0.93, 0.9, 0.95))
    names = ["judge", "dimension", "coverage", "coverage_low", "coverage_high", "agreement", "low", "high"]
    return pd.concat(curves, ignore_index=True), pd.DataFrame(promises, columns=names)


def table(curve: pd.DataFrame, guarantee: pd.DataFrame) -> pd.DataFrame:
    """The table `selective` of these rows, with other promises that are not to be drawn."""
    level = 0.1 / guarantee["judge"].nunique()
    other = guarantee.assign(part="guarantee", n=9, delta=level, agreement=0.1, coverage=0.1)
    parts = [
        curve.assign(part="curve", dimension="overall"),
        other.assign(delta=0.05 if level == 0.1 else 0.1),
        other.assign(subfield="eye"),
        other.assign(dimension="accuracy"),
        guarantee.assign(part="guarantee", n=9, delta=level),
    ]
    return pd.concat(parts, ignore_index=True)


def test_curve_band_target_and_promise_are_drawn() -> None:
    curve, guarantee = rows_and_promises(["alpha", "beta"])
    guarantee.loc[1, ["coverage", "agreement", "low", "high"]] = np.nan
    figure = risk_coverage(table(curve, guarantee), dimension="overall", target=0.9)
    alpha, beta = (next(axes for axes in figure.axes if axes.get_title() == name) for name in ("alpha", "beta"))
    rows = curve[curve["judge"] == "alpha"]
    np.testing.assert_array_equal(
        marks(alpha, "values"), rows.assign(agreement=1 - rows["risk"])[["coverage", "agreement"]]
    )
    assert marks(alpha, "target")[0, 1] == 0.9
    np.testing.assert_array_equal(marks(alpha, "promise"), [[0.4, 0.93]])
    span = spans(alpha, "promise-interval")[0]
    assert (span[0, 1], span[1, 1]) == (0.9, 0.95)
    band = next(c for c in alpha.collections if c.get_gid() == "band").get_paths()[0].vertices
    assert band[:, 1].min() == pytest.approx(1 - rows["risk_high"].max())
    assert np.isnan(marks(beta, "promise")).all()
    assert [text.get_text() for text in beta.texts] == ["nothing promised"]
    turned = risk_coverage(table(curve, guarantee), dimension="overall", judges=["beta", "alpha"])
    assert [axes.get_title() for axes in turned.axes] == ["beta", "alpha"]


@pytest.mark.parametrize("judges", [["alpha"], ["alpha", "beta", "gamma"]])
def test_a_promise_holds_for_all_judges_together(judges: list[str]) -> None:
    rows = promised(table(*rows_and_promises(judges)))
    assert rows["delta"].unique().tolist() == [0.1 / len(judges)]
    assert rows.loc[rows["dimension"] == "overall", "judge"].tolist() == judges


def test_nothing_promised_anywhere_and_intervals_left_out_still_draw() -> None:
    curve, guarantee = rows_and_promises(["alpha"])
    curve[["risk_low", "risk_high"]] = np.nan
    guarantee[["coverage", "agreement", "low", "high"]] = np.nan
    figure = risk_coverage(table(curve, guarantee), dimension="overall", target=0.95)
    assert figure.axes[0].get_ylim()[0] <= 0.7
