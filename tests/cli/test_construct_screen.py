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
    assert "another form" in mrb(*screen, "--keep", "accuracy >= 3", "--assign-only").refusal
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
