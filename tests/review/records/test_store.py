"""What a store keeps in both databases, what counts of it, and what it says when it cannot be used."""

import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sqlalchemy as sa

from mrb_lib.review.records.marks import (
    Adjudication,
    AnnotatorAnswer,
    CaseTag,
    Comment,
    Entry,
    Region,
    SavedView,
    current,
)
from mrb_lib.review.records.questions import REASONS, adjudication_columns
from mrb_lib.review.records.store import Store, database_url, open_store
from mrb_lib.tables.errors import InputError

HOSTILE = "<script>alert(1)</script>\u202e '; DROP TABLE mrb_events; -- \N{STETHOSCOPE} \u05d0"
ANSWER = AnnotatorAnswer("demo", "c1", "r1", "overall", "A", "AB")
COMMENT = Comment("demo", "c1", "r1", "blurred")
TAG = CaseTag("demo", "c1", "old film", "Dr A")
VIEW = SavedView("demo", "eyes", "Dr A", "organ=eye")


def _right(case: str = "c1", reviewer: str = "Dr A", **options: object) -> Adjudication:
    return Adjudication(
        **{"benchmark": "demo", "case_id": case, "reviewer": reviewer, "verdict": "gold_right"} | options
    )


@pytest.fixture(params=["sqlite", "postgresql"])
def either(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty store of either kind."""
    if request.param == "sqlite":
        return str(tmp_path / "s.sqlite")
    where: str = request.getfixturevalue("postgresql")
    engine = sa.create_engine(database_url(where), isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
    with engine.connect() as connection:
        connection.execute(sa.text("DROP DATABASE IF EXISTS one"))
        connection.execute(sa.text("CREATE DATABASE one"))
    return where.replace("/postgres?", "/one?")


def test_every_kind_of_entry_comes_back_as_it_was(either: str) -> None:
    given = Adjudication(
        "demo", HOSTILE, HOSTILE, "gold_wrong", choice="tie", dimension="accuracy", judge=HOSTILE,
        answers={"reasons": ("order effect", HOSTILE), "severity": "mild", "reasoning": "not_about_image"},
        note=HOSTILE, regions=(Region(HOSTILE, 1, 2.5, 30, 40), Region("b.png", 0, 0)),
        supersedes="before", case_fingerprint="f",
    )  # fmt: skip
    with open_store(either) as store:
        store.add(given)
        store.add(Comment("demo", HOSTILE, "r1", f"  {HOSTILE}\0 "), replace(COMMENT, annotator="r2"))
        for dimension, seconds in (("accuracy", 12.345678901234567), ("overall", None), ("relevance", 0)):
            store.add(AnnotatorAnswer("demo", "c1", "r1", dimension, "A", "AB", seconds=seconds))
        store.add(VIEW, replace(VIEW, name=HOSTILE, view_id="h"))
        store.add(SavedView("demo", "eyes", "Dr B", "organ=eye&x=1"))
    with open_store(either, create=False) as store:
        frame = store.adjudications("demo")
        assert tuple(frame.columns) == adjudication_columns()
        row = frame.iloc[0].to_dict()
        created = row.pop("created")
        answers = {**given.answers, "reasons": ["order effect", HOSTILE]}
        assert row == answers | {name: getattr(given, name) for name in row.keys() - answers.keys()} | {
            "regions": [asdict(region) for region in given.regions]
        }
        assert created.endswith("Z") and abs((pd.Timestamp.now("UTC") - pd.Timestamp(created)).total_seconds()) < 600
        assert store.comments("demo")["text"].tolist() == [f"{HOSTILE}\ufffd", "blurred"]
        assert store.comments("demo", annotator="r2", case_id=HOSTILE).empty
        assert store.answers("demo")["seconds"].fillna(-1).tolist() == [12.345678901234567, -1.0, 0.0]
        assert store.reasons() == list(REASONS)
        assert store.views("demo")[["name", "fragment"]].to_numpy().tolist() == [
            [HOSTILE, "organ=eye"], ["eyes", "organ=eye&x=1"],
        ]  # fmt: skip
        store.add(SavedView("demo", "eyes", "Dr A"))
        assert store.views("demo")["name"].tolist() == [HOSTILE]
        assert store.latest_change("demo") == 10 and store.adjudications("another").empty


@pytest.mark.parametrize("entry", [_right(), ANSWER, COMMENT, TAG, VIEW])
def test_the_same_entry_twice_counts_once_and_no_other_takes_its_id(either: str, entry: Entry) -> None:
    with open_store(either) as store:
        assert (store.add(entry), store.add(entry)) == (1, 0)
        with pytest.raises(InputError, match="another content"):
            store.add(replace(entry, benchmark="another"))
        assert (store.latest_change("demo"), store.latest_change("another")) == (1, 0)


def test_what_counts_now_is_what_a_plain_loop_finds() -> None:
    for seed in range(60):
        drawn = np.random.default_rng(seed)
        rows = [
            {"adjudication_id": f"a{i}", "benchmark": "demo", "case_id": "c1", "reviewer": drawn.choice(["A", "B"]),
             "dimension": drawn.choice([None, "overall"]), "judge": drawn.choice([None, "j1", "j2"]),
             "verdict": drawn.choice(["ambiguous", "withdrawn", "image_unusable"]), "created": f"{drawn.integers(9)}",
             "supersedes": f"a{drawn.integers(i + 1)}" if drawn.random() < 0.2 else None}
            for i in range(drawn.integers(40))
        ]  # fmt: skip
        superseded = {(row["reviewer"], row["supersedes"]) for row in rows}
        counting: dict[tuple[str, str | None, str | None], str] = {}
        for row in sorted(rows, key=lambda row: row["created"]):
            key = row["reviewer"], row["dimension"], row["judge"]
            if row["verdict"] == "withdrawn":
                taken = [other for other in counting if other[:2] == key[:2] and key[2] in (None, other[2])]
                counting = {other: mark for other, mark in counting.items() if other not in taken}
            elif (row["reviewer"], row["adjudication_id"]) not in superseded:
                counting[key] = row["adjudication_id"]
        history = pd.DataFrame(rows, columns=list(adjudication_columns())).astype({"judge": "str", "dimension": "str"})
        assert current(history)["adjudication_id"].tolist() == sorted(counting.values(), key=lambda one: int(one[1:]))


def test_all_of_a_restore_or_nothing(store: Store) -> None:
    known = _right()
    store.add(known)
    with pytest.raises(InputError):
        store.restore([(_right(case="c2"), None), (replace(known, note="changed"), None)])
    assert len(store.adjudications("demo", history=True)) == 1
    assert store.restore([(_right(case="c2"), None), (known, None)]) == {"adjudication": 1}


@pytest.mark.parametrize(
    ("entry", "change", "words"),
    [
        (_right(), {"verdict": "wrong"}, "'wrong' is unknown"),
        (_right(), {"verdict": "gold_wrong"}, "right choice is missing"),
        (_right(), {"answers": {"severity": "fatal"}}, "severity 'fatal' is unknown"),
        (_right(), {"answers": {"severity": ["mild"]}}, "severity is not a text"),
        (_right(), {"answers": {"reasons": "mild"}}, "reasons is not a list"),
        (_right(), {"answers": {"reasons": ["x" * 256]}}, "reasons is too long"),
        (_right(), {"answers": {"colour": "red"}}, "question 'colour' is unknown; use one of reasons, severity"),
        (_right(), {"answers": "mild"}, "answers are not given by question"),
        (_right(), {"choice": "A"}, "belongs to gold_wrong only"),
        (_right(), {"reviewer": " \n"}, "reviewer is empty"),
        (_right(), {"case_id": "a\0b"}, "NUL"),
        (_right(), {"regions": (Region("a.png", 0, 0),) * 101}, "101 regions"),
        (ANSWER, {"choice": None}, "not both"),
        (ANSWER, {"order": "ab"}, "order 'ab' is unknown"),
        *((ANSWER, {"seconds": n}, "not a length of time") for n in (-1, float("nan"), True, "12", 10**400)),
        (COMMENT, {"text": " \n"}, "is empty"),
        (COMMENT, {"annotator": ""}, "annotator is empty"),
        (TAG, {"tag": " \n"}, "tag is empty"),
        (TAG, {"tag": "x" * 41}, "at most 40"),
        (TAG, {"action": "changed"}, "'changed' is unknown"),
        (TAG, {"tag_id": " "}, "id is empty"),
        (VIEW, {"name": ""}, "name is empty"),
        (VIEW, {"name": "x" * 81}, "at most 80"),
        *((Region("a.png", 0, 0), change, next(iter(change))) for change in (
            {"x": 1e10}, {"y": 10**400}, {"width": float("nan")}, {"frame": 10**10}, {"image": "x" * 10_001})),
    ],
)  # fmt: skip
def test_what_is_no_entry_is_refused(entry: Any, change: dict[str, object], words: str) -> None:
    with pytest.raises(InputError, match=words):
        replace(entry, **change)


def test_text_that_no_database_holds_is_mended(store: Store) -> None:
    store.add(_right(note="a\0b\ud800", answers={"reasons": ("x\0", "", "x\0")}))
    row = store.adjudications("demo").iloc[0]
    assert (row["note"], row["reasons"]) == ("a\ufffdb\ufffd", ["x\ufffd"])
    assert store.reasons() == list(REASONS)
    for names in (["x" * 256], [f"{n}" for n in range(101)]):
        with pytest.raises(InputError, match="too long"):
            _right(answers={"reasons": names})


def test_an_assignment_never_moves_under_an_annotator(either: str) -> None:
    columns = ["case_id", "annotator", "position", "order"]
    first = pd.DataFrame([("c2", "r1", 0, "AB"), ("c1", "r1", 1, "BA"), ("c1", "r2", 0, "AB")], columns=columns)
    again = pd.DataFrame([("c3", "r1", 0, "AB"), ("c2", "r1", 1, "BA")], columns=columns)
    with open_store(either) as store:
        assert (store.assign("demo", first), store.assign("demo", again)) == (3, 1)
        mine = store.assignments("demo", "r1")
        assert mine["case_id"].tolist() == ["c2", "c1", "c3"]
        assert mine["order"].tolist() == ["AB", "BA", "AB"]
        assert len(store.assignments("demo")) == 4


def test_stores_that_cannot_be_used_say_so(tmp_path: Path) -> None:
    (tmp_path / "text.sqlite").write_text("this is no database, however long it goes on" * 40)
    (tmp_path / "empty.sqlite").touch()
    for where, words in (
        (tmp_path / "none.sqlite", "there is no store"), (tmp_path / "no" / "s.sqlite", "there is no store"),
        (tmp_path / "text.sqlite", "cannot be used"), (tmp_path / "empty.sqlite", "holds no store"),
        ("nosuch://x/y", "not a kind of database"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=words):
            open_store(where, create=False)
    with pytest.raises(InputError, match="its folder does not exist"):
        open_store(tmp_path / "no" / "s.sqlite")
    assert not (tmp_path / "none.sqlite").exists()


@pytest.mark.parametrize("version", [3, 99])
def test_a_store_of_another_version_is_refused_with_what_helps(tmp_path: Path, version: int) -> None:
    open_store(tmp_path / "s.sqlite").close()
    engine = sa.create_engine(database_url(tmp_path / "s.sqlite"), poolclass=sa.NullPool)
    with engine.begin() as connection:
        connection.execute(sa.text("UPDATE mrb_meta SET value = :version"), {"version": str(version)})
    with pytest.raises(InputError, match=rf"version {version} and the workbench reads versions 4 and 5; use"):
        open_store(tmp_path / "s.sqlite")


@pytest.mark.parametrize(
    "url", ["postgresql://u:s3cret@/x?host=/nonexistent", "nosuch://u:s3cret@h/x", "://u:s3cret@h"]
)
def test_no_message_shows_a_password(url: str) -> None:
    with pytest.raises(InputError) as caught:
        open_store(url)
    assert "s3cret" not in str(caught.value)
    assert caught.value.__cause__ is None


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
