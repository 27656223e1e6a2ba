"""How sure is an estimate? Clusters of cases are drawn with replacement, the same draws for everything in an analysis.

`mrb_lib.bootstrap` gives any function of a frame an interval; the tables resample sums over clusters (`resample`),
and closed forms stand in `intervals` and `robust`.
"""
