"""A report is made of runs of several parts, whoever wrote the parts and however often a run was resumed."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mrb_lib.cli.main import main
from tests.several_parts import JUDGES, KINDS, write_kinds

OPENS_THE_RUNS = """
import mrb_lib
counts = mrb_lib.open(benchmark).verdicts["judge"].value_counts()
publish_table("judges", "judge,n\\n" + "".join(f"{judge},{n}\\n" for judge, n in counts.items()))
"""


@pytest.mark.parametrize("kind", KINDS)
def test_the_report_shows_the_judges_and_their_failures(
    kind: str, written_once: Callable[..., Path], lab: Any, publish: str, quickly: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = written_once("kinds", write_kinds)
    lab.notebook("00_start", publish + OPENS_THE_RUNS)
    words = ["report", folder / "bench", folder / kind, "--out", lab.out, "--notebooks", lab.notebooks, "--cases", 2]
    monkeypatch.setattr(sys, "argv", ["mrb", *map(str, words)])
    with pytest.raises(SystemExit) as stop:
        main()
    assert not stop.value.code
    table = (lab.out / "tables" / "judges.csv").read_text(encoding="utf-8")
    assert set(table.split()) == {"judge,n", *(f"{judge},216" for judge in JUDGES)}
    assert len(list((lab.out / "cases").glob("*.html"))) >= 2
