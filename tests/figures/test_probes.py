"""The figures of probes draw what the table says."""

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from mrb_lib.tables.errors import NotApplicable
from tests.figures.read import copied, draw, of, shown, ticks


def rows() -> pd.DataFrame:
    """Two judges under blur of two steps and without the image; j1 breaks what is expected of it."""
    made = shown("probe-severity")
    made = made[made["judge"].isin(["j1", "j2"]) & made["probe"].isin(["image/blur", "image/removed"])].copy()
    made["kept_expectation"] = made["judge"].ne("j1").astype("boolean")
    for name, value in zip(("changed", "changed_low", "changed_high"), (0.2, 0.15, 0.25), strict=True):
        made[name] = value * made["severity"].fillna(1).astype(float)
    unknown = {"probe": "their/own", "severity": None, "expected": None, "kept_expectation": None}
    return pd.concat([made, copied(made.head(1), "judge", ["j1"]).assign(**unknown)])


def test_the_profile_shows_the_highest_severity_and_frames_what_is_not_kept() -> None:
    for judges, order, broken in (((), ["j1", "j2"], 0.0), (["not-probed", "j2", "j1"], ["j2", "j1"], 1.0)):
        axes = draw("probe-profile", rows(), judges).axes[0]
        assert [text.get_text() for text in axes.get_xticklabels()] == order
        framed = {tuple(np.floor(patch.get_xy())) for patch in axes.patches if patch.get_gid() == "broken"}
        assert framed == {(broken, 0.0), (broken, 1.0)}
    assert ticks(axes) == ["image/blur (same)", "image/removed (worse)", "their/own (?)"]
    written = [text.get_text() for text in axes.texts]
    assert written[:2] == ["40\n30\u201350"] * 2
    assert written.count("n/a") == 1


@pytest.mark.parametrize("n", [2, 12, 45])
def test_many_judges_have_a_row_each(flaws: Callable[[Figure], list[str]], n: int) -> None:
    judges = [f"judge {i} with a long name" for i in range(n)]
    figure = draw("probe-profile", copied(rows(), "judge", judges), judges)
    assert flaws(figure) == []
    axes = figure.axes[0]
    assert axes.get_ylabel().startswith("judge" if n > 12 else "probe")
    assert len(axes.get_yticklabels() if n > 12 else axes.get_xticklabels()) == n


def test_severities_are_drawn_as_a_line_a_judge() -> None:
    [axes] = draw("probe-severity", rows()).axes
    drawn = [line.get_ydata() for line in axes.get_lines() if line.get_gid() == "values"]
    np.testing.assert_allclose(drawn, [[0.2, 0.4]] * 2)
    with pytest.raises(NotApplicable, match="no probe of these verdicts has several steps"):
        draw("probe-severity", of(rows(), probe="image/removed"))


def test_groups_are_no_steps_and_the_judges_that_follow_severity_most_are_in_colour() -> None:
    slopes = dict(zip("abcdefgh", (0.02, 0.0, 0.15, 0.1, 0.05, 0.04, 0.03, 0.06), strict=True))
    judges = copied(of(rows(), probe="image/blur"), "judge", list(slopes))
    judges["changed"] = judges["judge"].map(slopes) * judges["severity"].astype(float)
    grouped = judges.assign(probe="question/age", group="25 to 34")
    figure = draw("probe-severity", pd.concat([judges, grouped]))
    assert [axes.get_title() for axes in figure.axes] == ["image/blur"]
    assert len([line for line in figure.axes[0].get_lines() if line.get_gid() == "values"]) == len(slopes)
    named = {text.get_text() for text in figure.legends[0].get_texts()}
    assert named == {"c", "d", "e", "f", "g", "h", "2 other judges"}
