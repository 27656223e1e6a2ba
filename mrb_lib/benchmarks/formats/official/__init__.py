"""The layout in which Med-RewardBench is published: cases by organ, ground truth, and one result file a judge.

`read` makes a benchmark and its verdicts of a folder in it; `write` makes such a folder, which the published
evaluation script reads.
"""

from mrb_lib.benchmarks.formats.official.reading import read
from mrb_lib.benchmarks.formats.official.writing import write

__all__ = ["read", "write"]
