"""Which label is right, and what would change if it were another?

Gold labels by the annotators' votes, by a model of their errors, and as reviewers corrected them; how often annotators
err; how the leaderboard moves with the rule that makes gold labels.
"""
