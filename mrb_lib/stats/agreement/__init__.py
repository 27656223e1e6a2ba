"""Do the annotators agree, beyond what chance gives?

Coefficients of agreement of all annotators and of every two of them, on any level of measurement, with intervals.
"""

from mrb_lib.stats.agreement.drift import drift
from mrb_lib.stats.agreement.pair_table import annotator_pairs
from mrb_lib.stats.agreement.table import agreement

__all__ = ["agreement", "annotator_pairs", "drift"]
