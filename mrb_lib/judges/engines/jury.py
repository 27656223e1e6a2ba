"""The engine `jury`: choosing by the votes of other judges."""

from __future__ import annotations

from mrb_lib.judges.jury import Jury
from mrb_lib.judges.roster.engines import JudgeRequest, engine
from mrb_lib.verdicts.protocol import Judge


@engine("jury", about="the votes of other judges, as consensus-of:NAME,NAME", is_internal=True)
def build_jury(request: JudgeRequest) -> Judge:
    """A jury without its members, whose runs `mrb_lib.runs.juries` finds."""
    return Jury(request.entry.name)
