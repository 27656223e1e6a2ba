"""What makes a verdict right, where a judge is weaker than its cases are hard, and both on one scale."""

from __future__ import annotations

from math import ceil

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize, TwoSlopeNorm

from mrb_lib.figures.intervals import draw_estimates, rows_of
from mrb_lib.figures.lettering import labels, title_case
from mrb_lib.figures.matrix import draw_matrix, scale_bar
from mrb_lib.figures.registry import figure
from mrb_lib.figures.style import (
    COLOURS,
    DIVERGING,
    PAGE,
    SEQUENTIAL,
    SERIES,
    Paper,
    canvas,
    draw_zero,
    name_rows,
    percent_axis,
    rows_height,
    styled,
)

_ROW = 0.165
_TERMS = {
    "order": "shown BA, not AB",
    "gold_first": "gold response shown first",
    "length_difference": "gold response longer, per SD",
}
_MOST_LETTERS = 34
SUSPECT = "gold label more probably wrong than right"
_MANY = 300


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
        "favour what they see first. Gold response longer, right of zero: they favour what is longer."
    ),
    needs=("preferences", "annotations", "verdicts"),
)
@styled
def marginal_effects(frame: pd.DataFrame) -> Paper:
    """Draw the marginal effects of the model of all judges, one block per term.

    Parameters
    ----------
    frame : rows of `models` of one dimension and part "all judges": term, level, marginal_effect, marginal_effect_low,
        marginal_effect_high; terms without marginal effect are not drawn
    """
    frame = rows_of(frame, part="all judges")
    wanted = frame[frame["term"].isin(["judge", "subfield", *_TERMS])]
    keys = wanted[["term", "level"]].drop_duplicates().reset_index(drop=True)
    blocks = {term: _ordered(wanted, keys, term) for term in ("judge", "subfield")}
    alone = [(term, level) for term, level in keys.itertuples(index=False) if term in _TERMS]
    groups = [("Judge", blocks["judge"]), ("Subfield", blocks["subfield"]), ("How it was shown", alone)]
    heights: dict[tuple[str, object], float] = {}
    names_at: list[tuple[float, str, bool]] = []
    height = 0.0
    for heading, members in groups:
        if members:
            names_at.append((height, heading, True))
            for key, text in zip(members, labels([_written(*key) for key in members], 30), strict=True):
                height += 1
                heights[key] = height
                names_at.append((height, text, False))
            height += 1.4
    figure = canvas(PAGE * 0.75, rows_height(ceil(height), _ROW, 0.6))
    axes = figure.subplots()
    terms = wanted[["term", "level"]].itertuples(index=False, name=None)
    y = np.array([heights[key] for key in terms])
    draw_estimates(axes, wanted, y, value="marginal_effect", colour=SERIES[0][0], marker=SERIES[0][1], label="")
    draw_zero(axes)
    axes.set_ylim(height - 0.6, -0.8)
    axes.set_yticks([y for y, _, _ in names_at], [text for _, text, _ in names_at])
    for tick, (_, _, is_heading) in zip(axes.get_yticklabels(), names_at, strict=True):
        tick.set_fontweight("bold" if is_heading else "normal")
    axes.tick_params(axis="y", length=0)
    percent_axis(axes.xaxis, signed=True)
    axes.grid(axis="both")
    axes.set_xlabel("average marginal effect (percentage points of being right)")
    return figure


def _written(term: str, level: object) -> str:
    return _TERMS.get(term, str(level) if term == "judge" else title_case(level))


def _ordered(frame: pd.DataFrame, keys: pd.DataFrame, term: str) -> list[tuple[str, object]]:
    """The levels of a factor from the largest effect to the smallest, those without one last."""
    value = frame[frame["term"] == term].drop_duplicates("level").set_index("level")["marginal_effect"]
    levels = keys.loc[keys["term"] == term, "level"]
    order = pd.DataFrame({"level": levels, "value": levels.map(value)})
    order = order.sort_values(["value", "level"], ascending=[False, True], na_position="last")
    return [(term, level) for level in order["level"]]


@figure(
    "models-dif",
    title="Strength and weakness beyond difficulty",
    caption=(
        "ETS delta (2.35 times the Mantel-Haenszel log odds ratio) of each judge in each {by} on {dimension}, among "
        "cases that are equally hard: that equally many judges get right, weighted by discrimination. B: moderate, "
        "C: large, no letter: negligible; *: significant at 5%; both after Benjamini-Hochberg over all cells. Hatched: "
        "nothing to compare."
    ),
    reading=(
        "Green: the judge is better there than the cases' difficulty explains; purple: worse. A subfield that is "
        "merely hard stays pale in all rows. Judges that stand out take no part in matching the others; where half of "
        "them do, nobody can say which half."
    ),
    needs=("preferences", "annotations", "verdicts", "judges", "department"),
)
@styled
def dif_matrix(frame: pd.DataFrame) -> Paper:
    """Draw how much weaker or stronger each judge is in each subfield than its cases' difficulty explains.

    Parameters
    ----------
    frame : rows of `dif` of one dimension: judge, subfield, ets_delta, ets_class, p_adjusted; judges and subfields are
        drawn by name, a pair without a row as missing
    """
    cells = frame[frame["subfield"].notna()].drop_duplicates(["judge", "subfield"])
    wide = cells.pivot(index="judge", columns="subfield", values=["ets_delta", "ets_class", "p_adjusted"])
    values, p_adjusted = (wide[name].to_numpy(dtype=float) for name in ("ets_delta", "p_adjusted"))
    texts = [
        [_cell(value, kind, sure) for value, kind, sure in zip(*row, strict=True)]
        for row in zip(values, wide["ets_class"].to_numpy(), p_adjusted < 0.05, strict=True)
    ]
    reach = float(np.abs(np.nan_to_num(values)).max(initial=2.0))
    figure = canvas(PAGE, rows_height(len(wide), 0.24, 1.5))
    axes = figure.subplots()
    mesh = draw_matrix(
        axes,
        values,
        across=labels(map(title_case, wide["ets_delta"].columns), 22),
        down=labels(wide.index, 28),
        colours=DIVERGING,
        norm=TwoSlopeNorm(0, -reach, reach),
        texts=texts,
    )
    for i, judge in enumerate(wide.index):
        for j, subfield in enumerate(wide["ets_delta"].columns):
            figure.mark(axes, {"judge": str(judge), "subfield": str(subfield)}, (i, i + 1), (j, j + 1))
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


@figure(
    "models-difficulty",
    title="Difficulty of cases and ability of judges",
    caption=(
        "Posterior mean difficulty of the cases on {dimension} and ability of the judges with 95% intervals, in log "
        "odds by the Rasch model, 0 being the average judge."
    ),
    reading=(
        "Cases to the right of a judge are those it gets wrong more often than right. Cases to the right of all judges "
        "are beyond them, or carry a wrong gold label."
    ),
    needs=("preferences", "annotations", "verdicts", "judges"),
)
@styled
def item_map(frame: pd.DataFrame) -> Paper:
    """Draw judges by ability beside cases by difficulty, on the same scale of log odds.

    Parameters
    ----------
    frame : rows of `difficulty` of one dimension: part, judge, ability, ability_low, ability_high (judges),
        difficulty (cases); null values are not drawn, and counted below the axis
    """
    judges = frame[(frame["part"] == "judge") & frame["ability"].notna()].sort_values(["ability", "judge"])
    difficulty = frame.loc[frame["part"] == "case", "difficulty"]
    estimated = int(difficulty.notna().sum())
    figure = canvas(PAGE * 0.75, rows_height(len(judges), 0.165, 2.0))
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=[1.1, max(len(judges), 3) * 0.165])
    abilities = judges[["ability_low", "ability_high", "ability"]].to_numpy(dtype=float).ravel()
    span = _span(np.concatenate([difficulty.to_numpy(dtype=float), abilities]))
    sns.histplot(x=difficulty.to_numpy(dtype=float), bins=np.linspace(*span, 41), color=COLOURS["cases"], alpha=1,
                 linewidth=0, gid="cases", ax=above)  # fmt: skip
    above.set_ylabel("cases")
    gaps = len(difficulty) - estimated
    above.set_title(f"Difficulty of {estimated:,} cases" + (f", {gaps:,} n/a" if gaps else ""))
    draw_estimates(below, judges, range(len(judges)), value="ability")
    name_rows(below, judges["judge"], _MOST_LETTERS, upwards=True)
    below.set_title("Ability of the judges")
    below.set_xlabel("log odds (0: the average judge)")
    for axes in (above, below):
        axes.set_xlim(*span)
        axes.grid(axis="x")
    return figure


def _span(values: np.ndarray) -> tuple[float, float]:
    """The range of the values, rounded outwards to halves; at least one."""
    if np.isnan(values).all():
        return -1.0, 1.0
    low, high = float(np.floor(np.nanmin(values) * 2) / 2), float(np.ceil(np.nanmax(values) * 2) / 2)
    return low, max(high, low + 1.0)


@figure(
    "models-suspicion",
    title="Difficulty, discrimination and doubtful gold labels",
    caption=(
        "Each case on {dimension}: accuracy of the judges against its difficulty (Rasch model) and its discrimination "
        "(item-rest correlation). Colour and size: posterior probability that gold is wrong, 5% before any verdict."
    ),
    reading=(
        "Large bright points are cases to review: able judges give the other label. At a discrimination of 0 or less "
        "able judges do no better on the case than weak ones."
    ),
    needs=("preferences", "annotations", "verdicts", "judges"),
)
@styled
def suspicion(frame: pd.DataFrame) -> Paper:
    """Draw the accuracy of the judges on every case against its difficulty and its discrimination.

    Parameters
    ----------
    frame : rows of `difficulty` of one dimension and part "case": accuracy, difficulty, suspicion, discrimination
    """
    frame = rows_of(frame, part="case")
    figure = canvas(PAGE, 2.9)
    left, right = figure.subplots(1, 2)
    cases = frame[frame["difficulty"].notna()].sort_values("suspicion", na_position="first")
    doubt = cases["suspicion"].fillna(0.0).to_numpy(dtype=float)
    norm = Normalize(0, 1)
    for axes, y, text in (
        (left, "difficulty", "difficulty (log odds)"),
        (right, "discrimination", "discrimination (correlation)"),
    ):
        axes.scatter(
            cases["accuracy"],
            cases[y],
            c=doubt,
            cmap=SEQUENTIAL,
            norm=norm,
            s=6 + 24 * doubt,
            linewidth=0,
            alpha=0.85,
            gid="cases",
            rasterized=len(cases) >= _MANY,  # so many outlines make a file that opens slowly
        )
        axes.set_xlim(-0.03, 1.03)
        percent_axis(axes.xaxis, 6)
        axes.set_xlabel("accuracy of the judges on the case (%)")
        axes.set_ylabel(text)
        axes.grid(axis="both")
        figure.mark(axes, {"row": SUSPECT})
    scale_bar(figure, ScalarMappable(norm, SEQUENTIAL), [left, right], "probability that the gold label is wrong")
    return figure
