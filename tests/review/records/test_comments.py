"""Comments of annotators, and the seconds of their answers, in both databases."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from mrb_lib.review.records.marks import AnnotatorAnswer, Comment
from mrb_lib.review.records.store import Store, database_url, open_store
from mrb_lib.tables.errors import InputError

HOSTILE = "<script>alert(1)</script>\u202e '; DROP TABLE mrb_events; -- \N{STETHOSCOPE} \u05d0"


def test_comments_are_kept_in_their_order_and_once(store: Store) -> None:
    first = Comment("demo", HOSTILE, "r1", f"  {HOSTILE}\0 ")
    store.add(first)
    store.add(Comment("demo", "c1", "r2", "two"))
    store.add(first)
    assert store.comments("demo")["text"].tolist() == [f"{HOSTILE}\ufffd", "two"]
    assert store.comments("demo", annotator="r2")["case_id"].tolist() == ["c1"]
    assert store.comments("demo", annotator="r2", case_id=HOSTILE).empty
    assert store.comments("another").empty
    with pytest.raises(InputError, match="another content"):
        store.add(replace(first, text="changed"))


def test_a_comment_is_a_change_of_its_benchmark(store: Store) -> None:
    store.add(Comment("demo", "c1", "r1", "blurred"))
    store.add(Comment("another", "c1", "r1", "blurred"))
    assert store.latest_change("demo") == 1


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"text": " \n"}, "is empty"),
        ({"text": "x" * 10_001}, "at most 10,000"),
        ({"annotator": ""}, "annotator is empty"),
        ({"case_id": "a\0"}, "NUL"),
        ({"comment_id": "x" * 256}, "at most 255"),
    ],
)
def test_what_is_no_comment_is_refused(change: dict[str, str], words: str) -> None:
    with pytest.raises(InputError, match=words):
        Comment(**{"benchmark": "demo", "case_id": "c1", "annotator": "r1", "text": "blurred"} | change)


def test_seconds_are_kept_to_the_last_digit_and_may_be_unknown(store: Store) -> None:
    for dimension, seconds in (("accuracy", 12.345678901234567), ("overall", None), ("relevance", 0)):
        store.add(AnnotatorAnswer("demo", "c1", "r1", dimension, "A", "AB", seconds=seconds))
    kept = store.answers("demo")["seconds"]
    assert kept.dtype == "float64"
    assert kept.isna().tolist() == [False, True, False]
    assert kept.dropna().tolist() == [12.345678901234567, 0.0]


@pytest.mark.parametrize("seconds", [-1, float("nan"), float("inf"), True, "12", 10**400])
def test_what_is_no_time_is_refused(seconds: Any) -> None:
    with pytest.raises(InputError, match="not a length of time"):
        AnnotatorAnswer("demo", "c1", "r1", "overall", "A", "AB", seconds=seconds)


def test_postgresql_keeps_the_same_and_both_refuse_a_change(store: Store, postgresql: str, tmp_path: Path) -> None:
    engine = sa.create_engine(database_url(postgresql), isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
    with engine.connect() as connection:
        connection.execute(sa.text("CREATE DATABASE comments"))
    elsewhere = postgresql.replace("/postgres?", "/comments?")
    with open_store(elsewhere) as served:
        test_seconds_are_kept_to_the_last_digit_and_may_be_unknown(served)
        test_comments_are_kept_in_their_order_and_once(served)
    store.add(Comment("demo", "c1", "r1", "blurred"))
    for url in (elsewhere, tmp_path / "reviews.sqlite"):
        changed = sa.create_engine(database_url(url), poolclass=sa.NullPool)
        for statement in ("UPDATE mrb_events SET person = ''", "DELETE FROM mrb_events"):
            with pytest.raises(sa.exc.DBAPIError, match="never changed"), changed.begin() as connection:
                connection.execute(sa.text(statement))
