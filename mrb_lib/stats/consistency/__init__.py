"""Does a judge choose the same when the responses change places, or when asked again?

The table `consistency` measures position bias, agreement between orders and repeats, and self-contradiction;
`engines` compares ways of asking one judge.
"""

from mrb_lib.stats.consistency.table import consistency

__all__ = ["consistency"]
