"""What sways a judge besides quality?

The table `bias` measures how much length, style and authorship pull a judge's choices beyond what the gold label
explains, and what accuracy and win rates would be at equal length.
"""

from mrb_lib.stats.bias.table import bias

__all__ = ["bias"]
