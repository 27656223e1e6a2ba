"""Deciding the criteria of a rubric through a server: one request a response, each alone."""

from __future__ import annotations

from mrb_lib.judges.endpoint.judge import EndpointJudge
from mrb_lib.judges.prompts import Prompt
from mrb_lib.judges.roster.entry import Entry
from mrb_lib.tables.errors import InputError

_TOKENS_OF_CRITERIA = 1024


class ServedRubricJudge(EndpointJudge):
    """A judge behind a server that decides criteria of each response alone; see `EndpointJudge` for the parameters.

    Both orders share the replies, of which `reply` holds both. What they took stands in the first row of the case, also
    where a request failed, so that the case has no verdict. No probabilities are read.

    Validated by tests/judges/endpoint/test_served_rubric.py.
    """

    engine = "served-rubric"
    usual_prompt = "criteria"
    usual_rating_prompt = None

    def _checked(self, prompt: Prompt, entry: Entry) -> Prompt:
        if prompt.asks != "criteria":
            raise InputError(
                f"prompt {prompt.id}: does not ask which criteria a response meets; use criteria, or leave out +rubric."
            )
        return prompt

    def _reply_length(self, prompt: Prompt, entry: Entry) -> int:
        return max(super()._reply_length(prompt, entry), _TOKENS_OF_CRITERIA)
