"""What a figure is given of the full benchmark, and what it has drawn, read back by the name of its marks."""

import inspect
from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mrb_lib.figures.registry import FIGURES
from mrb_lib.figures.style import Paper
from tests.stats.every_table import full_table

JUDGES = ("j1", "j2", "j3")


def shown(figure: str) -> pd.DataFrame:
    """The rows of the full benchmark that a figure is given."""
    spec = FIGURES[figure]
    rows = full_table(spec.table, by="organ" if spec.by else None)
    return (rows[rows["part"].isin(spec.parts)] if spec.parts else rows).reset_index(drop=True)


def of(rows: pd.DataFrame, **values: object) -> pd.DataFrame:
    for name, value in values.items():
        rows = rows[rows[name] == value]
    return rows


def beside_others(rows: pd.DataFrame, **changed: object) -> pd.DataFrame:
    """The rows, and others of another dimension that are not to be drawn."""
    return pd.concat([rows, rows.assign(dimension="accuracy", **changed)], ignore_index=True)


def copied(rows: pd.DataFrame, column: str, names: list[str]) -> pd.DataFrame:
    """The rows of j1 once under each name, of the judge or of another column."""
    return pd.concat([of(rows, judge="j1").assign(**{column: name}) for name in names], ignore_index=True)


def draw(figure: str, rows: pd.DataFrame, judges: Sequence[str] = JUDGES) -> Paper:
    """Draw a figure as the report does, on the dimension overall."""
    known = {"dimension": "overall", "by": "organ", "judges": list(judges), "target": 0.9}
    given = inspect.signature(FIGURES[figure].draw).parameters
    return FIGURES[figure].draw(rows, **{name: value for name, value in known.items() if name in given})


def marks(axes: Axes, gid: str = "values") -> np.ndarray:
    """Where the points of the first line of this name are: a row each."""
    line = next(line for line in axes.lines if line.get_gid() == gid)
    return np.column_stack([line.get_xdata(), line.get_ydata()]).astype(float)


def known(points: np.ndarray) -> np.ndarray:
    """The points that are somewhere."""
    return points[~np.isnan(points).any(axis=1)]


def spans(axes: Axes, gid: str = "intervals") -> list[np.ndarray]:
    """The ends of every interval of this name."""
    return list(next(drawn for drawn in axes.collections if drawn.get_gid() == gid).get_segments())


def texts(axes: Axes, gid: str = "not-available") -> list[str]:
    return [text.get_text() for text in axes.texts if text.get_gid() == gid]


def ticks(axes: Axes) -> list[str]:
    """The names of the rows."""
    return [text.get_text() for text in axes.get_yticklabels()]


def titles(figure: Figure) -> list[str]:
    """The first line of what stands above each panel."""
    return [axes.get_title().split("\n")[0] for axes in figure.axes if axes.get_title()]
