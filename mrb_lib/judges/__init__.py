"""Judges: models on this machine or behind a server, juries, and plain rules, by the names of the roster.

An engine is one way of asking for verdicts; `engines` holds one file each, which registers itself with `@engine`.
"""

from mrb_lib.judges.roster.engines import ENGINES, Engine, JudgeRequest, engine
from mrb_lib.judges.settings import Settings
from mrb_lib.verdicts.protocol import Judge, PromptlessJudge

__all__ = ["ENGINES", "Engine", "Judge", "JudgeRequest", "PromptlessJudge", "Settings", "engine"]
