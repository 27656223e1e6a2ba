"""Reading what a server sent, token by token and field by field."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mrb_lib.judges.endpoint.address import Address
from mrb_lib.judges.endpoint.outcomes import Answer, Fault, Received, outcome_of
from mrb_lib.judges.endpoint.reply import ChatReply, Probability, Token, p_of_first, p_of_key, p_of_letter
from mrb_lib.tables.errors import RunError

TEXTS = st.text(st.characters(exclude_categories=()), max_size=8)  # half characters, too
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=12,
)
MEMBERS = st.fixed_dictionaries(
    {},
    optional={
        "content": JSON,
        "refusal": JSON,
        "reasoning_content": JSON,
        "logprobs": st.fixed_dictionaries({}, optional={"content": JSON}),
    },
)


def outcome(body: object, status: int = 200, key: str = "") -> Answer:
    """Return what a body of JSON, or one of bytes, means."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    server = Address("http://127.0.0.1:1/v1", "127.0.0.1:1", True, False, "MRB_ENDPOINT_KEY", key)
    return outcome_of(Received(status, "application/json", content), server, "m")


def replied(body: object, key: str = "") -> ChatReply:
    answer = outcome(body, key=key)
    assert isinstance(answer, ChatReply)
    return answer


def _tokens(*texts: str, at: int = 0, **alternatives: float) -> tuple[Token, ...]:
    return tuple(Token(text.encode(), alternatives if i == at else {}) for i, text in enumerate(texts))


@given(message=MEMBERS, usage=JSON, choice=JSON)
def test_no_json_of_any_shape_raises_anything_but_a_stop(message: object, usage: object, choice: object) -> None:
    logprobs = message.get("logprobs") if isinstance(message, dict) else None
    for choices in ([{"message": message, "logprobs": logprobs}], [choice], choice):
        for status in (200, 400):
            try:
                answer = outcome({"choices": choices, "usage": usage, "error": choice}, status)
            except RunError as error:
                assert str(error).isprintable()
            else:
                text = answer.whole if isinstance(answer, ChatReply) else str(answer)
                text.encode("utf-8")


@given(body=st.binary(max_size=60))
def test_no_bytes_are_a_reply_or_raise_anything(body: bytes) -> None:
    answer = outcome(body)
    assert isinstance(answer, Fault)
    assert answer.reason.isprintable()


@pytest.mark.parametrize("body", [b"[" * 200_000, b'{"choices": ' + b"9" * 5000 + b"}", b'{"choices": []}', b"null"])
def test_bodies_that_break_readers_are_faults(body: bytes) -> None:
    assert isinstance(outcome(body), Fault)


@given(a=st.floats(-9999, 0), b=st.floats(-9999, 0))
def test_the_ratio_is_a_probability_and_swapping_the_letters_turns_it(a: float, b: float) -> None:
    p = p_of_letter(_tokens("A", A=a, B=b), "A")
    q = p_of_letter(_tokens("A", A=b, B=a), "A")
    assert p is not None
    assert q is not None
    assert p.bound is q.bound is None
    assert 0 <= p.p <= 1
    assert p.p + q.p == pytest.approx(1)
    if max(a, b) > -30 and min(a, b) > -30:
        assert p.p == pytest.approx(math.exp(a) / (math.exp(a) + math.exp(b)))


@pytest.mark.parametrize("text", ["A", " A", '"A"', "**A**", "[[A", "(A)", "A.", "ĠA", "▁A", "“A”", "\nA"])
def test_a_letter_is_known_in_its_usual_wrappings(text: str) -> None:
    assert p_of_letter(_tokens("Answer:", text, at=1, A=-0.7, B=-0.7), "A") == Probability(
        0.5, None, pytest.approx(2 * math.exp(-0.7))
    )


def _first(token: str, listed: dict[str, float], **more: object) -> Probability | None:
    top = [{"token": text, "logprob": logprob} for text, logprob in listed.items()]
    entry = {"token": token, "logprob": listed.get(token, -4.0), "top_logprobs": top} | more
    choice = {"message": {"content": token}, "logprobs": {"content": [entry]}}
    return p_of_first(replied({"choices": [choice]}).tokens)


WEIGHTS = st.floats(1e-6, 1.0)


@given(a=WEIGHTS, b=st.lists(WEIGHTS, min_size=1, max_size=4), others=st.lists(WEIGHTS, max_size=4), cut=st.data())
def test_a_bound_holds_whatever_the_spellings_that_are_not_listed_have(
    a: float, b: list[float], others: list[float], cut: st.DataObject
) -> None:
    spellings = dict(zip(("B", " B", '"B', "▁B"), b, strict=False))
    weights = {"A": a} | spellings | {f"other {i}": weight for i, weight in enumerate(others)}
    everything = {text: math.log(weight / sum(weights.values())) for text, weight in weights.items()}
    ordered = sorted(everything, key=lambda text: -everything[text])
    listed = {text: everything[text] for text in ordered[: cut.draw(st.integers(1, len(ordered)))]}
    p = _first(ordered[0], listed)
    exact = a / (a + sum(b))
    if not {"A", *spellings} & listed.keys():
        assert p is None
        return
    assert p is not None
    if "A" not in listed:
        assert p.bound == "at most"
        assert p.p >= exact - 1e-9
    elif not spellings.keys() & listed.keys():
        assert p.bound == "at least"
        assert p.p <= exact + 1e-9
    else:
        assert p.bound is None


def test_a_token_that_is_not_among_those_listed_counts() -> None:
    p = _first("B", {"A": -0.2, "The": -2.0})
    assert p is not None
    assert p.bound is None
    # Here the token says " A", at -4.
    p = _first(" A", {"The": -0.2, "If": -2.0})
    a, left = math.exp(-4.0), 1 - math.exp(-0.2) - math.exp(-2.0) - math.exp(-4.0)
    assert p == Probability(pytest.approx(a / (a + left)), "at least", pytest.approx(a))


def test_tokens_that_spell_the_key_are_not_kept() -> None:
    entries = [{"token": text, "top_logprobs": [{"token": "A", "logprob": -1.0}]} for text in ("A sec", "ret")]
    body = {"choices": [{"message": {"content": "A secret"}, "logprobs": {"content": entries}}]}
    assert len(replied(body).tokens) == 2
    assert replied(body, key="A secret").tokens == ()


def test_the_last_statement_of_a_key_counts_and_must_be_the_choice() -> None:
    texts = ('{"overall": "', "A", '"} no: {"overall": "', "B", '"}')
    tokens = _tokens(*texts, at=3, A=math.log(0.2), B=math.log(0.6))
    assert p_of_key(tokens, "".join(texts), "overall", "B") == Probability(
        pytest.approx(0.25), None, pytest.approx(0.8)
    )
    assert p_of_key(tokens, "".join(texts), "overall", "A") is None
    assert p_of_key(tokens, "".join(texts), "accuracy", "B") is None


def test_a_key_is_found_behind_reasoning_and_beyond_ascii() -> None:
    texts = ('<think>"overall": "A" ärgerlich</think>', '{"é": 1, "overall"', ":", ' "A', '"}')
    reply = '{"é": 1, "overall": "A"}'
    p = p_of_key(_tokens(*texts, at=3, **{'"A': -1.0, '"B': -1.0}), reply, "overall", "A")
    assert p is not None
    assert p.p == 0.5
