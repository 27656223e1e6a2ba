"""What is wrong with the text of a figure."""

from collections.abc import Callable

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text


def text_boxes(figure: Figure) -> tuple[list[Text], np.ndarray]:
    """Every text that is drawn, with its box in pixels: left, bottom, right, top."""
    figure.draw_without_rendering()
    hidden: set[Text] = set()
    for axis in (axis for axes in figure.findobj(Axes) for axis in (axes.xaxis, axes.yaxis)):
        hidden.update(axis.findobj(Text))
        if axis.axes.axison:
            # An axis keeps ticks beyond its limits, which it does not draw.
            hidden.difference_update([axis.label], *(tick.findobj(Text) for tick in axis._update_ticks()))
    seen = [text for text in figure.findobj(Text) if text.get_visible() and text.get_text().strip()]
    seen = [text for text in seen if text not in hidden]
    return seen, np.array([text.get_window_extent(figure.canvas.get_renderer()).extents for text in seen])


@pytest.fixture
def flaws() -> Callable[[Figure], list[str]]:
    """What is wrong with the text of a figure: outside the canvas, on top of one another, or too small to print."""

    def find(figure: Figure) -> list[str]:
        seen, boxes = text_boxes(figure)
        found = [f"{text.get_text()!r} at {text.get_fontsize()} points" for text in seen if text.get_fontsize() < 6]
        width, height = figure.bbox.width, figure.bbox.height
        outside = (boxes[:, :2] < -1).any(axis=1) | (boxes[:, 2] > width + 1) | (boxes[:, 3] > height + 1)
        found += [f"{seen[i].get_text()!r} leaves the canvas" for i in np.flatnonzero(outside)]
        # A box holds the room of the tallest letters, so that neighbours may touch by a pixel.
        left, bottom, right, top = (boxes + np.array([1, 1, -1, -1])).T
        on = (left[:, None] < right) & (left < right[:, None]) & (bottom[:, None] < top) & (bottom < top[:, None])
        found += [f"{seen[i].get_text()!r} on {seen[j].get_text()!r}" for i, j in np.argwhere(np.triu(on, k=1))]
        return found

    return find
