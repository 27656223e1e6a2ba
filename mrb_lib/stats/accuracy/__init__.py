"""Does a judge choose as the annotators do?

Accuracy by a scoring policy with its recommended interval, its average over dimensions, kappa with gold, and the score
of every single case.
"""

from mrb_lib.stats.accuracy.average import average
from mrb_lib.stats.accuracy.table import accuracy, correctness

__all__ = ["accuracy", "average", "correctness"]
