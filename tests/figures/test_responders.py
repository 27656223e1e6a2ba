"""Figures of responders draw what their frame says beside the judges' values."""

import numpy as np
import pandas as pd

from tests.figures.read import draw, marks, of, shown, spans, ticks


def test_both_intervals_and_the_truth_are_drawn_of_the_judges_that_help_most() -> None:
    rows = shown("ppi-win-rates")
    rows["expected_label_saving"] = rows["judge"].map({"j1": 0.1, "j2": 0.3, "j3": 0.5})
    rows["full_estimate"] = rows["responder"].map({"j1": 0.2, "m2": 0.9, "m3": np.nan})
    other = rows.assign(part="estimate", expected_label_saving=1 - rows["expected_label_saving"])
    figure = draw("ppi-win-rates", pd.concat([other, rows], ignore_index=True))
    assert [axes.get_title() for axes in figure.axes] == ["j3", "j2"]
    axes, own = figure.axes[0], of(rows, judge="j3").dropna(subset="responder").set_index("responder")
    assert ticks(axes) == ["m2", "j1", "m3"]
    own = own.loc[["m2", "j1", "m3"]]
    for gid, column in (("estimates", "estimate"), ("classical", "classical_estimate"), ("full", "full_estimate")):
        points = marks(axes, gid)
        np.testing.assert_allclose(points[np.argsort(points[:, 1]), 0], own[column])
    ends = sorted((span[0, 0], span[1, 0]) for span in spans(axes, "classical-intervals"))
    np.testing.assert_allclose(ends, sorted(own[["classical_low", "classical_high"]].to_numpy().tolist()))


def test_every_strength_and_interval_is_drawn_beside_the_annotators() -> None:
    rows = shown("responder-strengths")
    figure = draw("responder-strengths", rows, ["j3", "unseen", "j1"])
    strengths = of(rows, part="strength")
    gold = of(strengths, source="gold").sort_values("strength", ascending=False)
    assert ticks(figure.axes[0]) == gold["responder"].tolist()
    for axes, judge in zip(figure.axes, ["j3", "j1"], strict=True):
        assert axes.get_title() == judge
        own = of(strengths, judge=judge).set_index("responder").loc[gold["responder"]]
        for gid, expected in (("annotators", gold), ("judge", own)):
            points = marks(axes, gid)
            np.testing.assert_allclose(points[np.argsort(points[:, 1]), 0], expected["strength"])
            found = sorted((span[0, 1], span[0, 0], span[1, 0]) for span in spans(axes, f"{gid}-intervals"))
            np.testing.assert_allclose([item[1:] for item in found], expected[["low", "high"]])
        assert axes.get_xscale() == "log"
