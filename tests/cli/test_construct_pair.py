"""`mrb construct pair`: the design before anybody annotates."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from ..build.construct.paired import make_work
from .conftest import Result


def test_the_command_prints_the_design(mrb: Callable[..., Result], tmp_path: Path) -> None:
    work = make_work(tmp_path / "work")
    done = mrb("construct", "pair", work.path, "--cases", 12, "--seconds-per-case", 60)
    assert done.code == 0, done.err
    assert "12 pairs of responses (SIMULATED data)" in done.out
    assert "annotation_hours" in done.out
    assert "rarest meeting: a and b, 2 times" in done.out
    assert "near-identical pair: 6" in done.err and f"mrb annotate {work.path} --annotators NAME,NAME,NAME" in done.err
    dealt = mrb("annotate", work.path, "--annotators", "ann,bea", "--cases", 6, "--assign-only")
    assert dealt.err.count(": 6 cases") == 2, dealt.err
    told = json.loads(mrb("construct", "pair", work.path, "--cases", 12, "--json").out)
    assert told["data_kind"] == "SIMULATED"
    assert {row["quantity"]: row["value"] for row in told["rows"]}["n_cases"] == 12
    refused = mrb("construct", "pair", work.path, "--balance", "none")
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert mrb("construct", "pair", work.path / "no").code == 2
