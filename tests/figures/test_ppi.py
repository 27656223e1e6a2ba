"""Figures of prediction-powered estimates draw what their frame says."""

import numpy as np
import pandas as pd

from mrb_lib.figures import responders as plots
from tests.figures.read import marks, spans


def rates(judges: list[str], responders: list[str]) -> pd.DataFrame:
    generator = np.random.default_rng(2)
    """The rows of single responders, and those of all together, by which earlier judges save more labels."""
    pairs = [(judge, responder) for judge in judges for responder in [*responders, None]]
    out = pd.DataFrame(pairs, columns=["judge", "responder"]).assign(part="what_if", dimension="overall")
    out["expected_label_saving"] = 0.5 - 0.1 * out["judge"].map({judge: i for i, judge in enumerate(judges)})
    for name in ("estimate", "classical_estimate", "full_estimate"):
        out[name] = generator.uniform(0.3, 0.7, len(out))
    for prefix in ("", "classical_"):
        out[f"{prefix}low"], out[f"{prefix}high"] = 0.2, 0.8
    return out


def test_both_intervals_and_the_truth_are_drawn() -> None:
    rows = rates(["j", "k"], ["p", "q"])
    rows.loc[0, ["classical_low", "classical_high"]] = 0.1, 0.9
    rows["full_estimate"] = rows["responder"].map({"p": 0.4, "q": 0.6})
    figure = plots.win_rates(rows, dimension="overall")
    assert [axes.get_title() for axes in figure.axes] == ["j", "k"]
    axes, own = figure.axes[0], rows[(rows["judge"] == "j") & rows["responder"].notna()]
    assert [text.get_text() for text in axes.get_yticklabels()] == ["q", "p"]
    for gid, column in (("estimates", "estimate"), ("classical", "classical_estimate"), ("full", "full_estimate")):
        points = marks(axes, gid)
        np.testing.assert_allclose(points[np.argsort(-points[:, 1]), 0], own[column])
    ends = spans(axes, "classical-intervals")
    assert sorted((span[0, 0], span[1, 0]) for span in ends) == [(0.1, 0.9), (0.2, 0.8)]


def test_the_two_judges_that_help_most_are_drawn_and_responders_ordered_by_all_labels() -> None:
    rows = rates(["worst", "k", "j"][::-1], ["p", "q", "r"])
    rows["full_estimate"] = rows["responder"].map({"p": 0.2, "q": 0.9, "r": np.nan})
    other = rows.assign(part="estimate", expected_label_saving=1 - rows["expected_label_saving"])
    figure = plots.win_rates(pd.concat([other, rows]), dimension="overall")
    assert [axes.get_title() for axes in figure.axes] == ["j", "k"]
    assert [text.get_text() for text in figure.axes[0].get_yticklabels()] == ["q", "p", "r"]
