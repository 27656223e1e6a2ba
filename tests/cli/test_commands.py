import io
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import typer

from mrb_lib.benchmarks.benchmark import Benchmark, load, save
from mrb_lib.benchmarks.meta import BenchmarkMeta
from mrb_lib.cli.app import app
from mrb_lib.cli.overview import WIDTH, as_overview
from mrb_lib.stats.analyze import TABLES, unread
from mrb_lib.stats.columns import Column, Table
from mrb_lib.verdicts.manifest import read_manifest, write_manifest
from mrb_lib.verdicts.store import load_verdicts
from tests.report.test_tabular import cells_per_row, columns_of, compiled
from tests.stats.small_tables import OF_PREFERENCES
from tests.tables_once import make_tables_once

from .conftest import Mrb, write_small_demo


@pytest.fixture(scope="module", autouse=True)
def _a_table_is_made_once() -> Iterator[None]:
    """A table is printed in every form."""
    with pytest.MonkeyPatch.context() as patch:
        make_tables_once(patch)
        yield


def test_version_and_help(mrb: Mrb) -> None:
    assert mrb("--version").out.startswith("mrb ")
    listed = mrb("--help").out
    for command in typer.main.get_command(app).list_commands(None):
        assert command in listed
        assert mrb(command, "--help").code == 0
    unknown = mrb("nosuch")
    assert unknown.code == 2 and "No such command 'nosuch'" in unknown.err


def test_tables_are_imported_judged_analysed_and_exported(mrb: Mrb, tables: Path, tmp_path: Path) -> None:
    bench = tmp_path / "b"
    imported = mrb("import", "table", tables, bench)
    assert (imported.code, "3 cases, 9 annotations, 12 verdicts of 2 judges" in imported.out) == (0, True)
    assert load(bench).cases["response_a"].tolist() == ["None", "x", "p"], "an answer may be the text None"
    judged = mrb("judge", bench, bench / "runs", "--judge", "first", "--judge", "longer", "--limit", "2").ok
    assert "first: 4 verdicts made" in judged.out
    assert "first: 2 verdicts made" in mrb("judge", bench, bench / "runs", "--judge", "first").out
    head = json.loads(mrb("analyze", bench, "--json").out)
    assert (head["table"], head["policy"]) == ("accuracy", "balanced")
    assert {row["judge"] for row in head["rows"] if row["kind"] == "judge"} == {"first", "longer", "j", "k"}
    assert all(row["subfield"] is None for row in head["rows"])
    assert mrb("export", "table", bench, bench / "runs", tmp_path / "back").code == 0
    assert mrb("import", "table", tmp_path / "back", tmp_path / "b2").code == 0
    pd.testing.assert_frame_equal(load(bench).cases, load(tmp_path / "b2").cases)
    pd.testing.assert_frame_equal(load(bench).annotations, load(tmp_path / "b2").annotations)
    key = ["judge", "case_id", "dimension", "order"]
    one, two = (load_verdicts(b / "runs").sort_values(key).reset_index(drop=True) for b in (bench, tmp_path / "b2"))
    pd.testing.assert_frame_equal(one, two)


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small SIMULATED benchmark with everything that a table may read."""
    folder = tmp_path_factory.mktemp("demo") / "d"
    write_small_demo(folder, 60)
    return folder


def trained(demo: Path) -> Path:
    """The runs with two judges that were trained, one with both orders of every pair and one without."""
    runs = demo / "trained"
    if not runs.exists():
        shutil.copytree(demo / "runs", runs)
        for name, swap in (("simulated-hasty", False), ("simulated-careful", True)):
            manifest = read_manifest(runs / name)
            write_manifest(runs / name, replace(manifest, provenance={"training": {"recipe": {"swap": swap}}}))
    return runs


def asking(demo: Path, table: str) -> tuple[object, ...]:
    """The words that print a table, with all that it needs."""
    by = ("--by", "dataset") if "by" in TABLES[table].parameters else ()
    (demo / "groups.csv").write_text("judge,group\nsimulated-hasty,quick\nsimulated-careful,slow\n", encoding="utf-8")
    own = {"gains": ("--base", "simulated-hasty", "--tuned", "simulated-careful"),
           "groups": ("--groups", demo / "groups.csv")}  # fmt: skip
    runs = trained(demo) if table == "gains" else demo / "runs"
    return ("analyze", demo, runs, "--table", table, *by, *own.get(table, ()), "--resamples", "40")


def test_every_table_compiles_as_latex(mrb: Mrb, demo: Path, tmp_path: Path) -> None:
    """Hostile names and letters of all scripts: tests/report/test_tabular.py."""
    made = {table: mrb(*asking(demo, table), "--latex").ok.out for table in OF_PREFERENCES}
    for table, latex in made.items():
        assert r"\toprule" in latex and cells_per_row(latex) == {columns_of(latex)}, table
    assert r"\begin{longtable}" in "".join(made.values())
    assert compiled(made, tmp_path) == ""


@pytest.mark.parametrize("table", OF_PREFERENCES)
def test_every_table_comes_as_text_json_and_csv_with_the_same_rows(mrb: Mrb, demo: Path, table: str) -> None:
    """As text it fits a hundred columns and says what it leaves out.

    Issue 12, point 15: lines had up to 943 characters, and `difficulty` 5,878 of them.
    """
    results = {form: mrb(*asking(demo, table), *form) for form in ((), ("--json",), ("--csv",))}
    assert {result.code for result in results.values()} == {0}, results
    text = results[()].out
    lines = text.splitlines()
    assert [line for line in lines if len(line) > 100] == []
    assert text.split("\n\n")[1].rstrip().endswith("."), "a sentence"
    shown = json.loads(results[("--json",)].out, parse_constant=pytest.fail)
    rows = shown["rows"]
    csv = pd.read_csv(io.StringIO(results[("--csv",)].out))
    assert rows
    assert len(rows) == len(csv)
    if len(rows) > 60:
        assert f"40 of {len(rows):,} rows; --wide shows all" in " ".join(text.split())
        assert len(lines) < 140
    assert set(rows[0]) | {"data_kind"} == set(csv.columns)
    assert shown["policy"] == (None if unread(table, ["policy"]) else "balanced")
    clusters = "cluster" in TABLES[table].parameters
    assert ("clustered" in text.split("\n\n")[0]) == clusters
    assert {row["cluster"] for row in rows} == {shown["cluster"]} if clusters else shown["cluster"] is None


def test_the_first_sentence_says_what_the_clusters_are_and_how_to_do_without(mrb: Mrb, tmp_path: Path) -> None:
    """Twelve questions over 36 cases; none where the user says so."""
    cases = [{"case_id": f"c{i}", "question": f"q{i % 12}", "response_a": "a", "response_b": "b"} for i in range(36)]
    votes = pd.DataFrame([(f"c{i}", who, "overall", "AB"[i % 3 == 0]) for i in range(36) for who in "xy"])
    annotations = votes.set_axis(["case_id", "annotator", "dimension", "choice"], axis="columns")
    bench = tmp_path / "repeated"
    save(Benchmark(BenchmarkMeta("repeated", "general", ("overall",)), pd.DataFrame(cases), annotations), bench)
    ask = ("analyze", bench, "--table", "agreement", "--resamples", "40")
    said = "clustered by question: 36 cases ask 12 different questions; --cluster case_id takes each case alone"
    assert " ".join(mrb(*ask).out.split("\n\n")[0].split()) == f"repeated: agreement; {said}"
    assert json.loads(mrb(*ask, "--json").out)["cluster"] == "question"
    apart = (*ask, "--cluster", "case_id")
    assert mrb(*apart).out.splitlines()[0] == "repeated: agreement; not clustered: 36 cases"
    assert json.loads(mrb(*apart, "--json").out)["cluster"] == "case_id"


def test_a_table_may_be_by_two_columns(mrb: Mrb, demo: Path) -> None:
    """That its rows are those by each column is in tests/stats/test_by_columns.py."""
    by = ("analyze", demo, "--table", "composition", "--by", "organ", "--by")
    assert {row["by"] for row in mrb(*by, "department", "--json").rows} == {None, "organ", "department"}
    assert "by 'organ': the column is named twice" in mrb(*by, "organ").refusal


def test_a_filter_is_said_wherever_its_table_is_shown(mrb: Mrb, demo: Path) -> None:
    cases = pd.read_parquet(demo / "cases.parquet")
    long = cases[["response_a", "response_b"]].map(len).max(axis=1) > 600
    where = "length > 600"
    shown = {
        form: mrb("analyze", demo, "--where", where, "--dimension", "overall", "--resamples", "40", form)
        for form in ("--wide", "--json", "--csv", "--latex")
    }
    assert {result.code for result in shown.values()} == {0}, shown
    found = json.loads(shown["--json"].out)
    assert found["where"] == where
    judges = [row for row in found["rows"] if row["kind"] == "judge"]
    assert {row["n"] + row["n_excluded"] for row in judges} == {long.sum()}
    assert 0 < long.sum() < len(cases)
    head = f"where {where} ({long.sum()} of {len(cases)} cases)"
    assert head in shown["--wide"].out.splitlines()[0]
    assert set(pd.read_csv(io.StringIO(shown["--csv"].out))["where"]) == {where}
    assert "length" in shown["--latex"].out
    assert "cannot be read" in mrb("analyze", demo, "--where", "length >").refusal
    assert mrb("analyze", demo, "--where", "organ == 'nowhere'").code == 2


def test_an_option_that_a_table_does_not_read_is_pointed_out(mrb: Mrb, demo: Path) -> None:
    def warned(*options: str) -> list[str]:
        result = mrb("analyze", demo, *options).ok
        return result.err.splitlines()

    assert warned("--table", "composition", "--by", "organ") == []
    assert warned("--table", "composition", "--policy", "strict", "--seed", "3") == [
        "warning: --policy changes nothing: table composition does not read it",
        "warning: --seed changes nothing: table composition does not read it",
    ]
    assert warned("--table", "agreement", "--probe", "blur", "--dimension", "overall", "--resamples", "40") == [
        "warning: --probe changes nothing: table agreement does not read it"
    ]
    wrong = mrb("analyze", demo, "--table", "jury", "--by", "nosuch")
    assert "'nosuch'" in wrong.refusal, "a wrong value is wrong for every table"


def test_the_demo_says_simulated_wherever_it_is_shown(mrb: Mrb, tmp_path: Path) -> None:
    made = mrb("demo", tmp_path / "d", "--cases", "30").ok
    assert "SIMULATED" in made.out
    judged = mrb("judge", tmp_path / "d", tmp_path / "r", "--judge", "longer", "--judge", "random")
    assert "SIMULATED" in judged.out
    for form in ((), ("--json",), ("--csv",), ("--latex",)):
        assert "SIMULATED" in mrb("analyze", tmp_path / "d", tmp_path / "r", *form).out
    own = mrb("demo", tmp_path / "v", "--cases", "30", "--verdicts")
    assert "verdicts of 5 SIMULATED judges" in own.out
    shown = json.loads(mrb("analyze", tmp_path / "v", "--table", "calibration", "--json", "--resamples", "50").out)
    assert shown["data_kind"] == "SIMULATED"
    assert mrb("demo", tmp_path / "d", "--cases", "5", "--overwrite").code == 0
    assert len(load(tmp_path / "d").cases) == 5


def test_check_lists_findings_and_exits_with_2_on_errors(mrb: Mrb, tables: Path, tmp_path: Path) -> None:
    assert mrb("import", "table", tables, tmp_path / "b").code == 0
    (tmp_path / "b" / "images" / "1.png").write_bytes(b"no image")
    result = mrb("check", tmp_path / "b", "--json")
    assert result.code == 2
    [error] = [finding for finding in json.loads(result.out) if finding["severity"] == "error"]
    assert (error["row"], error["column"], error["case_id"]) == (1, "images", "1")


def test_verdicts_on_cases_that_were_edited_since_are_pointed_out(mrb: Mrb, tables: Path, tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    assert mrb("import", "table", tables, tmp_path / "b").code == 0
    assert mrb("judge", tmp_path / "b", runs, "--judge", "first").code == 0
    assert mrb("analyze", tmp_path / "b", runs).err == ""
    cases = (tables / "cases.csv").read_text().replace("q3", "another question")
    (tables / "cases.csv").write_text(cases)
    assert mrb("import", "table", tables, tmp_path / "b", "--overwrite").code == 0
    assert "judged other cases" in mrb("analyze", tmp_path / "b", runs).err


def test_the_console_script_is_installed_and_shows_no_traceback() -> None:
    script = Path(sys.executable).with_name("mrb")
    done = subprocess.run([script, "lab", "nowhere"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("mrb: nowhere")
    assert len(done.stderr.splitlines()) == 1


def test_the_help_lists_every_table_with_its_question_and_options(mrb: Mrb) -> None:
    shown = " ".join(mrb("analyze", "--help").out.split())
    for name, spec in TABLES.items():
        assert f"{name} {spec.question}" in shown
        for option, declared in spec.options.items():
            about = declared.help.replace(" (1)", "").replace(" (0)", "")
            assert f"--{option.replace('_', '-')}" in shown and f"Table {name}: {about}" in shown


@pytest.mark.parametrize("table", TABLES)
def test_explain_says_what_each_column_means_without_reading_a_benchmark(mrb: Mrb, table: str) -> None:
    """Issue 12, point 15: a line a column with its meaning, its unit and, of a method, its source."""
    shown = mrb("analyze", "--explain", table).ok
    spec = TABLES[table]
    lines = shown.out.splitlines()[2:]
    assert [line for line in lines[: len(spec.columns)] if len(line) > 160] == []
    explained = [line.split("  ")[0] for line in lines]
    assert explained[: len(spec.columns)] == list(spec.columns)
    assert "the table does not say" not in shown.out
    assert all(f"--{name.replace('_', '-')}: {option.help}" in shown.out for name, option in spec.options.items())
    for other in (("--explain", "--table", table), ("nowhere", "--table", table, "--explain")):
        assert mrb("analyze", *other).out == shown.out


def test_an_option_of_one_table_takes_a_number_or_is_a_switch(mrb: Mrb, tables: Path, tmp_path: Path) -> None:
    mrb("import", "table", tables, tmp_path / "b")
    wide, narrow = (
        json.loads(mrb("analyze", tmp_path / "b", "--table", "significance", f"--margin={m}", "--json").out)
        for m in (0.9, 0.01)
    )
    assert {row["margin"] for row in wide["rows"] if row["part"] == "pair"} == {0.9}
    assert {row["margin"] for row in narrow["rows"] if row["part"] == "pair"} == {0.01}
    switch = ("analyze", tmp_path / "b", "--dimension", "overall", "--resamples", "40", "--csv")
    assert mrb(*switch, "--no-references").out != mrb(*switch, "--references").out == mrb(*switch).out
    unread = mrb("analyze", tmp_path / "b", "--margin", "0.1")
    assert "--margin changes nothing: table accuracy does not read it" in unread.err


def shown(rows: pd.DataFrame, *headline: str) -> str:
    """What a table of these rows prints."""
    spec = Table("made", "?", tuple(Column(str(name), "?") for name in rows.columns), pd.DataFrame, lambda _: "")
    return as_overview(rows, replace(spec, headline=headline), title="made")


@pytest.mark.parametrize("length", range(20, 32))
def test_an_unadjusted_p_value_never_stands_without_the_adjusted_one(length: int) -> None:
    rows = pd.DataFrame({"judge": [f"{'j' * length}{i}" for i in range(3)], "dimension": [*"xyz"], "n": [10, 20, 30]})
    rows["dimension"] = "d" * 31 + rows["dimension"]
    for estimate in ("first", "second"):
        rows = rows.assign(**{estimate: [0.1, 0.2, 0.3], f"{estimate}_low": 0.01, f"{estimate}_high": 0.99})
    lines = shown(rows.assign(p_value=[0.01, 0.02, 0.03], p_adjusted=[0.03, 0.04, 0.05])).splitlines()
    assert max(map(len, lines)) <= WIDTH
    place = next(i for i, line in enumerate(lines) if line.startswith("judge"))
    heading = " ".join(lines[place - 1 : place + 1])
    assert "value" not in heading or "adjusted" in heading


def test_baselines_stand_once_and_what_the_title_says_is_not_repeated() -> None:
    rows = pd.DataFrame({"judge": ["j", "j", "always A", "always A"], "kind": ["judge"] * 2 + ["reference"] * 2})
    rows = rows.assign(
        subfield=[None, "eye"] * 2, share=[0.7, 0.9, 0.5, 0.4], df=36, n_unassigned=0, dimension="overall"
    )
    text = shown(rows)
    assert text.count("always A") == 1 and text.count("eye") == 1
    assert "In all rows: dimension overall." in text and "3 of 4 rows" in text


def test_footnotes_are_about_what_is_shown() -> None:
    rows = pd.DataFrame({"judge": ["a", "b", "c"], "n": [1, 2, 3], "share": [0.7, 0.9, np.nan], "kappa": np.nan})
    rows["reason"] = ["kappa: one category", "no interval of share, kappa: alike; kappa: no case", "share: no label"]
    text = shown(rows, "share")
    assert "(a) no interval of share: alike" in text and "(b) share: no label" in text
    assert "kappa" not in text
