"""Rankings of all responses to an item, and decisions on the criteria of a rubric, in one request each."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mrb_lib.judges.endpoint.judge import EndpointJudge, ServedBatchJudge, ServedRubricJudge
from mrb_lib.judges.prompts import load_prompt
from mrb_lib.judges.settings import Settings
from mrb_lib.runs.execute import judge as judge_all
from mrb_lib.stats.analyze import analyze
from mrb_lib.tables.errors import InputError, RunError
from mrb_lib.verdicts.manifest import read_manifest
from mrb_lib.verdicts.orders import to_case_frame
from mrb_lib.verdicts.store import load_verdicts, run_folders
from tests.judges.endpoint.asked import DIMENSIONS, benchmark_of, judge_of, rows_of
from tests.judges.endpoint.chat_server import ChatServer, Received, Response, error, message
from tests.judges.item_cases import better_of, by_worth, item_cases, ranking_by, shown_to_batch

RUBRIC = json.dumps(
    [
        {"criterion": "names the left", "weight": 4},
        {"criterion": "is rude", "weight": -2},
        {"criterion": "cites nothing", "weight": 1, "dimension": "accuracy"},
    ]
)


def shown(*cases: str) -> pd.DataFrame:
    responses = ("{}: left apex", "{}: nowhere, you fool")
    return rows_of(cases, responses=responses, rubric=RUBRIC)


def judge(url: str, **settings: object) -> ServedRubricJudge:
    return judge_of(url, ServedRubricJudge, **settings)


def decide(received: Received) -> Response:
    """Return what a careful reader says of the one response that is shown."""
    said = re.search(r"<<<response \w+>>>\n(.*?)\n<<<end", received.text, re.DOTALL)[1]
    return message(
        json.dumps(
            {"1": "met" if "left" in said else "not met", "2": "met" if "fool" in said else "not met", "3": "met"}
        )
    )


USUAL = decide


def test_one_request_a_response_answers_both_orders_and_is_counted_once(server: ChatServer) -> None:
    judged = judge(server.url, price_prompt=1.0, price_completion=1.0).judge(shown("x", "y"))
    assert len(server.received) == 4
    assert judged["status"].eq("ok").all()
    assert judged["prompt_tokens"].tolist()[:4] == pytest.approx([200, np.nan, np.nan, np.nan], nan_ok=True)
    assert judged["cost_usd"].sum() == pytest.approx(4 * 110 / 1e6)
    verdicts = to_case_frame(judged)
    assert verdicts["choice"].eq("A").all()
    by = verdicts.groupby("dimension")
    assert by["score_a"].unique().map(list).to_dict() == {"accuracy": [1.0], "overall": [1.0]}
    assert by["score_b"].unique().map(list).to_dict() == {"accuracy": [-0.2], "overall": [-0.5]}
    assert verdicts["criteria"].map(json.loads).tolist() == [{"a": [1, 0, 1], "b": [0, 1, 1]}] * 8
    assert "p_first" not in judged
    assert judged["reply"].str.startswith("response shown first:\n{").all()


def test_a_request_shows_one_response_all_criteria_and_the_form_of_the_reply(server: ChatServer) -> None:
    judge(server.url).judge(shown("x"))
    texts = [received.text for received in server.received]
    assert sorted("left apex" in text for text in texts) == [False, True]
    assert all(("left apex" in text) != ("nowhere" in text) for text in texts)
    body = server.received[0].body
    schema = body["response_format"]["json_schema"]["schema"]
    assert schema["required"] == ["1", "2", "3"]
    assert all(f"<<<criterion {i} " in texts[0] for i in (1, 2, 3))
    assert not body.get("logprobs")


@pytest.mark.parametrize("failing", ["left apex", "nowhere"])
def test_a_failed_request_leaves_no_half_verdict_and_hides_no_cost(server: ChatServer, failing: str) -> None:
    """The first request fails, or the second."""
    server.answer = lambda received: error(400, "no") if failing in received.text else decide(received)
    judged = judge(server.url, price_prompt=1.0, price_completion=1.0, concurrency=1).judge(shown("x"))
    assert judged["status"].eq("error").all()
    assert judged["pick"].isna().all()
    assert judged["prompt_tokens"].tolist() == pytest.approx([100, *[np.nan] * 3], nan_ok=True)
    assert judged["cost_usd"].sum() == pytest.approx(110 / 1e6)


@pytest.mark.parametrize(("n_answered", "whole"), [(1, []), (3, ["x"])])
def test_a_run_that_stops_in_the_middle_of_a_case_leaves_it_pending_and_its_cost_to_the_next(
    server: ChatServer, tmp_path: Path, n_answered: int, whole: list[str]
) -> None:
    def stream() -> Iterator[pd.DataFrame]:
        made = judge(server.url, runs=tmp_path, concurrency=1, price_prompt=1.0, price_completion=1.0)
        yield from (rows for _, rows in made.stream(iter([shown("x"), shown("y")])))

    server.answer = lambda received: decide(received) if len(server.received) <= n_answered else error(401, "no")
    done = list[pd.DataFrame]()
    with pytest.raises(RunError):
        done.extend(stream())
    assert [rows["case_id"].unique().tolist() for rows in done] == [[case] for case in whole]
    assert all(rows["status"].eq("ok").all() and len(rows) == 4 for rows in done)
    server.answer = decide
    pending = [rows for rows in stream() if rows["case_id"].iloc[0] not in whole]
    assert sum(rows["cost_usd"].sum() for rows in [*done, *pending]) == pytest.approx(4 * 110 / 1e6)


def test_a_judged_benchmark_keeps_decisions_and_analyses_them(server: ChatServer, tmp_path: Path) -> None:
    benchmark = benchmark_of(
        tmp_path / "bench", {"x": "Where?", "y": "Where?"},
        response_a=["left apex", "you fool"], response_b=["nowhere", "left, fool"], rubric=RUBRIC,
    )  # fmt: skip
    settings = Settings(url=server.url, concurrency=2, prompt="criteria")
    for name in ("endpoint:m", "endpoint:m+rubric"):
        judge_all(benchmark, tmp_path / "runs", [name], settings=settings)
    verdicts = load_verdicts(tmp_path / "runs", benchmark.cases)
    assert verdicts["judge"].nunique() == 2
    assert verdicts.groupby("case_id")["choice"].unique().map(list).to_dict() == {"x": ["A"], "y": ["B"]}
    assert verdicts["criteria"].notna().all()
    assert len(analyze(benchmark, verdicts, "accuracy", resamples=0))
    manifest = read_manifest(run_folders(tmp_path / "runs")[0])
    assert manifest.prompt_hash == load_prompt("criteria").hash


RANK = ranking_by(by_worth, DIMENSIONS)


def ranks(url: str, **settings: object) -> ServedBatchJudge:
    return judge_of(url, ServedBatchJudge, **settings)


@pytest.fixture
def ranking_server(server: ChatServer) -> ChatServer:
    server.answer = lambda received: message(RANK(received.text))
    return server


def test_one_request_answers_all_pairs_of_an_item_and_is_counted_once(ranking_server: ChatServer) -> None:
    cases = item_cases(3, 4)
    rows = ranks(ranking_server.url).judge(shown_to_batch(cases, DIMENSIONS))
    assert len(ranking_server.received) == 3 * 2
    chosen = to_case_frame(rows)
    right = dict(zip(cases["case_id"], better_of(cases), strict=True))
    assert (chosen["choice"] == chosen["case_id"].map(right)).all()
    assert set(rows["status"]) == {"ok"}
    assert rows["prompt_tokens"].sum() == 6 * 100
    assert rows["latency_s"].notna().sum() == 6
    assert "p_first" not in rows


def test_the_schema_lists_the_letters_shown_and_lets_equal_ones_stand_together_where_a_tie_may_be(
    ranking_server: ChatServer,
) -> None:
    cases = item_cases(1, 3)
    for choices in (("A", "B", "tie"), ("A", "B")):
        ranks(ranking_server.url, choices=choices).judge(shown_to_batch(cases, DIMENSIONS))
    schemas = [received.body["response_format"]["json_schema"]["schema"] for received in ranking_server.received]
    with_ties, without = (schemas[i]["properties"]["overall"]["items"] for i in (0, 2))
    assert without == {"type": "string", "enum": ["A", "B", "C"]}
    assert with_ties["anyOf"][0] == without
    assert schemas[0]["required"] == list(DIMENSIONS)


@pytest.mark.parametrize(
    ("kind", "prompt", "said"),
    [
        (EndpointJudge, "batch", r"asks for rankings.*\+batch"),
        (ServedBatchJudge, "plain", "asks for all dimensions in one reply, but this engine reads rankings"),
    ],
)
def test_a_prompt_of_another_kind_is_refused(kind: type[EndpointJudge], prompt: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        judge_of("http://127.0.0.1:1/v1", kind, prompt=prompt)
