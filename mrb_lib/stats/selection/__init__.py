"""What is lost where a judge chooses the best of several responses to an item."""

from mrb_lib.stats.selection.table import best_of_n

__all__ = ["best_of_n"]
