"""Difficulties and doubts are drawn as their frames say."""

import numpy as np
import pandas as pd

from mrb_lib.figures.models import item_map, suspicion


def frame_of(judges: list[str], n: int = 200) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    accuracy = rng.random(n)
    cases = pd.DataFrame({"part": "case", "dimension": "overall", "accuracy": accuracy, "difficulty": 1 - 3 * accuracy})
    cases = cases.assign(discrimination=rng.uniform(0.5, 2, n), suspicion=rng.random(n))
    ability = rng.normal(0, 1, len(judges))
    people = pd.DataFrame({"part": "judge", "dimension": "overall", "judge": judges, "ability": ability})
    people = people.assign(ability_low=ability - 0.2, ability_high=ability + 0.2)
    elsewhere = people.head(1).assign(dimension="accuracy", ability=99.0)
    return pd.concat([cases, people, elsewhere], ignore_index=True)


def test_judges_and_cases_share_a_scale() -> None:
    frame = frame_of(["a", "b", "c"])
    frame.loc[0, "difficulty"] = np.nan
    above, below = item_map(frame, dimension="overall").axes
    assert above.get_xlim() == below.get_xlim()
    assert sum(patch.get_height() for patch in above.patches) == 199
    assert "199 cases, 1 n/a" in above.get_title()
    line = next(line for line in below.lines if line.get_gid() == "values")
    judges = frame[(frame["part"] == "judge") & (frame["dimension"] == "overall")].sort_values("ability")[::-1]
    np.testing.assert_allclose(line.get_xdata(), judges["ability"])
    assert [text.get_text() for text in below.get_yticklabels()] == judges["judge"].tolist()
    assert below.get_ylim()[0] > below.get_ylim()[1]
    below = item_map(frame, dimension="overall", judges=["c", "z", "a", "b"]).axes[1]
    assert [text.get_text() for text in below.get_yticklabels()] == ["c", "a", "b"]


def test_every_case_is_a_point_coloured_by_suspicion() -> None:
    frame = frame_of(["a"])
    cases = frame[frame["part"] == "case"].sort_values("suspicion")
    drawn = suspicion(cases, dimension="overall")
    points = next(c for c in drawn.axes[0].collections if c.get_gid() == "cases")
    np.testing.assert_allclose(points.get_offsets(), cases[["accuracy", "discrimination"]])
    np.testing.assert_allclose(points.get_array(), cases["suspicion"])
    assert (np.diff(points.get_sizes()) > 0).all()
    assert [names for names, _ in drawn.boxes()] == [{"row": "suspect"}]
