"""What annotators did comes out whole: as annotations, as a log and as progress; who they are is kept apart."""

import shutil
from pathlib import Path

import pandas as pd
import pytest

from mrb_lib.benchmarks.benchmark import Benchmark, load
from mrb_lib.benchmarks.formats.table import read
from mrb_lib.review.records.exchange import (
    LOG_COLUMNS,
    PEOPLE,
    add_people,
    annotations_of,
    answer_log,
    by_annotator,
    case_states,
    counting_choices,
    read_people,
    skipped_cases,
    summary,
    write_annotations,
)
from mrb_lib.review.records.marks import AnnotatorAnswer, Comment
from mrb_lib.review.records.store import Store
from mrb_lib.tables.errors import InputError

FORMULA = "=cmd|' /C calc'!A0"
DIMENSIONS = ("accuracy", "overall")
HEAD = "annotator,qualification,years,consent\n"


@pytest.fixture
def answered(pictured: Benchmark, store: Store) -> Benchmark:
    name, cases = pictured.meta.name, pictured.cases["case_id"]
    for case, dimension, choice, order, why, seconds in (
        (cases[1], "overall", "A", "BA", "", 30.0), (cases[1], "overall", "B", "BA", "", 12.5),
        (cases[0], "overall", "tie", "AB", "", None), (cases[0], "accuracy", None, "AB", FORMULA, 60.0),
        ("gone", "overall", "A", "AB", "", 1.0), (cases[0], "charm", "A", "AB", "", 1.0),
    ):  # fmt: skip
        store.add(AnnotatorAnswer(name, case, "Dr A", dimension, choice, order, why, seconds))
    store.add(AnnotatorAnswer(name, cases[1], "Dr", "accuracy", "tie", "AB"), Comment(name, cases[2], "Dr B", FORMULA))
    store.add(Comment(name, "gone", "Dr B", "where is it?"))
    return pictured


def test_annotations_are_sorted_the_last_word_counts_and_they_are_read_again(
    answered: Benchmark, store: Store, tmp_path: Path
) -> None:
    frame, left_out = annotations_of(answered, store)
    one, two = answered.cases["case_id"].head(2)
    assert left_out == 2
    assert list(frame.columns) == ["case_id", "annotator", "dimension", "choice"]
    assert frame.to_numpy().tolist() == [
        [one, "Dr A", "overall", "tie"], [two, "Dr", "accuracy", "tie"], [two, "Dr A", "overall", "B"],
    ]  # fmt: skip
    assert answered.path is not None
    shutil.copytree(answered.path, tmp_path / "bench")
    write_annotations(frame, tmp_path / "bench" / "annotations.parquet")
    pd.testing.assert_frame_equal(load(tmp_path / "bench").annotations, frame)
    write_annotations(frame, tmp_path / "annotations.csv")
    answered.cases.assign(images=[[]] * len(answered.cases)).to_parquet(tmp_path / "cases.parquet")
    found = read(tmp_path).benchmark.annotations
    pd.testing.assert_frame_equal(found[list(frame.columns)].reset_index(drop=True), frame)
    with pytest.raises(InputError, match=r"must end with \.parquet or \.csv"):
        write_annotations(frame, tmp_path / "out.xlsx")


def test_every_row_of_the_log_is_there_with_what_was_shown(answered: Benchmark, store: Store) -> None:
    log, left_out = answer_log(answered, store)
    assert tuple(log.columns) == LOG_COLUMNS
    assert left_out == 3
    assert log["kind"].tolist() == ["choice", "choice", "choice", "skip", "choice", "comment"]
    assert log["counts"].tolist() == [False, True, True, True, True, True]
    assert log["shown_as"].dropna().tolist() == ["second", "first", "tie", "tie"]
    assert log["seconds"].fillna(-1).tolist() == [30.0, 12.5, -1.0, 60.0, -1.0, -1.0]
    assert log["skipped_reason"].dropna().tolist() == log["comment"].dropna().tolist() == [FORMULA]
    assert log["created"].str.endswith("Z").all()
    keys = ["case_id", "annotator", "dimension", "choice"]
    annotations, _ = annotations_of(answered, store)
    assert sorted(map(tuple, counting_choices(log)[keys].to_numpy())) == sorted(map(tuple, annotations.to_numpy()))


def test_progress_is_counted_from_what_was_assigned_and_answered() -> None:
    assigned = pd.DataFrame({"case_id": ["c1", "c2", "c3", "c1"], "annotator": ["a", "a", "a", "b"]}, dtype="str")
    rows = [
        ("c1", "a", "accuracy", "A", ""), ("c1", "a", "overall", "tie", ""), ("c2", "a", "accuracy", "B", ""),
        ("c2", "a", "overall", None, "blurred"), ("c3", "a", "accuracy", "B", ""), ("c3", "a", "charm", "B", ""),
        ("c9", "b", "accuracy", "A", ""),
    ]  # fmt: skip
    columns = ["case_id", "annotator", "dimension", "choice", "skipped_reason"]
    answers = pd.DataFrame(rows, columns=columns, dtype="str").assign(created=[f"2026-01-01T10:0{i}" for i in range(7)])
    states = case_states(assigned, answers, DIMENSIONS)
    assert states["state"].tolist() == ["done", "skipped", "open", "open"]
    assert states[["answered", "n_skipped"]].to_numpy().tolist() == [[2, 0], [1, 1], [1, 0], [0, 0]]
    people = by_annotator(states).set_index("annotator")
    assert people.loc["a"].tolist() == [3, 1, 1, 1, "2026-01-01T10:04"]
    assert people.loc["b", ["assigned", "done", "skipped", "open"]].tolist() == [1, 0, 0, 1]
    assert pd.isna(people.loc["b", "last"])
    assert skipped_cases(answers, DIMENSIONS).drop(columns="last").to_dict("records") == [
        {"case_id": "c2", "annotator": "a", "dimensions": "overall", "reason": "blurred"}
    ]


def test_people_are_added_replaced_and_kept_to_their_owner(tmp_path: Path) -> None:
    source = tmp_path / "people.csv"
    source.write_text(HEAD + "Dr A,radiologist,12,written 2026-01-02\nDr B,,,\n")
    add_people(tmp_path, source)
    source.write_text(HEAD + 'Dr B,"resident, radiology",1.5,oral\nDr C,=radiologist,4,\n')
    people = add_people(tmp_path, source)
    kept = read_people(tmp_path / PEOPLE)
    assert (
        kept.sort_values("annotator")["annotator"].tolist() == sorted(people["annotator"]) == ["Dr A", "Dr B", "Dr C"]
    )
    by_name = kept.set_index("annotator")
    assert by_name.loc["Dr B"].tolist() == ["resident, radiology", 1.5, "oral"]
    assert by_name.loc["Dr C", "qualification"] == "=radiologist"
    assert "'=radiologist" in (tmp_path / PEOPLE).read_text(), "no spreadsheet runs it"
    assert (tmp_path / PEOPLE).stat().st_mode & 0o077 == 0
    assert read_people(tmp_path / "none.csv").empty


def test_the_summary_names_nobody(tmp_path: Path) -> None:
    source = tmp_path / "people.csv"
    source.write_text(HEAD + "Dr A,radiologist,12,written\nDr B,radiologist,4,\nDr X,surgeon,30,written\n")
    found = summary(read_people(source), ["Dr A", "Dr B", "Dr Z"])
    assert found.to_numpy().tolist()[0] == ["radiologist", 2, 8.0, 1]
    assert found["qualification"].tolist() == ["radiologist", "not said"]
    assert "Dr" not in found.to_csv()


def test_bad_files_are_one_line(tmp_path: Path) -> None:
    source = tmp_path / "people.csv"
    for text, words in (
        ("name,years\nx,1\n", "needs the columns"),
        (HEAD, "a row for every"),
        (HEAD + "a,b,many,\n", "row 1: years 'many'"),
        (HEAD + "a,b,1,\na,c,2,\n", "'a' occurs twice"),
        (HEAD + ",b,1,\n", "annotator is empty"),
    ):
        source.write_text(text)
        with pytest.raises(InputError, match=words):
            add_people(tmp_path, source)
    with pytest.raises(InputError, match="no such file"):
        add_people(tmp_path, tmp_path / "gone.csv")
    assert not (tmp_path / PEOPLE).exists()
