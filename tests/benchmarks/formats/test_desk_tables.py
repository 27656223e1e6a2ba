"""Tables from people's desks: Excel, other separators and encodings, one file for everything, names typed by hand."""

import json
import unicodedata
from collections.abc import Sequence
from pathlib import Path

import openpyxl
import pandas as pd
import pytest

from mrb_lib.benchmarks.audit.folder import audit
from mrb_lib.benchmarks.benchmark import load, save
from mrb_lib.benchmarks.formats import Imported, read_rows, read_source
from mrb_lib.benchmarks.formats.sources import read_cells
from mrb_lib.stats.where import case_lookup, matching
from mrb_lib.tables.errors import InputError, MrbError

from .conftest import PLAIN, imported, png, said

HEADER = ["Fall", "Frage", "Antwort 1", "Antwort 2", "Leser", "Urteil", "Alter", "Dosis"]
MAP = ["Fall=case_id", "Frage=question", "Antwort 1=response_a", "Antwort 2=response_b", "Leser=annotator",
       "Urteil=choice"]  # fmt: skip
LABELS = "erste=A,zweite=B,beide gleich=tie"
GERMAN = {"map_": MAP, "labels": LABELS}
ROWS = [
    ["T1", "Sieht man Luft?", "Ja, links", "Nein", "Dr. Kühn", "erste", "61", "0,5"],
    ["T1", "Sieht man Luft?", "Ja, links", "Nein", "Dr. Groß", "zweite", "61", "0,5"],
    ["T2", "Ist das Herz groß?", "Nein", "Ja, deutlich", "Dr. Kühn", "beide gleich", "7", "1.250,25"],
    ["T2", "Ist das Herz groß?", "Nein", "Ja, deutlich", "Dr. Groß", "", "7", "1.250,25"],
]
POINTED = [[*row[:-1], row[-1].replace("1.250,25", "1250.25").replace("0,5", "0.5")] for row in ROWS]


def export(
    rows: Sequence[Sequence[str]] = ROWS, separator: str = ";", encoding: str = "utf-8", first: str = ""
) -> bytes:
    lines = [separator.join(row) for row in (HEADER, *rows)]
    return (first + "\r\n".join(lines) + "\r\n").encode(encoding)


NAMELESS = export([[*row, "", ""] for row in ROWS] + [[""] * 10]).replace(b"Dosis", b"Dosis;;")


def workbook(path: Path, **sheets: Sequence[Sequence[object]]) -> Path:
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


def check_export(made: Imported) -> None:
    bench = made.benchmark
    assert bench.cases["case_id"].tolist() == ["T1", "T2"]
    assert bench.cases["response_a"].tolist() == ["Ja, links", "Nein"]
    assert bench.cases["Alter"].tolist() == [61, 7]
    assert matching("Alter > 10", case_lookup(bench.cases)).tolist() == [True, False]
    assert bench.cases["Dosis"].tolist() == [0.5, 1250.25]
    assert bench.meta.dimensions == ("overall",)
    labels = bench.annotations[["case_id", "annotator", "choice"]].to_numpy().tolist()
    assert labels == [["T1", "Dr. Kühn", "A"], ["T1", "Dr. Groß", "B"], ["T2", "Dr. Kühn", "tie"]]
    for finding in (
        "1 labels are blank; they are left out",
        "erste -> A (1)",
        "no column says the dimension, so it is",
    ):
        assert finding in said(made)


@pytest.mark.parametrize(
    ("content", "about"),
    [
        (export(), "semicolons, UTF-8"),
        (export(encoding="utf-8-sig"), "semicolons, UTF-8"),
        (export(encoding="cp1252"), "semicolons, Windows-1252"),
        (export(first="sep=;\r\n"), "semicolons, UTF-8"),
        (export(encoding="utf-16"), "semicolons, UTF-16"),
        (NAMELESS, "semicolons, UTF-8"),
        (export(POINTED, "\t"), "tabs, UTF-8"),
        (export(POINTED, "|"), "bars, UTF-8"),
    ],
)
def test_one_file_with_a_row_per_case_and_reader(tmp_path: Path, content: bytes, about: str) -> None:
    made = imported(tmp_path / "befund.txt", content, **GERMAN)
    check_export(made)
    assert made.understood[0] == f"{tmp_path / 'befund.txt'}: CSV, {about}, 4 rows"


@pytest.mark.parametrize(
    ("text", "encoding", "name"),
    [("左肺有结节吗", "gbk", "GB 18030"), ("肺に結節がありますか", "cp932", "Shift-JIS")]
    + [
        (text, "cp1252", "Windows-1252")
        for text in ("ÄÖÜß", "one\u00a0\u00a0\u00a0\u00a0two", "one ———— two", "one ···· two", "Größe über Köln")
    ],
)
def test_exports_of_east_and_west_are_told_apart(tmp_path: Path, text: str, encoding: str, name: str) -> None:
    made = imported(tmp_path / "x.csv", f"{PLAIN}\n1,{text},a,b\n".encode(encoding))
    assert made.benchmark.cases["question"].tolist() == [text]
    assert f"was read as {name}" in str(made.findings[0])


TALK = f"{PLAIN},annotator,accuracy,relevance,date,gpt\n1,q,a,b,X,A,A,,A\n1,q,a,b,Y,A,A,,A\n"
WINNERS = [("model_a", "model_b", "tie"), ("1", "2", "tie (bothbad)"), ("[[A]]", "[[B]]", "[[C]]"),
           ("A>B", "B>>A", "A=B"), ("Left", "right", "Draw"), ("Response A", "response_b", "Tie")]  # fmt: skip


def winners(*choices: str, more: str = "", cells: str = "") -> str:
    """A file with these labels in a column `winner`; `more` are further columns and `cells` theirs."""
    rows = "".join(f"{i},q{i},a,b{cells},{choice}\n" for i, choice in enumerate(choices))
    return f"{PLAIN}{more},winner\n{rows}"


def models(one: str, other: str, *choices: str) -> str:
    return winners(*choices, more=",model_a,model_b", cells=f",{one},{other}")


# A file, the options with which it is read, and what the columns of its cases, labels and verdicts hold.
READ: list[tuple[str, dict[str, object], dict[str, list[object]]]] = [
    ("Case ID, question ,Response A,RESPONSE_B,Annotator,Overall,organ,Organ\n7,q,a,b,Ann,A,eye,x\n", {},
     {"case_id": ["7"], "response_b": ["b"], "organ": ["eye"], "Organ": ["x"], "annotator": ["Ann"], "choice": ["A"]}),
    *((winners(*choices), {"map_": ["winner=choice"]}, {"choice": ["A", "B", "tie"]}) for choices in WINNERS),
    (winners(*"123"), {"map_": ["winner=choice"], "labels": "1=A,3=tie"}, {"choice": ["A", "B", "tie"]}),
    (winners('"B, slightly"'), {"map_": ["winner=choice"], "labels": '"B, slightly=B"'}, {"choice": ["B"]}),
    (models("left-7b", "right-7b", "left-7b", "right-7b", "tie"), {"map_": ["winner=choice"]},
     {"choice": ["A", "B", "tie"]}),
    (models("gpt", "other", "gpt", "other"), {"map_": ["winner=choice"], "labels": "gpt=A,OTHER=B"},
     {"choice": ["A", "B"]}),
    (models("gpt", "other", "gpt", "other"), {"map_": ["winner=choice"], "categories": "gpt,other"},
     {"choice": ["gpt", "other"]}),
    (models("2", "1", "1", "2"), {"map_": ["winner=choice"], "labels": "1=A,2=B"}, {"choice": ["A", "B"]}),
    (models("tie", "B", "tie", "A"), {"map_": ["winner=choice"]}, {"choice": ["tie", "A"]}),
    ("case_id;question;response_a;annotator;overall\n1;q;a;X;0,5\n2;q;b;X;1\n", {"categories": "0.5,1,1.5"},
     {"choice": ["0.5", "1"]}),
    ("question;response_a;response_b;dose;n;share\nq;2,5;1.250;1\u202f250,5;1.250;0.125\nr;0,25;b;0,25;12;7\n", {},
     {"dose": [1250.5, 0.25], "n": [1250, 12], "share": [0.125, 7], "response_a": ["2,5", "0,25"],
      "response_b": ["1.250", "b"]}),
    (f"{PLAIN},overall\n1,q,a,b,A\n", {"verdicts": ["overall"]}, {"judge": ["overall"], "order": ["AB"]}),
    (f"{PLAIN},images\n1,q,a,b,x.png;y.png\n2,q,c,d,\n", {}, {"images": [["x.png", "y.png"], []]}),
    (f'{PLAIN},images\n1,q,a,b,"[""x.png"", ""y.png""]"\n', {}, {"images": [["x.png", "y.png"]]}),
    (f"\ufeff{PLAIN}\n1,q,{'x' * 300_000},b\n", {}, {"case_id": ["1"]}),
]  # fmt: skip


@pytest.mark.parametrize(("text", "options", "columns"), READ)
def test_a_file_as_people_and_harnesses_write_it(
    tmp_path: Path, text: str, options: dict[str, object], columns: dict[str, list[object]]
) -> None:
    made = imported(tmp_path / "x.csv", text, **options)
    tables = (made.benchmark.cases, made.benchmark.annotations, made.verdicts)
    for name, values in columns.items():
        assert next(table[name] for table in tables if name in table and len(table)).tolist() == values, name


# A file, the options with which it is read, and what is said of it.
SAID: list[tuple[str, dict[str, object], str]] = [
    (f"Study 7\n\n{PLAIN},overall\n1,q,a,b,A\n , ,,,\n", {}, "1 rows above the header are skipped: Study 7"),
    ("Study 7, of May\n\n" + f"{PLAIN},overall\n1,q,a,b,A\n".replace(",", ";"), {}, "skipped: Study 7, of May"),
    (f"{PLAIN}\n\n1,q,a,b\n", {}, "1 blank lines"),
    (f"{PLAIN},\n1,q,a,b,x\n", {}, "1 columns have no name: unnamed 5"),
    (f"{PLAIN},accuracy,relevance,gpt\n1,q,a,b,A,A,B\n", {"verdicts": ["gpt"]}, "are on overall, which has no labels"),
    ("question;response_a;response_b;dose;version\nq;a;b;0,5;1.250\n", {},
     "1 columns hold names, fractions or thousands and stay text: version"),
    (f"{PLAIN},annotator,A,B\nc1,q,a,b,Dr X,x,\n", {}, "no column is named choice or after a dimension, so there are"),
    (f"{PLAIN},choice,accuracy\nc1,q,a,b,A,B\n", {}, "1 columns hold nothing but labels and are not"),
    (f"{PLAIN},annotator,overall,safety,group\n1,q,a,b,X,A,B,A1\n1,q,a,b,Y,A,tie,A1\n", {},
     "1 columns hold nothing but labels and are not read as such: safety;"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "options", "finding"), SAID)
def test_what_is_left_out_or_understood_otherwise_is_said(
    tmp_path: Path, text: str, options: dict[str, object], finding: str
) -> None:
    assert finding in said(imported(tmp_path / "x.csv", text, **options))


REFUSED: list[tuple[str, bytes | str, dict[str, object], str]] = [
    *((name, '{"question": "é"}\n'.encode(encoding), {}, f"{name}: is not UTF-8 text .*UTF-16 without a byte order mar")
      for name in ("x.csv", "x.jsonl") for encoding in ("utf-16-le", "utf-16-be")),
    ("x.jsonl", b'{"question": "x"}\n{"question": "caf\xe9"}\n', {}, "line 2: is not UTF-8 text but probably Windows"),
    ("x.xlsx", b"PK\x03\x04 cut off", {}, r"x\.xlsx: is not a readable \.xlsx workbook"),
    ("x.xls", b"PK\x03\x04 cut off", {}, r"x\.xls: is no file of .*; save it as \.xlsx or \.csv"),
    ("x.csv", export(), {}, 'has no columns question, response_a; name them with --map "THEIRS=question".*; it has F'),
    ("x.csv", export(), {"map_": MAP}, r"row 1, column choice: 3 labels are none of A, B, tie: 'erste' \(1\)"),
    ("x.csv", export(), {"map_": MAP, "labels": "erste"}, "'erste': is not a pair"),
    ("x.csv", export(), {"map_": MAP, "labels": "erste=C"}, "'C' is no label; use one of A, B, tie"),
    ("x.csv", winners('"B, slightly"'), {"map_": ["winner=choice"]}, r"--labels '\"B, slightly=\.\.\.\"'"),
    *(("x.csv", winners(*choices), {"map_": ["winner=choice"], "labels": labels}, f"1 labels are none of .*: '{label}'")
      for choices, labels, label in ((("-1", "1"), None, "-1"), (("- 1", "- A"), None, "- 1"), (("0", "1"), "0=A", "1"),
                                     (("0", "1"), None, "0"), (("1", "NA"), None, "NA"))),
    ("x.csv", models("2", "1", "1", "2"), {"map_": ["winner=choice"]},
     "row 1, column choice: '1' names the responder of B and may stand for A; write A or B"),
    ("x.csv", models("x", "Tie", "x", "Tie"), {"map_": ["winner=choice"]},
     "row 2, column choice: 'Tie' names the responder of B and may stand for tie"),
    ("x.csv", TALK, {"verdicts": ["gtp"]}, r"--verdicts gtp: there is no such column.* Did you mean gpt\?"),
    ("x.csv", f"{PLAIN},judge,gpt,choice\n1,q,a,b,j,A,B\n", {"verdicts": ["gpt"]}, "names its judges in the co"),
    ("x.csv", export([ROWS[0], [*ROWS[1][:2], "Ja, rechts", *ROWS[1][3:]]]), GERMAN,
     "row 2, column response_a: differs from an earlier row of the case T1"),
    *(("x.csv", TALK + row, {"verdicts": ["gpt"]}, message)
      for row, message in (("2,q,a,b,X,A,maybe,,A", "row 3, column choice"), ("2,q,a,b,X,A,A,,maybe", "row 3, column"),
                           ("2,q,a,b,X,A,A,May,A", "row 3, column date"),
                           ("2,q,a,b,X,A,A,,A\n2,q,a,b,X,A,A,,A", r"row 4 .*first in row 3\)"))),
    *(("x.json", json.dumps([{"case_id": 1, "question": "q", "response_a": "a", "response_b": "b", "images": stated}]),
       {}, "column images .*the image name") for stated in (5, {"path": "x.png"}, [{"path": "x.png"}])),
]  # fmt: skip


@pytest.mark.parametrize(("name", "content", "options", "message"), REFUSED)
def test_what_cannot_be_read_is_one_line_that_names_the_place_in_the_file(
    tmp_path: Path, name: str, content: bytes | str, options: dict[str, object], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        imported(tmp_path / name, content, **options)


@pytest.mark.parametrize(
    ("theirs", "shown"),
    [("k1\u200b", "'k1' followed by U\\+200B"), ("\ufeffk1", "'k1' preceded by U\\+FEFF"),
     ("k\u00ad1", "'k<U\\+00AD>1'"), ("k1 ", "'k1' followed by U\\+0020"), ("\uff4b1", "'\uff4b1'")],
)  # fmt: skip
def test_an_id_with_an_invisible_difference_names_it(tmp_path: Path, theirs: str, shown: str) -> None:
    files = {"cases.csv": f"{PLAIN}\nk1,q,a,b\n", "annotations.csv": f"case_id,annotator,choice\n{theirs},r,A\n"}
    with pytest.raises(InputError, match=f"row 1, column case_id: the case {shown} does not exist, but 'k1' does"):
        imported(tmp_path, files)


def test_ids_and_headers_are_the_same_whatever_a_file_stores_them_as(tmp_path: Path) -> None:
    texts = {"question": "q", "Response A": "a", "response_b": "b", "model_a": "m", "model_b": "n"}
    rows = [{"case_id": one, "annotator": by, **texts, "choice": "n"} for one, by in ((7, 1.0), (7.0, 2), ("7", "3"))]
    made = imported(tmp_path / "x.json", json.dumps(rows)).benchmark.annotations
    assert made[["case_id", "annotator", "choice"]].to_numpy().tolist() == [["7", by, "B"] for by in "123"]
    pd.DataFrame(rows).astype({"case_id": "float64", "annotator": "float64"}).to_parquet(tmp_path / "x.parquet")
    assert read_source("table", tmp_path / "x.parquet").benchmark.annotations.equals(made)
    assert [row.text("response_a") for row in read_rows(tmp_path / "x.json")] == ["a", "a", "a"]


@pytest.mark.parametrize("drop", [True, False])
def test_numbers_with_gaps_that_parquet_stores_as_fractions_are_winners_too(tmp_path: Path, drop: bool) -> None:
    rows = {"case_id": ["1", "2", "3"], "question": "q", "response_a": "a", "response_b": "b", "choice": [1.0, None, 2]}
    pd.DataFrame(rows).set_index("case_id", drop=drop).to_parquet(tmp_path / "x.parquet")
    made = read_source("table", tmp_path / "x.parquet")
    assert made.benchmark.annotations[["case_id", "choice"]].to_numpy().tolist() == [["1", "A"], ["3", "B"]]
    assert "1 labels are blank" in said(made)


def test_tables_of_a_folder_are_found_however_spelled_and_hidden_files_passed_over(tmp_path: Path) -> None:
    (tmp_path / "scans").mkdir()
    (tmp_path / "scans" / "x.png").write_bytes(png(9))
    files = {
        "Cases.CSV": f"{PLAIN},images\n1,q,a,b,x.png\n",
        "ANNOTATIONS.tsv": "case_id\tannotator\tchoice\n1\tX\tA\n",
    }
    locks = dict.fromkeys(("~$Cases.xlsx", "._Cases.CSV", "._x.parquet"), b"\0lock")
    made = imported(tmp_path, files | locks, images=tmp_path)
    assert len(made.benchmark.annotations) == 1
    assert not [finding for finding in made.findings if finding.severity == "warning"], made.findings
    made = imported(tmp_path, {"annotation.csv": "case_id,annotator,choice\n1,r,A\n"})
    assert "1 files are not read: annotation.csv" in said(made)


@pytest.mark.parametrize(
    ("stated", "names"), [("x.png;y.png", ["x.png", "y.png"]), ("", []), (None, []), (["x.png"], ["x.png"])]
)
def test_names_of_images_in_json_are_read_as_in_a_csv(tmp_path: Path, stated: object, names: list[str]) -> None:
    row = {"case_id": "1", "question": "q", "response_a": "a", "response_b": "b", "images": stated}
    assert imported(tmp_path / "x.json", json.dumps([row])).benchmark.cases["images"].tolist() == [names]


def talk(*replies: str) -> list[dict[str, str]]:
    return [{"role": "user" if i == 0 else "assistant", "content": text} for i, text in enumerate(replies)]


def test_a_talk_of_several_messages_is_asked_as_a_whole(tmp_path: Path) -> None:
    before = [{"role": "system", "content": "Be brief."}, *talk("Which view?")]
    whole = {name: [*before, {"role": "assistant", "content": text}] for name, text in PAIR.items()}
    apart = {"question": before[1:], **{name: messages[2:] for name, messages in whole.items()}}
    for row, question in ((whole, "system: Be brief.\n\nuser: Which view?"), (apart, "Which view?")):
        cases = imported(tmp_path / "x.json", json.dumps([row])).benchmark.cases
        assert cases["question"].tolist() == [question]
        assert {cases["response_a"][0], cases["response_b"][0]} == {*PAIR.values()}


PAIR = {"chosen": "PA.", "rejected": "AP."}


def test_chosen_and_rejected_are_put_on_sides_by_chance(tmp_path: Path) -> None:
    rows = [{"chosen": talk("What is seen?", f"right {i}"), "rejected": talk("", f"wrong {i}")} for i in range(60)]
    pd.DataFrame(rows).to_parquet(tmp_path / "train.parquet")
    made = read_source("table", tmp_path / "train.parquet").benchmark
    assert set(made.cases["question"]) == {"What is seen?"}
    choice = made.annotations["choice"]
    assert 15 < (choice == "A").sum() < 45
    assert made.cases["response_a"].str.startswith("right").tolist() == (choice == "A").tolist()


def test_conversations_of_an_arena_are_read_by_their_last_message(tmp_path: Path) -> None:
    talks = {"conversation_a": talk("Which view?", "Lateral."), "conversation_b": talk("Which view?", "PA.")}
    names = ["question_id=case_id", "conversation_a=response_a", "conversation_b=response_b", "winner=choice"]
    rows = json.dumps([{"question_id": "q1", **talks, "winner": "model_b"}])
    made = imported(tmp_path / "a.json", rows, map_=names).benchmark
    [texts] = made.cases[["question", "response_a", "response_b"]].to_numpy().tolist()
    assert texts == ["Which view?", "Lateral.", "PA."]
    assert made.annotations["choice"].tolist() == ["B"]


def test_a_column_of_numbers_like_1250_may_hold_names_and_an_answer_is_a_text(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("dose;n;version\n0,5;1.250;1.250\n1;12;\n")
    cells = read_cells(tmp_path / "x.csv").with_decimal_points
    assert (cells["dose"].tolist(), cells["n"].tolist()) == (["0.5", "1"], ["1.250", "12"])


def test_a_workbook_is_read_with_its_numbers_dates_and_merged_cells(tmp_path: Path) -> None:
    typed = [[*row[:6], int(row[6]), float(row[7])] for row in POINTED]
    path = workbook(tmp_path / "befund.xlsx", Tabelle1=[[], HEADER, *typed])
    book = openpyxl.load_workbook(path)
    for column in "ABCDGH":
        book["Tabelle1"].merge_cells(f"{column}3:{column}4")
    book["Tabelle1"]["I2"], book["Tabelle1"]["I3"] = "note", "#REF!"
    book["Tabelle1"].merge_cells("I3:I4")
    book.save(path)
    made = read_source("table", path, **GERMAN)
    check_export(made)
    assert made.benchmark.cases["note"].isna().all()


def test_a_workbook_may_hold_the_tables_as_sheets(tmp_path: Path) -> None:
    cases = [[*PLAIN.split(","), "seen", "sum"], [7, "q", "a", "b", pd.Timestamp("2024-05-06"), "#DIV/0!"]]
    annotations = [["case_id", "annotator", "accuracy", "Overall"], [7, "r", "A", "tie"]]
    made = read_source("table", workbook(tmp_path / "x.xlsx", Cases=cases, annotations=annotations, Urteile=cases))
    bench = made.benchmark
    assert bench.cases[["case_id", "seen"]].to_numpy().tolist() == [["7", "2024-05-06"]]
    assert bench.cases["sum"].isna().all()
    assert bench.annotations[["dimension", "choice"]].to_numpy().tolist() == [["accuracy", "A"], ["overall", "tie"]]
    assert "1 sheets are passed over: Urteile" in said(made)
    assert "1 cells hold an Excel error and are empty here" in said(made)


def test_of_a_workbook_zeros_stay_hidden_sheets_come_last_and_lost_values_are_counted(tmp_path: Path) -> None:
    head = [*PLAIN.split(","), "study", "note"]
    new = [["Study 7"], [], head, [7, "q", "a", "b", 10**15 + 0.5, '=CONCATENATE("x", "y")']]
    path = workbook(tmp_path / "x.xlsx", Alt=[head, [9, "old", "a", "b", 1, ""]], Neu=new)
    book = openpyxl.load_workbook(path)
    book["Alt"].sheet_state, book["Neu"]["A4"].number_format = "hidden", "000"
    book.save(path)
    made = read_source("table", path)
    assert made.benchmark.cases["case_id"].tolist() == ["007"]
    for finding in (
        "1 numbers have more digits than Excel keeps",
        "1 sheets are passed over: Alt",
        "1 formulas have no stored value and are empty here; open the file in Excel",
        "1 rows above the header are skipped: Study 7",
    ):
        assert finding in said(made)


def test_verdicts_in_a_column_are_of_the_judge_it_is_named_after(tmp_path: Path) -> None:
    rows = [[*row, {"T1": "1", "T2": ""}[row[0]]] for row in ROWS]
    content = export(rows).replace(b"Dosis", b"Dosis;gpt")
    made = imported(tmp_path / "x.csv", content, verdicts=["gpt"], **GERMAN)
    verdicts = made.verdicts[["judge", "case_id", "order", "status"]].to_numpy().tolist()
    assert verdicts == [["gpt", "T1", "AB", "ok"], ["gpt", "T2", "AB", "unparsed"]]
    assert "gpt" not in made.benchmark.cases
    one = imported(tmp_path / "y.csv", f"{PLAIN},accuracy,safety?,gpt\n1,q,a,b,A,x,B\n", verdicts=["gpt"])
    assert one.verdicts["dimension"].tolist() == ["accuracy"], "the only one with labels"


def test_images_are_found_whatever_their_folder_case_and_composition(tmp_path: Path) -> None:
    folder = tmp_path / "Bilder" / "2024"
    folder.mkdir(parents=True)
    composed = unicodedata.normalize("NFC", "Tömö.png")
    for name, shade in ((unicodedata.normalize("NFD", composed), 1), ("scan2.png", 2), ("scan3.PNG", 3)):
        (folder / name).write_bytes(png(shade))
    rows = f"1,q,a,b,{composed}\n2,q,a,c,C:\\bilder\\scan2.png\n3,q,a,d,scan3\n"
    found = imported(tmp_path / "x.csv", f"{PLAIN},image\n{rows}", images=tmp_path / "Bilder")
    assert "images: 3 of 3 found in" in found.understood[1]
    save(found.benchmark, tmp_path / "bench")
    made = load(tmp_path / "bench")
    assert [made.images[names[0]] for names in made.cases["images"]] == [png(i) for i in (1, 2, 3)]
    image = made.cases["images"][0][0]
    (tmp_path / "bench" / "images" / image).rename(tmp_path / "bench" / "images" / unicodedata.normalize("NFD", image))
    assert made.images[image] == png(1), "a file system may decompose names"
    assert not [each for each in audit(tmp_path / "bench") if "image" in each.problem]
    save(made, tmp_path / "copy")
    assert load(tmp_path / "copy").images[image] == png(1), "a copy keeps it"


@pytest.mark.parametrize("several", [False, True])
def test_pictures_within_the_shards_of_a_data_set_are_read(tmp_path: Path, several: bool) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "._train-00000-of-00002.parquet").write_bytes(b"left by a Mac")
    for shard in range(2):
        rows = []
        for i in range(3 * shard, 3 * shard + 3):
            image = {"bytes": png(i), "path": None if i == 0 else "x.png"}
            images = [image, image | {"bytes": png(50 + i)}] if several else image
            rows.append({"question": f"q{i}?", "response_a": "x", "response_b": "y", "image": images, "blob": b"\0"})
        pd.DataFrame(rows).to_parquet(tmp_path / "data" / f"train-0000{shard}-of-00002.parquet")
    found = read_source("table", tmp_path)
    assert "column blob: holds bytes and is left out" in said(found)
    save(found.benchmark, tmp_path / "bench")
    made = load(tmp_path / "bench")
    assert "blob" not in made.cases and made.cases["question"].tolist() == [f"q{i}?" for i in range(6)]
    assert [made.images[names[0]] for names in made.cases["images"]] == [png(i) for i in range(6)]
    assert {len(names) for names in made.cases["images"]} == {2 if several else 1}
    alone = read_source("table", tmp_path / "data" / "train-00001-of-00002.parquet").benchmark
    assert [alone.images[names[0]] for names in alone.cases["images"]] == [png(i) for i in range(3, 6)]


def test_no_message_is_longer_than_500_characters() -> None:
    text = str(MrbError("cause: " + "x" * 10_000 + "; do this."))
    assert len(text) == 500
    assert text.startswith("cause: x") and text.endswith("; do this.")


def test_names_typed_in_several_ways_are_warned_of_and_joined_on_request(tmp_path: Path) -> None:
    people = ["Ayşe K.", "ayşe k.", "Ayşe  K. ", "\uff22\uff4f", "Bo", "Bo"]
    rows = "".join(f"{i % 3 + 1},{name},Image quality,A\n" for i, name in enumerate(people))
    files = {"cases.csv": f"{PLAIN},modality\n1,q,a,b,X-Ray\n2,q,a,b,x-ray\n3,q,a,b,X-Ray\n",
             "annotations.csv": "case_id,annotator,dimension,choice\n" + rows,
             "benchmark.toml": b'\xef\xbb\xbfname = "mine"\n'}  # fmt: skip
    apart = imported(tmp_path / "src", files).benchmark
    assert apart.annotations["annotator"].nunique() == 5
    assert (apart.meta.name, apart.meta.kind, apart.meta.dimensions) == ("mine", "general", ("Image quality",))
    save(apart, tmp_path / "bench")
    warned = [finding for finding in audit(tmp_path / "bench") if "differ by case, spaces, width" in finding.problem]
    assert [finding.column for finding in warned] == ["annotator", "annotator", "modality"]
    assert "'Ayşe K.' and 'ayşe k.'" in warned[0].problem
    joined = read_source("table", tmp_path / "src", normalize_names=True).benchmark
    assert set(joined.annotations["annotator"]) == {"Ayşe K.", "Bo"}
    assert set(joined.cases["modality"]) == {"X-Ray"}


def test_a_rating_of_one_response_needs_its_categories_only(tmp_path: Path) -> None:
    content = "case_id,question,response_a,annotator,choice\n1,q,a,r,poor\n2,q,b,r,good\n"
    made = imported(tmp_path / "x.csv", content, categories="poor, fair, good").benchmark
    assert (made.meta.task, made.meta.categories) == ("rating", ("poor", "fair", "good"))
