"""Does training help: a judge against the one whose weights it was trained further from?"""

from mrb_lib.stats.gains.table import gains

__all__ = ["gains"]
