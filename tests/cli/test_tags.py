"""Tags of a store in the filters of the commands: `mrb analyze --where` and the cases that `mrb review` deals out."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mrb_lib.benchmarks.benchmark import load
from mrb_lib.demo.build import write_demo
from mrb_lib.review import server
from mrb_lib.review.records.marks import CaseTag
from mrb_lib.review.records.store import REVIEW, open_store


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Eighteen simulated cases, three of them tagged."""
    monkeypatch.setenv("MRB_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("MRB_STORE", raising=False)
    write_demo(tmp_path / "bench", cases=18, seed=3)
    made = load(tmp_path / "bench")
    with open_store(tmp_path / "bench" / "reviews.sqlite") as store:
        for case in made.cases["case_id"].head(3):
            store.add(CaseTag(made.meta.name, str(case), "artefact", "Dr A"))
    return tmp_path / "bench"


def test_tables_are_of_the_tagged_cases(mrb: Callable[..., Any], bench: Path) -> None:
    done = mrb("analyze", bench, "--table", "composition", "--where", "tag == 'artefact'", "--json")
    assert done.code == 0, done.err
    counts = [row["n_cases"] for row in json.loads(done.out)["rows"] if row.get("n_cases") is not None]
    assert sum(counts) == 3
    assert mrb("adjudications", "export", bench, bench / "said.parquet").code == 0
    of_file = mrb("analyze", bench, "--table", "composition", "--where", "tag == 'artefact'", "--json",
                  "--adjudications", bench / "said.parquet")  # fmt: skip
    assert of_file.out == done.out
    refused = mrb("analyze", bench, "--table", "composition", "--where", "tag == 'nothing'")
    assert refused.code != 0
    assert "leaves none of 18 cases" in refused.err
    (bench / "reviews.sqlite").unlink()
    refused = mrb("analyze", bench, "--table", "composition", "--where", "tag == 'artefact'")
    assert "there is no store of reviews" in refused.err


def test_tagged_cases_are_dealt_out(mrb: Callable[..., Any], bench: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "serve", lambda *_, **__: None)
    done = mrb("review", bench, "--no-browser", "--assign", "Dr B", "--query", "where=tag == 'artefact'")
    assert done.code == 0, done.err
    made = load(bench)
    with open_store(bench / "reviews.sqlite", create=False) as store:
        dealt = store.assignments(made.meta.name, "Dr B", task=REVIEW)
    assert sorted(dealt["case_id"]) == sorted(made.cases["case_id"].head(3))
