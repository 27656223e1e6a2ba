"""`mrb construct screen`: items dealt out, agreement shown, the screening closed; see tests/browser."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mrb_lib.build.construct.screen import CRITERIA
from mrb_lib.build.construct.work import open_work
from mrb_lib.review import server
from mrb_lib.review.records.marks import AnnotatorAnswer
from mrb_lib.review.records.store import open_store

from ..build.construct.paired import N, make_work
from .conftest import Result


def test_dealt_rated_closed(mrb: Callable[..., Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work = make_work(tmp_path / "work").path
    screen = ("construct", "screen", work)
    early = mrb(*screen, "--close")
    assert (early.code, early.err.count("\n")) == (2, 1)
    assert "--clinicians NAME,NAME" in early.err
    done = mrb(*screen, "--clinicians", "Dr A,Dr B", "--items", 6, "--assign-only", "--scale", "1,2,3")
    assert (done.code, done.err) == (0, "Dr A: 6 cases\nDr B: 6 cases\n")
    assert (open_work(work).choices("screen") or {})["scale"] == ["1", "2", "3"]
    with open_store(work / "reviews.sqlite") as store:
        for row in store.assignments("mine (screening)").itertuples():
            for criterion in CRITERIA:
                rating = "1" if row.position == 0 and row.annotator == "Dr A" else "3"
                store.add(AnnotatorAnswer("mine (screening)", row.case_id, row.annotator, criterion, rating, "AB"))
    shown = mrb(*screen, "--agreement")
    assert "mine (screening) (SIMULATED data)" in shown.out
    assert "image_quality" in shown.out
    other = mrb(*screen, "--keep", "accuracy >= 3", "--assign-only")
    assert (other.code, "another form" in other.err) == (2, True)
    closed = mrb(*screen, "--close")
    assert closed.code == 0, closed.err
    assert closed.out.startswith(f"kept 6 items of {N} (SIMULATED data): relevance >= 2")
    assert f"left out, nobody rated it: {N - 6}" in closed.out
    strict = mrb(*screen, "--keep", "accuracy >= 3", "--again", "--close")
    assert strict.out.startswith(f"kept 5 items of {N}"), strict.err
    assert "left out, not accuracy >= 3: 1" in strict.out

    served: dict[str, Any] = {}
    monkeypatch.setattr(server, "serve", lambda app, address, **options: served.update(app=app, address=address))
    assert mrb(*screen, "--coordinator", "--no-browser").code == 0
    assert "mine (screening)" in served["app"].answer("overview", {})["html"]
    assert mrb(*screen, "--coordinator", "--close").code == 2


def test_ratings_come_in_by_table(mrb: Callable[..., Result], tmp_path: Path) -> None:
    work = make_work(tmp_path / "work").path
    table = tmp_path / "ratings.csv"
    rows = [f"i{i};{who};4;{1 if (i, who) == (0, 'Dr B') else 4};5;" for i in range(5) for who in ("Dr A", "Dr B")]
    head = "item_id;clinician;relevance;accuracy;complexity;image_quality\n"
    table.write_text(head + "\n".join(rows) + "\n")
    done = mrb("construct", "screen", work, "--ratings", table, "--keep", "accuracy_min >= 3", "--close")
    assert done.code == 0 and "30 ratings added" in done.err, done.err
    assert done.out.startswith(f"kept 4 items of {N}")
    kept = open_work(work).entering("respond")["item_id"].tolist()
    assert kept == ["i1", "i2", "i3", "i4"]
    for row, message in (
        ("i99;Dr A;4;4;5;", "row 1, column item_id: 'i99' is no item"),
        ("i1;;4;4;5;", "column clinician: is empty"),
        ("i1;Dr A;7;4;5;", "column relevance: '7' is not on the scale; use one of 1, 2, 3, 4, 5"),
        ("i1;Dr A;;;;", "holds no rating"),
    ):
        table.write_text(head + row + "\n")
        wrong = mrb("construct", "screen", work, "--ratings", table)
        assert (wrong.code, wrong.err.count("\n")) == (2, 1) and message in wrong.err
