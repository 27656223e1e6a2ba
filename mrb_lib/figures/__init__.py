"""What does a table look like?

Every figure is a function that takes a table as `mrb_lib.analyze` gives it and returns a drawing; it computes no
statistics. One file a figure family; a figure registers itself, with its words, where it is drawn.
"""

from mrb_lib.figures.registry import FIGURES, FigureSpec, figure
from mrb_lib.figures.style import Paper, canvas, mark_simulated, styled

__all__ = ["FIGURES", "FigureSpec", "Paper", "canvas", "figure", "mark_simulated", "styled"]
