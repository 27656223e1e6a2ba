"""What the figures of bias draw is what their frames say."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes

from mrb_lib.figures.bias import error_asymmetries, log_odds

MARKERS = ("lists", "bold", "numbers")
ENDS = {
    "estimate": ("low", "high"),
    "error_asymmetry": ("error_asymmetry_low", "error_asymmetry_high"),
    "association": ("association_low", "association_high"),
}


def table(judges: list[str], seed: int = 0) -> pd.DataFrame:
    """A table `bias` of dimension overall, with a subfield and another dimension."""
    generator = np.random.default_rng(seed)
    kinds = [
        ("length", None),
        ("self_preference", None),
        ("family_preference", None),
        *(("style", marker) for marker in MARKERS),
    ]
    values = tuple(ENDS)
    rows = [
        (judge, dimension, subfield, *kind, *generator.uniform(0.2, 0.8, len(values)))
        for kind in kinds
        for dimension, subfield in (("overall", None), ("overall", "eye"), ("accuracy", None))
        for judge in judges
    ]
    names = ["judge", "dimension", "subfield", "bias", "marker"]
    out = pd.DataFrame(rows, columns=[*names, *values]).astype(dict.fromkeys(names, "str"))
    for name, (low, high) in ENDS.items():
        out[low], out[high] = out[name] - 0.05, out[name] + 0.05
    nobody = (out["bias"] == "family_preference") | (out["marker"] == "bold")
    numbers = [*values, *(end for ends in ENDS.values() for end in ends)]
    out.loc[nobody, numbers] = np.nan
    return out


def points(axes: Axes, gid: str) -> list[tuple[float, float]]:
    line = next(line for line in axes.lines if line.get_gid() == gid)
    return [(float(x), float(y)) for x, y in zip(line.get_xdata(), line.get_ydata(), strict=True)]


def drawn(axes: Axes, names: Axes, gid: str = "values") -> dict[str, float]:
    rows = {tick: text.get_text() for tick, text in zip(names.get_yticks(), names.get_yticklabels(), strict=True)}
    return {rows[y]: x for x, y in points(axes, gid)}


@pytest.mark.parametrize("count", [2, 32])
def test_error_asymmetries_are_those_of_the_dimension_as_a_whole(count: int) -> None:
    frame = table([f"j{i}" for i in range(count)])
    figure = error_asymmetries(frame, dimension="overall")
    assert [axes.get_title() for axes in figure.axes] == ["Length", "Self preference"]
    here = frame[(frame["dimension"] == "overall") & frame["subfield"].isna()]
    for axes, name in zip(figure.axes, ("length", "self_preference"), strict=True):
        expected = here[here["bias"] == name].set_index("judge")["error_asymmetry"].to_dict()
        assert drawn(axes, figure.axes[0]) == expected
    figure.png()


def of_length(frame: pd.DataFrame) -> pd.DataFrame:
    here = frame[(frame["dimension"] == "overall") & frame["subfield"].isna() & (frame["bias"] == "length")]
    return here.set_index("judge")


def test_log_odds_leave_out_markers_nobody_has_and_draw_the_largest() -> None:
    frame = table(["a", "b", "c"])
    first = (frame["bias"] == "length") & (frame["judge"] == "b")
    frame.loc[first, ["estimate", "low", "high"]] = -17.25, -20.0, -14.5
    figure = log_odds(frame, dimension="overall")
    assert [axes.get_title() for axes in figure.axes] == ["Length", "Lists", "Numbers"]
    assert drawn(figure.axes[0], figure.axes[0]) == of_length(frame)["estimate"].to_dict()
    assert figure.axes[0].get_xlim()[0] < -20
    assert [axes.get_xscale() for axes in figure.axes] == ["symlog"] * 3
    assert "logarithmic" in figure.get_supxlabel()
    here = frame[(frame["dimension"] == "overall") & frame["subfield"].isna() & (frame["marker"] == "lists")]
    assert drawn(figure.axes[1], figure.axes[0]) == here.set_index("judge")["estimate"].to_dict()
    figure.png()


def test_associations_are_drawn_and_named_where_no_judge_has_an_estimate() -> None:
    frame = table(["a", "b"])
    assert "beyond quality" in log_odds(frame, dimension="overall").get_supxlabel()
    frame[["estimate", "low", "high"]] = np.nan
    figure = log_odds(frame, dimension="overall")
    assert "given the gold label" in figure.get_supxlabel()
    assert figure.axes[0].get_xscale() == "linear"
    assert drawn(figure.axes[0], figure.axes[0]) == of_length(frame)["association"].to_dict()


def test_nothing_known_is_drawn_as_such() -> None:
    frame = table(["a", "b"])
    frame[[*ENDS, *(end for ends in ENDS.values() for end in ends)]] = np.nan
    for plot in (error_asymmetries, log_odds):
        figure = plot(frame, dimension="overall")
        assert any(text.get_gid() == "not-available" for text in figure.axes[0].texts)
        figure.png()
