"""From judges' replies to marks on their reasons and the table of them, through the commands."""

import json
from pathlib import Path

import pytest

from mrb_lib.benchmarks.benchmark import load
from mrb_lib.review.records.exchange import annotations_of
from mrb_lib.review.records.marks import AnnotatorAnswer
from mrb_lib.review.records.store import open_store
from tests.judges.endpoint.chat_server import ChatServer, Received, message

from .conftest import Mrb

HIDDEN = "hidden-model"
WHY = {"exactly?": "The lesion lies <b>left</b>.", "q3": "It says more about the vessels."}


@pytest.fixture
def reasons(tables: Path, mrb: Mrb, tmp_path: Path) -> Path:
    """The reasons that a server gave, exported; it is asked about three cases, and gives none about the second."""
    bench, runs, out = tmp_path / "bench", tmp_path / "given", tmp_path / "why"
    assert mrb("import", "table", tables, bench).code == 0

    def answer(received: Received) -> object:
        reason = next((why for question, why in WHY.items() if question in received.text), "")
        return message(f'{reason}\n{{"overall": "A"}}')

    with ChatServer(answer) as server:
        done = mrb("judge", bench, runs, "--judge", f"endpoint:{HIDDEN}", "--url", server.url, "--prompt", "reasoned")
    assert done.code == 0, done.err
    done = mrb("export", "rationales", bench, runs, out).ok
    assert "2 of 6 replies state no reason" in done.err + done.out
    return out


def test_reasons_are_exported_marked_by_people_and_a_second_judge_and_analysed(
    reasons: Path, mrb: Mrb, tmp_path: Path
) -> None:
    benchmark = load(reasons)
    assert mrb("check", reasons).code == 0
    assert sorted(benchmark.cases["response_a"]) == sorted([*WHY.values()] * 2)
    with open_store(str(tmp_path / "marks.sqlite"), create=True) as store:
        for case_id, reason in zip(benchmark.cases["case_id"], benchmark.cases["response_a"], strict=True):
            mark = "right" if "lesion" in reason else "irrelevant"
            store.add(AnnotatorAnswer(benchmark.meta.name, case_id, "Dr Who", "reason", mark, "AB"))
        marks, left_out = annotations_of(benchmark, store)
    assert left_out == 0
    marks.to_parquet(reasons / "annotations.parquet")

    def second(received: Received) -> object:
        return message('{"reason": "right"}' if "about the vessels" in received.text else '{"reason": "wrong"}')

    with ChatServer(second) as server:
        assert mrb("judge", reasons, reasons / "runs", "--judge", "endpoint:second", "--url", server.url).ok
        assert not [one for one in server.received if HIDDEN in json.dumps(one.body)]
        assert all("Verdict of a judge:" in one.text for one in server.received)
    table = mrb("analyze", reasons, "--table", "ratings", "--resamples", "50", "--json").rows
    assert {row["part"] for row in table} == {"rationale"}
    by_marker = {row["marker"]: row for row in table}
    assert set(by_marker) == {"annotators", "endpoint:second"}
    people, other = by_marker["annotators"], by_marker["endpoint:second"]
    assert people["judge"] == f"endpoint:{HIDDEN}"
    assert (people["n_reasons"], people["share_right"], people["share_irrelevant"]) == (4, 0.5, 0.5)
    assert (other["share_right"], other["share_wrong"], other["n_both"]) == (0.5, 0.5, 4)
    assert other["cohen_kappa"] < 0
