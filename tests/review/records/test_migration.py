"""A store of an earlier version is migrated when it is opened: everything is there, and the earlier store is kept."""

import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
import sqlalchemy as sa

from mrb_lib.review.records.marks import Adjudication
from mrb_lib.review.records.store import REVIEW, Store, database_url, open_store

from .earlier import HOSTILE, WHEN, write_version_4


def _check(store: Store) -> None:
    history = store.adjudications("demo", history=True)
    assert history["adjudication_id"].tolist() == ["a", "b", "c"]
    last = history.iloc[1].to_dict()
    assert (last["reasons"], last["severity"], last["reasoning"]) == (["other", "+1"], "severe", "not_about_image")
    assert last["regions"] == [{"image": "a.png", "x": 1.0, "y": 2.0, "width": 0.0, "height": 0.0, "frame": 3}]
    assert (last["note"], last["case_fingerprint"], last["created"]) == (HOSTILE, "f", WHEN)
    assert history["severity"].isna().tolist() == [True, False, True]
    assert store.adjudications("demo")["adjudication_id"].tolist() == ["b"]
    assert store.reasons() == ["artefact", "other"]
    assert store.assignments("demo").empty
    assert store.assignments("demo", task=REVIEW)[["case_id", "annotator", "position"]].iloc[0].tolist() == [
        "c1", "Dr B", 4
    ]  # fmt: skip
    answers = store.answers("demo", history=True)
    assert answers["seconds"].iloc[0] == 12.345678901234567
    assert answers["choice"].isna().tolist() == [False, True]
    assert store.comments("demo")["text"].tolist() == [HOSTILE]
    assert store.views("demo")["name"].tolist() == ["eyes"]
    assert store.tags("demo")["tag"].tolist() == ["old film"]
    told = Adjudication("demo", "c1", "Dr B", "gold_wrong", "tie", "overall", "j", note=HOSTILE, adjudication_id="b",
                        case_fingerprint="f", answers={"reasons": ["other", "+1"], "severity": "severe",
                                                       "reasoning": "not_about_image"})  # fmt: skip
    with pytest.raises(Exception, match="another content"):
        store.add(told)  # without the region
    assert store.assign("demo", store.assignments("demo", task=REVIEW), task=REVIEW) == 0


def test_a_file_of_version_4_is_migrated_once_with_a_backup_beside_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path, taken = tmp_path / "reviews.sqlite", tmp_path / "reviews.sqlite.v4-backup"
    write_version_4(path)
    path.chmod(0o600)
    taken.write_text("an earlier backup")
    for create in (False, True):
        with open_store(path, create=create) as store:
            _check(store)
    assert taken.read_text() == "an earlier backup"
    assert sorted(one.name for one in tmp_path.glob("*backup*")) == [taken.name, f"{taken.name}1"]
    backup = tmp_path / f"{taken.name}1"
    assert backup.stat().st_mode & 0o777 == 0o600
    with sqlite3.connect(backup) as connection:
        assert connection.execute("SELECT value FROM mrb_meta").fetchone() == ("4",)
        assert connection.execute("SELECT count(*) FROM mrb_adjudications").fetchone() == (3,)
    [line] = [record.getMessage() for record in caplog.records]
    assert line == f"sqlite:///{path}: migrated from version 4 to 5; its earlier rows: {backup}"
    with sqlite3.connect(path) as connection, pytest.raises(sqlite3.IntegrityError, match="never changed"):
        connection.execute("DELETE FROM mrb_events")


def test_processes_that_open_it_at_once_migrate_it_once(tmp_path: Path) -> None:
    path = tmp_path / "reviews.sqlite"
    write_version_4(path)
    script = (
        "import sys; from mrb_lib.review.records.store import open_store\n"
        "sys.stdin.readline()\n"
        "with open_store(sys.argv[1]) as store: print(len(store.adjudications('demo', history=True)))"
    )
    running = [
        subprocess.Popen([sys.executable, "-c", script, str(path)], text=True, stdin=subprocess.PIPE,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(3)
    ]  # fmt: skip
    for process in running:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    told = [process.communicate(timeout=120) for process in running]
    assert [out for out, _ in told] == ["3\n"] * 3
    assert sum("migrated from version 4" in err for _, err in told) == 1
    assert len(list(tmp_path.glob("*backup*"))) == 1
    with open_store(path) as store:
        assert len(store.adjudications("demo", history=True)) == 3


def test_postgresql_keeps_the_earlier_tables_under_another_name(postgresql: str) -> None:
    engine = sa.create_engine(database_url(postgresql), isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
    with engine.connect() as connection:
        connection.execute(sa.text("CREATE DATABASE earlier"))
    where = postgresql.replace("/postgres?", "/earlier?")
    write_version_4(where)
    for create in (False, True):
        with open_store(where, create=create) as store:
            _check(store)
    kept = sa.create_engine(database_url(where), poolclass=sa.NullPool)
    with kept.begin() as connection:
        assert connection.execute(sa.text("SELECT count(*) FROM mrb_adjudications_v4")).scalar() == 3
    with pytest.raises(sa.exc.DatabaseError, match="never changed"), kept.begin() as connection:
        connection.execute(sa.text("DELETE FROM mrb_events"))
