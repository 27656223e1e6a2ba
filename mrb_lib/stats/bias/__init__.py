"""What sways a judge besides quality?

The table `bias` measures how much length, style and authorship pull a judge's choices beyond what quality explains,
by the annotators' spread, how they go with its errors, and what accuracy and win rates would be at equal length.
"""

from mrb_lib.stats.bias.table import bias

__all__ = ["bias"]
