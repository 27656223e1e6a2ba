"""Judges of both sides are paired by name and run, and the prompt is said."""

import pandas as pd

from mrb_lib.report.comparison import judge_pairs


def runs(*rows: tuple[str, str, str, str]) -> pd.DataFrame:
    """Runs of `name, run_id, prompt_id, prompt_hash`, shown as `name@run_id` where there are several of a name."""
    frame = pd.DataFrame(rows, columns=["name", "run_id", "prompt_id", "prompt_hash"], dtype="str")
    several = frame["name"].duplicated(keep=False)
    return frame.assign(judge=frame["name"].mask(several, frame["name"] + "@" + frame["run_id"]))


def listed(then: pd.DataFrame, now: pd.DataFrame) -> list[tuple[object, ...]]:
    pairs = judge_pairs(then, now)[["judge_then", "judge_now", "prompt"]]
    return [tuple(None if pd.isna(value) else value for value in row) for row in pairs.itertuples(index=False)]


def test_a_judge_is_paired_with_itself_and_its_prompt_is_compared() -> None:
    then = runs(("m", "m-1", "plain", "aa"), ("n", "n-1", "plain", "aa"), ("o", "o-1", "", ""), ("p", "p-1", "", ""))
    now = runs(("m", "m-2", "plain", "bb"), ("n", "n-1", "plain", "aa"), ("o", "o-1", "", ""), ("p", "p-2", "x", "cc"))
    assert listed(then, now) == [
        ("m", "m", "another"), ("n", "n", "same"), ("o", "o", "same"), ("p", "p", "not known")
    ]  # fmt: skip


def test_a_judge_of_one_side_is_listed_alone() -> None:
    assert listed(runs(("m", "1", "", "")), runs(("n", "1", "", ""))) == [
        ("m", None, "only then"), (None, "n", "only now")
    ]  # fmt: skip


def test_two_prompts_in_one_folder_are_each_compared_with_the_judge_then() -> None:
    now = runs(("m", "a", "plain", "aa"), ("m", "b", "strict", "bb"))
    assert listed(runs(("m", "old", "plain", "aa")), now) == [("m", "m@a", "same"), ("m", "m@b", "another")]


def test_runs_that_are_on_both_sides_are_paired_with_themselves_only() -> None:
    two = runs(("m", "a", "plain", "aa"), ("m", "b", "strict", "bb"))
    assert listed(two, two) == [("m@a", "m@a", "same"), ("m@b", "m@b", "same")]
    assert listed(runs(("m", "a", "plain", "aa")), two) == [("m", "m@a", "same"), (None, "m@b", "only now")]
    three = runs(("m", "a", "plain", "aa"), ("m", "c", "strict", "cc"))
    assert listed(two, three) == [("m@a", "m@a", "same"), ("m@b", "m@c", "another")]


def test_the_label_says_both_names_where_they_differ() -> None:
    pairs = judge_pairs(runs(("m", "old", "plain", "aa")), runs(("m", "a", "p", "aa"), ("m", "b", "q", "bb")))
    assert pairs["judge"].tolist() == ["m@a (then m)", "m@b (then m)"]
    assert pairs["prompt_then"].tolist() == ["plain (aa)", "plain (aa)"]
