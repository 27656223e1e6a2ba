"""The engine `letters`: one token a question, the questions of a case one after the other."""

import math
from collections import Counter, defaultdict
from threading import Event, Lock

import numpy as np
import pandas as pd
import pytest

from mrb_lib.judges.endpoint.judge import EndpointJudge, LettersJudge
from mrb_lib.judges.roster.engines import JudgeRequest
from mrb_lib.judges.roster.entry import Entry
from mrb_lib.judges.settings import Settings
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.schema import DIMENSIONS
from tests.judges.endpoint.asked import judge_of, rows_of
from tests.judges.endpoint.chat_server import ChatServer, Received, Response, message, token


def letter(text: str, **shares: float) -> Response:
    """A reply of one token, with the share that each text has at its place."""
    return message(text, tokens=[token(text, **{name: math.log(share) for name, share in shares.items()})])


def shown(*cases: str, dimensions: tuple[str, ...] = DIMENSIONS) -> pd.DataFrame:
    return rows_of(cases, dimensions, question="{}", responses=("one", "two"))


def served(url: str, entry: Entry | None = None, **settings: object) -> LettersJudge:
    return judge_of(url, LettersJudge, entry=entry, **{"dimensions": DIMENSIONS, **settings})


USUAL = letter("A", A=0.6, B=0.2, The=0.1)


def test_a_case_is_twelve_requests_of_one_token_with_probabilities(server: ChatServer) -> None:
    judged = served(server.url, temperature=0.7).judge(shown("x"))
    assert len(server.received) == 12
    assert {received.body["max_tokens"] for received in server.received} == {1}
    assert {received.body["temperature"] for received in server.received} == {0.0}
    assert {received.body["top_logprobs"] for received in server.received} == {20}
    assert judged["p_first"].tolist() == pytest.approx([0.75] * 12)
    assert judged["answer_mass"].tolist() == pytest.approx([0.8] * 12)
    assert "p_first_bound" not in judged
    assert judged["prompt_tokens"].sum() == 1200


def test_the_questions_of_a_case_follow_one_another_and_those_of_an_order_share_all_but_their_last_words(
    server: ChatServer,
) -> None:
    busy, together, order = Counter[str](), Counter[str](), defaultdict[str, list[str]](list)
    two_are_asked, lock, cases = Event(), Lock(), [f"case {number}" for number in range(9)]

    def answer(received: Received) -> Response:
        case = next(name for name in cases if f"\n{name}\n" in received.text)
        with lock:
            busy[case] += 1
            together[case] = max(together[case], busy[case])
            order[case].append(received.text)
            if busy.total() > 1:
                two_are_asked.set()
        assert two_are_asked.wait(10), "several cases are asked at a time"
        with lock:
            busy[case] -= 1
        return letter("B", A=0.3, B=0.6)

    server.answer = answer
    served(server.url).judge(shown(*cases))
    assert set(together.values()) == {1}, "never two of one case at a time"
    for case in cases:
        texts = order[case]
        heads = [text[: text.index("Reply with one letter")] for text in texts]
        assert [heads.index(head) for head in heads] == [0] * 6 + [6] * 6
        assert len(set(texts)) == 12


@pytest.mark.parametrize(
    ("reply", "pick", "status", "bound"),
    [
        (letter("A", A=0.6, B=0.3), "first", "ok", None),
        (letter("B", A=0.3, B=0.6), "second", "ok", None),
        # The letter is likelier in all its spellings together.
        (letter("B", **{"A": 0.2, " A": 0.2, "B": 0.3}), "first", "ok", None),
        # The token says something else, and the letters stand behind it.
        (letter("The", The=0.5, A=0.1, B=0.3), "second", "repaired", None),
        (letter("A", A=0.9, The=0.05, I=0.01), "first", "ok", "at least"),
        (letter("B", B=0.9, The=0.05), "second", "ok", "at most"),
        (letter("The", The=0.9, I=0.05), None, "unparsed", None),
        (message("A"), "first", "ok", None),
        (message("I"), None, "unparsed", None),
        (message("", refusal="No."), None, "refused", None),
    ],
)
def test_the_pick_is_the_likelier_letter(
    server: ChatServer, reply: Response, pick: str | None, status: str, bound: str | None
) -> None:
    server.answer = lambda _: reply
    judged = served(server.url).judge(shown("x", dimensions=("overall",)))
    row = judged.iloc[0]
    assert row["status"] == status
    assert (None if pd.isna(row["pick"]) else row["pick"]) == pick
    assert row.get("p_first_bound") == bound


@pytest.mark.parametrize("thinking", ["always", "optional"])
def test_a_model_that_thinks_first_is_refused(server: ChatServer, thinking: str) -> None:
    entry = Entry("deep+letters", "letters", model="m", thinking=thinking)
    with pytest.raises(InputError, match=r"deep\+letters: the model thinks") as caught:
        served(server.url, entry)
    assert "\n" not in str(caught.value)
    off = Entry("deep", "letters", model="m", thinking="optional", chat={"template": {"enable_thinking": False}})
    assert served(server.url, off).spec["chat_template_kwargs"] == {"enable_thinking": False}


@pytest.mark.slow
def test_a_real_server_gives_every_question_a_probability(smollm_server: str) -> None:
    entry = Entry("smollm", "letters", model="smollm", vision=False)
    judging = LettersJudge(JudgeRequest(entry, Settings(url=smollm_server), {}))
    judged = judging.judge(shown("x", dimensions=("overall",)).head(1))
    assert judged["completion_tokens"].tolist() == [1.0]
    assert judged["p_first"].between(0, 1).all(), "one letter at least is among the twenty likeliest tokens"
    bound = judged["p_first_bound"] if "p_first_bound" in judged else pd.Series(np.nan, index=judged.index)
    exact = judged[bound.isna()]
    assert ((exact["p_first"] > 0.5) == (exact["pick"] == "first")).all()


def test_other_labels_are_asked_and_read_with_their_probability() -> None:
    def label(received: Received) -> Response:
        return letter("1", **{"1": 0.6, "2": 0.3}) if "response 1" in str(received.body) else letter("A", A=0.6, B=0.2)

    plain = shown("one", dimensions=("overall",))
    rows = pd.concat(
        [plain.assign(probe_labels=""), plain.assign(probe="prompt/labels:1", probe_labels="1/2")], ignore_index=True
    )
    with ChatServer(label) as running:
        judged = served(running.url).judge(rows).set_index("probe")
        written = EndpointJudge(
            JudgeRequest(Entry("m", "endpoint", model="m"), Settings(url=running.url, prompt="single"), {})
        ).judge(rows)
    assert (judged["pick"] == "first").all()
    assert (judged["status"] == "ok").all()
    assert judged.loc["none", "p_first"].tolist() == pytest.approx([0.75] * 2)
    assert judged.loc["prompt/labels:1", "p_first"].tolist() == pytest.approx([2 / 3] * 2)
    assert written["p_first"].tolist() == pytest.approx(judged["p_first"].tolist())
