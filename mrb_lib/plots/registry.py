"""The figures that a notebook can show by name: each is registered where it is drawn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeVar

from mrb_lib.plots.style import Paper
from mrb_lib.registry import Registry

Draw = TypeVar("Draw", bound=Callable[..., Paper])


@dataclass(frozen=True)
class FigureSpec:
    """A figure and the words beside it.

    Attributes
    ----------
    id : lower-case words joined by hyphens, stable for ever: the name of its files
    title, caption, reading : what it shows; on what data and how; how to read it. A name in braces, as `{dimension}`,
        is replaced by what the notebook says
    needs : what the data must have, see `mrb_lib.notebook.about.missing`; else the figure is absent, with a reason
    draw : frame in, figure out; computes no statistics
    """

    id: str
    title: str
    caption: str
    reading: str
    needs: tuple[str, ...]
    draw: Callable[..., Paper]


FIGURES: Final[Registry[FigureSpec]] = Registry("figure", "mrb_lib.plots")


def figure(
    id: str,  # the name of the column in index.json
    *,
    title: str,
    caption: str,
    reading: str,
    needs: tuple[str, ...] = (),
) -> Callable[[Draw], Draw]:
    """Register the function below as what draws a figure; one function may draw several."""

    def register(draw: Draw) -> Draw:
        FIGURES.add(id, FigureSpec(id, title, caption, reading, needs, draw))
        return draw

    return register
