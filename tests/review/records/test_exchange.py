"""Adjudications and tags go out as files, come in again once, and are found by whoever asks for them."""

from pathlib import Path

import pandas as pd
import pytest

import mrb_lib
from mrb_lib.demo.build import write_demo
from mrb_lib.review.records.exchange import (
    ADJUDICATION_SUFFIXES,
    read_reviews,
    reviews_from,
    write_reviews,
)
from mrb_lib.review.records.marks import REMOVED, Adjudication, CaseTag, Region
from mrb_lib.review.records.reviewed import TRUTH, Reviewed, reviewed, stamp
from mrb_lib.review.records.store import Store, open_store
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.files import REVIEWS


@pytest.fixture
def filled(store: Store) -> Store:
    note = '=HYPERLINK("x"), "quoted"\nline \u202e\N{STETHOSCOPE}'
    regions = (Region('=1".png', 1, 2, 3.5, 4), Region("b.dcm", 7, 8, frame=12))
    first = Adjudication(
        "demo", "-1", "NA", "gold_wrong", choice="B", answers={"reasons": ("+1", "a;b")}, note=note, regions=regions
    )
    store.add(first)
    store.add(Adjudication("demo", "'c", "None", "ambiguous", dimension="overall", judge="@judge", note="'"))
    store.add(Adjudication("demo", "-1", "NA", "withdrawn"))
    for tag in (
        CaseTag("demo", "-1", "=1+1", "NA"), CaseTag("demo", "-1", "'s \N{STETHOSCOPE}", "@b"),
        CaseTag("demo", "-1", "=1+1", "NA", REMOVED), CaseTag("demo", "never reviewed", "None", "NA"),
    ):  # fmt: skip
        store.add(tag)
    return store


def _write(store: Store, path: Path) -> None:
    write_reviews(store.adjudications("demo", history=True), store.tags("demo", history=True), path)


def _import(path: Path, store: Store) -> tuple[int, int]:
    added = store.restore(read_reviews(path, "demo"))
    return added["adjudication"], added["tag"]


@pytest.mark.parametrize("suffix", ADJUDICATION_SUFFIXES)
def test_a_store_comes_out_and_goes_into_another_unchanged(filled: Store, tmp_path: Path, suffix: str) -> None:
    history, tags = filled.adjudications("demo", history=True), filled.tags("demo", history=True)
    path = tmp_path / f"all{suffix}"
    _write(filled, path)
    with open_store(tmp_path / "other.sqlite") as other:
        assert _import(path, other) == (3, 4)
        assert _import(path, other) == (0, 0)
        pd.testing.assert_frame_equal(other.adjudications("demo", history=True), history)
        pd.testing.assert_frame_equal(other.tags("demo", history=True), tags)
    adjudications, of_file = reviews_from(str(path), "demo")
    pd.testing.assert_frame_equal(adjudications, filled.adjudications("demo"))
    assert len(adjudications) == 1
    pd.testing.assert_frame_equal(of_file, filled.tags("demo"))
    assert of_file["tag"].tolist() == ["'s \N{STETHOSCOPE}", "None"]


def test_no_cell_is_a_formula(filled: Store, tmp_path: Path) -> None:
    _write(filled, tmp_path / "a.csv")
    cells = pd.read_csv(tmp_path / "a.csv", dtype="str", keep_default_na=False)
    assert cells["note"].iloc[0].startswith("'=")
    assert cells["tag"].iloc[3].startswith("'=")
    assert not cells.map(lambda cell: cell.startswith(("=", "+", "-", "@"))).any(axis=None)


def test_tables_made_by_hand_are_imported_once(store: Store, tmp_path: Path) -> None:
    reviews = "verdict,choice,reasons\n7,Dr A,gold_wrong,tie,order effect; other\n8,B,ambiguous,,\n"
    for text, added in ((reviews, (2, 0)), ("tag\n7,Dr A,old film\n8,B, two   words \n", (0, 2))):
        path = tmp_path / "hand.csv"
        path.write_text(f"case_id,reviewer,{text}")
        assert (_import(path, store), _import(path, store)) == (added, (0, 0))
    assert store.tags("demo")["tag"].tolist() == ["old film", "two words"]
    frame = store.adjudications("demo")
    assert frame["case_id"].tolist() == ["7", "8"]
    assert frame["reasons"].tolist() == [["order effect", "other"], []]
    assert frame["choice"].isna().tolist() == [False, True]
    assert frame["created"].notna().all()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("case_id,reviewer\n1,a\n", "column verdict: is missing"),
        ("case_id,reviewer,verdict\n1,a,ambiguous\n1,a,bad\n", "row 2: .*'bad' is unknown"),
        ("case_id,reviewer,verdict,created\n1,a,ambiguous,yesterday\n", "row 1: .*'yesterday' is not a time"),
        ("case_id,reviewer,verdict,reasons\n1,a,ambiguous,[x\n", "row 1: .*not a JSON list"),
        ("case_id,reviewer,verdict,regions\n1,a,ambiguous,[x\n", "row 1: .*not a JSON list"),
        ("case_id,reviewer,verdict,regions\n1,a,ambiguous,[1]\n", "row 1: .*is not a list of image, x, y"),
        (
            'case_id,reviewer,verdict,regions\n1,a,ambiguous,"[{""image"": ""i"", ""x"": -1, ""y"": 0}]"\n',
            "row 1: .*x -1 is not a number of pixels",
        ),
        (
            'case_id,reviewer,verdict,regions\n1,a,ambiguous,"[{""image"": ""i"", ""x"": 1, ""y"": 0, ""frame"": 0}]"',
            "row 1: .*frame 0 is not a number from 1",
        ),
        ("case_id,reviewer,verdict,benchmark\n1,a,ambiguous,else\n", "is about benchmark 'else'"),
        ("case_id,reviewer,verdict,tag\n1,a,,old film\n1,a,ambiguous,old film\n", "row 2: has a verdict and a tag"),
        ("case_id,reviewer,verdict,tag\n1,a,ambiguous,\n1,a,," + 50 * "x" + "\n", "row 2: .*tag has 50 characters"),
        ("case_id,reviewer,tag,action\n1,a,old film,lost\n", "row 1: .*action 'lost' is unknown"),
        ("case_id,reviewer,tag,benchmark\n1,a,old film,else\n", "is about benchmark 'else'"),
        ("", "is empty; write a header"),
    ],
)
def test_what_is_wrong_is_named_and_nothing_is_stored(store: Store, tmp_path: Path, content: str, words: str) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(content)
    with pytest.raises(InputError, match=words):
        _import(path, store)
    assert store.adjudications("demo", history=True).empty
    assert store.tags("demo", history=True).empty


def test_files_that_are_none(store: Store, tmp_path: Path) -> None:
    for name, words in {"b.csv": "file is missing", "c.txt": "must end with"}.items():
        with pytest.raises(InputError, match=words):
            _import(tmp_path / name, store)


def test_a_tag_that_was_removed_here_is_not_brought_back_by_an_older_file(filled: Store, tmp_path: Path) -> None:
    _write(filled, tmp_path / "older.parquet")
    with open_store(tmp_path / "other.sqlite") as other:
        other.add(CaseTag("demo", "never reviewed", "None", "NA", REMOVED))
        assert _import(tmp_path / "older.parquet", other) == (3, 4)
        assert "never reviewed" not in set(other.tags("demo")["case_id"])


def _adjudicate(study: mrb_lib.Study, path: Path, reviewer: str) -> None:
    with open_store(path) as store:
        case = str(study.benchmark.cases["case_id"].iloc[0])
        store.add(Adjudication(study.benchmark.meta.name, case, reviewer, "ambiguous"))


def test_simulated_reviewers_stand_in_until_somebody_has_reviewed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MRB_STORE", raising=False)
    write_demo(tmp_path / "demo", cases=18, seed=1)
    study = mrb_lib.open(tmp_path / "demo")
    own = tmp_path / "demo" / REVIEWS

    def found() -> Reviewed:
        return reviewed(study.benchmark, study.judges)

    before = found()
    assert "SIMULATED" in before.note and before.reason == "" == stamp(study.benchmark)
    assert before.adjudications["reviewer"].str.contains("SIMULATED").all()
    open_store(own).close()  # as to open the explorer does: the report lost its page on adjudication then
    empty = stamp(study.benchmark)
    assert (found().note, found().reason) == (before.note, before.reason)
    pd.testing.assert_frame_equal(found().adjudications, before.adjudications)
    (tmp_path / "demo" / TRUTH).unlink()
    assert "its store holds nothing" in found().reason

    _adjudicate(study, own, "Dr A")
    assert found().adjudications["reviewer"].tolist() == ["Dr A"]
    assert (found().note, found().reason) == ("", "")
    one = stamp(study.benchmark)
    assert one == stamp(study.benchmark) != empty
    _adjudicate(study, own, "Dr B")
    assert stamp(study.benchmark) != one

    _adjudicate(study, tmp_path / "team.sqlite", "Dr T")
    monkeypatch.setenv("MRB_STORE", str(tmp_path / "team.sqlite"))
    assert found().adjudications["reviewer"].tolist() == ["Dr T"], "a store that is named goes before"
    monkeypatch.setenv("MRB_STORE", str(tmp_path / "absent.sqlite"))
    with pytest.raises(InputError, match="absent"):
        found()
