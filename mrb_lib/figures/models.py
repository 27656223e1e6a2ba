"""What makes a verdict right, where a judge is weaker than its cases are hard, and both on one scale."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize, TwoSlopeNorm

from mrb_lib.figures.intervals import draw_estimates, panels, rows_of
from mrb_lib.figures.lettering import labels, title_case
from mrb_lib.figures.matrix import draw_matrix, scale_bar
from mrb_lib.figures.registry import figure
from mrb_lib.figures.style import (
    COLOURS,
    DIVERGING,
    PAGE,
    SEQUENTIAL,
    Paper,
    canvas,
    name_rows,
    percent_axis,
    rows_height,
    styled,
)

_TERMS = {
    "order": "shown BA, not AB",
    "gold_first": "gold response shown first",
    "length_difference": "gold response longer, per SD",
}
_MANY = 300


@figure("models-effects", table="models", by=True, parts=("all judges",), shows="marginal_effect", is_main=True)
def marginal_effects(models: pd.DataFrame, *, judges: Sequence[str] = ()) -> Paper:
    """Draw the marginal effects of the model of all judges, a block per kind of term and a panel per dimension.

    Parameters
    ----------
    models : rows of part "all judges" of the table `models`; terms without a marginal effect are not drawn
    judges : all judges from the first to the last; empty orders them by effect
    """
    rows = models[models["term"].isin(["judge", "subfield", *_TERMS])]
    levels = rows["level"].where(rows["term"] != "subfield", rows["level"].map(title_case))
    named = rows.assign(
        effect=rows["term"].map(_TERMS).fillna(levels),
        block=rows["term"].map({"judge": "judge", "subfield": "subfield"}).fillna("how it was shown"),
    )
    return panels(
        named, value="marginal_effect", axis_label="average marginal effect (percentage points of being right)",
        rows="effect", group="block", order=judges, line_at=0.0,
    )  # fmt: skip


@figure("models-dif", table="dif", by=True, shows="ets_delta", cases="wrong", is_main=True)
@styled
def dif_matrix(dif: pd.DataFrame, *, dimension: str, judges: Sequence[str] = ()) -> Paper:
    """Draw how much weaker or stronger each judge is in each subfield than its cases' difficulty explains.

    Parameters
    ----------
    dif : the table `dif`; a judge and a subfield without a row are drawn as missing
    judges : all judges from the first to the last; empty draws them by name
    """
    cells = rows_of(dif[dif["subfield"].notna()], dimension=dimension)
    wide = cells.pivot(index="judge", columns="subfield", values=["ets_delta", "ets_class", "p_adjusted"])
    wide = wide.reindex([judge for judge in judges if judge in wide.index] or wide.index)
    values, p_adjusted = (wide[name].to_numpy(dtype=float) for name in ("ets_delta", "p_adjusted"))
    texts = [
        [_cell(value, kind, sure) for value, kind, sure in zip(*row, strict=True)]
        for row in zip(values, wide["ets_class"].to_numpy(), p_adjusted < 0.05, strict=True)
    ]
    reach = float(np.abs(np.nan_to_num(values)).max(initial=2.0))
    figure = canvas(PAGE, rows_height(len(wide), 0.24, 1.5))
    axes = figure.subplots()
    across = labels(map(title_case, wide["ets_delta"].columns), 22)
    mesh = draw_matrix(
        axes, values, across=across, down=labels(wide.index, 28), colours=DIVERGING,
        norm=TwoSlopeNorm(0, -reach, reach), texts=texts,
    )  # fmt: skip
    for i, judge in enumerate(wide.index):
        for j, subfield in enumerate(wide["ets_delta"].columns):
            figure.mark(axes, {"judge": str(judge), "subfield": str(subfield)}, (i, i + 1), (j, j + 1))
    scale_bar(figure, mesh, axes, "ETS delta")
    return figure


def _cell(value: float, kind: object, certain: bool) -> str:
    """The value with a sign, and beside it its class and a star where it is significant."""
    number = f"{value:+.1f}".replace("-", "\u2212")
    number = number[1:] if number[1:] == "0.0" else number
    mark = f"{kind if kind in ('B', 'C') else ''}{'*' if certain else ''}"
    return "" if np.isnan(value) else f"{number} {mark}".rstrip()


@figure("models-difficulty", table="difficulty", shows="difficulty", is_main=True)
@styled
def item_map(difficulty: pd.DataFrame, *, dimension: str, judges: Sequence[str] = ()) -> Paper:
    """Draw judges by ability below cases by difficulty, on the same scale of log odds.

    Parameters
    ----------
    difficulty : the table `difficulty`; a case without a value is not drawn but counted in the title
    judges : all judges from the first to the last; empty orders them by ability
    """
    rows = rows_of(difficulty, dimension=dimension)
    people = rows[(rows["part"] == "judge") & rows["ability"].notna()].sort_values("ability", ascending=False)
    if len(judges):
        people = people.sort_values("judge", key=lambda names: names.map({name: i for i, name in enumerate(judges)}))
    cases = rows.loc[rows["part"] == "case", "difficulty"]
    figure = canvas(PAGE * 0.75, rows_height(len(people), 0.165, 2.0))
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=[1.1, max(len(people), 3) * 0.165])
    sns.histplot(x=cases.dropna(), bins=40, color=COLOURS["cases"], alpha=1, linewidth=0, gid="cases", ax=above)
    above.set_ylabel("cases")
    gaps = f", {cases.isna().sum():,} n/a" if cases.isna().any() else ""
    above.set_title(f"Difficulty of {cases.notna().sum():,} cases{gaps}")
    draw_estimates(below, people, range(len(people)), value="ability")
    name_rows(below, people["judge"], 34)
    below.set_title("Ability of the judges")
    below.set_xlabel("log odds (0: the average judge)")
    for axes in (above, below):
        axes.grid(axis="x")
    return figure


@figure("models-suspicion", table="difficulty", parts=("case",), shows="suspicion", cases="suspect")
@styled
def suspicion(difficulty: pd.DataFrame, *, dimension: str) -> Paper:
    """Draw each case by the judges' accuracy on it and its discrimination, coloured by the doubt about its gold label.

    Parameters
    ----------
    difficulty : rows of part "case" of the table `difficulty`; cases without a suspicion are not drawn
    """
    rows = rows_of(difficulty, dimension=dimension)
    cases = rows[rows["suspicion"].notna()].sort_values("suspicion")
    figure = canvas(PAGE * 0.75, 3.2)
    axes = figure.subplots()
    norm = Normalize(0, 1)
    axes.scatter(
        cases["accuracy"], cases["discrimination"], c=cases["suspicion"], s=6 + 24 * cases["suspicion"],
        cmap=SEQUENTIAL, norm=norm, linewidth=0, alpha=0.85, gid="cases",
        rasterized=len(cases) >= _MANY,  # so many outlines make a file that opens slowly
    )  # fmt: skip
    percent_axis(axes.xaxis, 6)
    axes.set_xlabel("accuracy of the judges on the case (%)")
    axes.set_ylabel("discrimination (item-rest correlation)")
    axes.grid(axis="both")
    figure.mark(axes, {"row": "suspect"})
    scale_bar(figure, ScalarMappable(norm, SEQUENTIAL), axes, "probability that the gold label is wrong")
    return figure
