"""The figures of what a judge contradicts itself in draw what their frames say."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mrb_lib.figures import consistency
from mrb_lib.figures.consistency import preference_and_noise


def made(count: int, *names: str) -> pd.DataFrame:
    generator = np.random.default_rng(count)
    frame = pd.DataFrame(
        {"judge": [f"j{i}" for i in range(count)] * 2, "dimension": np.repeat(["overall", "accuracy"], count)}
    )
    for name in names:
        frame[name] = generator.uniform(0, 0.4, len(frame))
        frame[f"{name}_low"], frame[f"{name}_high"] = frame[name] - 0.02, frame[name] + 0.02
    frame.loc[0, frame.columns[2:]] = np.nan
    return frame


@pytest.mark.parametrize("count", [2, 32])
def test_two_parts_of_one_dimension(count: int, flaws) -> None:
    parts = ("position_preference", "position_noise")
    frame = made(count, *parts)
    figure = preference_and_noise(frame, dimension="overall")
    names = dict(enumerate(text.get_text() for text in figure.axes[0].get_yticklabels()))
    here = frame[frame["dimension"] == "overall"].set_index("judge")
    for axes, name in zip(figure.axes, parts, strict=True):
        line = next(line for line in axes.lines if line.get_gid() == "values")
        found = {names[int(y)]: x for x, y in zip(line.get_xdata(), line.get_ydata(), strict=True)}
        assert found == here[name].dropna().to_dict()
        assert sum(text.get_gid() == "not-available" for text in axes.texts) == 1
    assert names[count - 1] == "j0"
    assert flaws(figure) == []


@pytest.mark.parametrize(
    ("draw", "column"),
    [
        (consistency.order_consistency, "consistency"),
        (consistency.position_bias, "position_bias"),
        (preference_and_noise, "position_preference"),
    ],
)
def test_judges_are_in_the_order_of_the_report_and_subfields_are_not_drawn(draw, column: str) -> None:
    whole = made(4, "consistency", "position_bias", "position_preference", "position_noise")
    parts = whole.assign(subfield="lung", **{column: 0.9})
    judges = ["j2", "j0", "j3", "j1"]
    frame = pd.concat([whole.assign(subfield=None), parts], ignore_index=True)
    axes = draw(frame, judges=judges, dimension="overall").axes[0]
    assert [text.get_text() for text in axes.get_yticklabels()] == judges
    values = next(line for line in axes.lines if line.get_gid() == "values")
    own = whole[whole["dimension"] == "overall"].set_index("judge")[column].reindex(judges)
    assert list(values.get_xdata()) == own.dropna().tolist()
