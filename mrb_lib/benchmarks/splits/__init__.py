"""Which cases is a judge trained on, stopped by and tested on, and could it know one from another?

`split` draws the parts, `write_split` keeps them in the folder of the benchmark, and `check_split` refuses a split,
given or made, in which a case could be known from one that is trained on.
"""

from mrb_lib.benchmarks.splits.draw import Split, split
from mrb_lib.benchmarks.splits.leaks import check_split
from mrb_lib.benchmarks.splits.stored import FOLD, SPLIT, is_split, split_digest, write_split

__all__ = ["FOLD", "SPLIT", "Split", "check_split", "is_split", "split", "split_digest", "write_split"]
