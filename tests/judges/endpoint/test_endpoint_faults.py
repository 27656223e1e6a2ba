"""A server that fails, refuses or lies costs time, never a verdict."""

import json
import socket
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from threading import Event

import pandas as pd
import pytest

from mrb_lib.judges.endpoint.judge import EndpointJudge
from mrb_lib.tables.errors import InputError, RunError
from tests.judges.endpoint.asked import judge_of, rows_of
from tests.judges.endpoint.chat_server import Answer, ChatServer, Received, Response, error, message, token
from tests.judges.endpoint.clock import Clock

REPLY = '{"accuracy": "A", "overall": "B"}'
OPTIONAL = {"response_format", "logprobs", "top_logprobs", "seed"}


def shown(cases: int) -> pd.DataFrame:
    names = [f"case {number}" for number in range(cases)]
    return rows_of(names).assign(first="Left.", second="Right.")


def judge(url: str, waited: list[float] | None = None, **settings: object) -> EndpointJudge:
    """A judge that notes its waits instead of waiting."""
    clock = Clock()
    clock.waits = [] if waited is None else waited
    return judge_of(url, clock=clock, **settings)


def by_text(received: Received) -> Response:
    """A reply that depends on what was asked, with probabilities."""
    number = sum(json.dumps(received.body["messages"]).encode())
    first, second = "AB" if number % 2 else "BA"
    pieces = [token('{"accuracy": "'), token(first, A=-1.0, B=-0.1 - number % 5), token(f'", "overall": "{second}"}}')]
    return message(f'{{"accuracy": "{first}", "overall": "{second}"}}', tokens=pieces)


def without_time(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.drop(columns="latency_s")


USUAL = by_text


FAULTS = {
    "drop": lambda _: None,
    "truncate": lambda whole: Response(whole[: len(whole) // 2], announced=len(whole)),
    "cut json": lambda whole: Response(whole[: len(whole) // 2]),
    "429": lambda _: error(429, "slow down", **{"Retry-After": "7"}),
    "429 until": lambda _: Response(
        b"", 429, {"Retry-After": format_datetime(datetime.now(UTC) + timedelta(seconds=8), usegmt=True)}
    ),
    "503": lambda _: Response(b"<html>Internal error</html>", 503, {"Content-Type": "text/html"}),
}


@pytest.mark.parametrize("fault", [*FAULTS, "delay"])
def test_one_fault_of_each_kind_changes_no_row(server: ChatServer, fault: str) -> None:
    expected = judge(server.url).judge(shown(2))
    waited, ended, met = list[float](), Event(), set[str]()

    def spoil(received: Received) -> Response | None:
        """The first answer to each request, and let the others through."""
        asked, whole = json.dumps(received.body), by_text(received)
        if asked in met:
            return whole
        met.add(asked)
        if fault == "delay":
            ended.wait(60)
            return None
        return FAULTS[fault](json.dumps(whole.body).encode())

    server.answer = spoil
    judged = judge(server.url, waited, timeout_s=0.3 if fault == "delay" else 30.0).judge(shown(2))
    ended.set()
    assert len(met) == 4 and len(server.received) == 4 + 8
    # A server that asks for time gets it from all requests at once.
    assert 1 <= len(waited) <= 4
    assert len(waited) == 4 or fault in ("429", "429 until", "503")
    pd.testing.assert_frame_equal(without_time(judged), without_time(expected))


def test_a_fault_that_stays_becomes_error_rows_and_the_others_are_kept(server: ChatServer) -> None:
    server.answer = lambda received: (
        error(503, "overloaded\x1b[2J\n") if "Left." in received.text else by_text(received)
    )
    rows = shown(2)
    rows.loc[rows["case_id"] == "case 1", "first"] = "Up."
    waited: list[float] = []
    judged = judge(server.url, waited, concurrency=1).judge(rows)
    assert judged["status"].tolist() == ["error"] * 4 + ["ok"] * 4
    assert judged["error"].iloc[0] == r"after 6 attempts: HTTP 503: overloaded\x1b[2J\n"
    assert len(server.received) == 2 * 6 + 2
    steps = waited[:5]
    assert all(2.0**number / 2 <= wait <= 2.0**number for number, wait in enumerate(steps))


@pytest.mark.parametrize(
    "header", ["soon", "-5", "nan", "Wed, 21 Oct 2015 07:28:00 GMT", f"{10**20} Jan 2000 1:1:1", ""]
)
def test_a_wish_that_means_nothing_leaves_the_usual_wait(server: ChatServer, header: str) -> None:
    server.answer = lambda _: error(429, "", **{"Retry-After": header})
    waited: list[float] = []
    judge(server.url, waited).judge(shown(1)[:1])
    assert waited[0] <= 1.0


def test_a_redirect_is_not_followed(server: ChatServer) -> None:
    with ChatServer(by_text) as elsewhere:
        server.answer = lambda _: Response(b"", 307, {"Location": f"{elsewhere.url}/chat/completions"})
        with pytest.raises(RunError, match="HTTP 307"):
            judge(server.url).judge(shown(1))
        assert elsewhere.received == []


def test_proxies_and_password_files_of_the_environment_decide_nothing(
    server: ChatServer, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    netrc = tmp_path_factory.mktemp("home") / "netrc"
    netrc.write_text("machine 127.0.0.1 login someone password hunter2\n")
    monkeypatch.setenv("NETRC", str(netrc))
    monkeypatch.delenv("MRB_ENDPOINT_KEY", raising=False)
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert set(judge(server.url).judge(shown(1))["status"]) == {"ok"}
    assert "Authorization" not in server.received[0].headers


def test_a_proxy_leads_to_other_machines_and_never_to_this_one(server: ChatServer) -> None:
    through = judge("http://models.example.org/v1", allow_remote=True, proxy=f"http://127.0.0.1:{server.port}")
    assert set(through.judge(shown(1))["status"]) == {"ok"}
    assert server.received[0].path == "http://models.example.org/v1/chat/completions"
    assert server.received[0].headers["Host"] == "models.example.org"
    assert set(judge(server.url, proxy="http://127.0.0.1:9").judge(shown(1))["status"]) == {"ok"}
    with pytest.raises(RunError, match=r"no server at models\.example\.org:80"):
        judge("http://models.example.org/v1", allow_remote=True, proxy="http://127.0.0.1:9").judge(shown(1))


def test_a_file_without_certificates_is_named(server: ChatServer, tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("no certificate")
    with pytest.raises(InputError, match=r"ca\.pem: holds no certificates in PEM form"):
        judge(server.url, ca_file=str(tmp_path / "ca.pem")).judge(shown(1))


@pytest.mark.parametrize("status", [400, 413, 422])
def test_what_the_server_cannot_take_is_an_error_of_that_case_alone(server: ChatServer, status: int) -> None:
    long = "request (6031 tokens) exceeds the available context size (2048 tokens): token budget exceeded"
    server.answer = lambda received: error(status, long) if "Up." in received.text else by_text(received)
    rows = shown(3)
    rows.loc[rows["case_id"] == "case 1", "first"] = "Up."
    served = judge(server.url, concurrency=1)
    judged = served.judge(rows)
    assert judged["status"].tolist() == ["ok"] * 4 + ["error"] * 4 + ["ok"] * 4
    assert judged["error"].iloc[4] == f"HTTP {status}: {long}"
    # The schema and the probabilities were granted before, so nothing is given up for a case that is too long.
    assert len(server.received) == 6
    assert served.notices == []


def _refusing(words: dict[str, str], status: int) -> Answer:
    """A server that answers only requests without certain members, and says which it minds first."""

    def answer(received: Received) -> Response:
        minded = next((text for member, text in words.items() if member in received.body), None)
        return message(REPLY) if minded is None else error(status, minded)

    return answer


BOTH = {"response_format": "response_format is not supported", "logprobs": "logprobs: extra inputs"}
NEWER = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
HOT = "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) is supported."


@pytest.mark.parametrize(
    ("words", "status", "settings", "n_refusals", "lost"),
    [
        # schema, then fewer probabilities, then none: three refusals in all, not three for each request.
        *((BOTH, status, {}, 3, {"schema", "logprobs"}) for status in (400, 404, 422)),
        # A refusal without a reason is tried once in plain words.
        (dict.fromkeys(OPTIONAL, "bad request"), 422, {}, 1, {"schema", "logprobs", "seed"}),
        ({"max_tokens": NEWER}, 400, {}, 1, set()),
        ({"temperature": HOT}, 400, {}, 1, {"temperature"}),
        ({"temperature": HOT}, 400, {"temperature": 0.7}, 1, {"temperature"}),
        # The status is that of a bad key.
        ({"logprobs": "You are not allowed to request logprobs from this model"}, 403, {}, 2, {"logprobs"}),
    ],
)
def test_what_a_server_refuses_is_asked_for_no_more_and_that_is_said(
    server: ChatServer, words: dict[str, str], status: int, settings: dict[str, object], n_refusals: int, lost: set[str]
) -> None:
    server.answer = _refusing(words, status)
    served = judge(server.url, concurrency=1, **settings)
    assert set(served.judge(shown(3))["status"]) == {"ok"}
    assert len(server.received) == 6 + n_refusals
    assert not words.keys() & server.received[-1].body.keys()
    options = ("schema", "logprobs", "seed", "temperature")
    assert {name for name in options if f"the server refuses {name}," in " ".join(served.notices)} == lost


def test_a_server_that_lists_fewer_alternatives_is_asked_for_fewer(server: ChatServer) -> None:
    def answer(received: Received) -> Response:
        if received.body.get("top_logprobs", 0) > 5:
            return error(400, "top_logprobs must be at most 5")
        return by_text(received)

    server.answer = answer
    served = judge(server.url, concurrency=1)
    judged = served.judge(shown(2))
    assert [received.body["top_logprobs"] for received in server.received] == [20, 5, 5, 5, 5]
    assert judged["p_first"].notna().any()
    assert served.notices == []


def test_nothing_is_given_up_while_no_plainer_request_succeeds(server: ChatServer) -> None:
    server.answer = lambda _: error(400, "the seed of this question is bad")
    served = judge(server.url, concurrency=1)
    judged = served.judge(shown(1))
    assert set(judged["status"]) == {"error"}
    assert served.notices == []
    server.answer = by_text
    served.judge(shown(1))
    assert server.received[-1].body.keys() >= OPTIONAL


def test_nothing_leaves_for_a_remote_that_was_not_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    def connect(*_: object) -> None:
        raise AssertionError("a connection was made")

    monkeypatch.setattr(socket.socket, "connect", connect)
    monkeypatch.setattr(socket, "getaddrinfo", connect)
    with pytest.raises(InputError, match="--allow-remote"):
        judge("http://192.0.2.1:8000/v1").judge(shown(1))
