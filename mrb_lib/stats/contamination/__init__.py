"""Is a judge better on cases that were public before its training data end?"""

from mrb_lib.stats.contamination.table import contamination

__all__ = ["contamination"]
