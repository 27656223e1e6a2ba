"""Which label is right, and what would change if it were another?

Gold labels by the annotators' votes, by a model of their errors, and as reviewers corrected them; how often annotators
err; how the leaderboard moves with the rule that makes gold labels.
"""

from mrb_lib.stats.adjudicated import adjudicated_gold
from mrb_lib.stats.gold.adjudication import reviewer_agreement
from mrb_lib.stats.posterior import posterior

__all__ = ["adjudicated_gold", "posterior", "reviewer_agreement"]
