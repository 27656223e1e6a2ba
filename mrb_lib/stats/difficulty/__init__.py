"""Which cases are hard, and is a judge weak in a subfield or the subfield hard?

The Rasch model places cases and judges on one scale; differential item functioning compares judges on cases that are
equally hard for all.
"""
