"""Runs through a server that costs money and time: what is asked, what is paid, and when it stops."""

import json
import logging
import os
import re
import signal
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from threading import Event, Thread, Timer

import numpy as np
import pandas as pd
import pytest

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.judges.budget import Budget
from mrb_lib.judges.endpoint import cache
from mrb_lib.judges.endpoint.client import ChatClient
from mrb_lib.judges.endpoint.judge import EndpointJudge
from mrb_lib.judges.endpoint.outcomes import Answer, Failure, Fault
from mrb_lib.judges.endpoint.reply import ChatReply
from mrb_lib.judges.endpoint.requests import ChatRequest, RequestOptions
from mrb_lib.judges.roster.engines import JudgeRequest
from mrb_lib.judges.roster.entry import Entry, Thinking
from mrb_lib.judges.settings import Settings
from mrb_lib.runs.execute import InterruptedRunError, judge, judge_plan
from mrb_lib.runs.local import run_locally
from mrb_lib.runs.planned import PlannedJudge
from mrb_lib.tables.errors import RunError
from mrb_lib.tables.schema import ANSWER
from mrb_lib.verdicts.store import load_verdicts, read_run, run_folders
from tests.judges.endpoint.asked import benchmark_of, judge_of, rows_of
from tests.judges.endpoint.chat_server import ChatServer, Received, Response, error, message
from tests.judges.endpoint.clock import Clock

REPLY = '{"accuracy": "A", "overall": "B"}'
COST = (100 * 1.0 + 10 * 2.0) / 1e6  # of a reply of `message`, at these prices
KEY = "sk-test-0123456789abcdef"
PRICES = {"price_prompt": 1.0, "price_completion": 2.0}


def benchmark(folder: Path, cases: int, **edited: str) -> Benchmark:
    """Cases `case 0`, `case 1` ...; `edited` are other questions, by the number of the case as `q3`."""
    asked = {f"case {i}": edited.get(f"q{i}", f"Where is lesion {i}?") for i in range(cases)}
    return benchmark_of(folder, asked)


def shown(cases: int) -> pd.DataFrame:
    rows = rows_of([f"case {number}" for number in range(cases)], orders=("AB",), responses=("Left.", "Right."))
    return rows.assign(question="Where is lesion " + rows["case_id"].str[5:] + "?")


def served(url: str, runs: Path | None = None, entry: Entry | None = None, **settings: object) -> EndpointJudge:
    return judge_of(url, entry=entry, runs=runs, **settings)


def batches(cases: int, without: Sequence[pd.DataFrame] = ()) -> Iterator[pd.DataFrame]:
    """One case each, but those of earlier verdicts."""
    done = {case for rows in without for case in rows["case_id"]}
    return (of_case for case, of_case in shown(cases).groupby("case_id", sort=False) if case not in done)


def lesion(received: Received) -> int:
    match = re.search(r"lesion (\d+)", received.text)
    assert match is not None
    return int(match[1])


USUAL = message(REPLY)


def test_of_thirty_cases_one_was_edited_and_one_is_asked(server: ChatServer, tmp_path: Path) -> None:
    settings = Settings(url=server.url, **PRICES)
    [first] = judge(benchmark(tmp_path / "one", 30), tmp_path / "runs", ["endpoint:m"], settings=settings)
    assert len(server.received) == 60
    server.received.clear()
    edited = benchmark(tmp_path / "two", 30, q7="Where is lesion 7, and how large?")
    [second] = judge(edited, tmp_path / "runs", ["endpoint:m"], settings=settings)
    assert len(server.received) == 2, "both orders of one case"
    assert all("how large" in received.text for received in server.received)
    assert first.folder != second.folder
    before, after = (
        read_run(done.folder).sort_values(["case_id", "order", "dimension"], ignore_index=True)
        for done in (first, second)
    )
    pd.testing.assert_frame_equal(after[["case_id", "choice", "reply"]], before[["case_id", "choice", "reply"]])
    assert before["cost_usd"].sum() == pytest.approx(60 * COST)
    assert after["cost_usd"].sum() == pytest.approx(2 * COST)
    assert after["prompt_tokens"].sum() == before["prompt_tokens"].sum()
    [said] = [notice for notice in second.notices if notice.startswith("58 of 60 replies")]
    assert "after loading other weights under the same name" in said  # the server is on this machine
    assert len(run_folders(tmp_path / "runs")) == 2
    assert len(load_verdicts(tmp_path / "runs")) == 240


@pytest.mark.parametrize("change", [{"temperature": 0.5}, {"seed": 1}, {"max_new_tokens": 99}, {"prompt": "rubric"}])
def test_whoever_asks_otherwise_is_not_given_the_earlier_reply(
    server: ChatServer, tmp_path: Path, change: dict[str, object]
) -> None:
    served(server.url, tmp_path).judge(shown(2))
    served(server.url, tmp_path).judge(shown(2))
    assert len(server.received) == 2
    served(server.url, tmp_path, **change).judge(shown(2))
    assert len(server.received) == 4


def test_an_answer_that_was_cut_off_is_paid_for_once(server: ChatServer, tmp_path: Path) -> None:
    cut = message("The left upper", finish="length")
    server.answer = lambda _: cut
    asked = shown(2).query("dimension == 'overall'").assign(dimension=ANSWER)

    def answered(longest: int) -> pd.DataFrame:
        own = served(server.url, tmp_path, prompt="open-answer", dimensions=(ANSWER,), max_new_tokens=longest)
        return own.judge(asked)

    first, again = answered(6), answered(6)
    assert len(server.received) == 2
    assert again["reply"].tolist() == first["reply"].tolist() == ["The left upper"] * 2
    assert again["finish"].tolist() == ["length"] * 2
    answered(12)
    assert len(server.received) == 4, "a longer one is another request"


def test_what_is_judged_again_is_asked_again(server: ChatServer, tmp_path: Path) -> None:
    bench, settings = benchmark(tmp_path / "bench", 3), Settings(url=server.url)
    bad = {0: message("I cannot say."), 1: error(400, "too long"), 2: message("", refusal="No.")}
    server.answer = lambda received: bad[lesion(received)]
    judge(bench, tmp_path / "runs", ["endpoint:m"], settings=settings)
    server.received.clear()
    server.answer = lambda _: message(REPLY)
    [again] = judge(bench, tmp_path / "runs", ["endpoint:m"], settings=settings, retry=["unparsed", "error", "refused"])
    assert again.retried == 12
    assert len(server.received) == 6
    assert set(read_run(again.folder)["status"]) == {"ok"}


def test_replies_keep_their_probabilities(server: ChatServer, tmp_path: Path) -> None:
    top = [{"token": "A", "logprob": -0.1}, {"token": "It", "logprob": -3.0}]
    server.answer = lambda _: message("A", tokens=[{"token": "A", "logprob": -0.1, "top_logprobs": top}])
    fresh, kept = (served(server.url, tmp_path, prompt="single").judge(shown(1)) for _ in range(2))
    assert len(server.received) == 2
    assert fresh["p_first_bound"].tolist() == ["at least", "at least"]
    pd.testing.assert_frame_equal(kept, fresh)


@pytest.mark.parametrize(("reported", "enough_for"), [(1, 10.5), (10, 2.5)])
def test_the_budget_is_kept_to_one_request_and_the_run_goes_on_with_another(
    server: ChatServer, tmp_path: Path, reported: int, enough_for: float
) -> None:
    """Also where a server counts many more tokens than the estimate did."""
    bench = benchmark(tmp_path / "bench", 20)
    usage = {"prompt_tokens": 1000 * reported, "completion_tokens": 5}
    cost = (usage["prompt_tokens"] * 1.0 + usage["completion_tokens"] * 2.0) / 1e6

    def answer(_: Received) -> Response:
        reply = message(REPLY)
        assert isinstance(reply.body, dict)
        return Response(reply.body | {"usage": usage})

    server.answer = answer
    settings = Settings(url=server.url, budget=enough_for * cost, batch_size=1, **PRICES)
    with pytest.raises(RunError, match=r"were spent; what was judged is kept.*--budget") as stopped:
        judge(bench, tmp_path / "runs", ["endpoint:m"], settings=settings)
    assert "\n" not in str(stopped.value)
    n_paid = len(server.received)
    kept = load_verdicts(tmp_path / "runs", replies=True)
    most = max(cost, 2.3e-3)  # of a request: its reply may have 512 tokens of 2 USD a million
    assert enough_for * cost - most < n_paid * cost <= enough_for * cost
    assert kept["cost_usd"].sum() == pytest.approx(n_paid * cost)
    assert len(kept) == 2 * n_paid, "what was paid for is kept, of batches that are not done too"
    settings = Settings(url=server.url, budget=1000.0, **PRICES)
    [done] = judge(bench, tmp_path / "runs", ["endpoint:m"], settings=settings)
    assert len(server.received) == 40, "nothing was asked twice"
    assert len(read_run(done.folder)) == done.made + done.before == 80


def test_judges_of_one_call_share_the_budget(server: ChatServer, tmp_path: Path) -> None:
    settings = Settings(url=server.url, budget=30 * COST + 0.002, **PRICES)
    with pytest.raises(RunError, match="budget"):
        judge(benchmark(tmp_path / "bench", 10), tmp_path / "runs", ["endpoint:m", "endpoint:n"], settings=settings)
    models = Counter(received.body["model"] for received in server.received)
    assert models["m"] == 20
    assert models["n"] < 20


def test_what_a_run_may_cost_is_said_before_the_first_request_and_may_be_declined(
    server: ChatServer, tmp_path: Path
) -> None:
    bench, seen = benchmark(tmp_path / "bench", 30), list[str]()

    def decline(name: str, estimate: str) -> None:
        seen.append(estimate)
        raise RunError(f"{name}: no")

    settings = Settings(url=server.url, budget=0.01, **PRICES)
    with pytest.raises(RunError, match="endpoint:m: no"):
        judge_plan(
            bench,
            tmp_path / "runs",
            [PlannedJudge("endpoint:m", settings)],
            backend=lambda job: run_locally(job, decline),
        )
    assert not server.received
    assert not list((tmp_path / "runs").iterdir()), "nothing is left behind"
    [estimate] = seen
    requests, prompt, reply, least, most, left = (float(n.replace(",", "")) for n in re.findall(r"[\d,.]+\d", estimate))
    assert (requests, reply, left) == (60, 60 * 512, 0.01)
    judge(bench, tmp_path / "all", ["endpoint:m"], settings=Settings(url=server.url))
    characters = sum(len(received.text) for received in server.received)
    assert prompt == pytest.approx(characters / 4, rel=0.01)
    assert least == pytest.approx(prompt / 1e6, abs=1e-4)
    assert most == pytest.approx(least + 60 * 512 * 2 / 1e6, abs=1e-4)


@pytest.mark.parametrize(
    ("n_answered", "said"), [(0, r"no server at 127\.0\.0\.1.*no reply within 0\.2 s"), (20, "answers no more")]
)
def test_a_server_that_falls_silent_ends_the_run_and_what_it_said_is_kept(
    server: ChatServer, tmp_path: Path, n_answered: int, said: str
) -> None:
    """Of 2,000 requests, each of which would have six attempts of `timeout_s`."""
    ended, made = Event(), list[pd.DataFrame]()

    def answer(received: Received) -> Response:
        if len(server.received) > n_answered:
            ended.wait(60)
        return message(REPLY)

    server.answer = answer
    try:
        with pytest.raises(RunError, match=said) as stopped:
            stream = served(server.url, tmp_path, timeout_s=0.2, **PRICES).stream(batches(2_000))
            made.extend(verdicts for _, verdicts in stream)
    finally:
        ended.set()
    assert "\n" not in str(stopped.value)
    assert 18 <= len(server.received) - n_answered <= 24 + 4
    assert sum((rows["status"] == "ok").sum() for rows in made) == 2 * n_answered
    server.received.clear()
    server.answer = lambda _: message(REPLY)
    list(served(server.url, tmp_path, **PRICES).stream(batches(40)))
    assert len(server.received) == 40 - n_answered


def test_no_batch_waits_for_the_slowest_request_of_another(server: ChatServer) -> None:
    others_are_done = Event()

    def answer(received: Received) -> Response:
        if lesion(received) == 0:
            assert others_are_done.wait(30), "later batches are not begun before this one is done"
        return message(REPLY)

    server.answer = answer
    done = []
    for rows, verdicts in served(server.url, concurrency=2).stream(batches(30)):
        assert verdicts["case_id"].tolist() == rows["case_id"].tolist()
        done.append(rows["case_id"].iloc[0])
        if len(done) == 29:
            others_are_done.set()
    assert done[-1] == "case 0"
    assert sorted(done) == sorted(f"case {number}" for number in range(30))


def test_a_stream_that_is_closed_sends_nothing_more_and_what_was_under_way_is_not_paid_twice(
    server: ChatServer, tmp_path: Path
) -> None:
    stream = served(server.url, tmp_path, **PRICES).stream(batches(40))
    stored = [next(stream)[1] for _ in range(3)]
    stream.close()
    n_sent = len(server.received)
    assert 3 < n_sent < 3 + 4 * 4
    again = [rows for _, rows in served(server.url, tmp_path, **PRICES).stream(batches(40, stored))]
    assert Counter(map(lesion, server.received)) == Counter(range(40)), "each once"
    assert pd.concat(stored)["cost_usd"].sum() == pytest.approx(3 * COST)
    # What was paid for when the stream was closed is stated by those who find it there.
    assert pd.concat(again)["cost_usd"].sum() == pytest.approx(37 * COST)
    other_run = served(server.url, tmp_path, fingerprint="other cases", **PRICES)
    assert pd.concat([rows for _, rows in other_run.stream(batches(40))])["cost_usd"].sum() == 0


def test_a_verdict_that_was_made_and_never_stored_states_its_cost_when_it_is_made_again(
    server: ChatServer, tmp_path: Path
) -> None:
    lost = served(server.url, tmp_path, **PRICES).judge(shown(1))  # as by kill -9 before they are stored
    again = served(server.url, tmp_path, **PRICES).judge(shown(1))
    assert len(server.received) == 1
    assert again["cost_usd"].tolist() == pytest.approx(lost["cost_usd"].tolist(), nan_ok=True)
    overall = served(server.url, tmp_path, **PRICES).judge(shown(1).query("dimension == 'overall'"))
    assert overall["cost_usd"].sum() == 0, "the other verdict states it"


def test_a_signal_ends_the_run_and_nothing_is_asked_or_paid_twice(server: ChatServer, tmp_path: Path) -> None:
    bench = benchmark(tmp_path / "bench", 30)

    asked_to_stop = Event()

    def answer(_: Received) -> Response:
        # Two requests may have come before either is answered, so the ninth may never be the last.
        if len(server.received) >= 9 and not asked_to_stop.is_set():
            asked_to_stop.set()
            os.kill(os.getpid(), signal.SIGTERM)  # a process in the background is deaf to SIGINT
        return message(REPLY)

    server.answer = answer
    settings = Settings(url=server.url, concurrency=2, batch_size=2, **PRICES)
    with pytest.raises(InterruptedRunError, match="run the same command again"):
        judge(bench, tmp_path / "runs", ["endpoint:m"], settings=settings)
    assert 9 <= len(server.received) < 30
    [done] = judge(bench, tmp_path / "runs", ["endpoint:m"], settings=settings)
    assert Counter((lesion(received), received.text) for received in server.received).most_common(1)[0][1] == 1
    assert len(server.received) == 60
    assert done.made + done.before == 120
    assert read_run(done.folder)["cost_usd"].sum() == pytest.approx(60 * COST), "what was under way is counted, too"


@pytest.mark.parametrize("retry_after", ["250", "0"])
def test_the_first_signal_ends_a_wait(server: ChatServer, tmp_path: Path, retry_after: str) -> None:
    def answer(_: Received) -> Response:
        if len(server.received) <= 2:
            return message(REPLY)
        if len(server.received) == 3:
            Timer(0.5, os.kill, (os.getpid(), signal.SIGTERM)).start()
        return error(429, "slow down", **{"Retry-After": retry_after})

    server.answer = answer
    settings = Settings(url=server.url, concurrency=1, batch_size=1)
    with pytest.raises(InterruptedRunError, match="4 of 8 verdicts are kept"):
        judge(benchmark(tmp_path / "bench", 2), tmp_path / "runs", ["endpoint:m"], settings=settings)


def test_a_server_that_takes_two_at_a_time_is_asked_fewer(server: ChatServer) -> None:
    """Refused requests cost no verdict, and become rare."""
    server.answer = lambda _: error(429, "slow down") if server.busy > 2 else message(REPLY)
    judging = served(server.url, concurrency=16)
    frames = [verdicts for _, verdicts in judging.stream(batches(80))]
    assert set(pd.concat(frames)["status"]) == {"ok"}
    assert len(server.received) < 80 * 2


@pytest.mark.parametrize(
    ("thinking", "template", "base_url", "thinks"),
    [
        ("always", {}, None, True),
        ("optional", {}, None, True),
        ("optional", {"enable_thinking": False}, None, False),
        ("optional", {"thinking_mode": "off"}, None, False),
        ("optional", {}, "https://host.example/v1", False),
        ("optional", {"thinking": True}, "https://host.example/v1", True),
        (None, {}, None, False),
    ],
)
def test_a_model_that_thinks_has_room_for_it_with_every_prompt(
    server: ChatServer, thinking: Thinking | None, template: dict[str, object], base_url: str | None, thinks: bool
) -> None:
    entry = Entry("served", "endpoint", "m", thinking=thinking, base_url=base_url, chat={"template": template})
    for prompt in ("plain", "reasoned", "single"):
        room = served(server.url, entry=entry, prompt=prompt).spec["max_tokens"]
        assert (room == 4096) == thinks
    assert served(server.url, entry=entry, prompt="single", max_new_tokens=7).spec["max_tokens"] == 7


def test_the_file_holds_replies_and_hashes_for_its_owner_alone_and_a_damaged_reply_is_asked_for_again(
    server: ChatServer, tmp_path: Path
) -> None:
    served(server.url, tmp_path).judge(shown(2))
    path = tmp_path / ".replies.sqlite"
    assert path.stat().st_mode & 0o777 == 0o600
    content = path.read_bytes()
    assert json.dumps(REPLY).encode() in content
    assert b"lesion" not in content and b"Left." not in content
    with closing(sqlite3.connect(path)) as database:
        [(asked, reply), *_] = database.execute("SELECT asked, reply FROM paid").fetchall()
        database.execute("UPDATE paid SET reply = ? WHERE asked = ?", (reply.replace("A", "B"), asked))
        database.commit()
    server.received.clear()
    again = served(server.url, tmp_path)
    again.judge(shown(2))
    assert len(server.received) == 1
    assert not [notice for notice in again.notices if "neither kept" in notice]


def test_a_file_of_replies_that_others_hold_or_that_is_damaged_is_named_and_everything_is_asked(
    server: ChatServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "_PATIENCE_S", 0.01)
    served(server.url, tmp_path).judge(shown(1))
    path = tmp_path / ".replies.sqlite"

    def told() -> str:
        judging = served(server.url, tmp_path)
        assert set(judging.judge(shown(1))["status"]) == {"ok"}
        [said] = [notice for notice in judging.notices if "neither kept" in notice]
        return said

    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        assert "locked" in (said := told()) and "left as it is" in said
    path.write_bytes(b"not a database, but long enough to look at" * 40)
    assert ".replies.sqlite" in (said := told()) and "not a database" in said
    assert len(server.received) == 3


def test_the_key_is_sent_and_neither_files_nor_messages_hold_it(
    server: ChatServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("MRB_ENDPOINT_KEY", KEY)
    caplog.set_level(logging.DEBUG)
    replies = [message(f"{REPLY} {KEY}", reasoning=KEY), error(400, f"bad key {KEY}")]
    server.answer = lambda received: replies[lesion(received)]
    bench, settings = benchmark(tmp_path / "bench", 2), Settings(url=server.url, **PRICES)
    [summary] = judge(bench, tmp_path / "runs", ["endpoint:m"], settings=settings)
    server.answer = lambda _: error(401, f"Incorrect API key provided: {KEY}")
    with pytest.raises(RunError, match="MRB_ENDPOINT_KEY") as caught:
        judge(bench, tmp_path / "runs", ["endpoint:m"], settings=settings, retry=["error"])
    assert {received.headers["Authorization"] for received in server.received} == {f"Bearer {KEY}"}
    [manifest] = summary.folder.glob("manifest*")
    assert server.url in manifest.read_text()
    made = read_run(summary.folder)
    assert made["reply"].dropna().str.contains("[key]", regex=False).all()
    chosen = made.dropna(subset="choice").groupby(["order", "dimension"])["choice"].unique().map(list).unstack()
    assert chosen.to_dict() == {"accuracy": {"AB": ["A"], "BA": ["B"]}, "overall": {"AB": ["B"], "BA": ["A"]}}
    said = [str(vars(summary)), caplog.text, str(caught.value), repr(caught.value), *map(str, caught.value.args)]
    assert not [text for text in said if KEY in text]
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> Callable[..., ChatClient]:
    """Makes a client whose attempts go nowhere: what comes of each is scripted."""

    def made(send: Callable[[bytes], Answer], budget: Budget | None = None) -> ChatClient:
        monkeypatch.setattr(ChatClient, "_send", lambda client, body: send(body))
        settings = Settings(url="http://127.0.0.1:9/v1", price_prompt=1.0, price_completion=2.0)
        request = JudgeRequest(Entry("m", "endpoint", model="m"), settings, {}, budget=budget)
        options = RequestOptions(frozenset({"seed"}))
        return ChatClient(request, {"model": "m"}, 10, options, {}, lambda s: clock.sleep(s), clock)

    return made


def chat(seed: int = 0) -> ChatRequest:
    return ChatRequest("Which?", (), None, seed)


def test_a_request_that_a_busy_server_puts_off_while_it_answers_others_is_answered_in_the_end(
    client: Callable[..., ChatClient], clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempts, pass_by = list[float](), clock.sleep

    def send(body: bytes) -> Answer:
        if json.loads(body)["seed"] or len(attempts) > 20:
            return ChatReply("A")
        attempts.append(clock.now)
        return Fault("HTTP 429", busy=True, wait_s=7.0)

    asked = client(send)
    monkeypatch.setattr(clock, "sleep", lambda seconds: (pass_by(seconds), asked.ask(chat(seed=1))))
    with asked.open():
        assert isinstance(asked.ask(chat()), ChatReply)
    assert len(attempts) == 21
    assert set(np.diff(attempts)) == {7.0}


def test_attempts_whose_reply_is_lost_are_paid_for(client: Callable[..., ChatClient]) -> None:
    sent: list[bytes] = []

    def send(body: bytes) -> Answer:
        sent.append(body)
        return Fault("no reply", may_cost=True)

    most = (2 * 1.0 + 10 * 2.0) / 1e6  # of a question of 6 characters and a reply of 10 tokens
    budget, declined = Budget(3.5 * most), Budget(1.0)
    poor = client(send, budget)
    with poor.open():
        assert poor.ask(chat()) is None
    assert len(sent) == 3
    assert budget.spent == pytest.approx(3 * most)
    assert "budget" in str(poor.stopped_by)
    busy = client(lambda _: Fault("HTTP 503", busy=True), declined)
    with busy.open():
        assert isinstance(busy.ask(chat()), Failure)
    assert declined.spent == 0


def test_nobody_waits_for_money_once_the_run_stops() -> None:
    budget = Budget(1.0)
    assert budget.reserve(0.9, lambda: False) is not None
    assert budget.reserve(0.9, lambda: True) is None


def never() -> bool:
    return False


def test_a_request_waits_for_what_is_in_flight_which_may_cost_less_than_was_reserved() -> None:
    budget, got = Budget(1.0), []
    trial = budget.reserve(0.1, never)
    assert trial is not None
    budget.settle(trial, 0.1, 0.1)
    held = budget.reserve(0.8, never)
    assert held is not None
    waiting = Thread(target=lambda: got.append(budget.reserve(0.5, never)))
    waiting.start()
    budget.settle(held, 0.8, 0.2)
    waiting.join(timeout=10)
    assert got == [0.5]


def test_the_first_request_goes_alone_and_corrects_the_estimate_of_the_others() -> None:
    budget, got = Budget(1.0), []
    trial = budget.reserve(0.01, never)
    assert trial is not None
    waiting = Thread(target=lambda: got.append(budget.reserve(0.01, never)))
    waiting.start()
    waiting.join(timeout=0.3)
    assert got == [], "what a request really costs is not known yet"
    budget.settle(trial, 0.01, 0.3)
    waiting.join(timeout=10)
    assert got == [pytest.approx(0.3)]
