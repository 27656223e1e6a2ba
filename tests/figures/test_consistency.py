"""The figures of what a judge contradicts itself in draw what their frames say."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from mrb_lib.figures.consistency import order_violations, pair_instability, preference_and_noise
from mrb_lib.figures.style import Paper


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
@pytest.mark.parametrize(
    ("draw", "parts"),
    [
        (preference_and_noise, ("position_preference", "position_noise")),
        (order_violations, ("tov", "tov_intransitive")),
    ],
)
def test_two_parts_of_one_dimension(draw: Callable[..., Paper], parts: tuple[str, str], count: int, flaws) -> None:
    frame = made(count, *parts)
    figure = draw(frame, dimension="overall")
    names = dict(enumerate(text.get_text() for text in figure.axes[0].get_yticklabels()))
    here = frame[frame["dimension"] == "overall"].set_index("judge")
    for axes, name in zip(figure.axes, parts, strict=True):
        line = next(line for line in axes.lines if line.get_gid() == "values")
        found = {names[int(y)]: x for x, y in zip(line.get_xdata(), line.get_ydata(), strict=True)}
        assert found == here[name].dropna().to_dict()
        assert sum(text.get_gid() == "not-available" for text in axes.texts) == 1
    assert names[count - 1] == "j0"
    assert flaws(figure) == []


def test_violations_are_counts_of_verdicts_and_no_percentages() -> None:
    figure = order_violations(made(3, "tov", "tov_intransitive"), dimension="overall")
    figure.canvas.draw()
    ticks = [text.get_text() for text in figure.axes[0].get_xticklabels()]
    at = figure.axes[0].get_xticks()
    assert [float(text) for text in ticks] == pytest.approx(list(at))


@pytest.mark.parametrize("count", [2, 32])
def test_instability_has_a_panel_a_dimension(count: int, flaws) -> None:
    frame = made(count, "ipi")
    figure = pair_instability(frame)
    for axes, dimension in zip(figure.axes, ("overall", "accuracy"), strict=True):
        line = next(line for line in axes.lines if line.get_gid() == "values")
        assert sorted(line.get_xdata()) == sorted(frame.loc[frame["dimension"] == dimension, "ipi"].dropna())
        assert sum(text.get_gid() == "not-available" for text in axes.texts) == (dimension == "overall")
    assert flaws(figure) == []
