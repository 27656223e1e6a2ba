"""Which cases are hard, which tell judges apart, and is a judge weak in a subfield or the subfield hard?

Item response models place cases and judges on one scale; differential item functioning compares judges on cases that
are equally hard for all.
"""

from mrb_lib.stats.difficulty.dif_table import dif

__all__ = ["dif"]
