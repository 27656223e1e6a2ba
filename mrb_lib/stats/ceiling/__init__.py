"""How well do clinicians agree with each other's majority, and may a judge stand in for one of them?

The annotators' ceiling, the judges against the same labels, and the alternative annotator test.
"""

from mrb_lib.stats.ceiling.table import ceiling

__all__ = ["ceiling"]
