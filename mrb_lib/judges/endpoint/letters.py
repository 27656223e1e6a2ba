"""Judging through a server by the probabilities of the letters A and B: one token a question.

The questions of a case differ in their last words alone, and are sent one after the other, so that a server that keeps
the keys and values of what it read (vLLM and SGLang by default; llama.cpp in each of its slots) reads images, question
and responses once a case and order. Sent at the same time, they would go to different slots of llama.cpp, each of
which reads all. Different cases are asked at a time, as many as `concurrency` says, so that no slot waits. What this
saves is measured in tests/benchmarks/RESULTS.md.
"""

from __future__ import annotations

from mrb_lib.judges.endpoint.judge import EndpointJudge
from mrb_lib.judges.endpoint.reply import ChatReply, Probability, p_of_first
from mrb_lib.judges.tasks import Task
from mrb_lib.replies.labels import LETTERS
from mrb_lib.replies.reading import parse
from mrb_lib.verdicts.orders import FIRST, PICKS, SECOND, pick_of
from mrb_lib.verdicts.protocol import VerdictRows


class LettersJudge(EndpointJudge):
    """A judge that replies with one token a question; see `EndpointJudge` for the parameters.

    The pick is the likelier of the two letters as first token, `p_first` their ratio, `answer_mass` their probability
    together. The status is `repaired` where the token that the server drew is neither. Without probabilities the token
    itself is the pick. The temperature is 0 and there is nothing to sample: repeats are alike.

    Raises
    ------
    InputError
        As `EndpointJudge`; or the model thinks before it replies, or the prompt asks for more than a letter.

    Notes
    -----
    Validated by tests/judges/endpoint/test_letters.py, also against a real server.
    """

    engine = "letters"
    usual_prompt = "single"
    asks = ("one",)
    rates = None
    reads_first_token = True

    def _is_whole(self, task: Task, reply: ChatReply) -> bool:
        return not reply.refused and self._pick(task, reply) is not None

    def _pick(self, task: Task, reply: ChatReply) -> str | None:
        stated = _stated(task, reply)
        if stated is not None and stated.bound is None:
            return pick_of(stated.p, 0.5)
        if stated is not None and (stated.p >= 0.5) == (stated.bound == "at least"):
            return FIRST if stated.bound == "at least" else SECOND
        choice = parse(reply.content, task.asked, LETTERS, task.labels).choices[task.asked[0]]
        return None if choice is None else PICKS[choice]

    def _put(self, rows: VerdictRows, task: Task, reply: ChatReply, took: dict[str, object]) -> None:
        [(position, dimension)] = task.rows
        stated, pick = _stated(task, reply), self._pick(task, reply)
        if reply.refused or pick is None:
            rows.put(position, "refused" if reply.refused else "unparsed", None, reply=reply.whole, **took)
            return
        is_clean = parse(reply.content, task.asked, LETTERS, task.labels).choices[dimension] is not None
        known = (
            {} if stated is None else {"p_first": stated.p, "p_first_bound": stated.bound, "answer_mass": stated.mass}
        )
        rows.put(position, "ok" if is_clean else "repaired", pick, reply=reply.whole, **known, **took)


def _stated(task: Task, reply: ChatReply) -> Probability | None:
    return p_of_first(reply.tokens) if task.labels == LETTERS else None
