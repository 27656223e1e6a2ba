"""What the figures of bias draw is what their frames say."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes

from mrb_lib.figures.bias import error_asymmetries, length_controlled, log_odds
from mrb_lib.figures.lettering import label

MARKERS = ("lists", "bold", "numbers")
ENDS = {
    "estimate": ("low", "high"),
    "error_asymmetry": ("error_asymmetry_low", "error_asymmetry_high"),
    "equal_length_accuracy": ("equal_length_accuracy_low", "equal_length_accuracy_high"),
}
HOSTILE = ["$x_1^2$", "nul\0l", "\u202eevil", "x" * 300, "", "<b>"]


def table(judges: list[str], seed: int = 0) -> pd.DataFrame:
    """A table `bias` of dimension overall, with a subfield and another dimension."""
    generator = np.random.default_rng(seed)
    kinds = [
        ("length", None),
        ("self_preference", None),
        ("family_preference", None),
        *(("style", marker) for marker in MARKERS),
    ]
    values = ("estimate", "error_asymmetry", "equal_length_accuracy")
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
    out["accuracy"] = out["equal_length_accuracy"] + 0.02
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


def test_log_odds_leave_out_markers_nobody_has_and_write_what_is_off_the_scale() -> None:
    frame = table(["a", "b", "c"])
    first = (frame["bias"] == "length") & (frame["judge"] == "b")
    frame.loc[first, ["estimate", "low", "high"]] = -17.25, -20.0, -14.5
    figure = log_odds(frame, dimension="overall")
    assert [axes.get_title() for axes in figure.axes] == ["Length", "Lists", "Numbers"]
    off = [text for text in figure.axes[0].texts if text.get_gid() == "off-scale"]
    assert [text.get_text() for text in off] == ["\u25c0 \u221217.2"]
    names = [text.get_text() for text in figure.axes[0].get_yticklabels()]
    assert names[int(off[0].get_position()[1])] == "b"
    assert figure.axes[0].get_xlim()[1] < 1
    here = frame[(frame["dimension"] == "overall") & frame["subfield"].isna() & (frame["marker"] == "lists")]
    assert drawn(figure.axes[1], figure.axes[0]) == here.set_index("judge")["estimate"].to_dict()
    figure.png()


@pytest.mark.parametrize("count", [1, 32])
def test_accuracies_with_and_without_length(count: int) -> None:
    frame = table([f"j{i}" for i in range(count)])
    none = (frame["judge"] == "j0") & (frame["bias"] == "length")
    frame.loc[none, ["equal_length_accuracy", *ENDS["equal_length_accuracy"]]] = np.nan
    figure = length_controlled(frame, dimension="overall")
    (axes,) = figure.axes
    here = frame[(frame["dimension"] == "overall") & frame["subfield"].isna() & (frame["bias"] == "length")]
    here = here.set_index("judge")
    assert drawn(axes, axes, "uncontrolled") == here["accuracy"].to_dict()
    assert drawn(axes, axes, "controlled") == here["equal_length_accuracy"].drop("j0").to_dict()
    assert sum(text.get_gid() == "not-available" for text in axes.texts) == 1
    heights = [y for _, y in points(axes, "uncontrolled")]
    assert heights == sorted(heights)
    figure.png()


def test_hostile_names_are_drawn() -> None:
    frame = table(HOSTILE)
    for plot in (error_asymmetries, log_odds, length_controlled):
        figure = plot(frame, dimension="overall")
        figure.png()
        assert label("$x_1^2$") in [text.get_text() for text in figure.axes[0].get_yticklabels()]


def test_nothing_known_is_drawn_as_such() -> None:
    frame = table(["a", "b"])
    frame[["accuracy", *ENDS, *(end for ends in ENDS.values() for end in ends)]] = np.nan
    for plot in (error_asymmetries, log_odds, length_controlled):
        figure = plot(frame, dimension="overall")
        assert any(text.get_gid() == "not-available" for text in figure.axes[0].texts)
        figure.png()
