"""Do the annotators agree, beyond what chance gives?

Coefficients of agreement of all annotators and of every two of them, on any level of measurement, with intervals.
"""
