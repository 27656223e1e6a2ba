"""The table of outcomes: for what a server does, the verdicts, the requests and what the user reads."""

import gzip
import json
from collections.abc import Mapping
from threading import Event

import pandas as pd
import pytest

from mrb_lib.judges.endpoint import judge as judge_module
from mrb_lib.judges.endpoint.client import ChatClient
from mrb_lib.judges.endpoint.judge import EndpointJudge
from mrb_lib.tables.errors import RunError
from tests.judges.endpoint.asked import judge_of, rows_of
from tests.judges.endpoint.chat_server import ChatServer, Response, error, message

CHOICES = {"accuracy": "B", "overall": "A"}
VERDICT = json.dumps(CHOICES)
HALF = '{"accuracy": "B", "overall": "A'
say_idle = ChatClient.say_idle


def shown(question: str = "Where?") -> pd.DataFrame:
    return rows_of("x", orders=("AB",), question=question, responses=("Left.", "Right."))


def judge(url: str, **settings: object) -> EndpointJudge:
    return judge_of(url, concurrency=1, **settings)


USUAL = message(VERDICT)


def body(**members: object) -> Response:
    return Response(members)


def choice(content: object = None, finish: object = "stop", **members: object) -> Response:
    """A reply with one choice, and further members of it."""
    return body(choices=[{"message": {"role": "assistant", "content": content}, "finish_reason": finish, **members}])


def spoken(**members: object) -> Response:
    """A reply with these members of its message."""
    return body(choices=[{"message": {"role": "assistant", "content": None, **members}, "finish_reason": "stop"}])


def failed(status: int, text: str = "no", /, **members: object) -> Response:
    return Response({"error": {"message": text, **members}}, status)


def events(*deltas: Mapping[str, object], done: bool = True) -> Response:
    lines = [json.dumps({"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}) for delta in deltas]
    text = "".join(f"data: {line}\n\n" for line in [*lines, *(["[DONE]"] if done else [])])
    return Response(text.encode(), headers={"Content-Type": "text/event-stream; charset=utf-8"})


def tool_call(arguments: object) -> dict[str, object]:
    return {"id": "1", "type": "function", "function": {"name": "verdict", "arguments": arguments}}


def sent_as_events(*bodies: Mapping[str, object]) -> Response:
    return Response("".join(f"event: x\ndata: {json.dumps(one)}\n\n" for one in bodies).encode())


def gemini(text: str, **members: object) -> dict[str, object]:
    parts = [{"text": HALF, "thought": True}, {"text": text}]
    return {"candidates": [{"content": {"role": "model", "parts": parts}, **members}], "usageMetadata": {}}


RESPONSES = {
    "object": "response",
    "status": "completed",
    "output": [
        {"type": "reasoning", "content": [{"type": "reasoning_text", "text": HALF}]},
        {"type": "message", "content": [{"type": "output_text", "text": VERDICT}]},
    ],
    "usage": {"input_tokens": 7, "output_tokens": 9},
}
BROKEN_OFF = RESPONSES | {"status": "incomplete", "incomplete_details": {"reason": "content_filter"}}
ENVELOPES = (b"\xef\xbb\xbf", b""), (b"[", b"]"), (b": OPENROUTER PROCESSING\n\n", b""), (b'{"choices": []}\n', b"\n")
CLAUDE_EVENTS = [
    {"type": "message_start", "message": {"role": "assistant", "content": [], "usage": {"input_tokens": 7}}},
    {"type": "content_block_delta", "delta": {"type": "thinking_delta", "thinking": HALF}},
    {"type": "content_block_delta", "delta": {"type": "text_delta", "text": VERDICT[:9]}},
    {"type": "content_block_delta", "delta": {"type": "text_delta", "text": VERDICT[9:]}},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 9}},
]
RESPONSES_EVENTS = [
    {"type": "response.created", "response": {"status": "in_progress", "output": []}},
    {"type": "response.output_text.delta", "delta": VERDICT},
    {"type": "response.completed", "response": RESPONSES},
]
NESTED: object = VERDICT
for _ in range(400):
    NESTED = [{"text": NESTED}]
HTML = b"<!doctype html><html><title>Sign in to the hospital network</title>" + b"<p>" * 200
GEMINI_MINUTE = {"code": 429, "status": "RESOURCE_EXHAUSTED", "details": [{"retryDelay": "7s"}]}
GEMINI_DAY = {"code": 429, "status": "RESOURCE_EXHAUSTED", "details": [{"quotaId": "GenerateRequestsPerDayPerProject"}]}
OVER_QUOTA = "You exceeded your current quota, please check your plan and billing details."
AZURE = {"code": "content_filter", "innererror": {"code": "ResponsibleAIPolicyViolation"}}
MODERATED = "Your chosen model requires moderation and your input was flagged"
BLOCKED = {"prompt_filter_results": [{"content_filter_results": {"violence": {"filtered": True}}}]}


@pytest.mark.parametrize(
    "response",
    [
        message(VERDICT, finish="FinishReason.STOP"),
        message(VERDICT, finish=""),
        choice([{"text": "Response A is better.", "thought": True}, {"text": VERDICT}]),
        choice([{"type": "text", "text": VERDICT}]),
        choice({"type": "text", "text": VERDICT}),
        choice([VERDICT[:9], VERDICT[9:]]),
        choice(CHOICES),
        choice([{"type": "thinking", "thinking": [{"type": "text", "text": HALF}]}, {"type": "text", "text": VERDICT}]),
        spoken(tool_calls=[tool_call(VERDICT)]),
        spoken(tool_calls=[tool_call(CHOICES)]),
        spoken(tool_calls=[{"name": "verdict", "arguments": CHOICES}]),
        spoken(tool_calls=tool_call(VERDICT)),
        spoken(function_call={"name": "verdict", "arguments": VERDICT}),
        choice([{"type": "tool_use", "name": "verdict", "input": CHOICES}], "tool_use"),
        body(type="message", content=[{"type": "text", "text": VERDICT}], stop_reason="end_turn"),
        body(message={"content": VERDICT}, done=True, done_reason="stop"),
        body(**gemini(VERDICT, finishReason="STOP")),
        sent_as_events(gemini(VERDICT[:9]), gemini(VERDICT[9:], finishReason="STOP")),
        body(**RESPONSES),
        sent_as_events(*RESPONSES_EVENTS),
        sent_as_events(*CLAUDE_EVENTS, {"type": "message_stop"}),
        body(code=0, message="success", content=VERDICT),
        body(choices=[{"text": VERDICT, "finish_reason": "stop"}]),
        body(error={"message": "", "code": None}, choices=[{"message": {"content": VERDICT}}]),
        events({"role": "assistant"}, {"content": VERDICT[:9]}, {"content": VERDICT[9:]}),
        events({"tool_calls": [tool_call(VERDICT[:9])]}, {"tool_calls": [{"function": {"arguments": VERDICT[9:]}}]}),
        Response(b": ping\n\nversion: 2\n" + bytes(events({"content": VERDICT}).body)),
        Response(gzip.compress(json.dumps(message(VERDICT).body).encode()), headers={"Content-Encoding": "gzip"}),
        Response(gzip.compress(json.dumps(message(VERDICT).body).encode())),
        *(Response(start + json.dumps(message(VERDICT).body).encode() + end) for start, end in ENVELOPES),
    ],
)  # fmt: skip
def test_a_complete_reply_of_any_form_is_a_verdict(server: ChatServer, response: Response) -> None:
    server.answer = lambda _: response
    judged = judge(server.url).judge(shown())
    assert judged["pick"].tolist() == ["second", "first"]
    assert set(judged["status"]) == {"ok"}
    assert json.loads(judged["reply"].iloc[0].rpartition("</think>")[2]) == CHOICES
    assert len(server.received) == 1


@pytest.mark.parametrize(
    ("response", "told"),
    [
        *(
            (message(HALF, finish=finish), HALF)
            for finish in (
                "content_filter", "refusal", "guardrail_intervened", "sensitive", "content_filter: SPII", "filter",
            )
        ),
        *(
            (choice(None, finish), finish)
            for finish in ("SAFETY", "PROHIBITED_CONTENT", "RECITATION", "BLOCKLIST", "SPII", "IMAGE_SAFETY")
        ),
        (choice(None, "stop", native_finish_reason="PROHIBITED_CONTENT"), "PROHIBITED_CONTENT"),
        (body(choices=[{"finish_reason": "content_filter", "index": 0}]), "content_filter"),
        (body(choices=[], promptFeedback={"blockReason": "SAFETY"}), "SAFETY"),
        (body(promptFeedback={"blockReason": "OTHER"}, usageMetadata={"promptTokenCount": 9}), "OTHER"),
        (body(choices=[], **BLOCKED), "violence"),
        (body(choices=[], finish_reason="SAFETY"), "SAFETY"),
        (body(choices=[], safetyRatings=[{"category": "HARM", "blocked": True}]), "HARM"),
        (body(type="message", content=[], stop_reason="refusal"), "refusal"),
        (body(**gemini(HALF, finishReason="SAFETY")), HALF),
        (body(**BROKEN_OFF), VERDICT),
        (spoken(refusal="I can't help with that."), "I can't help"),
        (choice([{"type": "refusal", "refusal": "I won't."}]), "I won't."),
        (failed(400, "The response was filtered", **AZURE), "was filtered"),
        (failed(400, "triggering Azure OpenAI's content management policy"), "triggering"),
        (failed(400, "rejected as a result of our safety system"), "rejected"),
        (failed(400, "policy", code="content_policy_violation"), "policy"),
        (failed(403, MODERATED, code=403, metadata={"flagged_input": "Where?"}), "flagged"),
        (failed(400, "Content Exists Risk"), "Exists Risk"),
        (failed(400, "Output blocked by content filtering policy"), "blocked by"),
        (body(error={"code": "data_inspection_failed", "message": "Input data may be bad"}), "may be bad"),
    ],
)  # fmt: skip
def test_a_filter_is_a_refusal_after_one_request(server: ChatServer, response: Response, told: str) -> None:
    server.answer = lambda _: response
    judged = judge(server.url).judge(shown())
    assert set(judged["status"]) == {"refused"}
    assert judged["pick"].isna().all()
    assert told in str(judged.iloc[0].get("reply")) + str(judged.iloc[0].get("error"))
    assert len(server.received) == 1


@pytest.mark.parametrize(
    ("response", "told"),
    [
        (failed(429, OVER_QUOTA, type="insufficient_quota", code="insufficient_quota"), "quota"),
        (failed(429, OVER_QUOTA, **GEMINI_DAY), "quota"),
        (failed(429, OVER_QUOTA), "quota"),
        (failed(429, "Your account is not active", code="billing_not_active"), "not active"),
        (failed(400, "Billing hard limit has been reached", code="billing_hard_limit_reached"), "hard limit"),
        (failed(400, "Your credit balance is too low to access the Anthropic API."), "credit balance"),
        (failed(402, "Insufficient Balance"), "Insufficient Balance"),
        (Response(b"Payment Required", 402), "Payment Required"),
        (Response({"code": 402, "message": "pay first"}), "pay first"),
        (body(error={"code": "402", "message": "pay first"}), "pay first"),
        (choice(HALF, "error", error={"code": 402, "message": "pay first"}), "pay first"),
        (failed(502, "Provider returned error", metadata={"raw": '{"code":402,"message":"Payment required"}'}), "502"),
        (body(choices=None, base_resp={"status_code": 1008, "status_msg": "insufficient balance"}), "insufficient"),
        (failed(401, "The account was deactivated", code="account_deactivated"), "deactivated"),
        (failed(403, "Your team has used all available credits"), "available credits"),
        (failed(403, "This API method requires billing to be enabled"), "no quota or credit"),
        (failed(403, "Key limit exceeded (total limit)", code=403), "no quota or credit"),
        (failed(400, "ExceededBudget: Budget has been exceeded! Max budget: 0.5"), "no quota or credit"),
        (failed(429, "Rate limit reached for model `m` on tokens per day (TPD): Limit 100000"), "no quota or credit"),
        (failed(401, "Incorrect API key provided"), "MRB_ENDPOINT_KEY"),
        (failed(403, "You may not use this"), "MRB_ENDPOINT_KEY"),
        (Response(HTML, 401, {"Content-Type": "text/html"}), "Sign in"),
        (Response([{"error": {"code": 400, "message": "API key not valid."}}], 400), "key"),
        (body(error={"code": 401, "message": "User not found."}), "MRB_ENDPOINT_KEY"),
        (body(error="Unauthorized"), "MRB_ENDPOINT_KEY"),
        (failed(404, "No endpoints found that support image input", code=404), "'m' takes no images"),
        (failed(400, "m is not a multimodal model"), "(--without-images)"),
        (failed(404, "The model `m` does not exist."), "knows no model 'm'"),
        (Response({"error": "model 'm' not found, try pulling it first"}, 404), "try pulling"),
        (failed(400, "m is not a valid model ID"), "knows no model 'm'"),
        (failed(400, "gone", code="model_not_found"), "knows no model 'm'"),
        (failed(410, "The model `m` has been retired"), "knows no model 'm'"),
        (Response({"detail": "Method Not Allowed"}, 405), "correct the judge's name or --url"),
        (failed(503, "The model `m` does not exist", code="model_not_found"), "knows no model 'm'"),
        (failed(404, "The API deployment for this resource does not exist", code="DeploymentNotFound"), "deployment"),
        (Response(b"404 page not found", 404, {"Content-Type": "text/plain"}), "page not found"),
        (Response(b"", 302, {"Location": "https://login.example.org/"}), "HTTP 302"),
    ],
)  # fmt: skip
def test_what_no_other_request_would_fare_better_with_stops_the_judge_and_what_it_has_is_kept(
    server: ChatServer, response: Response, told: str
) -> None:
    server.answer = lambda _: message(VERDICT) if len(server.received) == 1 else response
    batches = [shown(), shown().assign(case_id="y"), shown().assign(case_id="z")]
    made: list[pd.DataFrame] = []
    with pytest.raises(RunError) as caught:
        made.extend(verdicts for _, verdicts in judge(server.url).stream(batches))
    assert told in str(caught.value)
    assert len(str(caught.value)) < 500
    assert [frame["case_id"].iloc[0] for frame in made] == ["x"]
    assert len(server.received) == 2


@pytest.mark.parametrize(
    ("response", "told"),
    [
        (failed(429, "slow down"), "HTTP 429: slow down"),
        (failed(429, OVER_QUOTA, **GEMINI_MINUTE), "HTTP 429"),
        (failed(529, "Overloaded", type="overloaded_error"), "Overloaded"),
        (failed(500, "loading model", code="5xx"), "loading model"),
        (body(error={"code": 502, "message": "Provider returned error"}), "Provider returned error"),
        (body(error={"message": "upstream died"}, choices=[{"message": {"content": VERDICT}}]), "upstream died"),
        (choice(VERDICT, "error", error={"code": 502, "message": "broken off"}), "broken off"),
        (message(HALF, finish="error"), "finish_reason 'error'"),
        (message(VERDICT, finish="abort"), "finish_reason 'abort'"),
        (message(VERDICT, finish="MALFORMED_FUNCTION_CALL"), "MALFORMED_FUNCTION_CALL"),
        (message(VERDICT, finish="insufficient_system_resource"), "insufficient_system_resource"),
        (body(choices=[]), "HTTP 200"),
        (body(error=True, message="no GPU is free"), "no GPU is free"),
        (events({"content": VERDICT}, done=False), "cut off or not JSON"),
        (sent_as_events(*CLAUDE_EVENTS[:-1]), "cut off or not JSON"),
        (sent_as_events(*RESPONSES_EVENTS[:-1]), "cut off or not JSON"),
        (events({"content": HALF}, {"content": 'A"'}, done=False), "cut off or not JSON"),
        (Response(b'data: {"error": {"message": "upstream died"}}\n\n'), "upstream died"),
        (Response(HTML, headers={"Content-Type": "text/html; charset=utf-8"}), "(text/html)"),
        (Response(b""), "an empty reply"),
        (Response(gzip.compress(VERDICT.encode())[:20], headers={"Content-Encoding": "gzip"}), "after 6 attempts"),
        (Response(json.dumps(message(VERDICT).body).encode()[:-9]), "cut off or not JSON"),
        (Response(json.dumps(message(VERDICT).body).encode() + b'\n{"error": "upstream died"}'), "upstream died"),
        (choice(NESTED), "cut off or not JSON"),
        (Response(b'{"message": {"content": "{\\"accuracy\\": \\"B\\""}, "done": false}\n'), "the stream ends early"),
    ],
)
def test_a_failed_attempt_is_repeated_then_told_and_half_a_reply_is_no_verdict(
    server: ChatServer, response: Response, told: str
) -> None:
    server.answer = lambda _: response
    judged = judge(server.url).judge(shown())
    assert set(judged["status"]) == {"error"}
    assert judged["pick"].isna().all()
    assert told in judged["error"].iloc[0]
    assert len(judged["error"].iloc[0]) < 500
    assert len(server.received) == 6


@pytest.mark.parametrize(
    "response", [message(VERDICT, finish="other"), body(**gemini(VERDICT, finishReason="OTHER"))], ids=["chat", "own"]
)
def test_a_finish_reason_that_nobody_knows_is_an_error_after_one_request(
    server: ChatServer, response: Response
) -> None:
    server.answer = lambda _: response
    judged = judge(server.url, price_prompt=1.0, price_completion=1.0).judge(shown())
    assert set(judged["status"]) == {"error"}
    assert "finish_reason 'other': the reply is not complete" in judged["error"].iloc[0].lower()
    assert len(server.received) == 1


def test_the_tokens_of_other_protocols_are_counted(server: ChatServer) -> None:
    server.answer = lambda _: body(**RESPONSES)
    assert judge(server.url).judge(shown())[["prompt_tokens", "completion_tokens"]].iloc[0].tolist() == [7, 9]
    counts = {"promptTokenCount": 7, "candidatesTokenCount": 9}
    server.answer = lambda _: body(**gemini(VERDICT, finishReason="STOP") | {"usageMetadata": counts})
    assert judge(server.url).judge(shown())[["prompt_tokens", "completion_tokens"]].iloc[0].tolist() == [7, 9]


ENGLISH, CHINESE = (
    "The lung fields are clear and the heart is of normal size. " * 600,
    "双肺纹理清晰心影大小正常" * 900,
)


@pytest.mark.parametrize(
    ("text", "usage", "is_cut"),
    [
        (ENGLISH, {"prompt_tokens": 2050}, True),
        (ENGLISH, {"prompt_tokens": 2050, "prompt_tokens_details": {"cached_tokens": 0}}, True),
        (ENGLISH, {"prompt_tokens": "2050"}, True),
        (ENGLISH, {"prompt_tokens": 9000.0}, False),
        (ENGLISH, {"prompt_tokens": 300, "prompt_tokens_details": {"cached_tokens": 8700}}, False),
        (ENGLISH, {"prompt_tokens": 300, "prompt_cache_hit_tokens": 8700}, False),
        (ENGLISH, {"prompt_tokens": -5, "completion_tokens": "many"}, False),
        (ENGLISH, {}, False),
        (CHINESE, {"prompt_tokens": 2050}, True),
        (CHINESE, {"prompt_tokens": 6500}, False),
        ("Where is it? " + "-" * 40_000, {"prompt_tokens": 700}, False),
        (" " * 40_000, {"prompt_tokens": 700}, False),
    ],
)
def test_a_prompt_that_the_server_cut_is_an_error_with_both_numbers(
    server: ChatServer, text: str, usage: dict[str, object], is_cut: bool
) -> None:
    reply = message(VERDICT)
    assert isinstance(reply.body, dict)
    server.answer = lambda _: Response(reply.body | {"usage": usage})
    judged = judge(server.url).judge(shown(text))
    assert set(judged["status"]) == ({"error"} if is_cut else {"ok"})
    assert len(server.received) == 1
    if is_cut:
        assert judged["prompt_tokens"].iloc[0] == 2050, "what it cost is kept"
        assert "2,050 prompt tokens" in judged["error"].iloc[0]
        assert "characters" in judged["error"].iloc[0] and "num_ctx" in judged["error"].iloc[0]


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning", "thinking"])
def test_a_thought_is_no_verdict_and_the_user_reads_what_to_set(server: ChatServer, name: str) -> None:
    server.answer = lambda _: spoken(**{name: f"I think {VERDICT}"})
    served = judge(server.url)
    judged = served.judge(shown())
    assert set(judged["status"]) == {"unparsed"}
    assert VERDICT in judged["reply"].iloc[0]
    [notice] = [notice for notice in served.notices if "reasoning_content" in notice]
    assert "--max-new-tokens" in notice and "enable_thinking" in notice
    server.answer = lambda _: spoken()
    assert set(served.judge(shown("Where else?"))["status"]) == {"unparsed"}
    assert any("no text" in notice for notice in served.notices)


def test_a_long_wait_is_said_and_a_longer_one_than_allowed_stops_the_judge(
    server: ChatServer, caplog: pytest.LogCaptureFixture
) -> None:
    server.answer = lambda _: (
        message(VERDICT) if len(server.received) > 1 else error(429, "soon", **{"Retry-After": "90"})
    )
    assert set(judge(server.url).judge(shown())["status"]) == {"ok"}
    [said] = caplog.messages
    assert said.startswith("served: waits 90 s, until 20") and "HTTP 429: soon" in said
    server.received.clear()
    with pytest.raises(RunError, match=r"until 20.*longer than the 60 s of --max-wait.*soon.*kept"):
        judge(server.url, max_wait_s=60.0).judge(shown())
    assert len(server.received) == 1
    server.answer = lambda _: error(429, "soon", **{"Retry-After": "40"})
    with pytest.raises(RunError, match=r"after 80 s without an answer, longer than the 100 s of --max-wait"):
        judge(server.url, max_wait_s=100.0).judge(shown())


@pytest.mark.parametrize("words", ["Please try again in 7m12s.", "Please try again in 0h7m12.0s.", "Wait."])
def test_a_limit_per_day_that_the_server_says_the_end_of_is_waited_for_if_allowed(
    server: ChatServer, caplog: pytest.LogCaptureFixture, words: str
) -> None:
    headers = {} if "again" in words else {"Retry-After": "432"}
    limit = error(429, f"Rate limit reached on requests per day (RPD): Limit 200. {words}", **headers)
    server.answer = lambda _: message(VERDICT) if len(server.received) > 1 else limit
    assert set(judge(server.url, max_wait_s=500.0).judge(shown())["status"]) == {"ok"}
    assert "waits 432 s, until 20" in caplog.text
    server.received.clear()
    with pytest.raises(RunError, match=r"asks to wait until 20.*longer than the 400 s of --max-wait"):
        judge(server.url, max_wait_s=400.0).judge(shown())


def test_a_server_that_takes_its_time_is_said_to(
    server: ChatServer, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judge_module, "_IDLE_S", 0.05)
    said = Event()
    monkeypatch.setattr(ChatClient, "say_idle", lambda client, seconds: (say_idle(client, seconds), said.set()))
    server.answer = lambda _: message(VERDICT) if said.wait(30) else message("")
    assert set(judge(server.url, timeout_s=40.0).judge(shown())["status"]) == {"ok"}
    assert "served: no reply from 127.0.0.1" in caplog.text and "may take 40 s" in caplog.text
