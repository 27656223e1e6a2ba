"""What differences between judges can these cases show, and how many cases would others take?

Detectable differences and cases needed from the variance at hand, and what the intervals are worth in simulated
studies.
"""

from mrb_lib.stats.power.table import power

__all__ = ["power"]
