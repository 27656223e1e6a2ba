"""Gold labels: what each annotator makes of each true label, and what the gold rule makes of the leaderboard."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

import numpy as np
import pandas as pd
from matplotlib.colors import Normalize

from mrb_lib.figures.intervals import panels, rows_of
from mrb_lib.figures.lettering import label, labels, percent, title_case
from mrb_lib.figures.matrix import cell_texts, draw_matrix, scale_bar
from mrb_lib.figures.registry import figure
from mrb_lib.figures.style import COLUMN, DIVERGING, PAGE, SEQUENTIAL, Paper, canvas, panel_grid, rows_height, styled

MOST_MATRICES = 8
_PANELS_A_ROW = 4
_WIDEST_WITH_INTERVALS = 3


@figure(
    "gold-confusion",
    title="Confusion of the true labels by each annotator",
    caption=(
        "Probability (%) that an annotator gives the column's label where the row's is true, on {dimension}, by the "
        "model of Dawid and Skene, with 95% intervals; {n_shown} of {n_all} annotators, those with the most "
        "annotations. Hatched: a label that nobody gives, or that no case is estimated to have."
    ),
    reading=(
        "A bright diagonal is an annotator to trust. A bright cell beside it is a habit, such as calling ties for one "
        "side; the same habit in all annotators would not show."
    ),
    needs=("annotations", "annotators"),
)
@styled
def confusions(
    table: pd.DataFrame, *, annotators: Sequence[str] | None = None, categories: Sequence[str] | None = None
) -> Paper:
    """Draw one matrix an annotator: how often each label is given where each label is true.

    Parameters
    ----------
    table : annotator, n, gold, label, probability with its ends, of one dimension, null where undefined: the rows of
        part "confusion" of the table `gold_rules`
    annotators : those to draw, in order; None for the `MOST_MATRICES` with the most annotations, by name
    categories : rows (true labels) and columns (labels that the annotator chose) of the matrices; None for all in the
        order of the table
    """
    table = rows_of(table, part="confusion")
    if annotators is None:
        annotators = sorted(table.drop_duplicates("annotator").nlargest(MOST_MATRICES, "n", keep="first")["annotator"])
    categories = list(dict.fromkeys(table["gold"])) if categories is None else categories
    columns = min(len(annotators), _PANELS_A_ROW)
    figure = canvas(max(min(PAGE, 1.0 + 1.6 * columns), COLUMN), 1.75 * ceil(len(annotators) / columns) + 0.45)
    names = labels(categories, 12)
    cells = pd.MultiIndex.from_product([categories, categories], names=["gold", "label"])
    shape = (len(categories), len(categories))
    panels = panel_grid(figure, len(annotators), columns, shared=False)
    for axes, annotator in zip(panels, annotators, strict=True):
        confusion = table[table["annotator"] == annotator].set_index(["gold", "label"]).reindex(cells)
        numbers = confusion[["probability", "probability_low", "probability_high"]].to_numpy(dtype=float)
        values, low, high = numbers.T.reshape(3, *shape)
        if len(categories) > _WIDEST_WITH_INTERVALS:
            low = np.full(shape, np.nan)
        mesh = draw_matrix(
            axes,
            values,
            across=names,
            down=names,
            colours=SEQUENTIAL,
            norm=Normalize(0, 1),
            texts=cell_texts(values, low, high),
        )
        axes.set_title(label(annotator, 20))
        axes.set_xlabel("given")
    for axes in panels[::columns]:
        axes.set_ylabel("true")
    scale_bar(figure, mesh, panels, "probability (%)", percent)
    return figure


@figure(
    "gold-rules",
    title="Accuracy of the judges by gold rule",
    caption=(
        "Accuracy of each judge on {dimension} by the labels of each gold rule, with 95% intervals. Adjudicated: as "
        "reviewers corrected the labels, where they reviewed any."
    ),
    reading=(
        "Read down a column for the order of the judges. Read across a row for how much a judge's accuracy depends on "
        "the rule."
    ),
    needs=("annotations", "annotators", "preferences", "verdicts"),
)
def rules(table: pd.DataFrame) -> Paper:
    """Draw the accuracy of every judge by the gold rules.

    The model's probabilities differ little from its labels and are left out.

    Parameters
    ----------
    table : judge, part, rule, accuracy, low, high of one dimension; rows of the part "rule"
    """
    shown = rows_of(table, part="rule")
    shown = shown[shown["rule"] != "soft_posterior"]
    return panels(
        shown,
        value="accuracy",
        axis_label="accuracy (%)",
        panel="rule",
        order_by="majority",
    )


@figure(
    "gold-ranks",
    title="Rank of the judges by gold rule",
    caption=(
        "Rank of each judge on {dimension} by decisive accuracy (1 is best), coloured by the places it gains against "
        "the majority's ranking. Kendall's tau with that ranking: {taus}."
    ),
    reading=(
        "Pale rows keep their place whatever the rule. Rules differ in their cases as well as in their labels. A "
        "change of place is not a significant difference."
    ),
    needs=("annotations", "annotators", "preferences", "verdicts"),
)
@styled
def ranks(table: pd.DataFrame) -> Paper:
    """Draw the rank of every judge by every gold rule, coloured by how far it moves from that by the majority.

    Parameters
    ----------
    table : judge, part, rule, rank of one dimension; null where the judge has none
    """
    shown = rows_of(table, part="rule")
    wide = shown.assign(rank=shown["rank"].astype("float64")).pivot(index="judge", columns="rule", values="rank")
    wide = wide[list(dict.fromkeys(shown["rule"]))]
    wide = wide.reset_index().sort_values(["majority", "judge"], na_position="last").set_index("judge")
    values = wide.to_numpy(dtype=float)
    moved = wide["majority"].to_numpy(dtype=float)[:, None] - values
    widest = max(2.0, float(np.nanmax(np.abs(moved))) if np.isfinite(moved).any() else 1.0)
    figure = canvas(min(PAGE, 2.6 + 0.42 * len(wide.columns)), rows_height(len(wide), 0.165, 1.35))
    axes = figure.subplots()
    mesh = draw_matrix(
        axes,
        moved,
        across=[title_case(name) for name in wide.columns],
        down=labels(wide.index, 28),
        colours=DIVERGING,
        norm=Normalize(-widest, widest),
        texts=[["" if np.isnan(rank) else f"{rank:.0f}" for rank in row] for row in values],
    )
    scale_bar(figure, mesh, axes, "places gained", lambda value: f"{value:+.0f}" if value else "0")
    return figure
