"""Where does a response go wrong, and does a judge find it?

The table `steps` compares the steps that a judge calls erroneous with those that annotators do, and its first error of
a response with theirs.
"""

from mrb_lib.stats.steps.table import steps

__all__ = ["steps"]
