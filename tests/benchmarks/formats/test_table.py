"""The tidy tables: arbitrary text survives, and every fault names its row and column."""

import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pandas.testing import assert_frame_equal

from mrb_lib.benchmarks.benchmark import Benchmark, empty_annotations
from mrb_lib.benchmarks.formats.table import plain_numbers, read, write
from mrb_lib.benchmarks.meta import BenchmarkMeta
from mrb_lib.stats.where import case_lookup, matching
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.schema import CHOICES
from mrb_lib.tables.validation import conform
from mrb_lib.verdicts.store import empty_verdicts

from .conftest import PLAIN, imported, said

NO_VERDICTS = empty_verdicts()
CASES = f"{PLAIN}\n001,q,a,b\n002,q,None,NA\n"
ANNOTATIONS = "case_id,annotator,dimension,choice\n"
VERDICTS = "judge,case_id,dimension,order,choice,p_a,repeat\n"
SAVAGE = ["None", "NA", "nan", "null", "", " ", '"', '""', ",", "a,b", "\n", "\r", "\r\n", "a\r\nb", "😀", "=1+1", "[",
          ";", "#", "'", "\\", "\\n", "\ufeffx", "\u2028", "\x85", "true", "1e3", "-0", "007"]  # fmt: skip
TEXT = st.one_of(
    st.sampled_from(SAVAGE), st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20)
)
FULL = TEXT.filter(bool)
NAMED = TEXT.filter(str.strip)
IDS = st.one_of(st.from_regex(r"\A0{0,3}[0-9]{1,4}\Z"), NAMED)
NAME = st.from_regex(r"\A[a-z0-9\[;, ]{1,8}\.png\Z")


def _is_plain(text: str) -> bool:
    """Whether a column with this text alone is one of numbers."""
    return pd.api.types.is_numeric_dtype(plain_numbers(pd.Series([text], dtype="str")))


@st.composite
def benchmarks(draw: st.DrawFn) -> tuple[Benchmark, pd.DataFrame]:
    ids = draw(st.lists(IDS, min_size=1, max_size=4, unique=True))
    n = len(ids)

    def column(values: st.SearchStrategy[str | None]) -> pd.Series:
        return pd.Series(draw(st.lists(values, min_size=n, max_size=n)), dtype="str")

    cases = pd.DataFrame({"case_id": pd.Series(ids, dtype="str"), "question": column(TEXT), "response_a": column(TEXT)})
    cases["response_b"] = column(TEXT)
    images = draw(st.lists(st.lists(NAME, max_size=3), min_size=n, max_size=n))
    cases["images"] = pd.Series(images, dtype=object)
    cases["organ"] = column(st.none() | FULL)
    cases["an extra, odd"] = column(st.none() | FULL.filter(lambda text: not _is_plain(text)))
    rows = [(i, a, "overall", draw(st.sampled_from(CHOICES))) for i in ids for a in draw(st.sets(NAMED, max_size=2))]
    annotations = pd.DataFrame(rows, columns=["case_id", "annotator", "dimension", "choice"], dtype="str")
    number = st.none() | st.floats(0, 1)
    verdicts = pd.DataFrame(
        {"judge": column(NAMED), "case_id": cases["case_id"], "dimension": "overall", "order": "BA"}
    )
    verdicts["repeat"] = draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    verdicts["choice"] = column(st.none() | st.sampled_from(CHOICES))
    verdicts["p_a"] = pd.Series(draw(st.lists(number, min_size=n, max_size=n)), dtype="float64")
    verdicts["reply"] = column(st.none() | FULL)
    meta = BenchmarkMeta("made", "general", dimensions=("overall",))
    made = Benchmark(meta, conform(cases, "cases", "x"), conform(annotations, "annotations", "x"))
    return made, conform(verdicts, "verdicts", "x")


@settings(max_examples=30, deadline=None)
@given(made=benchmarks())
def test_arbitrary_text_survives(made: tuple[Benchmark, pd.DataFrame]) -> None:
    benchmark, verdicts = made
    for file_format in ("csv", "parquet"):
        with tempfile.TemporaryDirectory() as out:
            write(benchmark, verdicts, Path(out), file_format=file_format)
            again = read(Path(out))
        assert_frame_equal(again.benchmark.cases, benchmark.cases)
        assert_frame_equal(again.benchmark.annotations, benchmark.annotations)
        assert_frame_equal(again.verdicts, verdicts)
        assert again.benchmark.meta == benchmark.meta


def cases_of(n: int, **columns: object) -> Benchmark:
    """A benchmark of n cases without labels."""
    cases = pd.DataFrame({"case_id": [str(i + 1) for i in range(n)], "question": "q", "response_a": "a"})
    cases = cases.assign(response_b="b", images=pd.Series([[] for _ in range(n)], dtype=object)).assign(**columns)
    return Benchmark(BenchmarkMeta("m", "simulated"), conform(cases, "cases", "x"), empty_annotations())


def test_images_survive(tmp_path: Path) -> None:
    made = replace(cases_of(1, images=[["x/a;b.png"]]), images={"x/a;b.png": b"content", "unused.png": b""})
    findings = write(made, NO_VERDICTS, tmp_path)
    again = read(tmp_path)
    assert findings == [] and again.findings == []
    assert dict(again.benchmark.images) == {"x/a;b.png": b"content"}
    assert again.benchmark.meta.kind == "simulated"
    assert again.verdicts.empty


def test_what_csv_cannot_tell_is_counted_and_parquet_keeps_it(tmp_path: Path) -> None:
    images = pd.Series([["gone.png"], []], dtype=object)
    benchmark = cases_of(2, reference=["", None], grade=[1.5, np.nan], images=images)
    text = "\n".join(map(str, write(benchmark, NO_VERDICTS, tmp_path / "csv")))
    assert "cases.csv: 1 columns read back with other types, or empty texts as missing: reference; use parquet" in text
    assert "column grade" not in text, "numbers read back as numbers"
    assert "1 images could not be found" in text
    write(benchmark, NO_VERDICTS, tmp_path / "parquet", file_format="parquet")
    again = read(tmp_path / "parquet")
    assert_frame_equal(again.benchmark.cases, benchmark.cases)
    assert "1 images are not there" in str(again.findings[0])


def test_the_least_there_can_be(tmp_path: Path) -> None:
    made = imported(tmp_path, {"cases.csv": CASES})
    cases = made.benchmark.cases
    assert cases["case_id"].tolist() == ["001", "002"]
    assert cases[["response_a", "response_b"]].to_numpy().tolist() == [["a", "b"], ["None", "NA"]]
    assert cases["images"].tolist() == [[], []]
    assert made.benchmark.annotations.empty and made.verdicts.empty
    assert (made.benchmark.meta.kind, made.benchmark.meta.name) == ("general", tmp_path.name)
    made = imported(tmp_path, {"cases.csv": f"{PLAIN},choice\n1,q,a,b,A\n"})
    assert "1 columns hold nothing but labels and are not read as such: choice" in said(made)


def test_dimensions_and_defaults_follow_the_data_and_benchmark_toml_states_the_rest(tmp_path: Path) -> None:
    verdict = '{"judge":"j","case_id":"002","dimension":"accuracy","order":"AB","choice":null}\n'
    files = {"cases.csv": CASES, "annotations.csv": ANNOTATIONS + "001,r,tone,A\n001,r,overall,tie\n"}
    made = imported(tmp_path, files | {"verdicts.jsonl": verdict}, kind="clinical", name="mine")
    meta = made.benchmark.meta
    assert (meta.name, meta.kind, meta.categories) == ("mine", "clinical", CHOICES)
    assert meta.dimensions == ("accuracy", "overall", "tone")
    assert made.verdicts.loc[0, ["repeat", "probe", "status"]].tolist() == [0, "none", "unparsed"]
    toml = 'name = "n"\nkind = "clinical"\ndimensions = ["overall"]\ncategories = ["A", "B"]\nlevel = "nominal"\n'
    tie = {"verdicts.csv": VERDICTS + "j,001,overall,AB,tie,,0\n", "cases.csv": CASES, "benchmark.toml": toml}
    made = imported(tmp_path / "toml", tie)
    assert (made.benchmark.meta.name, made.verdicts["choice"].tolist()) == ("n", ["tie"]), "only a judge gave ties"
    assert read(tmp_path / "toml", kind="simulated").benchmark.meta.kind == "simulated"
    with pytest.raises(InputError, match=r"annotations\.csv, row 1, column choice: 1 labels are none of A, B: 'tie'"):
        imported(tmp_path / "toml", {"annotations.csv": ANNOTATIONS + "001,r,overall,tie\n"})


def beside(name: str, rows: str) -> dict[str, str]:
    """Files of sound cases and one more table."""
    return {"cases.csv": CASES, name: {"annotations.csv": ANNOTATIONS, "verdicts.csv": VERDICTS}[name] + rows}


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, r"there is no cases\.csv"),
        ({"cases.csv": CASES, "cases.jsonl": "{}"}, r"both cases\.csv and cases\.jsonl are there"),
        ({"cases.csv": ""}, r"cases\.csv: is empty"),
        ({"cases.csv": f"{PLAIN}\n"}, "holds no cases"),
        ({"cases.csv": "case_id,question,response_a\n1,q,a\n"}, r"cases\.csv, column response_b: the column is"),
        ({"cases.csv": CASES + "003,q,a\n"}, r"cases\.csv, row 3: has 3 cells where the header has 4"),
        ({"cases.csv": CASES + "003,q,a,b,c\n"}, r"cases\.csv, row 3: has 5 cells"),
        ({"cases.csv": CASES + '003,q,a,"b\n'}, r"cases\.csv, row 3: is not valid CSV"),
        ({"cases.csv": CASES + "001,q,a,b\n"}, r"row 3, column case_id: .*occurs again \(first in row 1\)"),
        ({"cases.csv": CASES.replace("question", "case_id")}, "column case_id: the name occurs twice in the header"),
        ({"cases.csv": f"{PLAIN},images\n1,q,a,b,../x.png\n"}, "row 1, column images"),
        ({"cases.csv": f"{PLAIN},images\n1,q,a,b,[x.png\n"}, "row 1, column images"),
        ({"cases.jsonl": ""}, r"cases\.jsonl: is empty"),
        ({"cases.jsonl": '{"case_id": 1'}, r"cases\.jsonl, line 1: is not valid JSON"),
        ({"cases.parquet": "PAR1 not"}, r"cases\.parquet: is damaged: truncated, or not a parquet file"),
        (beside("annotations.csv", "001,r,overall,A\n001,r,overall,B\n"), "occurs again"),
        (beside("verdicts.csv", "j,009,overall,AB,A,,0\n"), r"row 1, column case_id: the case '009' does not exist"),
        (beside("verdicts.csv", "j,001,overall,AB,A,high,0\n"), r"verdicts\.csv, row 1, column p_a .*'high' is not a"),
    ],
)
def test_faults_name_file_row_and_column(tmp_path: Path, files: dict[str, str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        imported(tmp_path, files)


def test_an_image_link_out_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("x")
    (tmp_path / "src" / "images").mkdir(parents=True)
    (tmp_path / "src" / "images" / "x.png").symlink_to(tmp_path / "secret")
    with pytest.raises(InputError, match="leads out of the folder"):
        imported(tmp_path / "src", {"cases.csv": f"{PLAIN},images\n1,q,a,b,x.png\n"})


def test_options_are_checked(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="key kind: 'medical' must be 'clinical'"):
        imported(tmp_path, {"cases.csv": CASES}, kind="medical")
    with pytest.raises(InputError, match="file format 'xlsx': is unknown"):
        write(read(tmp_path).benchmark, NO_VERDICTS, tmp_path / "out", file_format="xlsx")


def test_numbers_of_a_csv_compare_as_numbers(tmp_path: Path) -> None:
    ages = [5 + 3 * i for i in range(40)]
    rows = "".join(f"c{i},q,a,b,{age},{age / 2},{age:03d},{age if i else 'x'}\n" for i, age in enumerate(ages))
    made = imported(tmp_path / "x.csv", f"{PLAIN},age,dose,code,mixed\n{rows}last,q,a,b,,,,\n")
    look = case_lookup(made.benchmark.cases)
    for text, n in {"age > 60": 21, "dose <= 2.5": 1, "age is None": 1, "code == '005'": 1}.items():
        assert matching(text, look).sum() == n
    with pytest.raises(InputError, match="holds numbers"):
        matching("age > '60'", look)
    assert look("mixed", ())[:2].tolist() == ["x", "8"]


@pytest.mark.parametrize(
    "text", ["007", "1,000", "1e3", "nan", "inf", "-", "1_000", " 1", "0x1", "\u0661", "12.", ".5"]
)
def test_a_text_that_is_no_plain_number_stays_text(text: str) -> None:
    assert plain_numbers(pd.Series(["1", text], dtype="str")).tolist() == ["1", text]


def test_numbers_survive_a_csv(tmp_path: Path) -> None:
    gaps = pd.array([1, None, 3], dtype="Int64")
    made = cases_of(3, whole=[1, -2, 10**14], part=[0.1, 1e-7, 1e300], gaps=gaps)
    assert write(made, NO_VERDICTS, tmp_path) == []
    assert_frame_equal(read(tmp_path).benchmark.cases, made.cases)
    as_text = made.cases.assign(whole=made.cases["whole"].astype("str"))
    [finding] = write(replace(made, cases=as_text), NO_VERDICTS, tmp_path / "text")
    assert "1 columns read back with other types, or empty texts as missing: whole" in str(finding)
