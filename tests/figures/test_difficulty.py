"""Difficulties and doubts are drawn as their frames say."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mrb_lib.figures.models import item_map, suspicion


def frame_of(judges: list[str], n: int = 200) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    accuracy = rng.random(n)
    cases = pd.DataFrame({"part": "case", "accuracy": accuracy, "difficulty": 1 - 3 * accuracy})
    cases = cases.assign(discrimination=rng.uniform(0.5, 2, n), suspicion=rng.random(n))
    ability = rng.normal(0, 1, len(judges))
    people = pd.DataFrame({"part": "judge", "judge": judges, "ability": ability})
    people = people.assign(ability_low=ability - 0.2, ability_high=ability + 0.2)
    return pd.concat([cases, people], ignore_index=True)


def test_judges_and_cases_share_a_scale() -> None:
    frame = frame_of(["a", "b", "c"])
    frame.loc[0, "difficulty"] = np.nan
    above, below = item_map(frame).axes
    assert above.get_xlim() == below.get_xlim()
    assert sum(patch.get_height() for patch in above.patches) == 199
    assert "199 cases, 1 n/a" in above.get_title()
    line = next(line for line in below.lines if line.get_gid() == "values")
    judges = frame[frame["part"] == "judge"].sort_values("ability")
    np.testing.assert_allclose(line.get_xdata(), judges["ability"])
    assert [text.get_text() for text in below.get_yticklabels()] == judges["judge"].tolist()


def test_every_case_is_a_point_coloured_by_suspicion() -> None:
    frame = frame_of(["a"])
    cases = frame[frame["part"] == "case"].sort_values("suspicion")
    left, right = suspicion(cases).axes[:2]
    for axes, name in ((left, "difficulty"), (right, "discrimination")):
        points = next(c for c in axes.collections if c.get_gid() == "cases")
        np.testing.assert_allclose(points.get_offsets(), cases[["accuracy", name]])
        np.testing.assert_allclose(points.get_array(), cases["suspicion"])
        assert (np.diff(points.get_sizes()) > 0).all()


@pytest.mark.parametrize("count", [1, 2, 32])
def test_any_size_can_be_read(frames, flaws, count: int) -> None:
    frame = frame_of(frames.judges(count))
    assert not flaws(item_map(frame))
    assert not flaws(suspicion(frame[frame["part"] == "case"]))


def test_hostile_names_and_empty_frames(flaws) -> None:
    figure = item_map(frame_of(["$\\frac{1}{0}$", "a" * 90, "\u202e\x00evil"]))
    figure.png()
    assert not flaws(figure)
    empty = frame_of(["a"]).iloc[:0]
    above, below = item_map(empty).axes
    assert above.get_title() == "Difficulty of 0 cases"
    assert not below.get_yticklabels()
    left, right = suspicion(empty).axes[:2]
    for axes in (left, right):
        assert len(next(c for c in axes.collections if c.get_gid() == "cases").get_offsets()) == 0
