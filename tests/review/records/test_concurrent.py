"""Eight reviewers at once, in processes of their own, some of them killed: nothing lost, doubled or overwritten."""

import subprocess
import sys
from pathlib import Path

import pytest
import sqlalchemy as sa

from mrb_lib.review.records.store import database_url, open_store

REVIEWERS = 8
MARKS = 40
SCRIPT = Path(__file__).with_name("reviewers.py")


def _review(where: str) -> list[str]:
    """The ids of the marks that the store acknowledged."""
    command = [sys.executable, str(SCRIPT), where, str(REVIEWERS), str(MARKS)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=180, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def _check(where: str) -> None:
    acknowledged = _review(where)
    assert len(acknowledged) == REVIEWERS * MARKS
    with open_store(where, create=False) as store:
        history = store.adjudications("demo", history=True)
        assert sorted(history["adjudication_id"]) == acknowledged
        for name, mine in history.groupby("reviewer"):
            assert [int(note.split()[2]) for note in mine["note"]] == list(range(MARKS)), name
        now = store.adjudications("demo")
        assert len(now) == REVIEWERS * MARKS // 2
        assert set(now["verdict"]) == {"ambiguous"}
        assert store.latest_change("demo") == len(history)
    _check_nothing_can_be_changed(where)


def _check_nothing_can_be_changed(where: str) -> None:
    engine = sa.create_engine(database_url(where), poolclass=sa.NullPool)
    for statement in ("UPDATE mrb_events SET person = ''", "DELETE FROM mrb_events"):
        with engine.connect() as connection, pytest.raises(sa.exc.DatabaseError, match="never changed"):
            connection.execute(sa.text(statement))


def test_eight_reviewers_share_a_file(tmp_path: Path) -> None:
    _check(str(tmp_path / "reviews.sqlite"))
    engine = sa.create_engine(database_url(tmp_path / "reviews.sqlite"), poolclass=sa.NullPool)
    with engine.connect() as connection:
        assert connection.execute(sa.text("PRAGMA journal_mode")).scalar() == "wal"


def test_eight_reviewers_share_postgresql(postgresql: str) -> None:
    _check(postgresql)
