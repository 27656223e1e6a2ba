"""A matrix of coloured cells with text in them: the ground of the heatmaps and of the pairwise figures."""

from collections.abc import Callable, Sequence
from contextlib import nullcontext

import numpy as np
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import QuadMesh
from matplotlib.colors import BoundaryNorm, Colormap, Normalize
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator
from numpy.typing import NDArray

from mrb_lib.figures.lettering import percent
from mrb_lib.figures.style import NOT_AVAILABLE, SMALLEST_TYPE, Paper, ink_on, not_available


def draw_matrix(
    axes: Axes,
    values: NDArray[np.float64],
    *,
    across: Sequence[str],
    down: Sequence[str],
    colours: str | Colormap,
    norm: Normalize,
    texts: Sequence[Sequence[str]] | None = None,
    blank: NDArray[np.bool_] | None = None,
    write_missing: bool = True,
) -> QuadMesh:
    """Draw a matrix; missing values become hatched grey cells, never a colour of the scale.

    Parameters
    ----------
    values : shape (D, W); NaN where there is no value
    across, down : the W column and D row labels, safe to draw
    texts : shape (D, W), what to write into the cells; None writes nothing
    blank : shape (D, W), True where the cell is no part of the matrix (one triangle of a symmetric one)
    write_missing : write n/a into the missing cells
    """
    empty = np.zeros(values.shape, dtype=bool) if blank is None else blank
    missing = np.isnan(values) & ~empty
    figure = axes.get_figure(root=True)
    # seaborn draws the whole figure to see whether its tick labels overlap, of which there are none yet.
    with figure.undrawn() if isinstance(figure, Paper) else nullcontext():
        sns.heatmap(
            values,
            mask=np.isnan(values) | empty,
            annot=np.array(texts) if texts else None,
            fmt="",
            cmap=colours,
            norm=norm,
            linewidths=0.6,
            cbar=False,
            xticklabels=False,
            yticklabels=False,
            annot_kws={"fontsize": SMALLEST_TYPE, "linespacing": 1.05, "gid": "cell"},
            gid="cells",
            ax=axes,
        )
    mesh = next(drawn for drawn in axes.collections if isinstance(drawn, QuadMesh))
    for text in list(axes.texts):
        x, y = text.get_position()
        if text.get_text():
            # seaborn writes white on colours that are too bright for small type.
            text.set_color(ink_on(mesh.cmap(mesh.norm(values[int(y), int(x)]))))
        else:
            text.remove()
    for i, j in np.argwhere(missing):
        not_available(axes, float(j), float(i))
        if write_missing:
            axes.text(j + 0.5, i + 0.5, NOT_AVAILABLE, ha="center", va="center", color="#555555",
                      fontsize=SMALLEST_TYPE, gid="cell")  # fmt: skip
    axes.set_xticks(np.arange(values.shape[1]) + 0.5, list(across), rotation=90)
    axes.set_yticks(np.arange(values.shape[0]) + 0.5, list(down))
    axes.tick_params(length=0)
    return mesh


def cell_texts(
    values: NDArray[np.float64],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    write: Callable[[float], str] = percent,
    *,
    bound: Callable[[float], str] | None = None,
    between: str = " to ",
) -> list[list[str]]:
    """The texts of cells: a value with its interval below it, without one where that is null; empty for a null value.

    Parameters
    ----------
    values, low, high : shape (D, W)
    write, bound : how values are written, and how the ends of intervals are; None is as values
    """
    bound = bound or write

    def text(value: float, start: float, end: float) -> str:
        ends = "" if np.isnan(start) or np.isnan(end) else f"\n{bound(start)}{between}{bound(end)}"
        return "" if np.isnan(value) else write(value) + ends

    return [[text(*cell) for cell in zip(*row, strict=True)] for row in zip(values, low, high, strict=True)]


def scale_bar(
    figure: Figure,
    mesh: ScalarMappable,
    axes: Axes | Sequence[Axes],
    text: str,
    write: Callable[[float], str] = "{:g}".format,
) -> None:
    """A thin colour scale to the right of a matrix, its ticks written by `write`."""
    bar = figure.colorbar(mesh, ax=axes, fraction=0.025, pad=0.015, aspect=30)
    if not isinstance(mesh.norm, BoundaryNorm):
        bar.locator = MaxNLocator(nbins=6, steps=[1, 2, 5, 10])
    bar.formatter = FuncFormatter(lambda value, _: write(value).replace("-", "\u2212"))
    bar.update_ticks()
    bar.set_label(text)
    bar.outline.set_visible(False)
    bar.ax.tick_params(length=2)
