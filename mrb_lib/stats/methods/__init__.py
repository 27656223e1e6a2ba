"""Methods that one or two tables use: models, rankings, tests and comparisons that are no mean over cases.

Each file is one method. Tables and the packages above `stats` import them; the files of the estimator do not.
"""
