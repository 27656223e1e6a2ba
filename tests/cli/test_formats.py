"""`mrb import` and `mrb export` offer what is registered, and nothing else."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from mrb_lib.benchmarks.formats import READERS, WRITERS

# Commands in a process of its own, which has registered no format yet.


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
