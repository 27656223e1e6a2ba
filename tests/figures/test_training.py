"""What the figures of training draw is what the tables say."""

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mrb_lib.figures.training import (
    QUANTITIES,
    domain_losses,
    ingredients,
    learning_curve,
    trained_and_tested,
    training_curves,
)
from tests.figures.read import beside_others, draw, shown, ticks, titles

LONG = "path:a-tuned-judge-with-a-very-long-name+generative@a-tuned-judge-0123abcd"
Flaws = Callable[[Figure], list[str]]


def lines(axes: Axes, gid: str) -> list[np.ndarray]:
    return [np.asarray(line.get_ydata(), dtype=float) for line in axes.get_lines() if line.get_gid() == gid]


def curves(judges: int = 2, stages: int = 1) -> pd.DataFrame:
    rows = []
    for judge in range(judges):
        for stage in range(stages):
            for step in range(0, 200, 20):
                done = step / 200
                accuracy = 0.5 + (0.1 * stage + 0.25 * done) * (1 - 0.1 * judge)
                measured = step % 40 == 0
                rows.append((f"judge-{judge}", stage, step, 1.0, 0.7 - 0.3 * done, accuracy if measured else np.nan,
                             0.6 + 0.3 * done if measured else np.nan, 3.0))  # fmt: skip
    columns = ["judge", "stage", "step", "epoch", "loss", "accuracy", "consistency", "seconds"]
    return pd.DataFrame(rows, columns=columns)


def learned(*, recipes: int = 1) -> pd.DataFrame:
    rows = []
    for recipe in range(recipes):
        shared = {
            "recipe": f"method sft, swap {'true' if recipe == 0 else 'false'}, reference keep",
            "dimension": "overall",
        }
        for size in (50, 100, 200, 400):
            accuracy = 0.85 - 0.05 * recipe - 0.3 * (size / 50) ** -0.6
            rows.append({**shared, "part": "size", "tuned": f"n{size}", "n_training": size, "value_tuned": accuracy,
                         "value_tuned_low": accuracy - 0.04, "value_tuned_high": accuracy + 0.03})  # fmt: skip
    return pd.DataFrame(rows)


def compared() -> pd.DataFrame:
    pairs = [("swap", "true", "false", "swapped", "unswapped"), ("reference", "keep", "drop", "swapped", "dropped"),
             ("n_cases", "400", "100", "swapped", "fewer"), ("swap", "true", "false", "dropped", "both")]  # fmt: skip
    quantities = ("accuracy", "consistency", "first_rate", "brier", "longer_rate")
    columns = ["ingredient", "setting_tuned", "setting_base", "tuned", "base"]
    rows = [
        {**dict(zip(columns, pair, strict=True)), "quantity": quantity, "gain": 0.02 * i - 0.03 * j}
        for i, pair in enumerate(pairs)
        for j, quantity in enumerate(quantities)
    ]
    table = pd.DataFrame(rows).assign(part="ingredient", dimension="overall")
    return table.assign(low=table["gain"] - 0.03, high=table["gain"] + 0.03)


def matrix(values: int = 8) -> pd.DataFrame:
    departments = ["Neurology", "Ophthalmology", "Stomatology", "Cardiology", "Pulmonology", "Gastroenterology",
                   "Gynecology", "Orthopedics"][:values]  # fmt: skip
    rng = np.random.default_rng(0)
    rows = []
    for left_out in [None, *departments]:
        for tested in departments:
            accuracy = 0.78 + rng.normal(0, 0.02) - (0.1 if tested == left_out else 0)
            rows.append({"part": "trained", "tuned": f"without-{left_out or 'nothing'}", "dimension": "overall",
                         "subfield": tested, "trained_on": "all" if left_out is None else f"all but {left_out}",
                         "in_training": tested != left_out, "value_tuned": accuracy, "value_tuned_low": accuracy - 0.04,
                         "value_tuned_high": accuracy + 0.04})  # fmt: skip
    table = pd.DataFrame(rows).astype({"in_training": "boolean"})
    table.loc[3, ["value_tuned", "value_tuned_low", "value_tuned_high"]] = np.nan
    return table


@pytest.mark.parametrize("judges", [1, 2, 6])
@pytest.mark.parametrize("stages", [1, 2])
def test_training_curves_draw_every_step_that_was_measured(flaws: Flaws, judges: int, stages: int) -> None:
    table = curves(judges, stages)
    drawn = training_curves(table)
    assert flaws(drawn) == []
    for axes, name in zip(drawn.axes, ("loss", "accuracy", "consistency"), strict=True):
        drawn_values = np.concatenate(lines(axes, name))
        assert sorted(drawn_values) == pytest.approx(sorted(table[name].dropna()))
        assert len(lines(axes, "stage")) == judges * (stages - 1)


def test_a_curve_without_validation_is_the_loss_alone(flaws: Flaws) -> None:
    drawn = training_curves(curves().assign(accuracy=np.nan, consistency=np.nan))
    assert flaws(drawn) == []
    assert [axes.get_ylabel() for axes in drawn.axes] == ["loss"]


def test_ingredients_have_a_row_a_pair_and_name_judges_only_where_the_ingredient_does_not_tell(flaws: Flaws) -> None:
    drawn = ingredients(compared(), dimension="overall")
    assert flaws(drawn) == []
    names = [text.get_text() for text in drawn.axes[0].get_yticklabels()]
    assert "n_cases: 400 \u2212 100" in names
    assert {"swap: swapped \u2212 unswapped", "swap: dropped \u2212 both"} <= set(names)
    assert len(drawn.axes) == 5


@pytest.mark.parametrize("recipes", [1, 3])
def test_a_learning_curve_draws_its_judges_and_joins_the_means_of_a_size(flaws: Flaws, recipes: int) -> None:
    table = learned(recipes=recipes)
    again = table[table["n_training"] == 50].assign(value_tuned=0.5, value_tuned_low=0.45, value_tuned_high=0.55)
    table = pd.concat([table, again], ignore_index=True)
    drawn = learning_curve(table, dimension="overall")
    assert flaws(drawn) == []
    (axes,) = drawn.axes
    assert sorted(np.concatenate(lines(axes, "values"))) == pytest.approx(sorted(table["value_tuned"]))
    assert [text.get_text() for text in axes.get_xticklabels()] == ["50", "100", "200", "400"]
    joined = lines(axes, "means")
    assert len(joined) == min(recipes, 2)
    assert joined[0].tolist() == pytest.approx(
        table[table["recipe"] == table["recipe"][0]].groupby("n_training")["value_tuned"].mean().tolist()
    )


@pytest.mark.parametrize("values", [2, 8])
def test_the_matrix_frames_what_was_left_out_of_training(flaws: Flaws, values: int) -> None:
    drawn = trained_and_tested(matrix(values), dimension="overall")
    assert flaws(drawn) == []
    framed = [patch for patch in drawn.axes[0].patches if patch.get_gid() == "outside"]
    assert len(framed) == values


def test_gains_have_a_panel_a_dimension_and_name_bases_only_where_a_judge_has_several(flaws: Flaws) -> None:
    rows = beside_others(shown("training-gains").assign(tuned=LONG))
    drawn = draw("training-gains", rows)
    assert flaws(drawn) == []
    assert titles(drawn) == ["Accuracy", "Overall"] or titles(drawn) == ["Overall", "Accuracy"]
    twice = pd.concat([rows, rows.assign(base="another")])
    [[name], names] = (ticks(draw("training-gains", each).axes[0]) for each in (rows, twice))
    assert "\u2212" not in name and len(names) == 2
    assert all("\u2212" in each or "\u2026" in each for each in names)


def test_changes_have_a_panel_a_quantity() -> None:
    rows = pd.concat([shown("training-changes").assign(part=part, quantity=part) for part in QUANTITIES])
    assert titles(draw("training-changes", rows)) == list(QUANTITIES.values())


def test_losses_have_a_row_a_domain_and_all_of_them_below_a_line(flaws: Flaws) -> None:
    rows = [
        {"part": "out_of_domain", "dimension": dimension, "subfield": name, "gain": 0.01 * i,
         "low": 0.01 * i - 0.05, "high": 0.01 * i + 0.05}
        for dimension in ("accuracy", "overall")
        for i, name in enumerate([None, "Neurology", "oral_cavity"])
    ]  # fmt: skip
    other = {"by": "organ", "dimension": "overall", "subfield": "eye", "gain": 0.5, "low": 0.4, "high": 0.6}
    table = pd.concat([pd.DataFrame(rows).assign(by="department"), pd.DataFrame([other])], ignore_index=True)
    drawn = domain_losses(table, dimension="overall", by="department")
    assert flaws(drawn) == []
    names = [text.get_text() for text in drawn.axes[0].get_yticklabels()]
    assert names == ["oral_cavity", "Neurology", "all left out"]
