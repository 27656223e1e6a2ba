"""A whole run through a server: what is on disk afterwards."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mrb_lib.judges.settings import Settings
from mrb_lib.runs.execute import judge
from mrb_lib.verdicts.store import read_run
from tests.judges.endpoint.asked import benchmark_of
from tests.judges.endpoint.chat_server import ChatServer, message

KEY = "sk-test-0123456789abcdef"


def test_the_manifest_says_where_cases_went_and_nothing_on_disk_holds_the_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    benchmark = benchmark_of(tmp_path / "bench", dict.fromkeys("xy", "Where?"), ("accuracy", "overall"))
    monkeypatch.setenv("MRB_ENDPOINT_KEY", KEY)
    reply = f'{{"accuracy": "A", "overall": "B"}} {KEY}'
    with ChatServer(lambda _: message(reply)) as server:
        settings = Settings(url=server.url, price_prompt=1.0, price_completion=2.0)
        [summary] = judge(benchmark, tmp_path / "runs", ["endpoint:m"], settings=settings)
        assert {received.headers["Authorization"] for received in server.received} == {f"Bearer {KEY}"}
        assert len(server.received) == 4
    [manifest] = summary.folder.glob("manifest*")
    assert server.url in manifest.read_text()
    verdicts = read_run(summary.folder)
    assert verdicts.set_index(["order", "dimension"])["choice"].to_dict() == {
        ("AB", "accuracy"): "A",
        ("BA", "accuracy"): "B",
        ("AB", "overall"): "B",
        ("BA", "overall"): "A",
    }
    assert verdicts["prompt_tokens"].sum() == 4 * 100
    assert verdicts["cost_usd"].sum() == pytest.approx(4 * (100 + 2 * 10) / 1e6)
    assert KEY not in verdicts.to_json()
    assert KEY not in json.dumps([str(value) for value in vars(summary).values()])
    for path in (path for path in tmp_path.rglob("*") if path.is_file()):
        assert KEY.encode() not in path.read_bytes()
