"""What moved between two releases, two reports or two prompts?

Which cases are still the same (`cases`), which judges are in both and by which prompt (`judges`), and how far the
accuracy of each moved on the cases that are (`moved`). Functions of two sets of frames, so not tables of `mrb analyze`.
"""

from mrb_lib.stats.changes.cases import case_changes, release_counts
from mrb_lib.stats.changes.judges import judge_pairs
from mrb_lib.stats.changes.moved import moved

__all__ = ["case_changes", "judge_pairs", "moved", "release_counts"]
