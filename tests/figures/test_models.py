"""Difficulties, doubts and DIF are drawn as their frames say."""

import numpy as np
import pandas as pd

from tests.figures.read import beside_others, draw, marks, of, shown, texts, ticks


def test_judges_and_cases_share_a_scale() -> None:
    rows = shown("models-difficulty")
    rows.loc[rows.index[rows["part"] == "case"][0], "difficulty"] = np.nan
    cases, judges = of(rows, part="case"), of(rows, part="judge").sort_values("ability", ascending=False)
    n = int(cases["difficulty"].notna().sum())
    above, below = draw("models-difficulty", beside_others(rows, ability=99.0), ()).axes
    assert above.get_xlim() == below.get_xlim()
    assert sum(patch.get_height() for patch in above.patches) == n
    assert f"{n} cases, {len(cases) - n} n/a" in above.get_title()
    np.testing.assert_allclose(marks(below)[:, 0], judges["ability"])
    assert ticks(below) == judges["judge"].tolist()
    assert below.get_ylim()[0] > below.get_ylim()[1]
    assert ticks(draw("models-difficulty", rows, ["j3", "z", "j1", "j2"]).axes[1]) == ["j3", "j1", "j2"]


def test_every_case_is_a_point_coloured_by_suspicion() -> None:
    rows = shown("models-suspicion").dropna(subset=["suspicion", "discrimination"]).sort_values("suspicion")
    drawn = draw("models-suspicion", rows)
    points = next(c for c in drawn.axes[0].collections if c.get_gid() == "cases")
    np.testing.assert_allclose(points.get_offsets(), rows[["accuracy", "discrimination"]])
    np.testing.assert_allclose(points.get_array(), rows["suspicion"])
    assert (np.diff(points.get_sizes()) >= 0).all() and np.ptp(points.get_sizes()) > 0
    assert [names for names, _ in drawn.boxes()] == [{"row": "suspect"}]


def test_a_cell_holds_delta_class_and_significance() -> None:
    rows = of(shown("models-dif"), judge="j1", subfield="eye")
    rows = pd.concat([rows.assign(judge=judge, subfield=part) for judge in ("a", "b") for part in ("eye", "lung")])
    rows = rows.assign(ets_delta=[-2.3, 0.04, np.nan, 1.2], ets_class=["C", "A", None, "B"])
    rows["p_adjusted"] = [0.01, 0.9, np.nan, 0.2]
    axes = draw("models-dif", beside_others(rows, ets_delta=9.0), ()).axes[0]
    drawn = [text for text in axes.texts if text.get_gid() == "cell"]
    cells = [text.get_text() for text in sorted(drawn, key=lambda text: text.get_position()[::-1])]
    assert cells == ["\u22122.3 C*", "0.0", "n/a", "+1.2 B"] and len(texts(axes, "cell")) == 4
    mesh = next(c for c in axes.collections if c.get_gid() == "cells")
    assert mesh.norm.vcenter == 0
    assert 2.3 <= mesh.norm.vmax == -mesh.norm.vmin < 9
    assert ticks(draw("models-dif", rows, ["b", "z", "a"]).axes[0]) == ["b", "a"]
