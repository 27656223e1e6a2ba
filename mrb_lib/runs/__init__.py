"""How are verdicts made? A plan says which are wanted; what is missing is judged in batches, kept, and can be resumed.

Batches are answered in this process, or spread over workers by `ray`.
"""

from mrb_lib.runs.execute import InterruptedRunError, RunSummary, judge
from mrb_lib.runs.plan import Plan
from mrb_lib.runs.progress import ReportProgress, RunProgress

__all__ = ["InterruptedRunError", "Plan", "ReportProgress", "RunProgress", "RunSummary", "judge"]
