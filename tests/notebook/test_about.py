"""What a workspace lacks is said in words; judges are grouped by what is known of them."""

from __future__ import annotations

import pandas as pd
import pytest

from mrb_lib.data.benchmark import Benchmark, BenchmarkMeta, empty_annotations
from mrb_lib.notebook.about import judge_groups, missing
from mrb_lib.notebook.workspace import Workspace
from mrb_lib.verdicts.manifest import Manifest

EMPTY = pd.DataFrame({name: pd.Series(dtype="str") for name in ("judge", "case_id", "order")})


def workspace(
    annotations: pd.DataFrame | None = None,
    verdicts: pd.DataFrame = EMPTY,
    manifests: tuple[Manifest, ...] = (),
    categories: tuple[str, ...] = ("A", "B", "tie"),
    **columns: object,
) -> Workspace:
    texts = {"case_id": ["c"], "question": "q", "response_a": "a", "response_b": "b", "images": [[]]}
    meta = BenchmarkMeta("bench", "general", categories=categories)
    votes = empty_annotations() if annotations is None else annotations
    return Workspace(Benchmark(meta, pd.DataFrame({**texts, **columns}), votes), verdicts, list(manifests), False, "")


def votes(*annotators: str) -> pd.DataFrame:
    return pd.DataFrame({"case_id": "c", "annotator": list(annotators), "dimension": "overall", "choice": "A"})


def said(judges: list[str], orders: list[str]) -> pd.DataFrame:
    return pd.DataFrame({"judge": judges, "case_id": "c", "order": orders})


@pytest.mark.parametrize(
    ("given", "need", "reason"),
    [
        (workspace(categories=("yes", "no")), "preferences", "the labels of bench (yes, no) are no preferences"),
        (workspace(), "annotations", "bench has no annotations"),
        (workspace(votes("r1", "consensus")), "annotators", "bench has 1 annotator; agreement takes two"),
        (workspace(), "verdicts", "there are no verdicts about it: no run was given"),
        (workspace(verdicts=said(["j", "j"], ["AB", "BA"])), "judges", "the runs hold 1 judge; a comparison takes two"),
        (workspace(verdicts=said(["j"], ["AB"])), "orders", "no verdict was given with the responses swapped"),
        (workspace(), "organ", "no case of bench states its organ"),
        (workspace(organ=None), "organ", "no case of bench states its organ"),
    ],
)
def test_what_is_missing_is_said(given: Workspace, need: str, reason: str) -> None:
    assert missing(given, need) == reason


def test_nothing_missing_says_nothing() -> None:
    full = workspace(votes("r1", "r2"), said(["j", "k"], ["AB", "BA"]), organ="lung")
    needs = ("preferences", "annotations", "annotators", "verdicts", "judges", "orders", "organ")
    assert missing(full, *needs) == ""


def test_the_first_thing_missing_is_the_one_named() -> None:
    assert missing(workspace(), "preferences", "verdicts", "organ").startswith("there are no verdicts")


def test_judges_are_grouped_by_manifest_and_roster() -> None:
    manifests = (
        Manifest("run1", "longer"),
        Manifest("run2", "consensus-of:first,longer"),
        Manifest("run3", "gpt", source="pandalm"),
        Manifest("run4", "unheard-of"),
    )
    names = ["longer", "consensus-of:first,longer", "gpt@run3", "unheard-of"]
    found = judge_groups(workspace(verdicts=said(names, ["AB"] * 4), manifests=manifests))
    assert dict(zip(found["judge"], found["group"], strict=True)) == {
        "longer": "heuristic",
        "consensus-of:first,longer": "jury",
        "gpt@run3": "imported",
        "unheard-of": "other",
    }
