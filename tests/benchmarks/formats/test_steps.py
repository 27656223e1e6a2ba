"""Responses split into steps: nothing is lost, and what is written is a benchmark of steps."""

from __future__ import annotations

import time
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mrb_lib.benchmarks.audit.folder import audit
from mrb_lib.benchmarks.benchmark import Benchmark, empty_annotations, load, save
from mrb_lib.benchmarks.formats import WRITERS
from mrb_lib.benchmarks.formats.steps import MOST_STEPS, split_steps
from mrb_lib.benchmarks.meta import BenchmarkMeta
from mrb_lib.tables.errors import InputError
from mrb_lib.verdicts.store import empty_verdicts
from tests.benchmarks.formats.conftest import png

SPLIT = [
    ("", [""]),
    ("One sentence only", ["One sentence only"]),
    ("A mass is seen.  It is 2.5 cm wide! Why?", ["A mass is seen.  ", "It is 2.5 cm wide! ", "Why?"]),
    ("Dr. Smith, e.g. here, saw it. so it is.", ["Dr. Smith, e.g. here, saw it. so it is."]),
    ("First.\n\nSecond. Still.\n \n", ["First.\n\n", "Second. Still.\n \n"]),
    (
        "I look.\n1. A mass.\n2. It is round.\n\nSo: benign.",
        ["I look.\n1. A mass.\n", "2. It is round.\n\nSo: benign."],
    ),
    ("1) a\n  1) b\n  2) c\n2) d", ["1) a\n  1) b\n  2) c\n", "2) d"]),
    ("**Step 1:** x\n1. y\n2. z\n**Step 2:** w", ["**Step 1:** x\n1. y\n2. z\n", "**Step 2:** w"]),
    ("### Step 1\nx.\n### step 2\ny.", ["### Step 1\nx.\n", "### step 2\ny."]),
    ("In 2020.\n3. x\n4. y", ["In 2020.\n", "3. x\n4. y"]),
]


@pytest.mark.parametrize(("text", "steps"), SPLIT)
def test_a_response_is_split_as_a_person_reads_it(text: str, steps: list[str]) -> None:
    assert split_steps(text) == steps


@given(st.text(alphabet="12.)( \n\tAaSstep#*-é.!?\u2028\x00", max_size=60))
def test_no_character_is_lost(text: str) -> None:
    assert "".join(split_steps(text)) == text


@pytest.mark.parametrize("part", ["a. B. ", "\n\na", "1.\n", "\n \t", "*", "(", "Step 1\n"])
def test_a_megabyte_takes_no_time_and_few_steps(part: str) -> None:
    text = part * (2**20 // len(part))
    start = time.perf_counter()
    steps = split_steps(text)
    assert time.perf_counter() - start < 10
    assert len(steps) <= MOST_STEPS
    assert "".join(steps) == text


def pairs(**columns: object) -> Benchmark:
    cases = pd.DataFrame(
        {
            "case_id": ["one", "two"],
            "question": ["Where?", "Where?"],
            "response_a": ["In the lung. It is round.", "In the lung. It is round."],
            "response_b": ["In the liver.", "Nowhere. <b>No</b>. "],
            "model_a": ["m", "m"],
            "model_b": ["n", "o"],
            "images": [["x.png"], ["x.png"]],
            "item": ["i", "i"],
            "split": ["train", "test"],
        }
    ).assign(**columns)
    return Benchmark(BenchmarkMeta("pairs", "clinical"), cases, empty_annotations(), {"x.png": png(9)})


def test_distinct_responses_become_items_whose_steps_join_to_them(tmp_path: Path) -> None:
    WRITERS["steps"].convert(pairs(), empty_verdicts(), tmp_path)
    made = load(tmp_path)
    joined = made.cases.groupby("item", sort=False)["response_a"].agg("".join)
    assert dict(joined) == {
        "one-a": "In the lung. It is round.",
        "one-b": "In the liver.",
        "two-b": "Nowhere. <b>No</b>. ",
    }
    assert list(made.cases["step"]) == [1, 2, 1, 1, 2]
    assert list(made.cases["model_a"]) == ["m", "m", "n", "o", "o"]
    assert list(made.cases["before"].dropna()) == ["In the lung. ", "Nowhere. "]
    assert set(made.cases["cluster"]) == {"i"}
    assert "split" not in made.cases
    assert made.images["x.png"] == png(9)
    meta = made.meta
    assert (meta.task, meta.categories, meta.acceptable, meta.kind) == (
        "rating", ("wrong", "right"), ("right",), "clinical",
    )  # fmt: skip
    assert "Step 1" in meta.extra["steps"]["rule"]  # type: ignore[index]  # a table
    assert not [finding for finding in audit(tmp_path) if finding.severity == "error"]


def test_rubrics_are_left_out_and_counted(tmp_path: Path) -> None:
    rubric = '[{"criterion": "names the side", "weight": 5, "dimension": "accuracy"}]'
    findings = WRITERS["steps"].convert(pairs(rubric=[rubric, None]), empty_verdicts(), tmp_path)
    assert "rubric" not in load(tmp_path).cases
    [found] = [one for one in findings if "rubric" in one.problem]
    assert "1 " in found.problem


def test_a_step_is_in_the_cluster_of_its_case_or_item_or_in_one_of_the_case(tmp_path: Path) -> None:
    columns = {"cluster": pd.Series(["k", None], dtype="str"), "item": pd.Series([None, "i"], dtype="str")}
    WRITERS["steps"].convert(pairs(**columns), empty_verdicts(), tmp_path / "partly")
    made = load(tmp_path / "partly").cases.set_index("item")["cluster"].to_dict()
    assert made == {"one-a": "k", "one-b": "k", "two-b": "i"}
    bare = pairs(item=pd.Series([None, None], dtype="str"))
    WRITERS["steps"].convert(bare, empty_verdicts(), tmp_path / "bare")
    assert list(load(tmp_path / "bare").cases["cluster"]) == ["one", "one", "one", "two", "two"]


def test_steps_are_not_split_again(tmp_path: Path) -> None:
    WRITERS["steps"].convert(pairs(), empty_verdicts(), tmp_path)
    with pytest.raises(InputError, match="its cases are steps already"):
        WRITERS["steps"].convert(load(tmp_path), empty_verdicts(), tmp_path / "again")
    assert not (tmp_path / "again").exists()


@pytest.mark.parametrize(
    ("steps", "items", "row", "message"),
    [
        ([1, 2, 2], "aaa", 3, "step 2 of the item 'a' occurs again"),
        ([1, 3, 2], "aaa", 2, "step 3 of the item 'a' comes before its step 2"),
        ([1, 2, 4], "aaa", 3, "step 3 of the item 'a' is missing before its step 4"),
        ([1, 2, 2], "aab", 3, "step 1 of the item 'b' is missing before its step 2"),
        ([1, None, 2], "aaa", 2, "the item 'a' has steps, and this case of it is none"),
        ([1, 2, 1], ["a", "a", None], 3, "step 1 is of no item"),
        ([1, 2, 0], "aab", 3, "0.0 is outside 1 to"),
        ([1, 2, 1.5], "aab", 3, "1.5 is not a whole number"),
    ],
)
def test_steps_out_of_order_are_refused_wherever_a_benchmark_is_read(
    tmp_path: Path, steps: list[float | None], items: list[str | None] | str, row: int, message: str
) -> None:
    meta = BenchmarkMeta("s", "general", ("overall",), ("bad", "good"), "ordinal", "rating")
    cases = pd.DataFrame({"case_id": list("xyz"), "question": "q", "response_a": "r", "item": list(items)})
    with pytest.raises(InputError, match="cases") as caught:
        save(Benchmark(meta, cases.assign(step=steps), empty_annotations()), tmp_path / "new")
    assert message.removeprefix("0.0") in str(caught.value)
    assert f"row {row}" in str(caught.value)
    assert "\n" not in str(caught.value)
    save(Benchmark(meta, cases.drop(columns="item"), empty_annotations()), tmp_path / "old")
    stored = pd.read_parquet(tmp_path / "old/cases.parquet").assign(item=list(items), step=steps)
    stored.to_parquet(tmp_path / "old/cases.parquet")
    with pytest.raises(InputError, match=f"row {row}"):
        load(tmp_path / "old")
    (found,) = [finding for finding in audit(tmp_path / "old") if finding.severity == "error"]
    assert found.row == row


def test_rows_of_items_may_alternate_and_cases_without_steps_stay(tmp_path: Path) -> None:
    meta = BenchmarkMeta("s", "general", ("overall",), ("bad", "good"), "ordinal", "rating")
    cases = pd.DataFrame({"case_id": list("vwxyz"), "question": "q", "response_a": "r", "item": list("ababc")})
    save(Benchmark(meta, cases.assign(step=[1, 1, 2, 2, None]), empty_annotations()), tmp_path)
    assert load(tmp_path).cases["step"].tolist() == [1, 1, 2, 2, pd.NA]
