"""What is drawn of calibration is what the frame says, of two judges and of many, whatever they are called."""

from __future__ import annotations

import numpy as np
import pandas as pd

from mrb_lib.figures.confidence import calibration_shift, overconfidence, reliability
from tests.figures.read import marks, spans, texts


def frames(judges: list[str], seed: int = 0) -> tuple[pd.DataFrame, pd.DataFrame]:
    generator = np.random.default_rng(seed)
    confidence = np.array([0.55, 0.65, 0.75, 0.85, 0.95])
    bins = []
    for judge in judges:
        accuracy = np.clip(confidence + generator.normal(0, 0.08, 5), 0.05, 0.98)
        n = generator.integers(5, 200, 5)
        bins.append(
            pd.DataFrame(
                {
                    "judge": judge,
                    "dimension": "overall",
                    "bin": range(5, 10),
                    "n": n,
                    "confidence": confidence,
                    "accuracy": accuracy,
                    "low": accuracy - 0.05,
                    "high": accuracy + 0.02,
                }
            )
        )
    summary = pd.DataFrame({"judge": judges, "dimension": "overall", "n": 500})
    for name in ("ece", "overconfidence"):
        summary[name] = summary[f"{name}_debiased"] = generator.uniform(0.01, 0.2, len(judges))
        summary[f"{name}_low"], summary[f"{name}_high"] = summary[name] - 0.01, summary[name] + 0.02
    return pd.concat(bins), summary


def table(bins: pd.DataFrame, summary: pd.DataFrame) -> pd.DataFrame:
    """The table `calibration` of these rows, with others of the same judges that no diagram is to draw."""
    parts = [
        bins.assign(part="bin"),
        bins.assign(part="risk_coverage", accuracy=0.0),
        bins.assign(part="bin", dimension="accuracy", accuracy=0.0),
        summary.assign(part="summary"),
        summary.assign(part="summary", dimension="accuracy", ece_debiased=0.99),
    ]
    return pd.concat(parts, ignore_index=True)


def test_every_bin_and_interval_is_drawn_against_the_diagonal() -> None:
    bins, summary = frames(["alpha", "beta"])
    bins.loc[bins.index[0], ["low", "high"]] = np.nan
    figure = reliability(table(bins, summary), dimension="overall")
    titles = [axes.get_title().split("\n")[0] for axes in figure.axes]
    assert titles == ["alpha", "beta"]
    turned = reliability(table(bins, summary), dimension="overall", judges=["beta", "gamma", "alpha"])
    assert [axes.get_title().split("\n")[0] for axes in turned.axes] == ["beta", "alpha"]
    assert [names for names, _ in turned.boxes()] == [{"judge": "beta"}, {"judge": "alpha"}]
    for judge in ("alpha", "beta"):
        axes = next(axes for axes in figure.axes if axes.get_title().startswith(judge))
        rows = bins[bins["judge"] == judge]
        np.testing.assert_array_equal(marks(axes, "values"), rows[["confidence", "accuracy"]])
        ends = spans(axes)
        known = rows.dropna()
        np.testing.assert_array_equal([[s[0, 0], s[0, 1], s[1, 1]] for s in ends], known[["confidence", "low", "high"]])
        np.testing.assert_array_equal(marks(axes, "calibrated"), [[0.5, 0.5], [1, 1]])
        shares = np.array([patch.get_height() for patch in axes.patches])
        np.testing.assert_allclose(shares / shares.sum(), rows["n"] / rows["n"].sum())
        error = summary.set_index("judge").loc[judge, "ece_debiased"]
        assert axes.get_title().endswith(f"n 500, ECE {100 * error:.1f}")


def test_a_judge_without_bins_has_no_panel() -> None:
    bins, summary = frames(["alpha", "beta"])
    figure = reliability(table(bins[bins["judge"] == "beta"], summary), dimension="overall")
    assert [axes.get_title().split("\n")[0] for axes in figure.axes if axes.axison] == ["beta"]


def test_bins_of_a_subfield_are_not_drawn() -> None:
    bins, summary = frames(["alpha"])
    whole = table(bins, summary)
    eyes = whole.assign(subfield="eye", accuracy=0.0)
    figure = reliability(pd.concat([whole.assign(subfield=None), eyes]), dimension="overall")
    np.testing.assert_array_equal(marks(figure.axes[0], "values"), bins[["confidence", "accuracy"]])


def test_overconfidence_is_drawn_and_a_missing_one_said() -> None:
    _, summary = frames(["alpha", "beta", "gamma"])
    other = summary.assign(dimension="accuracy", overconfidence=[0.1, 0.2, np.nan])
    silent = summary.head(1).assign(judge="silent", overconfidence=np.nan)
    figure = overconfidence(pd.concat([other, summary, silent]), judges=["gamma", "alpha", "silent", "beta"])
    left, right = figure.axes
    assert marks(left, "values")[:, 0].tolist() == [0.1, 0.2]
    np.testing.assert_array_equal(marks(right, "values")[:, 0], summary["overconfidence"].iloc[[2, 0, 1]])
    assert [text.get_text() for text in left.get_yticklabels()] == ["gamma", "alpha", "beta"]
    assert texts(left) == ["n/a"]
    assert not texts(right)


def test_shift_has_a_panel_a_probe() -> None:
    rows = pd.DataFrame({"judge": ["a", "b"] * 2, "probe": ["blur"] * 2 + ["swap"] * 2})
    rows["overconfidence_difference"] = [0.1, -0.05, 0.0, 0.2]
    rows["overconfidence_difference_low"] = rows["overconfidence_difference"] - 0.02
    rows["overconfidence_difference_high"] = rows["overconfidence_difference"] + 0.02
    rows = pd.concat([rows.assign(dimension="overall"), rows.assign(dimension="accuracy", probe="dim")])
    figure = calibration_shift(rows, dimension="overall")
    titles = [axes.get_title() for axes in figure.axes]
    assert titles == ["Blur", "Swap"]
    assert sorted(marks(figure.axes[1], "values")[:, 0]) == [0.0, 0.2]
