"""Probes: what each does to the verdicts of each judge, and how that grows with severity."""

from collections.abc import Sequence
from math import ceil
from typing import Any, Final

import numpy as np
import pandas as pd
from matplotlib.colors import Normalize
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator

from mrb_lib.figures.intervals import overall, rows_of
from mrb_lib.figures.lettering import label, labels, percent
from mrb_lib.figures.matrix import cell_texts, draw_matrix, scale_bar
from mrb_lib.figures.registry import figure
from mrb_lib.figures.style import (
    COLOURS,
    PAGE,
    SEQUENTIAL,
    SERIES,
    Paper,
    canvas,
    panel_grid,
    percent_axis,
    rows_height,
    styled,
)
from mrb_lib.tables.errors import NotApplicable

_EXPECTED: Final = ("same", "worse", "flips")
_JUDGES_ACROSS: Final = 12
_PANELS_A_ROW: Final = 4
_SPREAD: Final = 0.4
_GREY: Final = ("#AAAAAA", ".")


@figure("probe-profile", table="probes", parts=("probe",), shows="changed", is_main=True)
@styled
def probe_profile(table: pd.DataFrame, *, dimension: str | None = None, judges: Sequence[str] = ()) -> Paper:
    """Draw the share of changed verdicts, a row per probe and a column per judge; of many judges a row per judge.

    Parameters
    ----------
    table : the part "probe" of the table `probes`; rows of subfields and other dimensions are not drawn
    judges : all judges from the first to the last; empty orders them by name
    """
    rows = overall(rows_of(table, dimension=dimension))
    rows = rows[rows["probe"].notna()].assign(severity=rows["severity"].astype("float64"))
    rows = rows[rows["severity"].eq(rows.groupby("probe")["severity"].transform("max")) | rows["severity"].isna()]
    place = pd.Categorical(rows["expected"], _EXPECTED).codes % (len(_EXPECTED) + 1)  # the last: nothing is expected
    kinds = rows.assign(place=place).drop_duplicates("probe").sort_values(["place", "probe"])
    probes = kinds["probe"].map(lambda name: label(name, 30)) + " (" + kinds["expected"].fillna("?") + ")"
    names = [judge for judge in judges or sorted(rows["judge"].unique()) if judge in set(rows["judge"])]
    values, low, high, kept = (
        rows.pivot(index="probe", columns="judge", values=column)
        .reindex(index=kinds["probe"], columns=names)
        .to_numpy(dtype=float, na_value=np.nan)
        for column in ("changed", "changed_low", "changed_high", "kept_expectation")
    )
    sides = [("probe (expected)", probes.tolist()), ("judge", labels(names, 24))]
    if len(names) > max(len(kinds), _JUDGES_ACROSS):
        sides.reverse()
        values, low, high, kept = values.T, low.T, high.T, kept.T
    (of_rows, down), (of_columns, across) = sides
    figure = canvas(PAGE, rows_height(max(len(down), 5), 0.22, 1.7))
    axes = figure.subplots()
    mesh = draw_matrix(
        axes, values, across=across, down=down, colours=SEQUENTIAL, norm=Normalize(0, 1),
        texts=cell_texts(values, low, high, between="\u2013"),
    )  # fmt: skip
    for i, j in np.argwhere(kept == 0):
        for colour, width in (("white", 2.2), (COLOURS["judge"], 1.0)):
            frame: dict[str, Any] = {"fill": False, "linewidth": width, "edgecolor": colour, "gid": "broken"}
            axes.add_patch(Rectangle((j + 0.06, i + 0.06), 0.88, 0.88, **frame))
    axes.set_ylabel(of_rows)
    axes.set_xlabel(of_columns)
    scale_bar(figure, mesh, axes, "changed verdicts (%)", percent)
    return figure


@figure("probe-severity", table="probes", parts=("probe",), shows="changed")
@styled
def probe_severity(table: pd.DataFrame, *, dimension: str | None = None, judges: Sequence[str] = ()) -> Paper:
    """Draw the share of changed verdicts by severity, a panel per probe and a line per judge.

    Parameters
    ----------
    table : as in `probe_profile`; groups of patients are no steps of severity
    judges : the order of the judges in the legend; empty orders them by name

    Raises
    ------
    NotApplicable
        No probe has several steps.
    """
    rows = overall(rows_of(table, dimension=dimension))
    rows = rows[rows["group"].isna() & (rows.groupby("probe")["severity"].transform("nunique") > 1)]
    if rows.empty:
        raise NotApplicable("no probe of these verdicts has several steps of severity.")
    names, styles = sorted(rows["probe"].unique()), _styles(rows)
    columns = min(_PANELS_A_ROW, len(names))
    figure = canvas(PAGE, 1.7 * ceil(len(names) / columns) + 0.5)
    grid = panel_grid(figure, len(names), columns)
    for axes, name in zip(grid, names, strict=True):
        for number, (judge, (colour, marker)) in enumerate(styles.items()):
            own = rows_of(rows, probe=name, judge=judge).sort_values("severity")
            x = own["severity"].to_numpy(dtype=float) + _SPREAD * ((number + 0.5) / len(styles) - 0.5)
            axes.vlines(x, own["changed_low"], own["changed_high"], color=colour, linewidth=0.9, gid="intervals")
            axes.plot(x, own["changed"], marker=marker, markersize=2.6, color=colour, gid="values")
        axes.set_title(label(name, 30), fontsize=6.5)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.tick_params(labelbottom=True)
        axes.set_xlabel("severity")
        percent_axis(axes.yaxis, 5)
        axes.grid(axis="both")
    grey = [judge for judge, style in styles.items() if style == _GREY]
    coloured = [judge for judge in reversed(styles) if styles[judge] != _GREY]
    coloured = [*(each for each in judges if each in coloured), *(each for each in coloured if each not in judges)]
    named = {label(judge, 30): styles[judge] for judge in coloured}
    if grey:
        named[label(grey[0], 30) if len(grey) == 1 else f"{len(grey)} other judges"] = _GREY
    for text, (colour, marker) in named.items():
        grid[0].plot([], [], marker=marker, markersize=2.6, color=colour, label=text)
    figure.supylabel("changed verdicts (%)", fontsize=7)
    figure.legend(loc="outside lower center", ncols=min(4, len(named)))
    return figure


def _styles(rows: pd.DataFrame) -> dict[str, tuple[str, str]]:
    """The colour and the marker of each judge, in the order of drawing: colours, which are few, lie above grey."""
    shares = rows.groupby(["judge", "probe"])["changed"]
    rise = (shares.max() - shares.min()).groupby("judge").max().sort_index()
    most = rise.sort_values(ascending=False, kind="stable").index.tolist()
    named = dict(zip(sorted(most[: len(SERIES)]), SERIES, strict=False))
    return dict.fromkeys(reversed(most[len(SERIES) :]), _GREY) | dict(reversed(named.items()))
