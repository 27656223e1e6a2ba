"""`mrb import` and `mrb export` offer what is registered, and nothing else."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from mrb_lib.benchmarks.formats import READERS, WRITERS

TOY = '''
"""Toy: one case a line, its question, two responses and label separated by tabs."""

from pathlib import Path
from typing import Annotated

import pandas as pd

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.benchmarks.meta import BenchmarkMeta
from mrb_lib.benchmarks.votes import gold
from mrb_lib.benchmarks.formats import Imported, annotation_table, import_tables, reads, writes

META = BenchmarkMeta("toy", "general", dimensions=("overall",))
COLUMNS = ["question", "response_a", "response_b"]


@reads("toy", about="one case a line, separated by tabs")
def read(src: Path, *, skip: Annotated[int, "leave out this many lines at the top"] = 0) -> Imported:
    rows = [line.split("\\t") for line in src.read_text(encoding="utf-8").splitlines()[skip:]]
    cases = pd.DataFrame([row[:3] for row in rows], columns=COLUMNS)
    cases.insert(0, "case_id", [f"toy-{i}" for i in range(len(rows))])
    labels = [(case, "consensus", "overall", row[3]) for case, row in zip(cases["case_id"], rows)]
    return import_tables(META, cases, annotation_table(labels, src, META), source=src)


@writes("toy", about="one case a line, separated by tabs")
def write(benchmark: Benchmark, verdicts: pd.DataFrame, out: Path) -> list:
    labelled = benchmark.cases.merge(gold(benchmark), on="case_id")
    lines = ["\\t".join(row) for row in labelled[[*COLUMNS, "choice"]].to_numpy()]
    (out / "toy.txt").write_text("\\n".join(lines), encoding="utf-8")
    return []
'''
# Commands in a process of its own, which has registered no format yet.
PROGRAM = """
import json, sys
from mrb_lib.cli.main import main
for line in json.loads(sys.argv[1]):
    sys.argv[1:] = line
    try:
        main()
    except SystemExit as stop:
        print("code", stop.code or 0)
"""


@pytest.mark.parametrize(("command", "formats"), [("import", READERS), ("export", WRITERS)])
def test_help_lists_the_formats_and_their_options(mrb: Callable, command: str, formats: object) -> None:
    text = mrb(command, "--help").out
    assert all(f"\n  {name} " in text for name in formats)
    assert ("--unparsed-as-tie" in text, "--file-format" in text) == (command == "import", command == "export")


def test_the_file_format_of_an_export_is_an_option(mrb: Callable, tables: Path, tmp_path: Path) -> None:
    assert mrb("import", "table", tables, tmp_path / "bench").code == 0
    done = mrb("export", "table", tmp_path / "bench", "-", tmp_path / "out", "--file-format", "parquet")
    assert (done.code, (tmp_path / "out" / "cases.parquet").is_file()) == (0, True)
    refused = mrb("export", "official", tmp_path / "bench", "-", tmp_path / "o", "--file-format", "csv")
    assert (refused.code, refused.err) == (2, "mrb: --file-format: export official has no such option; leave it out.\n")


def test_columns_of_an_import_can_be_renamed(mrb: Callable, tables: Path, tmp_path: Path) -> None:
    cases = tables / "cases.csv"
    cases.write_text(cases.read_text().replace("case_id,question", "number,prompt", 1))
    renamed = ("--map", "number=case_id", "--map", "prompt=question")
    assert mrb("import", "table", tables, tmp_path / "bench", *renamed).code == 0
    meta = tomllib.loads((tmp_path / "bench" / "benchmark.toml").read_text())
    assert meta["import"] == {"format": "table", "columns": {"number": "case_id", "prompt": "question"}}
    assert mrb("import", "table", tables, tmp_path / "bench").code == 2


def test_a_mapping_to_a_column_that_is_nowhere_is_one_line_and_writes_nothing(
    mrb: Callable, tables: Path, tmp_path: Path
) -> None:
    refused = mrb("import", "table", tables, tmp_path / "bench", "--map", "organs=modality")
    assert refused.code == 2
    assert refused.err.startswith("mrb: --map organs=modality: there is no column organs; the columns are organ, ")
    assert refused.err.count("\n") == 1
    assert not (tmp_path / "bench").exists()


def test_an_installed_package_adds_a_format_with_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packages = tmp_path / "packages"
    (packages / "toy-1.dist-info").mkdir(parents=True)
    (packages / "toy-1.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: toy\nVersion: 1\n")
    (packages / "toy-1.dist-info" / "entry_points.txt").write_text("[mrb_lib.plugins]\ntoy = toy_format\n")
    (packages / "toy_format.py").write_text(TOY)
    monkeypatch.setenv("PYTHONPATH", str(packages), prepend=":")
    source, bench = tmp_path / "toy.txt", tmp_path / "bench"
    source.write_text("a heading\nWhat is seen?\tA mass.\tNothing.\tA\nWhere?\tLeft.\tRight.\tB")
    commands = (
        ("import", "toy", source, bench, "--skip", "1"),
        ("export", "toy", bench, "-", tmp_path / "out"),
        ("import", "toy", source, tmp_path / "mapped", "--skip", "1", "--map", "question=organ"),
    )
    lines = [list(map(str, line)) for line in commands]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps(lines)], check=False, capture_output=True, text=True
    )
    codes = [line for line in done.stdout.splitlines() if line.startswith("code ")]
    assert codes == ["code 0", "code 0", "code 2"], done
    assert done.stderr == "mrb: --map question=organ: no columns with names were read; leave it out.\n"
    assert (tmp_path / "out" / "toy.txt").read_text() == source.read_text().partition("\n")[2]
