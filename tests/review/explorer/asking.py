"""Questions as a page of the explorer asks them."""

import csv
import io
from pathlib import Path
from typing import Any

import pandas as pd

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.review.explorer.adjudicate import Reviews
from mrb_lib.review.explorer.answers import ExplorerAnswers
from mrb_lib.review.explorer.data import explorer_data
from mrb_lib.review.failures.index import CaseIndex, build_index, open_index
from mrb_lib.verdicts.store import save_imported


def opened(
    benchmark: Benchmark, verdicts: pd.DataFrame | CaseIndex | None = None, where: Path | None = None, **more: Any
) -> ExplorerAnswers:
    """The explorer's answers, with a store of reviews at `where`, or without any."""
    reviews = Reviews(benchmark.meta.name, where, categories=benchmark.meta.choices)
    return ExplorerAnswers(explorer_data(benchmark, verdicts), reviews, **more)


def indexed(benchmark: Benchmark, verdicts: pd.DataFrame, folder: Path) -> CaseIndex:
    """The index of these verdicts as runs."""
    save_imported(verdicts, folder / "runs", benchmark=benchmark.meta.name, kind="simulated", source="test")
    return open_index(build_index(folder / "runs", benchmark, folder / "index"))


def sight(answers: ExplorerAnswers, position: int) -> dict[str, Any]:
    """What a page sends back of the case that it shows."""
    seen = answers.case({"position": position})
    return {name: seen[name] for name in ("position", "case_id", "version")}


def exported(answers: ExplorerAnswers, query: dict[str, Any], kind: str = "csv", **who: Any) -> str:
    return answers.export({"query": query, "format": kind, **who}).content.decode()


def rows_of(text: str) -> list[dict[str, str]]:
    """The rows of an exported table."""
    return list(csv.DictReader(io.StringIO(text.removeprefix("\ufeff"))))


def ids(answers: ExplorerAnswers, **query: Any) -> list[str]:
    return [row["id"] for row in answers.rows({"query": query, "start": 0})["rows"]]
