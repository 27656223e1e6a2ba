"""What the figures of training draw is what the tables say."""

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mrb_lib.figures.training import (
    domain_losses,
    learning_curve,
    trained_and_tested,
    training_curves,
)
from mrb_lib.tables.schema import DEPARTMENTS
from tests.figures.read import beside_others, ticks

LONG = "path:a-tuned-judge-with-a-very-long-name+generative@a-tuned-judge-0123abcd"
Flaws = Callable[[Figure], list[str]]


def lines(axes: Axes, gid: str) -> list[np.ndarray]:
    return [np.asarray(line.get_ydata(), dtype=float) for line in axes.get_lines() if line.get_gid() == gid]


def curves(judges: int, stages: int) -> pd.DataFrame:
    """Ten steps of each stage, of which every second is validated."""
    names = ["judge", "stage", "step"]
    index = pd.MultiIndex.from_product([[f"judge-{i}" for i in range(judges)], range(stages), range(0, 200, 20)])
    rows = index.to_frame(index=False).set_axis(names, axis=1).assign(epoch=1.0, seconds=3.0)
    done, is_measured = rows["step"] / 200, rows["step"] % 40 == 0
    rows["loss"] = 0.7 - 0.3 * done
    return rows.assign(**{name: (0.5 + 0.3 * done).where(is_measured) for name in ("accuracy", "consistency")})


@pytest.mark.parametrize(("judges", "stages"), [(1, 1), (6, 2)])
def test_training_curves_draw_every_step_that_was_measured(flaws: Flaws, judges: int, stages: int) -> None:
    table = curves(judges, stages)
    drawn = training_curves(table)
    assert flaws(drawn) == []
    for axes, name in zip(drawn.axes, ("loss", "accuracy", "consistency"), strict=True):
        assert sorted(np.concatenate(lines(axes, name))) == pytest.approx(sorted(table[name].dropna()))
        assert len(lines(axes, "stage")) == judges * (stages - 1)
    unvalidated = training_curves(table.assign(accuracy=np.nan, consistency=np.nan))
    assert [axes.get_ylabel() for axes in unvalidated.axes] == ["loss"]


@pytest.mark.parametrize("recipes", [1, 3])
def test_a_learning_curve_draws_its_judges_and_joins_the_means_of_a_size(flaws: Flaws, recipes: int) -> None:
    names = [f"method sft, swap {'false' if i else 'true'}, reference keep" for i in range(recipes)]
    sizes = [50, 50, 100, 200, 400]
    table = pd.MultiIndex.from_product([names, range(5)]).to_frame(index=False).set_axis(["recipe", "i"], axis=1)
    table["n_training"] = table["i"].map(dict(enumerate(sizes)))
    table["value_tuned"] = 0.85 - 0.3 * (table["n_training"] / 50) ** -0.6 - 0.1 * (table["i"] == 0)
    ends = {"value_tuned_low": table["value_tuned"] - 0.04, "value_tuned_high": table["value_tuned"] + 0.03}
    table = table.assign(tuned=table["n_training"].astype(str), dimension="overall", part="size", **ends)
    drawn = learning_curve(table, dimension="overall")
    assert flaws(drawn) == []
    (axes,) = drawn.axes
    assert sorted(np.concatenate(lines(axes, "values"))) == pytest.approx(sorted(table["value_tuned"]))
    assert [text.get_text() for text in axes.get_xticklabels()] == ["50", "100", "200", "400"]
    joined = lines(axes, "means")
    assert len(joined) == min(recipes, 2)
    first = table[table["recipe"] == names[0]].groupby("n_training")["value_tuned"].mean()
    assert joined[0].tolist() == pytest.approx(first.tolist())


@pytest.mark.parametrize("values", [2, 8])
def test_the_matrix_frames_what_was_left_out_of_training(flaws: Flaws, values: int) -> None:
    rows = [
        {"tuned": f"without-{left_out}", "subfield": tested, "trained_on": f"all but {left_out}" if left_out else "all",
         "in_training": tested != left_out, "value_tuned": 0.78, "value_tuned_low": 0.74, "value_tuned_high": 0.82}
        for left_out in (None, *DEPARTMENTS[:values]) for tested in DEPARTMENTS[:values]
    ]  # fmt: skip
    table = pd.DataFrame(rows).assign(part="trained", dimension="overall").astype({"in_training": "boolean"})
    table.loc[3, ["value_tuned", "value_tuned_low", "value_tuned_high"]] = np.nan
    drawn = trained_and_tested(table, dimension="overall")
    assert flaws(drawn) == []
    assert [patch.get_gid() for patch in drawn.axes[0].patches].count("outside") == values


def test_losses_have_a_row_a_domain_and_all_of_them_below_a_line(flaws: Flaws) -> None:
    rows = pd.DataFrame({"subfield": [None, "Neurology", "oral_cavity"], "by": "department", "gain": [0, 0.01, 0.02]})
    rows = rows.assign(part="out_of_domain", low=rows["gain"] - 0.05, high=rows["gain"] + 0.05, dimension="overall")
    other = rows.tail(1).assign(by="organ", subfield="eye")
    drawn = domain_losses(pd.concat([beside_others(rows), other]), dimension="overall", by="department")
    assert flaws(drawn) == []
    assert ticks(drawn.axes[0]) == ["oral_cavity", "Neurology", "all left out"]
