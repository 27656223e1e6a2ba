"""Are some groups of judges better than others: medical than open ones, medical models than their bases?"""

from mrb_lib.stats.groups.table import groups

__all__ = ["groups"]
