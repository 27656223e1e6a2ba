"""The engine `packed`: choosing by the probabilities of two letters."""

from __future__ import annotations

from mrb_lib.judges.roster.engines import JudgeRequest, engine
from mrb_lib.verdicts.protocol import Judge


@engine(
    "packed",
    about="the more probable of the letters A and B; every question about a case in one pass",
    model="weights",
    packages=("torch", "transformers", "safetensors", "jinja2"),
    install="mrb-workbench[judges]",
    reads_any_model=True,
)
def build_packed(request: JudgeRequest) -> Judge:
    """See `mrb_lib.judges.local.packed`."""
    from mrb_lib.judges.local.packed import PackedJudge

    return PackedJudge(request.entry.name, request.entry, request.weights, request.settings, request.images)
