"""Runs of judges: a plan lists the verdicts; missing ones are judged in batches and kept, and a run can be resumed.

Batches are answered in this process, or spread over workers by `ray`.
"""

from mrb_lib.runs.execute import judge, judge_plan
from mrb_lib.runs.interruption import InterruptedRunError
from mrb_lib.runs.outcomes import FailedRun, FailedRunsError, RunSummary
from mrb_lib.runs.plan import Plan
from mrb_lib.runs.planned import PlannedJudge, read_judges
from mrb_lib.runs.progress import ReportProgress, RunProgress

__all__ = [
    "FailedRun", "FailedRunsError", "InterruptedRunError", "Plan", "PlannedJudge", "ReportProgress", "RunProgress",
    "RunSummary", "judge", "judge_plan", "read_judges",
]  # fmt: skip
