"""Ranking all responses to an item in one reply of a server, from which the verdicts of its pairs are read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from mrb_lib.judges.endpoint.judge import EndpointJudge
from mrb_lib.judges.prompts import RANKINGS, Prompt
from mrb_lib.judges.roster.entry import Entry
from mrb_lib.judges.settings import Settings
from mrb_lib.tables.errors import InputError

_TOKENS_OF_RANKINGS = 1024


class ServedBatchJudge(EndpointJudge):
    """A judge behind a server that ranks all responses to an item; see `EndpointJudge` for the parameters.

    See `mrb_lib.judges.lineup` for the order in which the responses are shown. A prompt for all dimensions is sent once
    for each item, direction and repeat. No probabilities are read.

    Validated by tests/judges/endpoint/test_served_batch.py.
    """

    engine = "served-batch"
    usual_prompt = "batch"
    usual_rating_prompt = None
    ranks_items: Literal[True] = True

    def _own_spec(self, settings: Settings) -> Mapping[str, object]:
        return {"items": settings.items}

    def _checked(self, prompt: Prompt, entry: Entry) -> Prompt:
        if prompt.asks not in RANKINGS:
            raise InputError(
                f"prompt {prompt.id}: does not ask for a ranking of all responses to an item; use batch or "
                "single-batch, or leave out +batch."
            )
        return prompt

    def _reply_length(self, prompt: Prompt, entry: Entry) -> int:
        return max(super()._reply_length(prompt, entry), _TOKENS_OF_RANKINGS)
