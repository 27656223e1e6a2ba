"""What does each ingredient of training contribute, and how many cases does a wanted accuracy take?"""

from mrb_lib.stats.learning.table import learning

__all__ = ["learning"]
