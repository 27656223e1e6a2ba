"""What every table is made of: verdicts as an array, scoring policies, subfields, corrections for many tests.

Nothing here answers a question by itself. A table registers itself with `register_table`.
"""

from mrb_lib.stats.core.panel import Panel, as_panel
from mrb_lib.stats.core.scoring import score
from mrb_lib.stats.core.table import Option, register_table
from mrb_lib.stats.subfields import groups

__all__ = ["Option", "Panel", "as_panel", "groups", "register_table", "score"]
