"""Who writes the better responses, and would a judge rank the responders as clinicians do?

Bradley-Terry strengths (and two models of ties), ranks with intervals, and what a judge's verdicts add to few labels.
"""
