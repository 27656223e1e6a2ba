"""A probe of a user's own file: read whole or refused, applied by case id, and never taken for another's."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from mrb_lib.probes import PROBES, Case, ProbeId, Probing
from mrb_lib.probes.expectation import UNKNOWN, Known, known
from mrb_lib.probes.from_file import file_probes, is_file_probe, probe_from_file
from mrb_lib.tables.errors import InputError

CASES = pd.DataFrame(
    {"case_id": ["007", "c2", "7"], "question": ["q", "r", "s"], "response_a": ["a", "aa", "aaa"], "response_b": "b"}
)


def _probed(path: Path) -> Callable[[str], Case | str]:
    [(name, one)] = file_probes([path]).items()
    return lambda case_id: Probing(CASES, files={name: one}).probed(case_id, ProbeId(name))


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet", ".xlsx"])
def test_a_file_replaces_what_it_holds(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"mine_1{suffix}"
    rows = [{"case_id": "007", "question": "NA"}, {"case_id": "c2", "question": " "}]
    frame = pd.DataFrame(rows)
    if suffix == ".csv":
        frame.to_csv(path, index=False)
    elif suffix == ".jsonl":
        path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    else:
        (frame.to_parquet if suffix == ".parquet" else frame.to_excel)(path, index=False)
    made = probe_from_file(path)
    assert (made.probe.name, made.probe.changes, made.probe.expected) == ("question/file-mine_1", "question", "same")
    assert made.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert made.case_ids == ("007", "c2")
    assert made.probe.name not in PROBES, "another command of this process has other files"
    probed = _probed(path)
    assert probed("007") == Case("007", "NA", "a", "b")
    assert probed("c2") == "the file changes nothing of it"
    assert probed("7") == "the file has no row for it"


def test_a_file_of_responses_may_change_questions_too_and_an_edited_file_is_read_anew(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text('case_id,question,response_b,more\nc2,Why?,"{A}, <<<",x\n', encoding="utf-8")
    first = probe_from_file(path)
    assert (first.probe.name, first.probe.changes) == ("response/file-mine", "response")
    assert _probed(path)("c2") == Case("c2", "Why?", "aa", "{A}, <<<")
    path.write_text("case_id,response_b\nc2,other\n", encoding="utf-8")
    assert _probed(path)("c2") == Case("c2", "r", "aa", "other")
    assert probe_from_file(path).sha256 != first.sha256


def test_two_files_share_a_name_only_where_they_are_one(tmp_path: Path) -> None:
    for folder, text in (("a", "x"), ("b", "x"), ("c", "y")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "f.csv").write_text(f"case_id,question\n7,{text}\n", encoding="utf-8")
    (tmp_path / "f.csv").write_text("case_id,response_a\n7,x\n", encoding="utf-8")
    paths = [tmp_path / "a" / "f.csv", tmp_path / "b" / "f.csv", tmp_path / "f.csv"]
    assert list(file_probes(paths)) == ["question/file-f", "response/file-f"]
    with pytest.raises(InputError, match="another probe is called question/file-f; give the file another name"):
        file_probes([*paths, tmp_path / "c" / "f.csv"])


def test_verdicts_of_a_file_that_is_not_at_hand_should_be_the_same() -> None:
    for name in ("question/file-deutsch", "response/file-a_B-1"):
        assert known(name) == Known(name, 1, "same", False, "")
    for name in ("image/file-x", "question/file-", "question/file-a b", "question/file-x\n", "question/file-x:2"):
        assert not is_file_probe(name)
        assert known(name).reason == UNKNOWN


@pytest.mark.parametrize(
    ("name", "content", "match"),
    [
        ("a b.csv", b"case_id,question\nc,x\n", "name it by letters"),
        ("a.doc", b"case_id,question\nc,x\n", "is no file of .csv"),
        ("a.csv", b"question\nx\n", "an id in every row"),
        ("a.csv", b"case_id,text\nc,x\n", "needs a column question"),
        ("a.csv", b"case_id,question\nc,x\nc,y\n", "'c' has more than one row"),
        ("a.csv", b"case_id,question\n,x\n", "an id in every row"),
        ("a.csv", b"case_id,question\n", "an id in every row"),
        ("a.csv", b"", "is empty"),
        ("a.csv", b"case_id,question\nc,\xff\n", "is not UTF-8 text"),
        ("a.jsonl", b"{", "line 1: is not valid JSON"),
        ("a.jsonl", b'{"case_id": "c", "question": 4}', "question is no text"),
        ("a.jsonl", b'{"case_id": "c", "question": ["x"]}', "question is no text"),
        ("a.jsonl", b'{"case_id": 1.5, "question": "x"}', "an id in every row"),
        ("a.parquet", b"PAR1", "is damaged"),
        ("a.parquet", None, "the file is missing"),
    ],
)
def test_a_file_that_is_no_probe(tmp_path: Path, name: str, content: bytes | None, match: str) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match=match) as error:
        probe_from_file(path)
    assert "\n" not in str(error.value)
