"""Every table that `mrb analyze --latex` prints compiles, whatever judges, dimensions and organs are called."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from mrb_lib.benchmarks.benchmark import Benchmark, load, save
from mrb_lib.report.tabular import latex_text
from mrb_lib.stats.analyze import TABLES
from mrb_lib.verdicts.store import load_verdicts, save_imported
from tests.report.test_tabular import cells_per_row, columns_of, compiled
from tests.stats.small_tables import OF_PREFERENCES

from .conftest import Mrb, write_small_demo

NAMES = [
    "under_score & 100% #1",
    "~tilde^caret\\back{slash}$5",
    "M\u00fcller \u0151\u015d\u1ea1 \u2265 0.5 \u03b1\u03b2\u03a9",
    "<script>alert('x')</script>",
    "[2cm] -- ,,quoted`` | \u201cq\u201d \u2013 \u2026",
    "* \u6a21\u578b \U0001f600 \u05e7\u05e8",
    "\\end{tabular}\\input{secret}",
    "%%comment %",
    "{{{ unbalanced",
    "}}} \\\\ &&",
    "\u2212\u00b1\u00d7\u2192\u221e\u20ac\u00b0\u00b5 \u0166\u01e5",
]


def renamed(benchmark: Benchmark, verdicts: pd.DataFrame, folder: Path) -> Path:
    """The benchmark with hostile names for judges, dimensions, annotators and the values of its columns."""

    def others(names: Iterable[str]) -> dict[str, str]:
        listed = sorted(set(names))
        return {name: f"{NAMES[i % len(NAMES)]} {i}" for i, name in enumerate(listed)}

    dimensions = others(benchmark.meta.dimensions)
    cases, votes = benchmark.cases.copy(), benchmark.annotations.copy()
    for column in {"organ", "department", "modality", "dataset", "model_a", "model_b"} & set(cases.columns):
        known = cases[column].dropna()
        cases[column] = cases[column].map(others([*known, *cases["model_a"].dropna()] if "model" in column else known))
    votes = votes.assign(dimension=votes["dimension"].map(dimensions))
    people = others(set(votes["annotator"]) - {"consensus"}) | {"consensus": "consensus"}
    votes = votes.assign(annotator=votes["annotator"].map(people))
    judges = others(verdicts["judge"])
    said = verdicts.assign(judge=verdicts["judge"].map(judges), dimension=verdicts["dimension"].map(dimensions))
    meta = replace(benchmark.meta, name="B&B_50%", dimensions=tuple(dimensions[d] for d in benchmark.meta.dimensions))
    save(replace(benchmark, meta=meta, cases=cases, annotations=votes), folder)
    save_imported(said, folder / "runs", benchmark=meta.name, kind=meta.kind, source="renamed")
    return folder


@pytest.fixture(scope="module")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The embedded benchmark, small, with SIMULATED judges and hostile names."""
    plain = tmp_path_factory.mktemp("plain") / "d"
    write_small_demo(plain, 36)
    benchmark = load(plain)
    return renamed(benchmark, load_verdicts(plain / "runs", benchmark.cases), tmp_path_factory.mktemp("embedded") / "d")


def test_every_table_compiles_with_hostile_names(embedded: Path, mrb: Mrb, tmp_path: Path) -> None:
    tables: dict[str, str] = {}
    for table in OF_PREFERENCES:
        by = ("--by", "organ") if "by" in TABLES[table].parameters else ()
        done = mrb("analyze", embedded, "--table", table, *by, "--resamples", "40", "--latex").ok
        assert r"\toprule" in done.out
        tables[table] = done.out
        assert cells_per_row(done.out) == {columns_of(done.out)}, table
    everything = "".join(tables.values())
    assert r"under\_score \& 100\% \#1" in everything
    assert r"\textbackslash{}end\{tabular\}\textbackslash{}input\{secret\}" in everything
    assert r"\begin{longtable}" in everything
    assert compiled(tables, tmp_path) == ""


def test_every_letter_of_the_scripts_in_use_compiles(tmp_path: Path) -> None:
    """Each up to U+2FFF, with a letter after it that an accent could take hold of."""
    letters = (latex_text(chr(code) + "x") for code in range(0x20, 0x3000))
    assert latex_text("a\n\nb\0c") == "a bc"
    assert compiled({"letters": "% needs \\usepackage[T1]{fontenc}\n" + "\n\n".join(letters)}, tmp_path) == ""
