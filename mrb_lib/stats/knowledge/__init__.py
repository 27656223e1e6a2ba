"""Does a judge that knows the answer judge better?

The table `knowledge` compares a judge's accuracy on items that its model answered right itself, when items were
filtered, with that on items that it answered wrong.
"""

from mrb_lib.stats.knowledge.table import knowledge

__all__ = ["knowledge"]
