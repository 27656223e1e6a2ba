"""Which changes of a case change a judge's verdicts, and should they?

The table `probes` compares the verdicts under each probe with those on the plain cases, in the same order and repeat:
how many changed, beyond what repeats differ by themselves; what it did to accuracy; whether it pulled towards the
response that was changed; and whether that is what a sound judge does.
"""

from mrb_lib.stats.probes.table import probes

__all__ = ["probes"]
