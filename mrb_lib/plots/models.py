"""What makes a verdict right, and where a judge is weaker than its cases are hard."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import TwoSlopeNorm
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, MaxNLocator

from mrb_lib.plots.intervals import rows_of
from mrb_lib.plots.lettering import labels, signed_percent, title_case
from mrb_lib.plots.matrix import draw_matrix, scale_bar
from mrb_lib.plots.registry import figure
from mrb_lib.plots.style import DIVERGING, NOT_AVAILABLE, PAGE, SERIES, Paper, canvas, rows_height, styled

_ROW = 0.165
_TERMS = {
    "order": "shown BA, not AB",
    "gold_first": "gold response shown first",
    "length_difference": "gold response longer, per SD",
}
_APART = 0.17


@figure(
    "models-effects",
    title="Marginal effects on being right",
    caption=(
        "Average marginal effects on the probability that a verdict on {dimension} is right, with cluster-robust 95% "
        "intervals: judges and subfields against the mean of all; the gold response shown first against second; and "
        "per standard deviation of the log length ratio by which it is the longer one. A tie or a missing verdict is "
        "wrong; gold ties are left out. n/a: always right or wrong, or not identified."
    ),
    reading=(
        "An interval that crosses zero does not show an effect. Gold response shown first, right of zero: judges "
        "favour what they see first; gold response longer, right of zero: they favour what is longer. Both models "
        "should tell the same story."
    ),
    needs=("preferences", "annotations", "verdicts"),
)
@styled
def marginal_effects(frame: pd.DataFrame) -> Paper:
    """Draw the marginal effects of the models of all judges, a block a term.

    Parameters
    ----------
    frame : rows of `models` of one dimension and part "all judges": model, term, level, marginal_effect,
        marginal_effect_low, marginal_effect_high; terms without marginal effect are not drawn
    """
    frame = rows_of(frame, part="all judges")
    wanted = frame[frame["term"].isin(["judge", "subfield", *_TERMS])]
    keys = wanted[["term", "level"]].drop_duplicates().reset_index(drop=True)
    names = list(dict.fromkeys(wanted["model"]))
    first = wanted[wanted["model"] == names[0]] if names else wanted
    blocks = {term: _ordered(first, keys, term) for term in ("judge", "subfield")}
    alone = [(term, level) for term, level in keys.itertuples(index=False) if term in _TERMS]
    groups = [("Judge", blocks["judge"]), ("Subfield", blocks["subfield"]), ("How it was shown", alone)]
    positions, ticks, texts, bold = {}, [], [], []
    at = 0.0
    for heading, members in groups:
        if members:
            ticks.append(at)
            texts.append(heading)
            bold.append(len(ticks) - 1)
            shown = labels([_TERMS.get(term, _written(term, level)) for term, level in members], 30)
            for key, text in zip(members, shown, strict=True):
                at += 1
                positions[key] = at
                ticks.append(at)
                texts.append(text)
            at += 1.4
    figure = canvas(PAGE * 0.75, rows_height(ceil(at), _ROW, 0.6))
    axes = figure.subplots()
    for i, name in enumerate(names):
        _draw_model(axes, wanted[wanted["model"] == name], positions, (2 * i - len(names) + 1) * _APART, i)
    axes.axvline(0, color="#888888", linewidth=0.6, linestyle=(0, (2, 2)), zorder=1)
    axes.set_ylim(at - 0.6, -0.8)
    axes.set_yticks(ticks, texts)
    for i in bold:
        axes.get_yticklabels()[i].set_fontweight("bold")
    axes.tick_params(axis="y", length=0)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=8, steps=[1, 2, 2.5, 5, 10]))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: signed_percent(value)))
    axes.grid(axis="both")
    axes.set_xlabel("average marginal effect (percentage points of being right)")
    handles = [
        Line2D([], [], color=SERIES[i][0], marker=SERIES[i][1], markersize=3, linewidth=0.9, label=name)
        for i, name in enumerate(names)
    ]
    if handles:
        figure.legend(handles=handles, loc="outside lower right", ncols=len(handles))
    return figure


def _written(term: str, level: object) -> str:
    return str(level) if term == "judge" else title_case(level)


def _ordered(frame: pd.DataFrame, keys: pd.DataFrame, term: str) -> list[tuple[str, object]]:
    """The levels of a factor from the largest effect to the smallest, those without one last."""
    value = frame[frame["term"] == term].drop_duplicates("level").set_index("level")["marginal_effect"]
    levels = keys.loc[keys["term"] == term, "level"]
    order = pd.DataFrame({"level": levels, "value": levels.map(value)})
    order = order.sort_values(["value", "level"], ascending=[False, True], na_position="last")
    return [(term, level) for level in order["level"]]


def _draw_model(
    axes: Axes, part: pd.DataFrame, positions: dict[tuple[str, object], float], shift: float, style: int
) -> None:
    colour, marker = SERIES[style]
    y = np.array([positions[key] + shift for key in zip(part["term"], part["level"], strict=True)])
    value, low, high = (
        part[name].to_numpy(dtype=float) for name in ("marginal_effect", "marginal_effect_low", "marginal_effect_high")
    )
    known = ~np.isnan(value)
    bounded = known & ~np.isnan(low) & ~np.isnan(high)
    axes.hlines(y[bounded], low[bounded], high[bounded], color=colour, linewidth=0.9, gid="intervals")
    axes.plot(value[known], y[known], marker, color=colour, markersize=2.6, linestyle="none", gid="values")
    if style == 0:
        for height in y[~known]:
            axes.text(
                0.5, height - shift, NOT_AVAILABLE, transform=axes.get_yaxis_transform(), ha="center", va="center",
                color="#777777", fontsize=6, gid="not-available",
            )  # fmt: skip


@figure(
    "models-dif",
    title="Strength and weakness beyond difficulty",
    caption=(
        "ETS delta (2.35 times the Mantel-Haenszel log odds ratio) of each judge in each {by} on {dimension}, among "
        "cases that equally many judges get right. B: moderate, C: large, no letter: negligible; *: significant at 5% "
        "after Benjamini-Hochberg over all cells. Hatched: nothing to compare."
    ),
    reading=(
        "Green: the judge is better there than the cases' difficulty explains; purple: worse. A subfield that is "
        "merely hard stays pale in all rows. Judges that stand out take no part in matching the others; where half of "
        "them do, nobody can say which half."
    ),
    needs=("preferences", "annotations", "verdicts", "judges", "department"),
)
@styled
def dif_matrix(
    frame: pd.DataFrame, *, judges: Sequence[str] | None = None, subfields: Sequence[str] | None = None
) -> Paper:
    """Draw how much weaker or stronger each judge is in each subfield than its cases' difficulty explains.

    Parameters
    ----------
    frame : rows of `dif` of one dimension: judge, subfield, ets_delta, ets_class, p_adjusted
    judges, subfields : the rows and columns, in this order; None for all by name. A pair without a row is drawn as
        missing.
    """
    judges = sorted(frame["judge"].unique()) if judges is None else judges
    subfields = sorted(frame["subfield"].dropna().unique()) if subfields is None else subfields
    wide = frame.drop_duplicates(["judge", "subfield"]).set_index(["judge", "subfield"])
    wide = wide.reindex(pd.MultiIndex.from_product([list(judges), list(subfields)]))
    shape = (len(judges), len(subfields))
    values = wide["ets_delta"].to_numpy(dtype=float).reshape(shape)
    classes = wide["ets_class"].to_numpy(dtype=object).reshape(shape)
    certain = wide["p_adjusted"].to_numpy(dtype=float).reshape(shape) < 0.05
    texts = [
        [_cell(value, kind, sure) for value, kind, sure in zip(*row, strict=True)]
        for row in zip(values, classes, certain, strict=True)
    ]
    known = np.abs(values[~np.isnan(values)])
    reach = max(2.0, float(known.max()) if known.size else 0.0)
    figure = canvas(PAGE, rows_height(len(judges), 0.24, 1.5))
    axes = figure.subplots()
    mesh = draw_matrix(
        axes,
        values,
        across=labels(map(title_case, subfields), 22),
        down=labels(judges, 28),
        colours=DIVERGING,
        norm=TwoSlopeNorm(0, -reach, reach),
        texts=texts,
    )
    scale_bar(figure, mesh, axes, "ETS delta")
    return figure


def _cell(value: float, kind: object, certain: bool) -> str:
    if np.isnan(value):
        return ""
    number = f"{value:+.1f}".replace("-", "\u2212")
    if number[1:] == "0.0":
        number = "0.0"
    mark = f"{kind if kind in ('B', 'C') else ''}{'*' if certain else ''}"
    return f"{number}\n{mark}" if mark else number
