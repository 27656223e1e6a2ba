"""All responses to an item in one request to a server, and its reply as the verdicts of all their pairs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from mrb_lib.judges.endpoint.judge import EndpointJudge, ServedBatchJudge
from mrb_lib.judges.roster.engines import JudgeRequest
from mrb_lib.judges.roster.entry import Entry
from mrb_lib.judges.roster.roster import entry_of
from mrb_lib.judges.settings import Settings
from mrb_lib.tables.errors import InputError
from mrb_lib.verdicts.orders import to_case_frame
from tests.judges.endpoint.asked import judge_of
from tests.judges.endpoint.chat_server import ChatServer, message
from tests.judges.item_cases import better_of, by_worth, item_cases, ranking_by, shown_to_batch

DIMENSIONS = ("accuracy", "overall")
RANK = ranking_by(by_worth, DIMENSIONS)


def served(url: str, **settings: object) -> ServedBatchJudge:
    return judge_of(url, ServedBatchJudge, **{"dimensions": DIMENSIONS, **settings})


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer(lambda received: message(RANK(received.text))) as running:
        yield running


def test_one_request_answers_all_pairs_of_an_item_and_is_counted_once(server: ChatServer) -> None:
    cases = item_cases(3, 4)
    rows = served(server.url).judge(shown_to_batch(cases, DIMENSIONS))
    assert len(server.received) == 3 * 2
    chosen = to_case_frame(rows)
    right = dict(zip(cases["case_id"], better_of(cases), strict=True))
    assert (chosen["choice"] == chosen["case_id"].map(right)).all()
    assert set(rows["status"]) == {"ok"}
    assert rows["prompt_tokens"].sum() == 6 * 100
    assert rows["latency_s"].notna().sum() == 6
    assert "p_first" not in rows


def test_the_schema_lists_the_letters_shown_and_lets_equal_ones_stand_together_where_a_tie_may_be(
    server: ChatServer,
) -> None:
    cases = item_cases(1, 3)
    for choices in (("A", "B", "tie"), ("A", "B")):
        served(server.url, choices=choices).judge(shown_to_batch(cases, DIMENSIONS))
    schemas = [received.body["response_format"]["json_schema"]["schema"] for received in server.received]
    with_ties, without = (schemas[i]["properties"]["overall"]["items"] for i in (0, 2))
    assert without == {"type": "string", "enum": ["A", "B", "C"]}
    assert with_ties["anyOf"][0] == without
    assert schemas[0]["required"] == list(DIMENSIONS)


def test_the_same_name_is_of_weights_or_of_a_server(tmp_path: Path) -> None:
    assert entry_of("endpoint:m+batch").engine == "served-batch"
    assert entry_of("endpoint:m+batch").model == "m"
    assert entry_of("qwen2-vl-7b+batch").engine == "batch"
    assert {entry_of(f"{name}+batch").engine for name in ("gpt-4o",)} == {"served-batch"}
    with pytest.raises(InputError, match=r"asks for rankings.*\+batch"):
        settings = Settings(url="http://127.0.0.1:1/v1", prompt="batch")
        EndpointJudge(JudgeRequest(Entry("m", "endpoint", model="m"), settings, {}))
    with pytest.raises(InputError, match="asks for all dimensions in one reply, but this engine reads rankings"):
        served("http://127.0.0.1:1/v1", prompt="plain")
