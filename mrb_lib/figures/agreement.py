"""How far the annotators agree: by dimension and coefficient, and pair by pair."""

from itertools import combinations
from math import ceil

import numpy as np
import pandas as pd
from matplotlib.colors import Normalize
from matplotlib.ticker import MaxNLocator

from mrb_lib.figures.intervals import draw_estimates, overall
from mrb_lib.figures.lettering import label, labels, title_case
from mrb_lib.figures.matrix import cell_texts, draw_matrix, scale_bar
from mrb_lib.figures.registry import figure
from mrb_lib.figures.style import (
    COLOURS,
    NOT_AVAILABLE,
    PAGE,
    SEQUENTIAL,
    SERIES,
    Paper,
    canvas,
    name_rows,
    panel_grid,
    styled,
)

COEFFICIENTS: dict[str, str] = {
    "percent_agreement": "percent agreement",
    "cohen_kappa": "Cohen\u2019s kappa, mean of pairs",
    "fleiss_kappa": "Fleiss\u2019 kappa",
    "krippendorff_alpha": "Krippendorff\u2019s alpha",
    "gwet_ac1": "Gwet\u2019s AC1",
}
ORDERED: dict[str, str] = {
    "linear_kappa": "linear kappa, mean of pairs",
    "quadratic_kappa": "quadratic kappa, mean of pairs",
    "gwet_ac2": "Gwet\u2019s AC2, quadratic",
    "icc_2_1": "ICC(2,1)",
    "icc_2_k": "ICC(2,k)",
}
_LOOKS = (
    *SERIES[: len(COEFFICIENTS)], ("#44AA99", "<"), ("#AA4499", ">"), ("#DDCC77", "p"), ("#661100", "h"),
    ("#6699CC", "X"),
)  # fmt: skip
_MOST_ANNOTATORS, _FEW_ANNOTATORS = 10, 4


@figure("agreement-dimensions", table="agreement", parts=("all",), shows="percent_agreement", cases="disputed",
        is_main=True)  # fmt: skip
@styled
def coefficients(agreement: pd.DataFrame) -> Paper:
    """Draw every coefficient of every dimension with its interval.

    Parameters
    ----------
    agreement : the part "all" of the table `agreement`; rows of subfields are not drawn. Coefficients of `ORDERED` are
        drawn where any dimension has one.
    """
    rows, names = overall(agreement), COEFFICIENTS | ORDERED
    looks = dict(zip(names, _LOOKS, strict=True))
    shown = [name for name in names if name in COEFFICIENTS or (name in rows and rows[name].notna().any())]
    figure = canvas(PAGE, 0.72 + 0.1 * (len(shown) + 1) * max(len(rows), 1))
    axes = figure.subplots()
    step = 0.8 / len(shown)
    for i, name in enumerate(shown):
        y = np.arange(len(rows)) + step * (i - (len(shown) - 1) / 2)
        colour, marker = looks[name]
        draw_estimates(
            axes, rows, y, value=name, colour=colour, marker=marker,
            size=3.4, label=names[name], gid=name, missing=f"{names[name]}: {NOT_AVAILABLE}", missing_x=0.995,
        )  # fmt: skip
    for boundary in range(1, len(rows)):
        axes.axhline(boundary - 0.5, color="#DDDDDD", linewidth=0.4)
    name_rows(axes, [title_case(name) for name in rows["dimension"]], 28)
    axes.set_ylim(len(rows) - 0.45, -0.55)
    for i, dimension in enumerate(rows["dimension"]):
        figure.mark(axes, {"row": "annotators", "dimension": str(dimension)}, (i - 0.5, i + 0.5))
    axes.xaxis.set_major_locator(MaxNLocator(nbins=8, steps=[1, 2, 2.5, 5, 10]))
    axes.grid(axis="x")
    axes.set_xlabel("agreement (1 is perfect; for the chance-corrected coefficients 0 is chance)")
    figure.legend(loc="outside lower center", ncols=5 if len(shown) <= 5 else 4, columnspacing=1.2, handletextpad=0.3)
    return figure


@figure("agreement-pairs", table="agreement", parts=("pair",), shows="cohen_kappa", cases="disputed pairs")
@styled
def pairs(agreement: pd.DataFrame, *, dimension: str = "") -> Paper:
    """Draw Cohen's kappa of every two annotators, in a panel per dimension.

    Parameters
    ----------
    agreement : the part "pair" of the table `agreement`; rows of subfields are not drawn, nor annotators beyond the
        `_MOST_ANNOTATORS` who share the most cases with others
    dimension : the only one drawn where there are more than `_FEW_ANNOTATORS`
    """
    rows = overall(agreement)
    shared = rows.melt("n_cases", ["annotator_1", "annotator_2"], value_name="who").groupby("who")["n_cases"].sum()
    people = sorted(shared.nlargest(_MOST_ANNOTATORS).index)
    if len(people) > _FEW_ANNOTATORS:
        rows = rows[rows["dimension"] == dimension]
    dimensions = list(dict.fromkeys(rows["dimension"]))
    across = min(len(dimensions), 3 if len(people) <= _FEW_ANNOTATORS else 1)
    height = ceil(len(dimensions) / across) * (0.7 + 0.42 * len(people))
    figure = canvas(max(min(PAGE, across * (1.0 + 0.6 * len(people)) + 0.5), 3.5), height)
    names = labels(people, 16)
    norm = Normalize(min(0.0, np.nanmin([0.0, *rows["cohen_kappa"]])), 1.0)
    turned = rows.rename(columns={"annotator_1": "annotator_2", "annotator_2": "annotator_1"})
    both, last = pd.concat([rows, turned]), len(people) - 1
    for axes, name in zip(panel_grid(figure, len(dimensions), across, shared=False), dimensions, strict=True):
        wide = both[both["dimension"] == name].pivot(index="annotator_1", columns="annotator_2")
        kappa, low, high, counts = (
            wide[column].reindex(index=people[1:], columns=people[:-1]).to_numpy(dtype=float)
            for column in ("cohen_kappa", "cohen_kappa_low", "cohen_kappa_high", "n_cases")
        )
        texts = cell_texts(kappa, low, high, _short)
        mesh = draw_matrix(
            axes, kappa, across=names[:-1], down=names[1:], colours=SEQUENTIAL, norm=norm,
            texts=[[f"{text}\nn = {counts[i, j]:,.0f}" for j, text in enumerate(row)] for i, row in enumerate(texts)],
            blank=np.triu(np.ones((last, last), dtype=bool), k=1),
        )  # fmt: skip
        axes.set_title(label(title_case(name), 30), color=COLOURS["judge"])
        for (j, one), (i, two) in combinations(enumerate(people), 2):
            figure.mark(axes, {"row": pair_name(one, two), "dimension": str(name)}, (i - 1, i), (j, j + 1))
        if max(map(len, names)) <= 12:
            axes.tick_params(axis="x", rotation=0)
    scale_bar(figure, mesh, figure.axes, "Cohen\u2019s kappa")
    return figure


def pair_name(one: str, two: str) -> str:
    """What a pair of annotators is called, whoever comes first."""
    return " and ".join(sorted((one, two)))


def _short(value: float) -> str:
    """A coefficient with two decimals, without the zero that all have before the point."""
    return f"{value:.2f}".replace("0.", ".", 1).replace("-", "\u2212")
