"""Which criteria of a rubric decide a judge's errors?"""

from mrb_lib.stats.criteria.table import criteria

__all__ = ["criteria"]
