"""What a store keeps, what counts of it, and what it says when it cannot be used."""

from __future__ import annotations

from dataclasses import asdict, fields, replace
from pathlib import Path

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
from mrb_lib.review.records.store import Store, database_url, open_store
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.questions import REASONS, adjudication_columns

HOSTILE = "<script>alert(1)</script>\u202e '; DROP TABLE mrb_adjudications; -- \N{STETHOSCOPE} \u05d0"


def _right(case: str = "c1", reviewer: str = "Dr A", **options: object) -> Adjudication:
    return Adjudication(
        **{"benchmark": "demo", "case_id": case, "reviewer": reviewer, "verdict": "gold_right"} | options
    )


def test_an_adjudication_comes_back_as_it_was(store: Store) -> None:
    given = Adjudication(
        "demo", HOSTILE, HOSTILE, "gold_wrong", choice="tie", dimension="accuracy", judge=HOSTILE,
        answers={"reasons": ("order effect", HOSTILE), "severity": "mild", "reasoning": "not_about_image"},
        note=HOSTILE, regions=(Region(HOSTILE, 1, 2.5, 30, 40), Region("b.png", 0, 0)),
        supersedes="before", case_fingerprint="f",
    )  # fmt: skip
    store.add(given)
    frame = store.adjudications("demo")
    assert tuple(frame.columns) == adjudication_columns()
    row = frame.iloc[0].to_dict()
    created = row.pop("created")
    answers = {**given.answers, "reasons": ["order effect", HOSTILE]}
    assert row == answers | {name: getattr(given, name) for name in row.keys() - answers.keys()} | {
        "regions": [asdict(region) for region in given.regions]
    }
    age = pd.Timestamp.now("UTC") - pd.Timestamp(created)
    assert abs(age.total_seconds()) < 600
    assert created.endswith("Z")


def test_an_empty_store_has_the_columns(store: Store) -> None:
    assert tuple(store.adjudications("demo").columns) == adjudication_columns()
    assert store.annotations("demo").empty
    assert store.latest_change("demo") == 0


def test_the_same_adjudication_twice_counts_once(store: Store) -> None:
    one = _right()
    store.add(one)
    store.add(one)
    assert len(store.adjudications("demo", history=True)) == 1
    with pytest.raises(InputError, match="another content"):
        store.add(replace(one, note="changed"))
    assert store.adjudications("demo")["note"].tolist() == [""]


def test_the_last_word_of_each_reviewer_counts_and_history_stays(store: Store) -> None:
    store.add(_right())
    store.add(_right(reviewer="Dr B"))
    store.add(_right(verdict="ambiguous"))
    store.add(_right(verdict="image_unusable", dimension="accuracy"))
    now = store.adjudications("demo")
    assert list(zip(now["reviewer"], now["verdict"], strict=True)) == [
        ("Dr B", "gold_right"), ("Dr A", "ambiguous"), ("Dr A", "image_unusable"),
    ]  # fmt: skip
    assert len(store.adjudications("demo", history=True)) == 4
    assert store.adjudications("another").empty


def test_a_withdrawal_takes_back_what_was_said_before_and_not_what_comes_after(store: Store) -> None:
    store.add(_right(judge="j1"))
    store.add(_right(judge="j2"))
    store.add(_right(reviewer="Dr B"))
    store.add(_right(verdict="withdrawn", judge="j1"))
    assert store.adjudications("demo")["judge"].astype(object).where(lambda j: j.notna(), None).tolist() == ["j2", None]
    store.add(_right(verdict="withdrawn"))
    assert store.adjudications("demo")["reviewer"].tolist() == ["Dr B"]
    store.add(_right(verdict="ambiguous"))
    assert store.adjudications("demo")["verdict"].tolist() == ["gold_right", "ambiguous"]


def test_one_that_is_superseded_does_not_count_even_if_its_clock_was_ahead(store: Store) -> None:
    early, late = _right(), _right(verdict="ambiguous")
    store.restore([(early, "2026-01-01T12:00:00.000Z")])
    store.restore([(replace(late, supersedes=early.adjudication_id), "2026-01-01T11:59:59.000Z")])
    assert store.adjudications("demo")["verdict"].tolist() == ["ambiguous"]
    another = replace(late, reviewer="Dr B", adjudication_id="x", supersedes=late.adjudication_id)
    store.add(another)
    assert sorted(store.adjudications("demo")["reviewer"]) == ["Dr A", "Dr B"]


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
    ("change", "words"),
    [
        ({"verdict": "wrong"}, "'wrong' is unknown"),
        ({"verdict": "gold_wrong"}, "right choice is missing"),
        ({"answers": {"severity": "fatal"}}, "severity 'fatal' is unknown"),
        ({"judge": "j", "answers": {"reasoning": "good"}}, "reasoning 'good' is unknown"),
        ({"answers": {"severity": ["mild"]}}, "severity is not a text"),
        ({"answers": {"reasons": "mild"}}, "reasons is not a list"),
        ({"answers": {"reasons": ["x" * 256]}}, "reasons is too long"),
        ({"answers": {"colour": "red"}}, "question 'colour' is unknown; use one of reasons, severity, reasoning"),
        ({"choice": "A"}, "belongs to gold_wrong only"),
        ({"reviewer": " \n"}, "reviewer is empty"),
        ({"reviewer": "x" * 256}, "at most 255"),
        ({"case_id": "a\0b"}, "NUL"),
    ],
)
def test_what_is_no_adjudication_is_refused(change: dict[str, object], words: str) -> None:
    with pytest.raises(InputError, match=words):
        _right(**change)


@pytest.mark.parametrize(
    "entry",
    [
        _right(verdict="gold_wrong", choice="A", dimension="overall", judge="j", supersedes="x", case_fingerprint="f"),
        AnnotatorAnswer("demo", "c1", "r1", "overall", None, "AB", skipped_reason="blurred"),
        AnnotatorAnswer("demo", "c1", "r1", "overall", "A", "AB"),
        Comment("demo", "c1", "r1", "blurred"),
        CaseTag("demo", "c1", "old film", "Dr A"),
        SavedView("demo", "eyes", "Dr A", "organ=eye"),
    ],
)
def test_every_text_has_a_greatest_length(entry: Entry) -> None:
    texts = [one.name for one in fields(entry) if getattr(entry, one.name)]
    assert len(texts) > 4
    for name in texts:
        with pytest.raises(InputError, match=f"^{entry.KIND}.*: {name} has 100,001 characters"):
            replace(entry, **{name: "x" * 100_001})


def test_regions_and_reasons_have_a_greatest_size(store: Store) -> None:
    for change in ({"x": 1e10}, {"y": 10**400}, {"width": float("nan")}, {"frame": 10**10}, {"image": "x" * 10_001}):
        with pytest.raises(InputError, match=next(iter(change))):
            Region(**{"image": "a.png", "x": 0, "y": 0} | change)
    with pytest.raises(InputError, match="101 regions"):
        _right(regions=(Region("a.png", 0, 0),) * 101)
    for names in (["x" * 256], [f"reason {n}" for n in range(101)]):
        with pytest.raises(InputError, match="reasons is too long"):
            store.set_reasons(names)
    assert store.reasons() == list(REASONS)


def test_text_that_no_database_holds_is_mended(store: Store) -> None:
    store.add(_right(note="a\0b\ud800", answers={"reasons": ("x\0", "", "x\0")}))
    row = store.adjudications("demo").iloc[0]
    assert (row["note"], row["reasons"]) == ("a\ufffdb\ufffd", ["x\ufffd"])


def test_the_list_of_reasons_is_edited_and_earlier_ones_are_kept(store: Store, tmp_path: Path) -> None:
    assert store.reasons() == list(REASONS)
    store.set_reasons(["missed finding", " new ", "new"])
    assert store.reasons() == ["missed finding", "new"]
    store.set_reasons(["only"])
    assert store.reasons() == ["only"]
    engine = sa.create_engine(database_url(tmp_path / "reviews.sqlite"), poolclass=sa.NullPool)
    with engine.connect() as connection:
        assert connection.execute(sa.text("SELECT count(*) FROM mrb_events")).scalar() == 2
    with pytest.raises(InputError, match="none may be empty"):
        store.set_reasons(["a", " "])


def test_answers_become_annotations(store: Store) -> None:
    store.add(AnnotatorAnswer("demo", "c1", "r1", "accuracy", "A", "BA"))
    store.add(AnnotatorAnswer("demo", "c1", "r1", "overall", None, "AB", skipped_reason="blurred"))
    store.add(AnnotatorAnswer("demo", "c1", "r2", "accuracy", "tie", "AB"))
    changed = AnnotatorAnswer("demo", "c1", "r1", "accuracy", "B", "BA")
    store.add(changed)
    store.add(changed)
    assert store.annotations("demo").to_dict("list") == {
        "case_id": ["c1", "c1"], "annotator": ["r2", "r1"], "dimension": ["accuracy"] * 2, "choice": ["tie", "B"],
    }  # fmt: skip
    assert len(store.answers("demo", history=True)) == 4
    assert store.answers("demo")["skipped_reason"].tolist() == ["blurred", "", ""]
    with pytest.raises(InputError, match="not both"):
        AnnotatorAnswer("demo", "c1", "r1", "accuracy", None, "AB")
    with pytest.raises(InputError, match="order 'ab' is unknown"):
        AnnotatorAnswer("demo", "c1", "r1", "accuracy", "A", "ab")


def test_answers_of_one_annotator_to_one_case(store: Store) -> None:
    for case, who, choice in (("c1", "r1", "A"), ("c1", "r2", "B"), ("c2", "r1", "tie"), ("c1", "r1", "B")):
        store.add(AnnotatorAnswer("demo", case, who, "overall", choice, "AB"))
    assert store.answers("demo", annotator="r1")["choice"].tolist() == ["tie", "B"]
    assert store.answers("demo", annotator="r1", case_id="c1")["choice"].tolist() == ["B"]
    assert store.answers("demo", case_id="c1", history=True)["choice"].tolist() == ["A", "B", "B"]
    assert store.answers("demo", annotator="r3").empty


def test_an_assignment_never_moves_under_an_annotator(store: Store) -> None:
    columns = ["case_id", "annotator", "position", "order"]
    first = pd.DataFrame([("c2", "r1", 0, "AB"), ("c1", "r1", 1, "BA"), ("c1", "r2", 0, "AB")], columns=columns)
    again = pd.DataFrame([("c3", "r1", 0, "AB"), ("c2", "r1", 1, "BA")], columns=columns)
    assert store.assign("demo", first) == 3
    assert store.assign("demo", again) == 1
    mine = store.assignments("demo", "r1")
    assert mine["case_id"].tolist() == ["c2", "c1", "c3"]
    assert mine["order"].tolist() == ["AB", "BA", "AB"]
    assert len(store.assignments("demo")) == 4
    assert store.latest_change("demo") == 4


def test_a_number_grows_with_every_change(store: Store) -> None:
    seen = [store.latest_change("demo")]
    store.add(_right())
    seen.append(store.latest_change("demo"))
    store.add(AnnotatorAnswer("demo", "c1", "r1", "accuracy", "A", "AB"))
    seen.append(store.latest_change("demo"))
    store.set_reasons(["x"])
    seen.append(store.latest_change("demo"))
    store.add(_right(benchmark="another"))
    assert seen == [0, 1, 2, 3]
    assert store.latest_change("demo") == 3


def test_what_is_kept_is_there_when_the_store_is_opened_again(tmp_path: Path) -> None:
    with open_store(tmp_path / "s.sqlite") as store:
        store.add(_right())
    with open_store(f"sqlite:///{tmp_path}/s.sqlite", create=False) as store:
        assert len(store.adjudications("demo")) == 1


def test_stores_that_cannot_be_used_say_so(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no store"):
        open_store(tmp_path / "none.sqlite", create=False)
    assert not (tmp_path / "none.sqlite").exists()
    with pytest.raises(InputError, match="its folder does not exist"):
        open_store(tmp_path / "no" / "s.sqlite")
    (tmp_path / "text.sqlite").write_text("this is no database, however long it goes on" * 40)
    with pytest.raises(InputError, match="cannot be used"):
        open_store(tmp_path / "text.sqlite")
    (tmp_path / "empty.sqlite").touch()
    with pytest.raises(InputError, match="holds no store"):
        open_store(tmp_path / "empty.sqlite", create=False)
    with pytest.raises(InputError, match="not a kind of database"):
        open_store("nosuch://x/y")


def test_a_store_of_a_later_version_is_refused_with_what_helps(tmp_path: Path) -> None:
    open_store(tmp_path / "s.sqlite").close()
    engine = sa.create_engine(database_url(tmp_path / "s.sqlite"), poolclass=sa.NullPool)
    with engine.begin() as connection:
        connection.execute(sa.text("UPDATE mrb_meta SET value = '99'"))
    with pytest.raises(InputError, match=r"version 99 and the workbench reads version \d+; update the workbench"):
        open_store(tmp_path / "s.sqlite")


@pytest.mark.parametrize(
    "url", ["postgresql://u:s3cret@/x?host=/nonexistent", "nosuch://u:s3cret@h/x", "://u:s3cret@h"]
)
def test_no_message_shows_a_password(url: str) -> None:
    with pytest.raises(InputError) as caught:
        open_store(url)
    assert "s3cret" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_postgresql_keeps_the_same(postgresql: str) -> None:
    engine = sa.create_engine(database_url(postgresql), isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
    with engine.connect() as connection:
        connection.execute(sa.text("CREATE DATABASE one"))
    with open_store(postgresql.replace("/postgres?", "/one?")) as store:
        test_an_adjudication_comes_back_as_it_was(store)
        store.add(_right(case="c9", note="a\0b"))
        one = _right(case="c8")
        store.add(one)
        store.add(one)
        with pytest.raises(InputError, match="another content"):
            store.add(replace(one, note="changed"))
        assert len(store.adjudications("demo", history=True)) == 3
        store.set_reasons(["x"])
        assert store.reasons() == ["x"]
    with open_store(postgresql.replace("/postgres?", "/one?")) as store:
        frame = pd.DataFrame([("c2", "r1", 0, "AB")], columns=["case_id", "annotator", "position", "order"])
        assert (store.assign("other", frame), store.assign("other", frame)) == (1, 0)
        store.add(AnnotatorAnswer("other", "c2", "r1", "overall", "tie", "AB"))
        assert store.annotations("other")["choice"].tolist() == ["tie"]
