"""Does what is measured of judges in some domains hold in others?

The table `transfer` pools accuracies over institutions, datasets or subfields, says how much they vary and what to
expect in a new one, and whether the order of judges is the same in each.
"""

from mrb_lib.stats.transfer.table import transfer

__all__ = ["transfer"]
