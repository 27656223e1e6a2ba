"""When may a judge answer alone?

The table `selective` finds the confidence from which on a judge agrees with clinicians as often as promised, what the
promise covers, and what share of cases it answers then.
"""

from mrb_lib.stats.selective.table import selective

__all__ = ["selective"]
