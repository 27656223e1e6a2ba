"""What qualifies annotators stands in a file of its own, which names nobody in what may be published."""

from __future__ import annotations

from pathlib import Path

import pytest

from mrb_lib.review.records.exchange import PEOPLE, add_people, read_people, summary
from mrb_lib.tables.errors import InputError

HEAD = "annotator,qualification,years,consent\n"


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
