"""What makes a verdict correct: the judge, the subfield, the order shown, or which response is longer.

Marginal models (estimating equations, fitted by statsmodels) and mixed models (random intercepts for each case
and for each judge on a case) of all judges, models of each judge, and tests of whether a term differs between judges;
and accuracy where a judge's own model answers the item right, and where it does not.
"""

from mrb_lib.stats.models.table import models

__all__ = ["models"]
