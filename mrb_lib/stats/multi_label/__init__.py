"""Which of several labels does a judge find?

The table `labels` is of dimensions in which several labels may apply to a case at once, such as kinds of error.
"""
