"""Methods that one or two tables use: models, rankings, tests and comparisons that are no mean over cases.

Each file is one method. Nothing below `tables` imports them, and they import only the estimator and what it rests on.
"""
