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
from mrb_lib.benchmarks.formats import Imported, read_source
from mrb_lib.benchmarks.formats.sources import read_cells
from mrb_lib.benchmarks.where import case_lookup, matching
from mrb_lib.tables.errors import InputError, MrbError

from .conftest import png, said

HEADER = ["Fall", "Frage", "Antwort 1", "Antwort 2", "Leser", "Urteil", "Alter", "Dosis"]
MAP = [
    "Fall=case_id", "Frage=question", "Antwort 1=response_a", "Antwort 2=response_b", "Leser=annotator",
    "Urteil=choice",
]  # fmt: skip
LABELS = "erste=A,zweite=B,beide gleich=tie"
ROWS = [
    ["T1", "Sieht man Luft?", "Ja, links", "Nein", "Dr. Kühn", "erste", "61", "0,5"],
    ["T1", "Sieht man Luft?", "Ja, links", "Nein", "Dr. Groß", "zweite", "61", "0,5"],
    ["T2", "Ist das Herz groß?", "Nein", "Ja, deutlich", "Dr. Kühn", "beide gleich", "7", "1.250,25"],
    ["T2", "Ist das Herz groß?", "Nein", "Ja, deutlich", "Dr. Groß", "", "7", "1.250,25"],
]


PLAIN = "case_id,question,response_a,response_b"


def export(
    rows: Sequence[Sequence[str]] = ROWS, separator: str = ";", encoding: str = "utf-8", first: str = ""
) -> bytes:
    lines = [separator.join(row) for row in (HEADER, *rows)]
    return (first + "\r\n".join(lines) + "\r\n").encode(encoding)


def imported(path: Path, content: str | bytes, **options: object) -> Imported:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return read_source("table", path, **options)


def flat(path: Path, content: bytes, labels: str | None = LABELS, **options: object) -> Imported:
    return imported(path, content, map_=MAP, labels=labels, **options)


def labelled(path: Path, choices: Sequence[str], more: str = "", cells: str = "", **options: object) -> list[str]:
    """The choices that are read of a file with these labels; `more` are further columns and `cells` theirs."""
    rows = "".join(f"{i},q{i},a,b{cells},{choice}\n" for i, choice in enumerate(choices))
    made = imported(path / "x.csv", f"{PLAIN}{more},winner\n{rows}", map_=["winner=choice"], **options)
    return made.benchmark.annotations["choice"].tolist()


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
    assert "1 labels are blank; they are left out" in said(made)
    assert "erste -> A (1)" in said(made)
    assert "no column says the dimension, so it is overall" in said(made)


POINTED = [[*row[:-1], row[-1].replace("1.250,25", "1250.25").replace("0,5", "0.5")] for row in ROWS]
NAMELESS = export([[*row, "", ""] for row in ROWS] + [[""] * 10]).replace(b"Dosis", b"Dosis;;")


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
    made = flat(tmp_path / "befund.txt", content)
    check_export(made)
    assert made.understood[0] == f"{tmp_path / 'befund.txt'}: CSV, {about}, 4 rows"


@pytest.mark.parametrize(
    ("question", "encoding", "name"),
    [("左肺有结节吗", "gbk", "GB 18030")]
    + [
        (text, "cp1252", "Windows-1252")
        for text in ("ÄÖÜß", "one\u00a0\u00a0\u00a0\u00a0two", "one ———— two", "one ···· two", "Größe über Köln")
    ],
)
def test_chinese_and_western_exports_are_told_apart(tmp_path: Path, question: str, encoding: str, name: str) -> None:
    made = imported(tmp_path / "x.csv", f"{PLAIN}\n1,{question},a,b\n".encode(encoding))
    assert made.benchmark.cases["question"].tolist() == [question]
    assert f"was read as {name}" in str(made.findings[0])


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("name", ["x.csv", "x.jsonl"])
def test_utf_16_without_a_mark_is_named(tmp_path: Path, name: str, encoding: str) -> None:
    with pytest.raises(InputError, match=rf"{name}: is not UTF-8 text .*UTF-16 without a byte order mark"):
        imported(tmp_path / name, '{"question": "é"}\n'.encode(encoding))


def test_a_header_may_be_typed_as_people_type_it(tmp_path: Path) -> None:
    header = "Case ID, question ,Response A,RESPONSE_B,Annotator,Overall,organ,Organ"
    made = imported(tmp_path / "x.csv", f"{header}\n7,q,a,b,Ann,A,eye,x\n").benchmark
    assert made.cases[["case_id", "response_b", "organ", "Organ"]].to_numpy().tolist() == [["7", "b", "eye", "x"]]
    assert made.annotations[["annotator", "choice"]].to_numpy().tolist() == [["Ann", "A"]]


def test_ids_are_the_same_whatever_type_they_are_stored_with(tmp_path: Path) -> None:
    texts = {"question": "q", "response_a": "a", "response_b": "b", "model_a": "m", "model_b": "n"}
    rows = [{"case_id": one, "annotator": by, **texts, "choice": "n"} for one, by in ((7, 1.0), (7.0, 2), ("7", "3"))]
    made = imported(tmp_path / "x.json", json.dumps(rows)).benchmark.annotations
    assert made[["case_id", "annotator", "choice"]].to_numpy().tolist() == [["7", by, "B"] for by in "123"]
    pd.DataFrame(rows).astype({"case_id": "float64", "annotator": "float64"}).to_parquet(tmp_path / "x.parquet")
    assert read_source("table", tmp_path / "x.parquet").benchmark.annotations.equals(made)


@pytest.mark.parametrize("separator", [",", ";"])
def test_titles_above_the_header_are_skipped_and_named(tmp_path: Path, separator: str) -> None:
    table = f"{PLAIN},overall\n1,q,a,b,A\n , ,,,\n2,q,c,d,B".replace(",", separator)
    title = "Study 7, export of May" if separator == ";" else "Study 7"
    made = imported(tmp_path / "x.csv", f"{title}\n\n{table}")
    assert made.benchmark.annotations["choice"].tolist() == ["A", "B"]
    assert "1 rows above the header are skipped: Study 7" in str(made.findings[0])


def test_formulas_without_a_stored_value_are_counted(tmp_path: Path) -> None:
    head = [*PLAIN.split(","), "note"]
    path = workbook(tmp_path / "x.xlsx", Sheet=[["Study 7"], [], head, [1, "q", "a", "b", '=CONCATENATE("x", "y")']])
    found = said(read_source("table", path))
    assert "1 formulas have no stored value and are empty here; open the file in Excel" in found
    assert "1 rows above the header are skipped: Study 7" in found


def test_tables_of_a_folder_are_found_however_spelled_and_lock_files_passed_over(tmp_path: Path) -> None:
    (tmp_path / "Cases.CSV").write_text(f"{PLAIN},images\n1,q,a,b,x.png\n")
    (tmp_path / "ANNOTATIONS.tsv").write_text("case_id\tannotator\tchoice\n1\tX\tA\n")
    for name in ("~$Cases.xlsx", "._Cases.CSV"):
        (tmp_path / name).write_bytes(b"\0lock")
    (tmp_path / "scans").mkdir()
    (tmp_path / "scans" / "x.png").write_bytes(png(9))
    made = read_source("table", tmp_path, images=tmp_path)
    assert len(made.benchmark.annotations) == 1
    assert not [finding for finding in made.findings if finding.severity == "warning"], made.findings


def test_names_of_images_in_json_are_read_as_in_a_csv_or_refused(tmp_path: Path) -> None:
    row = {"case_id": "1", "question": "q", "response_a": "a", "response_b": "b"}
    for stated, read in (("x.png;y.png", ["x.png", "y.png"]), ("", []), (None, []), (["x.png"], ["x.png"])):
        made = imported(tmp_path / "x.json", json.dumps([row | {"images": stated}]))
        assert made.benchmark.cases["images"].tolist() == [read]
    for stated in (5, {"path": "x.png"}, [{"path": "x.png"}]):
        with pytest.raises(InputError, match=r"column images .*the image name"):
            imported(tmp_path / "x.json", json.dumps([row | {"images": stated}]))


def test_a_column_of_verdicts_is_not_of_labels_too(tmp_path: Path) -> None:
    made = imported(tmp_path / "x.csv", f"{PLAIN},overall\n1,q,a,b,A\n", verdicts=["overall"])
    assert (len(made.verdicts), len(made.benchmark.annotations)) == (1, 0)


def test_a_label_with_a_comma_is_stated_in_quotes(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"--labels '\"B, slightly=\.\.\.\"'"):
        labelled(tmp_path, ['"B, slightly"'])
    assert labelled(tmp_path, ['"B, slightly"'], labels='"B, slightly=B"') == ["B"]


def test_a_talk_of_several_messages_is_asked_as_a_whole(tmp_path: Path) -> None:
    def says(role: str, content: str) -> dict[str, str]:
        return {"role": role, "content": content}

    before = [says("system", "Be brief."), says("user", "Which view?")]
    whole = {"chosen": [*before, says("assistant", "PA.")], "rejected": [*before, says("assistant", "AP.")]}
    apart = {"question": before[1:], "chosen": whole["chosen"][2:], "rejected": whole["rejected"][2:]}
    for row, question in ((whole, "system: Be brief.\n\nuser: Which view?"), (apart, "Which view?")):
        cases = imported(tmp_path / "x.json", json.dumps([row])).benchmark.cases
        assert cases["question"].tolist() == [question]
        assert {cases["response_a"][0], cases["response_b"][0]} == {"PA.", "AP."}


def test_verdicts_in_a_column_are_on_the_dimension_of_the_only_labels(tmp_path: Path) -> None:
    text = f"{PLAIN},accuracy,safety?,gpt\n1,q,a,b,A,x,B\n"
    made = imported(tmp_path / "x.csv", text, verdicts=["gpt"])
    assert made.verdicts["dimension"].tolist() == ["accuracy"]
    several = text.replace("safety?", "relevance").replace("x", "A")
    made = imported(tmp_path / "x.csv", several, verdicts=["gpt"])
    assert "verdicts are on overall, which has no labels" in said(made)


def test_decimal_commas_and_points_between_thousands_are_of_numbers_only(tmp_path: Path) -> None:
    head, rows = "question;response_a;response_b;dose;n;share;version", "q;2,5;1.250;1\u202f250,5;1.250;0.125;1.250\n"
    made = imported(tmp_path / "x.csv", f"{head}\n{rows}r;0,25;b;0,25;12;7;\n")
    cases = made.benchmark.cases
    assert cases[["dose", "n", "share"]].to_numpy().tolist() == [[1250.5, 1250, 0.125], [0.25, 12, 7]]
    assert cases["version"][0] == "1.250", "a column of nothing else may be names"
    assert cases[["response_a", "response_b"]].to_numpy().tolist() == [["2,5", "1.250"], ["0,25", "b"]]
    alone = read_cells(tmp_path / "x.csv").with_decimal_points
    assert alone["n"].tolist() == ["1.250", "12"], "an answer is a text"
    assert "1 columns hold names, fractions or thousands and stay text: version" in said(made)


def test_ratings_with_a_decimal_comma_are_the_numbers_of_the_categories(tmp_path: Path) -> None:
    rows = [f"{i};q{i};r{i};Dr A;{('0,5', '1', '1,5')[i % 3]}" for i in range(6)]
    content = "\n".join(["case_id;question;response_a;annotator;overall", *rows])
    bench = imported(tmp_path / "x.csv", content, categories="0.5,1,1.5").benchmark
    assert bench.annotations["choice"].tolist() == ["0.5", "1", "1.5"] * 2


def workbook(path: Path, **sheets: Sequence[Sequence[object]]) -> Path:
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


def test_a_workbook_is_read_with_its_numbers_dates_and_merged_cells(tmp_path: Path) -> None:
    typed = [[*row[:6], int(row[6]), float(row[7].replace(".", "").replace(",", "."))] for row in ROWS]
    path = workbook(tmp_path / "befund.xlsx", Tabelle1=[[], HEADER, *typed])
    book = openpyxl.load_workbook(path)
    for column in "ABCDGH":
        book["Tabelle1"].merge_cells(f"{column}3:{column}4")
    book.save(path)
    check_export(read_source("table", path, map_=MAP, labels=LABELS))
    book["Tabelle1"].cell(2, 9).value = "note"
    book["Tabelle1"].cell(3, 9).value = "#REF!"
    book["Tabelle1"].merge_cells("I3:I4")
    book.save(path)
    assert read_source("table", path, map_=MAP, labels=LABELS).benchmark.cases["note"].isna().all()


def test_a_workbook_may_hold_the_tables_as_sheets(tmp_path: Path) -> None:
    cases = [
        ["case_id", "question", "response_a", "response_b", "seen", "sum"],
        [7, "q", "a", "b", pd.Timestamp("2024-05-06"), "#DIV/0!"],
    ]
    annotations = [["case_id", "annotator", "accuracy", "Overall"], [7, "r", "A", "tie"]]
    path = workbook(tmp_path / "mine.xlsx", Cases=cases, annotations=annotations, Urteile=annotations)
    made = read_source("table", path)
    assert "1 sheets are passed over: Urteile" in said(made)
    bench = made.benchmark
    assert bench.cases[["case_id", "seen"]].to_numpy().tolist() == [["7", "2024-05-06"]]
    assert bench.cases["sum"].isna().all()
    assert "1 cells hold an Excel error and are empty here" in str(made.findings[0])
    assert bench.annotations[["dimension", "choice"]].to_numpy().tolist() == [["accuracy", "A"], ["overall", "tie"]]
    assert bench.meta.dimensions == ("accuracy", "overall")


def test_zeros_that_a_format_shows_stay_and_hidden_sheets_come_last(tmp_path: Path) -> None:
    head = ["case_id", "question", "response_a", "response_b", "study"]
    path = workbook(
        tmp_path / "x.xlsx", Alt=[head, [9, "old", "a", "b", 1]], Neu=[head, [7, "q", "a", "b", 10**15 + 0.5]]
    )
    book = openpyxl.load_workbook(path)
    book["Alt"].sheet_state, book["Neu"]["A2"].number_format = "hidden", "000"
    book.save(path)
    made = read_source("table", path)
    assert made.benchmark.cases["case_id"].tolist() == ["007"]
    assert "1 numbers have more digits than Excel keeps" in said(made) and "1 sheets are passed over: Alt" in said(made)


@pytest.mark.parametrize(
    ("name", "message"),
    [("x.xlsx", r"is not a readable \.xlsx workbook"), ("x.xls", r"is no file of .*; save it as \.xlsx or \.csv")],
)
def test_what_is_no_workbook_is_one_line(tmp_path: Path, name: str, message: str) -> None:
    with pytest.raises(InputError, match=f"{name}: {message}"):
        imported(tmp_path / name, b"PK\x03\x04 cut off")


def test_all_missing_columns_are_named_at_once_with_those_that_are_there(tmp_path: Path) -> None:
    problem = (
        r'has no columns question, response_a; name them with --map "THEIRS=question".*; it has Fall, Frage, Antwort 1'
    )
    with pytest.raises(InputError, match=problem):
        imported(tmp_path / "befund.csv", export())


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (None, r"row 1, column choice: 3 labels are none of A, B, tie: 'erste' \(1\)"),
        ("erste", "'erste': is not a pair"),
        ("erste=C", "'C' is no label; use one of A, B, tie"),
    ],
)
def test_labels_are_mapped_or_refused(tmp_path: Path, labels: str | None, message: str) -> None:
    with pytest.raises(InputError, match=message):
        flat(tmp_path / "x.csv", export(), labels=labels)


def test_a_label_without_rows_is_said_where_the_file_is_previewed(tmp_path: Path) -> None:
    made = flat(tmp_path / "x.csv", export(), labels=f"{LABELS},zweitr=B,beide schlecht=tie")
    check_export(made)
    assert made.understood[1:] == (
        "--labels zweitr=B: no row has that label. Did you mean zweite?",
        "--labels beide schlecht=tie: no row has that label. Did you mean beide gleich?",
    )


@pytest.mark.parametrize(
    "choices",
    [("model_a", "model_b", "tie"), ("1", "2", "tie (bothbad)"), ("[[A]]", "[[B]]", "[[C]]"), ("A>B", "B>>A", "A=B"),
     ("Left", "right", "Draw"), ("Response A", "response_b", "Tie")],
)  # fmt: skip
def test_winners_of_other_harnesses_need_one_map(tmp_path: Path, choices: Sequence[str]) -> None:
    assert labelled(tmp_path, choices) == ["A", "B", "tie"]


@pytest.mark.parametrize(
    ("choices", "labels", "message"),
    [(("-1", "1"), None, "-1"), (("- 1", "- A"), None, "- 1"), (("0", "1"), "0=A", "1"), (("0", "1"), None, "0"),
     (("1", "NA"), None, "NA")],
)  # fmt: skip
def test_a_label_that_only_looks_like_a_known_one_is_refused(
    tmp_path: Path, choices: Sequence[str], labels: str | None, message: str
) -> None:
    with pytest.raises(InputError, match=f"1 labels are none of A, B, tie: '{message}'"):
        labelled(tmp_path, choices, labels=labels)


@pytest.mark.parametrize(
    ("models", "choices", "options", "read"),
    [
        ("left-7b,right-7b", "left-7b,right-7b,tie", {}, ["A", "B", "tie"]),
        ("gpt,other", "gpt,other", {"labels": "gpt=A,OTHER=B"}, ["A", "B"]),
        ("gpt,other", "gpt,other", {"categories": "gpt,other"}, ["gpt", "other"]),
        ("2,1", "1,2", {"labels": "1=A,2=B"}, ["A", "B"]),
        ("tie,B", "tie,A", {}, ["tie", "A"]),
        ("2,1", "1,2", {}, "row 1, column choice: '1' names the responder of B and may stand for A; write A or B"),
        ("x,Tie", "x,Tie", {}, "row 2, column choice: 'Tie' names the responder of B and may stand for tie"),
    ],
)
def test_a_winner_may_be_named_by_its_model_and_what_a_label_has_is_not_guessed_at(
    tmp_path: Path, models: str, choices: str, options: dict[str, str], read: list[str] | str
) -> None:
    given = (tmp_path, choices.split(","), ",model_a,model_b", f",{models}")
    if isinstance(read, str):
        with pytest.raises(InputError, match=read):
            labelled(*given, **options)
    else:
        assert labelled(*given, **options) == read


def test_a_label_stated_as_it_is_understood_leaves_the_others_understood(tmp_path: Path) -> None:
    assert labelled(tmp_path, "123", labels="1=A,3=tie") == ["A", "B", "tie"]


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ("annotator,A,B\nc1,q,a,b,Dr X,x,", "no column is named choice or after a dimension, so there are no labels"),
        ("choice,accuracy\nc1,q,a,b,A,B", "1 columns named after dimensions are not read as labels beside choice: acc"),
    ],
)
def test_labels_that_are_not_read_are_said(tmp_path: Path, more: str, problem: str) -> None:
    assert problem in said(imported(tmp_path / "x.csv", f"{PLAIN},{more}\n"))
    (tmp_path / "x.csv").rename(tmp_path / "cases.csv")
    (tmp_path / "annotation.csv").write_text("case_id,annotator,choice\nc1,r,A\n")
    assert "1 files are not read: annotation.csv" in str(read_source("table", tmp_path).findings[0])


def test_columns_of_labels_that_are_not_read_are_named(tmp_path: Path) -> None:
    text = f"{PLAIN},annotator,overall,safety,group\n1,q,a,b,X,A,B,A1\n1,q,a,b,Y,A,tie,A1\n"
    found = said(imported(tmp_path / "x.csv", text))
    assert "1 columns hold nothing but labels and are not read as such: safety;" in found


@pytest.mark.parametrize("drop", [True, False])
def test_numbers_with_gaps_that_parquet_stores_as_fractions_are_winners_too(tmp_path: Path, drop: bool) -> None:
    rows = {
        "case_id": ["1", "2", "3"],
        "question": "q",
        "response_a": "a",
        "response_b": "b",
        "choice": [1.0, None, 2.0],
    }
    pd.DataFrame(rows).set_index("case_id", drop=drop).to_parquet(tmp_path / "x.parquet")
    made = read_source("table", tmp_path / "x.parquet")
    assert made.benchmark.annotations[["case_id", "choice"]].to_numpy().tolist() == [["1", "A"], ["3", "B"]]
    assert "1 labels are blank" in said(made)


def talk(*replies: str) -> list[dict[str, str]]:
    return [{"role": "user" if i == 0 else "assistant", "content": text} for i, text in enumerate(replies)]


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
    pd.DataFrame([{"question_id": "q1", **talks, "winner": "model_b"}]).to_json(tmp_path / "a.json", orient="records")
    names = ["question_id=case_id", "conversation_a=response_a", "conversation_b=response_b", "winner=choice"]
    made = read_source("table", tmp_path / "a.json", map_=names).benchmark
    [texts] = made.cases[["question", "response_a", "response_b"]].to_numpy().tolist()
    assert texts == ["Which view?", "Lateral.", "PA."]
    assert made.annotations["choice"].tolist() == ["B"]


def test_verdicts_in_a_column_are_of_the_judge_it_is_named_after(tmp_path: Path) -> None:
    rows = [[*row, {"T1": "1", "T2": ""}[row[0]]] for row in ROWS]
    content = export(rows).replace(b"Dosis", b"Dosis;gpt")
    made = flat(tmp_path / "x.csv", content, verdicts=["gpt"])
    verdicts = made.verdicts[["judge", "case_id", "order", "status"]].to_numpy().tolist()
    assert verdicts == [["gpt", "T1", "AB", "ok"], ["gpt", "T2", "AB", "unparsed"]]
    assert "gpt" not in made.benchmark.cases
    with pytest.raises(InputError, match=r"--verdicts gtp: there is no such column.* Did you mean gpt\?"):
        flat(tmp_path / "x.csv", content, verdicts=["gtp"])
    with pytest.raises(InputError, match=r"--verdicts: .* names its judges in the column judge; leave the option out"):
        imported(tmp_path / "y.csv", f"{PLAIN},judge,gpt,choice\n1,q,a,b,j,A,B\n", verdicts=["gpt"])


def test_two_rows_of_a_case_that_differ_are_named(tmp_path: Path) -> None:
    rows = [ROWS[0], [*ROWS[1][:2], "Ja, rechts", *ROWS[1][3:]]]
    with pytest.raises(InputError, match=r"row 2, column response_a: differs from an earlier row of the case T1"):
        flat(tmp_path / "x.csv", export(rows))


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (["1,q,a,b,X,A,A,,A", "1,q,a,b,Y,A,A,,A", "2,q,a,b,X,A,maybe,,A"], "row 3, column choice"),
        (["1,q,a,b,X,A,A,,A", "1,q,a,b,Y,A,A,,A", "2,q,a,b,X,A,A,,maybe"], "row 3, column choice"),
        (["1,q,a,b,X,A,A,,A", "1,q,a,b,Y,A,A,,A", "2,q,a,b,X,A,A,May,A"], "row 3, column date"),
        (["1,q,a,b,X,,A,,A", "2,q,a,b,X,A,A,,A", "2,q,a,b,X,A,A,,A"], r"row 3 .*first in row 2\)"),
    ],
)
def test_a_message_names_the_row_of_the_file(tmp_path: Path, rows: list[str], message: str) -> None:
    lines = [f"{PLAIN},annotator,accuracy,relevance,date,gpt", *rows]
    with pytest.raises(InputError, match=message):
        imported(tmp_path / "x.csv", "\n".join(lines), verdicts=["gpt"])


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
    for shard in range(2):
        rows = []
        for i in range(3 * shard, 3 * shard + 3):
            image = {"bytes": png(i), "path": None if i == 0 else "x.png"}
            images = [image, image | {"bytes": png(50 + i)}] if several else image
            rows.append({"question": f"q{i}?", "response_a": "x", "response_b": "y", "image": images})
        pd.DataFrame(rows).to_parquet(tmp_path / "data" / f"train-0000{shard}-of-00002.parquet")
    save(read_source("table", tmp_path).benchmark, tmp_path / "bench")
    made = load(tmp_path / "bench")
    assert made.cases["question"].tolist() == [f"q{i}?" for i in range(6)]
    assert [made.images[names[0]] for names in made.cases["images"]] == [png(i) for i in range(6)]
    assert {len(names) for names in made.cases["images"]} == {2 if several else 1}
    alone = read_source("table", tmp_path / "data" / "train-00001-of-00002.parquet").benchmark
    assert [alone.images[names[0]] for names in alone.cases["images"]] == [png(i) for i in range(3, 6)]


def test_bytes_in_a_column_of_other_things_are_said_and_left_out(tmp_path: Path) -> None:
    row = {"case_id": "1", "question": "q", "response_a": "a", "response_b": "b", "blob": b"\x00\x01" * 900}
    pd.DataFrame([row]).to_parquet(tmp_path / "cases.parquet")
    made = read_source("table", tmp_path)
    assert "blob" not in made.benchmark.cases
    assert "column blob: holds bytes and is left out" in str(made.findings[0])


def test_no_message_is_longer_than_500_characters() -> None:
    text = str(MrbError("cause: " + "x" * 10_000 + "; do this."))
    assert len(text) == 500
    assert text.startswith("cause: x") and text.endswith("; do this.")


@pytest.mark.parametrize(
    ("theirs", "shown"),
    [
     ("k1\u200b", "'k1' followed by U\\+200B"), ("\ufeffk1", "'k1' preceded by U\\+FEFF"),
     ("k\u00ad1", "'k<U\\+00AD>1'"),
     ("k1 ", "'k1' followed by U\\+0020"), ("\uff4b1", "'\uff4b1'")],
)  # fmt: skip
def test_an_id_with_an_invisible_difference_names_it(tmp_path: Path, theirs: str, shown: str) -> None:
    (tmp_path / "cases.csv").write_text("case_id,question,response_a,response_b\nk1,q,a,b\n")
    (tmp_path / "annotations.csv").write_text(f"case_id,annotator,choice\n{theirs},r,A\n", encoding="utf-8")
    with pytest.raises(InputError, match=f"row 1, column case_id: the case {shown} does not exist, but 'k1' does"):
        read_source("table", tmp_path)


def hand_typed(folder: Path) -> Path:
    folder.mkdir()
    (folder / "cases.csv").write_text(
        "case_id,question,response_a,response_b,modality\n1,q,a,b,X-Ray\n2,q,a,b,x-ray\n3,q,a,b,X-Ray\n"
    )
    people = ["Ayşe K.", "ayşe k.", "Ayşe  K. ", "\uff22\uff4f", "Bo", "Bo"]
    rows = "".join(f"{i % 3 + 1},{name},Image quality,A\n" for i, name in enumerate(people))
    (folder / "annotations.csv").write_text("case_id,annotator,dimension,choice\n" + rows, encoding="utf-8")
    return folder


def test_names_typed_in_several_ways_are_warned_of_and_joined_on_request(tmp_path: Path) -> None:
    source = hand_typed(tmp_path / "src")
    apart = read_source("table", source).benchmark
    assert apart.annotations["annotator"].nunique() == 5
    save(apart, tmp_path / "bench")
    warned = [finding for finding in audit(tmp_path / "bench") if "differ by case, spaces, width" in finding.problem]
    assert [finding.column for finding in warned] == ["annotator", "annotator", "modality"]
    assert "'Ayşe K.' and 'ayşe k.'" in warned[0].problem
    joined = read_source("table", source, normalize_names=True).benchmark
    assert set(joined.annotations["annotator"]) == {"Ayşe K.", "Bo"}
    assert set(joined.cases["modality"]) == {"X-Ray"}


def test_a_benchmark_toml_without_dimensions_takes_those_of_the_data(tmp_path: Path) -> None:
    source = hand_typed(tmp_path / "src")
    (source / "benchmark.toml").write_bytes(b'\xef\xbb\xbfname = "mine"\n')
    made = read_source("table", source).benchmark
    assert (made.meta.name, made.meta.kind, made.meta.dimensions) == ("mine", "general", ("Image quality",))
    (source / "annotations.csv").unlink()
    assert read_source("table", source).benchmark.meta.dimensions == ("overall",)


def test_a_rating_of_one_response_needs_its_categories_only(tmp_path: Path) -> None:
    content = "case_id,question,response_a,annotator,choice\n1,q,a,r,poor\n2,q,b,r,good\n"
    made = imported(tmp_path / "x.csv", content, categories="poor, fair, good").benchmark
    assert (made.meta.task, made.meta.categories) == ("rating", ("poor", "fair", "good"))
