"""The engine `rating`: choosing by ratings of each response alone."""

from __future__ import annotations

from mrb_lib.judges.roster.engines import JudgeRequest, engine
from mrb_lib.verdicts.protocol import Judge


@engine(
    "rating",
    about="a rating of each response alone, as an expectation over the rating's tokens",
    model="weights",
    packages=("torch", "transformers", "safetensors", "jinja2"),
    install="mrb-workbench[judges]",
    reads_any_model=True,
)
def build_rating(request: JudgeRequest) -> Judge:
    """See `mrb_lib.judges.local.rating`."""
    from mrb_lib.judges.local.rating import RatingJudge

    return RatingJudge(request.entry.name, request.entry, request.weights, request.settings, request.images)
