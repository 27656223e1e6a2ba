"""Where a notebook's adjudications come from, and what is said with them."""

from pathlib import Path

import pandas as pd
import pytest

import mrb_lib
from mrb_lib.demo.build import write_demo
from mrb_lib.review.records.marks import Adjudication
from mrb_lib.review.records.reviewed import TRUTH, reviewed, stamp
from mrb_lib.review.records.store import open_store
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.files import REVIEWS


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> mrb_lib.Study:
    monkeypatch.delenv("MRB_STORE", raising=False)
    write_demo(tmp_path / "demo", cases=18, seed=1)
    return mrb_lib.open(tmp_path / "demo")


def adjudicate(workspace: mrb_lib.Study, path: Path, reviewer: str = "Dr A") -> None:
    with open_store(path) as store:
        name, case = workspace.benchmark.meta.name, str(workspace.benchmark.cases["case_id"].iloc[0])
        store.add(Adjudication(name, case, reviewer, "ambiguous"))


def test_without_a_store_simulated_reviewers_stand_in_and_say_so(workspace: mrb_lib.Study) -> None:
    found = reviewed(workspace.benchmark, workspace.judges)
    assert "SIMULATED" in found.note
    assert found.reason == ""
    assert found.adjudications["reviewer"].str.contains("SIMULATED").all()
    assert stamp(workspace.benchmark) == ""


def test_an_empty_store_changes_nothing(workspace: mrb_lib.Study) -> None:
    """To open the explorer makes a store: the report on the embedded benchmark lost its page on adjudication."""
    assert workspace.benchmark.path is not None
    before = reviewed(workspace.benchmark, workspace.judges)
    open_store(workspace.benchmark.path / REVIEWS).close()
    after = reviewed(workspace.benchmark, workspace.judges)
    assert (after.note, after.reason) == (before.note, before.reason)
    pd.testing.assert_frame_equal(after.adjudications, before.adjudications)
    (workspace.benchmark.path / TRUTH).unlink()
    assert "its store holds nothing" in reviewed(workspace.benchmark, workspace.judges).reason


def test_what_people_said_is_read_and_nobody_stands_in(workspace: mrb_lib.Study) -> None:
    assert workspace.benchmark.path is not None
    own = workspace.benchmark.path / REVIEWS
    open_store(own).close()
    empty = stamp(workspace.benchmark)
    adjudicate(workspace, own)
    found = reviewed(workspace.benchmark, workspace.judges)
    assert found.adjudications["reviewer"].tolist() == ["Dr A"]
    assert (found.note, found.reason) == ("", "")
    one = stamp(workspace.benchmark)
    assert one == stamp(workspace.benchmark) != empty
    adjudicate(workspace, own, "Dr B")
    assert stamp(workspace.benchmark) != one


def test_a_store_that_is_named_goes_before(
    workspace: mrb_lib.Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    adjudicate(workspace, tmp_path / "team.sqlite", "Dr T")
    monkeypatch.setenv("MRB_STORE", str(tmp_path / "team.sqlite"))
    assert reviewed(workspace.benchmark, workspace.judges).adjudications["reviewer"].tolist() == ["Dr T"]
    monkeypatch.setenv("MRB_STORE", str(tmp_path / "absent.sqlite"))
    with pytest.raises(InputError, match="absent"):
        reviewed(workspace.benchmark, workspace.judges)
