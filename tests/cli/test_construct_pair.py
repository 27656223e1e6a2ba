"""`mrb construct pair`: the design before anybody annotates, and adaptive pairs from the annotations in the store."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from mrb_lib.review.records.marks import AnnotatorAnswer
from mrb_lib.review.records.store import open_store

from ..build.construct.paired import labels_by, make_work
from .conftest import Result


def test_the_command_prints_the_design_and_reads_the_annotations(mrb: Callable[..., Result], tmp_path: Path) -> None:
    work = make_work(tmp_path / "work")
    done = mrb("construct", "pair", work.path, "--strategy", "adaptive", "--cases", 12, "--seconds-per-case", 60)
    assert done.code == 0, done.err
    assert "12 pairs of responses (SIMULATED data)" in done.out
    assert "annotation_hours" in done.out
    assert "rarest meeting: a and b, 2 times" in done.out
    assert "identical pair: 6" in done.err
    dealt = mrb("annotate", work.path, "--annotators", "ann,bea", "--cases", 6, "--assign-only")
    assert dealt.code == 0, dealt.err
    with open_store(work.path / "reviews.sqlite") as store:
        first = work.pairs().set_index("case_id").loc[store.assignments("mine")["case_id"].unique()]
        assert first[["model_a", "model_b"]].apply(frozenset, axis=1).nunique() == len(first) == 6
        for row in labels_by(work, "abcd").itertuples():
            store.add(AnnotatorAnswer("mine", row.case_id, "Dr A", "overall", row.choice, "AB"))
    more = mrb("construct", "pair", work.path, "--strategy", "adaptive", "--cases", 18, "--json")
    assert more.code == 0, more.err
    told = json.loads(more.out)
    assert told["data_kind"] == "SIMULATED"
    assert {row["quantity"]: row["value"] for row in told["rows"]}["n_cases"] == 18
    assert (work.choices("pair") or {})["rounds"][-1] == {"cases": 18, "labels": 12}
    refused = mrb("construct", "pair", work.path, "--strategy", "random")
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert mrb("construct", "pair", work.path / "no").code == 2
