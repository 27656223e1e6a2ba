"""What data lack is said in words, and passed on by what is made of it; judges are grouped by where they come from."""

from __future__ import annotations

import pandas as pd
import pytest

from mrb_lib.benchmarks.benchmark import Benchmark, empty_annotations
from mrb_lib.benchmarks.meta import BenchmarkMeta
from mrb_lib.report.notebook.absent import Absent, missing, reason_of

EMPTY = pd.DataFrame({name: pd.Series(dtype="str") for name in ("judge", "case_id", "order")})


def data(
    annotations: pd.DataFrame | None = None,
    verdicts: pd.DataFrame = EMPTY,
    categories: tuple[str, ...] = ("A", "B", "tie"),
    **columns: object,
) -> tuple[Benchmark, pd.DataFrame]:
    texts = {"case_id": ["c"], "question": "q", "response_a": "a", "response_b": "b", "images": [[]]}
    meta = BenchmarkMeta("bench", "general", categories=categories)
    votes = empty_annotations() if annotations is None else annotations
    return Benchmark(meta, pd.DataFrame({**texts, **columns}), votes), verdicts


def votes(*annotators: str) -> pd.DataFrame:
    return pd.DataFrame({"case_id": "c", "annotator": list(annotators), "dimension": "overall", "choice": "A"})


def said(judges: list[str], orders: list[str]) -> pd.DataFrame:
    return pd.DataFrame({"judge": judges, "case_id": "c", "order": orders, "p_a": float("nan")})


@pytest.mark.parametrize(
    ("given", "need", "reason"),
    [
        (data(categories=("yes", "no")), "preferences", "the labels of bench (yes, no) are not preferences"),
        (data(), "annotations", "bench has no annotations"),
        (data(votes("r1", "consensus")), "annotators", "bench has 1 annotator; agreement takes two"),
        (data(), "verdicts", "there are no verdicts about it: no run was given"),
        (data(verdicts=said(["j", "j"], ["AB", "BA"])), "judges", "the runs hold 1 judge; a comparison takes two"),
        (data(verdicts=said(["j"], ["AB"])), "orders", "no verdict was given with the responses swapped"),
        (data(verdicts=said(["j"], ["AB"])), "probabilities", "no judge gives a probability"),
        (data(), "model_pair", "the cases of bench do not name their responders"),
        (data(), "organ", "no case of bench states its organ"),
        (data(organ=None), "organ", "no case of bench states its organ"),
    ],
)
def test_what_is_missing_is_said(given: tuple[Benchmark, pd.DataFrame], need: str, reason: str) -> None:
    assert missing(*given, need) == reason


def test_nothing_missing_says_nothing() -> None:
    full = data(votes("r1", "r2"), said(["j", "k"], ["AB", "BA"]), organ="lung")
    needs = ("preferences", "annotations", "annotators", "verdicts", "judges", "orders", "organ")
    assert missing(*full, *needs) == ""


def test_the_first_thing_missing_is_the_one_named() -> None:
    assert missing(*data(), "preferences", "verdicts", "organ").startswith("there are no verdicts")


def test_whatever_is_made_of_what_is_absent_is_absent_for_the_same_reason() -> None:
    absent = Absent("no run was given")
    made = [
        absent["accuracy"], absent[absent["part"] == "pair"], absent.sort_values("n").head(3), absent.loc[0, "n"],
        absent["high"] - absent["low"], 1 - absent, absent * 2.0, absent.sum() // 2, ~absent["subfield"].isna(),
        (absent["n"] > 0) & (absent["n"] < 9), absent.assign(rank=1)["rank"].map(str).tolist(),
    ]  # fmt: skip
    assert {reason_of(one) for one in made} == {"no run was given"}
    assert [list(absent), len(absent), bool(absent), f"{absent:,}"] == [[], 0, False, "n/a"]
    assert reason_of(pd.DataFrame()) == ""


def test_what_is_absent_is_shown_as_text() -> None:
    shown = Absent("no case of <b> states it", "<T>")
    assert repr(shown) == "Not applicable: <T>. no case of <b> states it."
    assert "<b>" not in shown._repr_html_()
    assert "<T>" not in shown._repr_html_()
    with pytest.raises(AttributeError):
        _ = shown._ipython_display_
