"""Is a panel of judges better than its best member?

The table `jury` scores juries of all judges by majority, weighted and by Dawid and Skene's model, says what each
member adds, how accuracy grows with size, and what it costs.
"""

from mrb_lib.stats.juries.table import jury

__all__ = ["jury"]
