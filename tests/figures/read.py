"""What a figure has drawn, read back by the name of its marks."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes


def marks(axes: Axes, gid: str = "values") -> np.ndarray:
    """Where the points of the first line of this name are: a row each."""
    line = next(line for line in axes.lines if line.get_gid() == gid)
    return np.column_stack([line.get_xdata(), line.get_ydata()]).astype(float)


def spans(axes: Axes, gid: str = "intervals") -> list[np.ndarray]:
    """The ends of every interval of this name."""
    return list(next(drawn for drawn in axes.collections if drawn.get_gid() == gid).get_segments())


def texts(axes: Axes, gid: str = "not-available") -> list[str]:
    return [text.get_text() for text in axes.texts if text.get_gid() == gid]
