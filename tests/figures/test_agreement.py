"""What the figures of agreement draw is what their frames say."""

from itertools import combinations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from mrb_lib.figures import agreement
from tests.figures.read import beside_others, draw, shown, texts


def values(axes: Axes) -> dict[str, list[float]]:
    return {line.get_gid(): list(line.get_xdata()) for line in axes.lines if line.get_gid()}


def test_each_coefficient_is_drawn_and_an_undefined_one_is_named() -> None:
    rows = pd.concat([shown("agreement-dimensions").assign(dimension=name) for name in ("accuracy", "overall")])
    rows = rows.reset_index(drop=True).assign(linear_kappa=[0.5, np.nan], icc_2_1=np.nan)
    rows = rows.assign(linear_kappa_low=rows["linear_kappa"] - 0.1, linear_kappa_high=rows["linear_kappa"] + 0.1)
    rows.loc[1, ["fleiss_kappa", "fleiss_kappa_low", "fleiss_kappa_high"]] = np.nan
    axes = draw("agreement-dimensions", rows).axes[0]
    drawn = values(axes)
    for name in (*agreement.COEFFICIENTS, "linear_kappa"):
        assert drawn[name] == rows[name].dropna().tolist()
    assert "icc_2_1" not in drawn, "no dimension has any"
    assert sorted(texts(axes)) == ["Fleiss\u2019 kappa: n/a", "linear kappa, mean of pairs: n/a"]


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


def test_of_many_annotators_those_who_share_most_are_drawn_on_one_dimension() -> None:
    people = [f"p{i:02d}" for i in range(14)]
    pairs = pd.DataFrame(combinations(people, 2), columns=["annotator_1", "annotator_2"])
    pairs = pairs.assign(cohen_kappa=np.linspace(0.4, 0.9, len(pairs)), dimension="overall")
    pairs = pairs.assign(cohen_kappa_low=pairs["cohen_kappa"] - 0.04, cohen_kappa_high=pairs["cohen_kappa"] + 0.04)
    rare = pairs[["annotator_1", "annotator_2"]].isin(people[2:6]).any(axis=1)
    pairs["n_cases"] = np.where(rare, 30, 60)
    panel, _ = draw("agreement-pairs", beside_others(pairs)).axes
    assert panel.get_title() == "Overall"
    assert [text.get_text() for text in panel.get_xticklabels()] == [*people[:2], *people[6:-1]]
    drawn = sorted(text.split("\n")[0] for text in texts(panel, "cell"))
    assert drawn == sorted(f"{kappa:.2f}"[1:] for kappa in pairs.loc[~rare, "cohen_kappa"])


def test_nothing_known_is_drawn_as_nothing(flaws) -> None:
    rows = shown("agreement-dimensions")
    figure = draw("agreement-dimensions", rows.assign(**dict.fromkeys(rows.select_dtypes(float).columns, np.nan)))
    assert len(texts(figure.axes[0])) == len(agreement.COEFFICIENTS)
    assert flaws(figure) == []
