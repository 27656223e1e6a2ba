"""Mean scores, decisive accuracy and confusion tables, for the tables that are not on the one estimator yet."""
