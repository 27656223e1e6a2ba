"""Is a judge as sure as it should be?

The table `calibration` compares the probabilities of judges with gold: reliability diagrams, calibration error and
proper scores with intervals, before and after recalibration, risk against coverage, and the shift under a probe.
"""

from mrb_lib.stats.confidence.table import calibration

__all__ = ["calibration"]
