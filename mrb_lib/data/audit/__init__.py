"""Can this benchmark be used as it is, and do numbers from it mean what they seem to?

`audit` checks a benchmark folder for what is damaged, missing, displaced or gives the labels away; every finding names
file, row, column and the cure. One file a kind of check.
"""

from mrb_lib.data.audit.folder import audit
from mrb_lib.data.audit.images import image_findings

__all__ = ["audit", "image_findings"]
