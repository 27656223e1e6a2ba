"""Gold labels: what each annotator makes of each true label, and how the gold rule changes the leaderboard."""

from collections.abc import Sequence
from math import ceil

import numpy as np
import pandas as pd
from matplotlib.colors import Normalize

from mrb_lib.figures.intervals import rows_of
from mrb_lib.figures.lettering import label, labels, percent, title_case
from mrb_lib.figures.matrix import cell_texts, draw_matrix, scale_bar
from mrb_lib.figures.registry import figure
from mrb_lib.figures.style import (
    COLUMN,
    DIVERGING,
    NOT_AVAILABLE,
    PAGE,
    SEQUENTIAL,
    Paper,
    canvas,
    panel_grid,
    rows_height,
    styled,
)
from mrb_lib.tables.errors import NotApplicable

MOST_MATRICES = 8
_PANELS_A_ROW = 4
_WIDEST_WITH_INTERVALS = 3


@figure("gold-confusion", table="gold_rules", parts=("annotator", "confusion"), shows="probability")
@styled
def confusions(table: pd.DataFrame, *, dimension: str) -> Paper:
    """Draw one matrix per annotator: how often each label is given where each label is true.

    Parameters
    ----------
    table : rows of the part "annotator" say why there are none; of more than `MOST_MATRICES` annotators those with the
        most annotations are drawn
    """
    rows = rows_of(table, part="confusion", dimension=dimension)
    busiest = rows.drop_duplicates("annotator").nlargest(MOST_MATRICES, "n", keep="first")
    annotators, categories = sorted(busiest["annotator"]), list(dict.fromkeys(rows["gold"]))
    columns = min(len(annotators), _PANELS_A_ROW)
    figure = canvas(max(min(PAGE, 1.0 + 1.6 * columns), COLUMN), 1.75 * ceil(len(annotators) / columns) + 0.45)
    names = labels(map(title_case, categories), 16)
    cells = pd.MultiIndex.from_product([categories, categories], names=["gold", "label"])
    shape = (len(categories), len(categories))
    panels = panel_grid(figure, len(annotators), columns, shared=False)
    for axes, annotator in zip(panels, annotators, strict=True):
        confusion = rows[rows["annotator"] == annotator].set_index(["gold", "label"]).reindex(cells)
        numbers = confusion[["probability", "probability_low", "probability_high"]].to_numpy(dtype=float)
        values, low, high = numbers.T.reshape(3, *shape)
        if len(categories) > _WIDEST_WITH_INTERVALS:
            low = np.full(shape, np.nan)
        mesh = draw_matrix(
            axes, values, across=names, down=names, colours=SEQUENTIAL, norm=Normalize(0, 1),
            texts=cell_texts(values, low, high),
        )  # fmt: skip
        axes.set_title(label(annotator, 20))
        axes.set_xlabel("label given")
    for axes in panels[::columns]:
        axes.set_ylabel("true label")
    scale_bar(figure, mesh, panels, "probability (%)", percent)
    return figure


@figure("gold-ranks", table="gold_rules", parts=("rule", "ranking"), shows="accuracy", cases="wrong", is_main=True)
@styled
def ranks(table: pd.DataFrame, *, dimension: str, judges: Sequence[str] = ()) -> Paper:
    """Draw the rank of every judge by every gold rule, coloured by how far it moves from that by the majority.

    Parameters
    ----------
    table : the parts "rule" and "ranking" of `gold_rules`; Kendall's tau is written below the rule
    judges : all judges from the first to the last; empty orders them by the majority
    """
    rows = rows_of(table, dimension=dimension)
    shown = rows_of(rows, part="rule")
    rules = list(dict.fromkeys(shown["rule"]))
    wide = shown.assign(rank=shown["rank"].astype("float64")).pivot(index="judge", columns="rule", values="rank")
    if len(wide) < 2:
        raise NotApplicable("one judge alone has no rank.")
    wide = wide[rules].sort_values("majority", kind="stable", na_position="last")
    wide = wide.loc[[judge for judge in judges if judge in wide.index] or wide.index]
    values = wide.to_numpy(dtype=float)
    moved = wide["majority"].to_numpy(dtype=float)[:, None] - values
    widest = max(2.0, *np.abs(moved[np.isfinite(moved)]))
    taus = rows_of(rows, part="ranking").set_index("rule")["kendall_tau"].reindex(rules)
    texts = [["" if np.isnan(rank) else f"{rank:.0f}" for rank in row] for row in values]
    figure = canvas(min(PAGE, 2.8 + 0.5 * len(rules)), rows_height(len(wide), 0.165, 1.35))
    axes = figure.subplots()
    mesh = draw_matrix(
        axes, moved, across=_named(taus), down=labels(wide.index, 28), colours=DIVERGING,
        norm=Normalize(-widest, widest), texts=texts,
    )  # fmt: skip
    for i, judge in enumerate(wide.index):
        figure.mark(axes, {"judge": str(judge)}, (i, i + 1))
    scale_bar(figure, mesh, axes, "places gained", lambda value: f"{value:+.0f}" if value else "0")
    return figure


def _named(taus: pd.Series) -> list[str]:
    """Each rule with Kendall's tau between its order of the judges and the majority's."""
    written = taus.astype(float).map("{:.2f}".format, na_action="ignore").fillna(NOT_AVAILABLE)
    return [f"{title_case(rule)}\n\u03c4 = {tau}" for rule, tau in written.items()]
