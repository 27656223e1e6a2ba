"""What the figures of agreement draw is what their frames say."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from mrb_lib.figures import agreement
from tests.figures.read import texts


def values(axes: Axes) -> dict[str, list[float]]:
    return {line.get_gid(): list(line.get_xdata()) for line in axes.lines if line.get_gid()}


def test_each_coefficient_is_drawn_and_an_undefined_one_is_named(frames) -> None:
    frame = frames.agreement(["accuracy", "overall"])
    frame.loc[1, ["fleiss_kappa", "fleiss_kappa_low", "fleiss_kappa_high"]] = np.nan
    axes = agreement.coefficients(frame).axes[0]
    for name in agreement.COEFFICIENTS:
        assert values(axes)[name] == frame[name].dropna().tolist()
    assert texts(axes) == ["Fleiss\u2019 kappa: n/a"]


def test_coefficients_of_ordered_labels_are_drawn_where_there_are_any(frames) -> None:
    frame = frames.agreement(["accuracy", "overall"]).assign(linear_kappa=[0.5, np.nan], icc_2_1=np.nan)
    for name in ("linear_kappa", "icc_2_1"):
        frame[f"{name}_low"], frame[f"{name}_high"] = frame[name] - 0.1, frame[name] + 0.1
    axes = agreement.coefficients(frame).axes[0]
    drawn = values(axes)
    assert drawn["linear_kappa"] == [0.5]
    assert "icc_2_1" not in drawn
    assert [text.get_text() for text in axes.texts] == ["linear kappa, mean of pairs: n/a"]


def test_annotator_pairs_ignore_the_order_of_the_two() -> None:
    frame = pd.DataFrame(
        {
            "dimension": "overall",
            "annotator_1": ["c", "a"],
            "annotator_2": ["a", "b"],
            "n_cases": 10,
            "cohen_kappa": [0.5, -0.25],
            "cohen_kappa_low": [0.4, -0.5],
            "cohen_kappa_high": [0.6, 0.0],
        }
    )
    figure = agreement.pairs(frame)
    cells = ["\u2212.25\n\u2212.50 to .00\nn = 10", ".50\n.40 to .60\nn = 10", "n/a"]
    assert texts(figure.axes[0], "cell") == cells
    figure.png()
    assert [names["row"] for names, _ in figure.boxes()] == ["a and b", "a and c", "b and c"]


def test_of_many_annotators_those_who_share_most_are_drawn_on_one_dimension(frames) -> None:
    people = [f"p{i:02d}" for i in range(14)]
    frame = frames.pairs(people, ["accuracy", "overall"])
    rare = frame[["annotator_1", "annotator_2"]].isin(people[2:6]).any(axis=1)
    frame["n_cases"] = np.where(rare, 30, 60)
    panel, _ = agreement.pairs(frame, dimension="overall").axes
    assert panel.get_title() == "Overall"
    assert [text.get_text() for text in panel.get_xticklabels()] == [*people[:2], *people[6:-1]]
    some = frame[(frame["dimension"] == "overall") & ~rare]
    assert sorted(text.split("\n")[0] for text in texts(panel, "cell")) == sorted(
        f"{kappa:.2f}"[1:] for kappa in some["cohen_kappa"]
    )


def test_nothing_known_is_drawn_as_nothing(frames, flaws) -> None:
    frame = frames.agreement(["overall"])
    figure = agreement.coefficients(frame.assign(**dict.fromkeys(frame.columns[1:], np.nan)))
    assert len(texts(figure.axes[0])) == len(agreement.COEFFICIENTS)
    assert flaws(figure) == []
