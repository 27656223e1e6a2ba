"""Could a difference between judges be chance?

Every two judges on the same cases (exact, permutation and bootstrap tests, equivalence within a margin), all judges
together, and the judges in order with letters for those that are not shown to differ.
"""

from mrb_lib.stats.significance.lettering import letters
from mrb_lib.stats.significance.paired import significance

__all__ = ["letters", "significance"]
