"""Tags on cases and named views: what counts now, what is refused, and that nothing is ever changed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
import sqlalchemy as sa

from mrb_lib.review.records.marks import (
    LONGEST_TAG,
    LONGEST_VIEW,
    REMOVED,
    CaseTag,
    SavedView,
)
from mrb_lib.review.records.store import Store, database_url, open_store
from mrb_lib.tables.errors import InputError

HOSTILE = "'; DROP TABLE mrb_tags; -- <b>\u202e"


def _tagged(store: Store) -> list[tuple[str, str, str]]:
    frame = store.tags("demo")[["case_id", "tag", "reviewer"]]
    return [tuple(row) for row in frame.to_numpy().tolist()]


def test_a_tag_is_there_until_who_added_it_removes_it(store: Store) -> None:
    for tag in (
        CaseTag("demo", "c1", " old \n film ", "Dr A"), CaseTag("demo", "c1", "old film", "Dr B"),
        CaseTag("demo", "c1", HOSTILE, "Dr A"), CaseTag("other", "c1", "old film", "Dr A"),
        CaseTag("demo", "c1", "old film", "Dr A", REMOVED), CaseTag("demo", "c2", "x", "Dr A", REMOVED),
    ):  # fmt: skip
        store.add(tag)
    assert _tagged(store) == [("c1", "old film", "Dr B"), ("c1", HOSTILE, "Dr A")]
    store.add(CaseTag("demo", "c1", "old film", "Dr A"))
    assert ("c1", "old film", "Dr A") in _tagged(store)
    history = store.tags("demo", history=True)
    assert tuple(history.columns) == ("tag_id", "benchmark", "case_id", "tag", "reviewer", "action", "created")
    assert len(history) == store.latest_change("demo") == 6


def test_a_tag_that_is_stored_twice_counts_once(store: Store) -> None:
    tag = CaseTag("demo", "c1", "old film", "Dr A")
    store.add(tag)
    store.add(tag)
    assert store.latest_change("demo") == 1
    with pytest.raises(InputError, match="with another content"):
        store.add(replace(tag, tag="new film"))


def test_a_view_is_the_last_one_of_its_name(store: Store) -> None:
    store.add(SavedView("demo", "b eyes", "Dr A", "organ=eye"))
    store.add(SavedView("demo", HOSTILE, "Dr A", "where=" + HOSTILE))
    store.add(SavedView("demo", "a all", "Dr B", ""))
    store.add(SavedView("demo", "b eyes", "Dr B", "organ=eye&sort=confidence"))
    views = store.views("demo")
    assert tuple(views.columns) == ("view_id", "benchmark", "name", "reviewer", "fragment", "created")
    assert views["name"].tolist() == [HOSTILE, "a all", "b eyes"]
    assert views["fragment"].tolist() == ["where=" + HOSTILE, "", "organ=eye&sort=confidence"]
    store.add(SavedView("demo", "b eyes", "Dr A"))
    assert store.views("demo")["name"].tolist() == [HOSTILE, "a all"]
    assert store.views("other").empty


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"tag": " \n"}, "tag is empty"),
        ({"tag": "x" * (LONGEST_TAG + 1)}, f"at most {LONGEST_TAG}"),
        ({"reviewer": ""}, "reviewer is empty"),
        ({"action": "changed"}, "'changed' is unknown"),
        ({"tag_id": " "}, "id is empty"),
        ({"case_id": "c\0"}, "holds a NUL"),
    ],
)
def test_what_is_no_tag_is_refused(given: dict[str, str], said: str) -> None:
    with pytest.raises(InputError, match=said):
        CaseTag(**({"benchmark": "demo", "case_id": "c1", "tag": "x", "reviewer": "Dr A"} | given))


def test_what_is_no_view_is_refused() -> None:
    too_long = "x" * (LONGEST_VIEW + 1)
    for name, reviewer, fragment in (("", "A", ""), (too_long, "A", ""), ("x", " ", ""), ("x", "A", "x" * 9999)):
        with pytest.raises(InputError):
            SavedView("demo", name, reviewer, fragment)
    assert CaseTag("demo", "c1", "a\0b", "Dr A").tag == "a\ufffdb", "no database holds a NUL"


def _cannot_be_changed(where: str | Path) -> None:
    engine = sa.create_engine(database_url(where), poolclass=sa.NullPool)
    for statement in ("UPDATE mrb_events SET person = 'me'", "DELETE FROM mrb_events"):
        with pytest.raises(sa.exc.DBAPIError, match="never changed"), engine.begin() as connection:
            connection.execute(sa.text(statement))


def test_the_database_itself_refuses_to_change_them(tmp_path: Path) -> None:
    with open_store(tmp_path / "s.sqlite") as store:
        test_a_tag_is_there_until_who_added_it_removes_it(store)
        test_a_view_is_the_last_one_of_its_name(store)
    _cannot_be_changed(tmp_path / "s.sqlite")


def test_postgresql_keeps_the_same(postgresql: str) -> None:
    engine = sa.create_engine(database_url(postgresql), isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
    with engine.connect() as connection:
        connection.execute(sa.text("CREATE DATABASE tags"))
    where = postgresql.replace("/postgres?", "/tags?")
    with open_store(where) as store:
        test_a_tag_is_there_until_who_added_it_removes_it(store)
        test_a_view_is_the_last_one_of_its_name(store)
    _cannot_be_changed(where)
    with open_store(where, create=False) as store:
        assert isinstance(store.views("demo"), pd.DataFrame)
