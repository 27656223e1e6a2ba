"""A matrix of coloured cells with text in them: the ground of the heatmaps and of the pairwise figures."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.colors import BoundaryNorm, Colormap, Normalize
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator
from numpy.typing import NDArray

from mrb_lib.plots.style import NOT_AVAILABLE, SMALLEST_TYPE, ink_on, not_available


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
    mesh = axes.pcolormesh(
        np.ma.masked_where(np.isnan(values) | empty, values),
        cmap=mpl.colormaps[colours] if isinstance(colours, str) else colours,
        norm=norm,
        edgecolors="white",
        linewidth=0.6,
        gid="cells",
    )
    for i, j in np.argwhere(~empty):
        missing = bool(np.isnan(values[i, j]))
        if missing:
            not_available(axes, float(j), float(i))
        text = NOT_AVAILABLE if missing and write_missing else "" if missing or texts is None else texts[i][j]
        if text:
            ink = "#555555" if missing else ink_on(mesh.cmap(mesh.norm(values[i, j])))
            axes.text(
                j + 0.5,
                i + 0.5,
                text,
                ha="center",
                va="center",
                color=ink,
                fontsize=SMALLEST_TYPE,
                linespacing=1.05,
                gid="cell",
            )
    axes.set_xlim(0, values.shape[1])
    axes.set_ylim(values.shape[0], 0)
    axes.set_xticks(np.arange(values.shape[1]) + 0.5, list(across), rotation=90)
    axes.set_yticks(np.arange(values.shape[0]) + 0.5, list(down))
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    return mesh


def scale_bar(
    figure: Figure,
    mesh: QuadMesh,
    axes: Axes | Sequence[Axes],
    text: str,
    write: Callable[[float], str] = "{:g}".format,
) -> None:
    """A thin colour scale to the right of a matrix, its ticks written by `write`."""
    bar = figure.colorbar(mesh, ax=axes, fraction=0.025, pad=0.015, aspect=30)
    if not isinstance(mesh.norm, BoundaryNorm):
        bar.locator = MaxNLocator(nbins=6, steps=[1, 2, 5, 10])
    bar.formatter = FuncFormatter(lambda value, _: write(value))
    bar.update_ticks()
    bar.set_label(text)
    bar.outline.set_visible(False)
    bar.ax.tick_params(length=2)
