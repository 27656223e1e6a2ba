"""Which judges are there, and how does a name become one? Entries, engines, weights, and what this machine can run."""

from mrb_lib.judges.roster.engines import ENGINES, Engine, JudgeRequest, engine
from mrb_lib.judges.roster.entry import Entry
from mrb_lib.judges.roster.roster import check_name, entries, entry_of, resolve

__all__ = ["ENGINES", "Engine", "Entry", "JudgeRequest", "check_name", "engine", "entries", "entry_of", "resolve"]
