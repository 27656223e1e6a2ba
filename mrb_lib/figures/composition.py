"""What a benchmark is made of: how many cases of each kind, and how long their responses are."""

from collections.abc import Mapping

import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.ticker import PercentFormatter

from mrb_lib.figures.intervals import overall, rows_of
from mrb_lib.figures.lettering import label, labels, title_case
from mrb_lib.figures.registry import figure
from mrb_lib.figures.style import COLOURS, COLUMN, PAGE, Paper, canvas, rows_height, styled
from mrb_lib.tables.errors import NotApplicable

MOST_BARS = 40
_SIDES = {
    "response_a": ("response A", COLOURS["A"], "-"),
    "response_b": ("response B", COLOURS["B"], (0, (4, 1))),
}
_LONG = 500


@figure("composition", table="composition", cases="all", is_main=True)
def kinds(counts: pd.DataFrame) -> Paper:
    """Draw the number of cases of each organ, department and modality, in a panel each.

    Parameters
    ----------
    counts : the table `composition`; rows of subfields are not drawn, nor a column that states nothing

    Raises
    ------
    NotApplicable
        The cases state none of them.
    """
    whole = overall(counts)
    columns = [name for name in ("organ", "department", "modality") if whole[name].notna().any()]
    if not columns:
        raise NotApplicable("the cases state no organ, no department and no modality.")
    return _bars({name: whole.groupby(name, dropna=False)["n_cases"].sum() for name in columns})


@figure("composition-by", table="composition", by=True, cases="all")
def subfields(counts: pd.DataFrame, *, by: str) -> Paper:
    """Draw the number of cases of each value of one column, by rows of subfields of the table `composition`."""
    parts = rows_of(counts, by=by)
    numbers, unstated = parts.groupby("subfield")["n_cases"].sum(), parts["n_unassigned"].max()
    return _bars({by: pd.concat([numbers, pd.Series([unstated], index=[None])]) if unstated else numbers})


@styled
def _bars(numbers: Mapping[str, pd.Series]) -> Paper:
    """Draw numbers of cases by the values of some columns, in a panel per column; a null value is "not stated"."""
    rows = max(map(len, numbers.values()))
    figure = canvas(PAGE if len(numbers) > 1 else COLUMN, rows_height(min(rows, MOST_BARS), 0.17, 0.6))
    panels = figure.subplots(1, len(numbers), sharex=True, squeeze=False)[0]
    for axes, (name, own) in zip(panels, numbers.items(), strict=True):
        _draw_bars(figure, axes, own.sort_index().sort_values(ascending=False, kind="stable"))
        axes.set_title(label(title_case(name)))
        axes.set_ylim(max(min(rows, MOST_BARS), 3) - 0.4, -0.6)
    panels[0].set_xlim(0, 1.2 * max(own.max() for own in numbers.values()))
    return figure


def _draw_bars(figure: Paper, axes: Axes, numbers: pd.Series) -> None:
    """Draw the most frequent kinds from the first down, and below them, hatched, the cases that state none."""
    unstated = numbers[numbers.index.isna()]
    stated = numbers[numbers.index.notna()].head(MOST_BARS - len(unstated))
    names = [*labels(map(title_case, stated.index), 24), *["not stated"] * len(unstated)]
    heights = range(len(names))
    bars = axes.barh(heights, [*stated, *unstated], height=0.72, color=COLOURS["cases"])
    for bar in bars[len(stated) :]:
        bar.set(facecolor=COLOURS["missing"], edgecolor="#999999", hatch="/////")
    axes.bar_label(bars, fmt="{:,.0f}", padding=2, fontsize=6)
    axes.set_yticks(heights, names)
    axes.tick_params(axis="y", length=0)
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.locator_params(axis="x", nbins=4, integer=True)
    axes.grid(axis="x")
    axes.set_xlabel("cases")
    for i, kind in enumerate(stated.index):
        figure.mark(axes, {"row": "cases", "subfield": str(kind)}, (i - 0.5, i + 0.5))


@figure("composition-lengths")
@styled
def lengths(frame: pd.DataFrame) -> Paper:
    """Draw how long the responses are: the share of them with at most so many words.

    Parameters
    ----------
    frame : `side` ("response_a" or "response_b") and `words`, one row per response; a side without words is not drawn
    """
    figure = canvas(COLUMN, 2.4)
    axes = figure.subplots()
    for side, (name, colour, dash) in _SIDES.items():
        words = frame.loc[frame["side"].eq(side), "words"].dropna()
        if words.any():
            sns.ecdfplot(x=words, ax=axes, color=colour, linestyle=dash, label=name)
    longest = max(float(frame["words"].max()), 1.0)
    if longest > _LONG:
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter("{x:,.0f}")
        axes.minorticks_off()
    axes.set_xlim(1 if longest > _LONG else 0, longest)
    axes.axhline(0.5, color="#BBBBBB", linewidth=0.5, zorder=0)
    axes.yaxis.set_major_formatter(PercentFormatter(1))
    axes.set_xlabel("words")
    axes.set_ylabel("responses of at most this length")
    axes.legend(loc="best")
    return figure
