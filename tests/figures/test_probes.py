"""The figures of probes draw what the table says."""

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from mrb_lib.figures.probes import probe_profile, probe_severity
from mrb_lib.tables.errors import NotApplicable


def rows() -> pd.DataFrame:
    out = [
        {"part": "probe", "dimension": "overall", "judge": judge, "probe": probe, "severity": step,
         "expected": expected, "group": None, "changed": 0.1 * step,
         "changed_low": 0.1 * step - 0.05, "changed_high": 0.1 * step + 0.05,
         "kept_expectation": judge != "j1"}
        for judge in ("j1", "j2")
        for probe, steps, expected in (("image/removed", 1, "worse"), ("image/blur", 5, "same"))
        for step in range(1, steps + 1)
    ]  # fmt: skip
    unknown = {**out[0], "probe": "their/own", "severity": None, "expected": None, "kept_expectation": None}
    of_eyes = {**out[0], "subfield": "eye", "changed": 0.9}
    table = pd.DataFrame([*out, unknown, of_eyes, {**out[0], "dimension": "relevance"}])
    return table.astype({"severity": "Int64", "kept_expectation": "boolean", "expected": "str"})


def test_the_profile_shows_the_highest_severity_and_frames_what_is_not_kept() -> None:
    figure = probe_profile(rows(), dimension="overall")
    axes = figure.axes[0]
    assert [text.get_text() for text in axes.get_yticklabels()] == [
        "image/blur (same)", "image/removed (worse)", "their/own (?)",
    ]  # fmt: skip
    written = [text.get_text() for text in axes.texts]
    assert written[:2] == ["50\n45\u201355"] * 2
    assert written.count("n/a") == 1
    framed = {tuple(np.floor(patch.get_xy())) for patch in axes.patches if patch.get_gid() == "broken"}
    assert framed == {(0.0, 0.0), (0.0, 1.0)}
    assert [text.get_text() for text in axes.get_xticklabels()] == ["j1", "j2"]


def test_the_judges_of_the_profile_are_in_the_order_of_the_report() -> None:
    axes = probe_profile(rows(), dimension="overall", judges=["not-probed", "j2", "j1"]).axes[0]
    assert [text.get_text() for text in axes.get_xticklabels()] == ["j2", "j1"]
    framed = {tuple(np.floor(patch.get_xy())) for patch in axes.patches if patch.get_gid() == "broken"}
    assert framed == {(1.0, 0.0), (1.0, 1.0)}


@pytest.mark.parametrize("n", [2, 12, 45])
def test_many_judges_have_a_row_each(flaws: Callable[[Figure], list[str]], n: int) -> None:
    known = rows().query("judge == 'j1'")
    table = pd.concat([known.assign(judge=f"judge {i} with a long name", changed=i / 50) for i in range(n)])
    figure = probe_profile(table, dimension="overall")
    assert flaws(figure) == []
    axes = figure.axes[0]
    assert axes.get_ylabel().startswith("judge" if n > 12 else "probe")
    named = axes.get_yticklabels() if n > 12 else axes.get_xticklabels()
    assert len(named) == n
    shown = figure.axes[0].collections[0].get_array()
    assert sorted(np.ma.compressed(shown)) == pytest.approx(sorted([i / 50 for i in range(n)] * 3))


def test_severities_are_drawn_as_a_line_a_judge() -> None:
    figure = probe_severity(rows(), dimension="overall")
    drawn = [line for line in figure.axes[0].get_lines() if line.get_gid() == "values"]
    assert len(figure.axes) == 1
    assert len(drawn) == 2
    for line in drawn:
        np.testing.assert_allclose(line.get_ydata(), [0.1, 0.2, 0.3, 0.4, 0.5])
    with pytest.raises(NotApplicable, match="no probe of these verdicts has several steps"):
        probe_severity(rows().query("probe == 'image/removed'"), dimension="overall")


def test_groups_are_no_steps_and_the_judges_that_follow_severity_most_are_in_colour() -> None:
    steps = rows().query("probe == 'image/blur' and judge == 'j1' and part == 'probe' and dimension == 'overall'")
    slopes = dict(zip("abcdefgh", (0.02, 0.0, 0.15, 0.1, 0.05, 0.04, 0.03, 0.06), strict=True))
    judges = pd.concat(steps.assign(judge=name, changed=slope * steps["severity"]) for name, slope in slopes.items())
    grouped = judges.assign(probe="question/age", group="25 to 34")
    figure = probe_severity(pd.concat([judges, grouped]), dimension="overall")
    assert [axes.get_title() for axes in figure.axes] == ["image/blur"]
    assert len([line for line in figure.axes[0].get_lines() if line.get_gid() == "values"]) == len(slopes)
    named = {text.get_text() for text in figure.legends[0].get_texts()}
    assert named == {"c", "d", "e", "f", "g", "h", "2 other judges"}
