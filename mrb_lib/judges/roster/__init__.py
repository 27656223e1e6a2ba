"""The roster: entries, engines, weights, how a name becomes a judge, and how this machine runs it."""

from mrb_lib.judges.roster.engines import ENGINES, Engine, JudgeRequest, engine
from mrb_lib.judges.roster.entry import Entry
from mrb_lib.judges.roster.roster import entries, entry_of, resolve

__all__ = ["ENGINES", "Engine", "Entry", "JudgeRequest", "engine", "entries", "entry_of", "resolve"]
