"""Worked examples come from training cases alone, tell nothing of the case judged, and favour no letter."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.judges.examples import draw_examples
from mrb_lib.tables.errors import InputError
from mrb_lib.verdicts.orders import EXAMPLES, to_shown_frame
from tests.pictures import png

from .shown_benchmark import DIMENSIONS, rating_benchmark, shown_benchmark


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Benchmark:
    return shown_benchmark(tmp_path_factory.mktemp("shown") / "bench")


def number_of(example: dict[str, object]) -> int:
    """Return which case an example is."""
    return int(str(example["question"]).split()[0].removeprefix("question-"))


def drawn(bench: Benchmark, k: int, seed: int = 0) -> dict[int, list[dict[str, object]]]:
    column = draw_examples(bench, k, seed).column
    return {int(row): json.loads(text) for row, text in column.dropna().items()}


def test_only_training_cases_of_other_items_are_drawn_with_what_annotators_decided(bench: Benchmark) -> None:
    found = drawn(bench, 3)
    assert sorted(found) == list(range(14, 24)), "training cases are not judged"
    gold = bench.annotations.set_index(["case_id", "dimension"])["choice"].to_dict()
    for examples in found.values():
        assert len({number_of(one) for one in examples}) == 3
        for one in examples:
            i = number_of(one)
            assert i < 14
            is_turned = str(one["response_a"]).startswith("second-")
            assert str(one["response_b"]).startswith("first-" if is_turned else "second-")
            swap = {"A": "B", "B": "A"} if is_turned else {}
            own = {name: gold[f"c{i}", name] for name in DIMENSIONS}
            assert one["choices"] == {name: swap.get(choice, choice) for name, choice in own.items()}


def test_a_case_of_the_same_item_cluster_texts_or_image_is_never_drawn(tmp_path: Path) -> None:
    """Every training case but one is like the case judged in one way; all that is left is drawn."""
    texts = (
        "the same long text of many words about a nodule in the left upper lobe which was seen by nobody before " * 2
    )
    plain = shown_benchmark(
        tmp_path / "bench",
        n=8,
        n_train=6,
        item=[f"i{number}" for number in (0, 1, 2, 3, 4, 5, 6, 0)],
        cluster=["x0", "k", "x2", "x3", "x4", "x5", "x6", "k"],
    )
    picture = png(np.random.default_rng(0).integers(0, 255, (64, 64), dtype=np.uint8))
    cases = plain.cases.copy()
    for row in (2, 7):
        texts_of_row = [f"question-{row} {texts}", f"{texts} {row}", "short"]
        cases.loc[row, ["question", "response_a", "response_b"]] = texts_of_row
    cases["images"] = [["one.png"] if row == 3 else ["copy.png"] if row == 7 else [] for row in range(8)]
    votes = [(f"c{i}", "r", name, "A") for i in range(8) for name in DIMENSIONS]
    votes = pd.DataFrame(votes, columns=["case_id", "annotator", "dimension", "choice"])
    pictures = {"one.png": picture, "copy.png": picture}
    bench = replace(plain, cases=cases, annotations=votes, images=pictures)
    found = drawn(bench, 2)
    assert {number_of(one) for one in found[7]} == {4, 5}
    assert len(found[6]) == 2, "a case that is like none may have any"
    column = draw_examples(bench, 3, 0).column
    assert pd.isna(column[7]), "no case that is too like it fills a place"
    assert isinstance(column[6], str)


def test_the_responses_of_examples_are_exchanged_by_a_coin(bench: Benchmark) -> None:
    """Gold is always A, and a judge follows the more frequent letter."""
    votes = [(f"c{i}", "r", name, "A") for i in range(24) for name in DIMENSIONS]
    one_sided = replace(bench, annotations=pd.DataFrame(votes, columns=bench.annotations.columns))
    letters = [one["choices"]["overall"] for examples in drawn(one_sided, 4).values() for one in examples]
    assert 10 <= letters.count("A") <= 30, "of 40"


def test_in_the_other_order_examples_are_exchanged_too(bench: Benchmark) -> None:
    rows = bench.cases.loc[[20]].assign(**{EXAMPLES: draw_examples(bench, 3, 0).column.loc[[20]]})
    first, second = (json.loads(to_shown_frame(rows.assign(order=order))[EXAMPLES].iloc[0]) for order in ("AB", "BA"))
    swap = {"A": "B", "B": "A", "tie": "tie"}
    for one, other in zip(first, second, strict=True):
        assert one["question"] == other["question"]
        assert (one["response_a"], one["response_b"]) == (other["response_b"], other["response_a"])
        assert one["choices"] == {name: swap[choice] for name, choice in other["choices"].items()}
    letters = [choice for one in (*first, *second) for choice in one["choices"].values()]
    assert letters.count("A") == letters.count("B")


def test_every_process_draws_the_same_and_another_seed_others(bench: Benchmark) -> None:
    """The digest was written down by another process: it depends on no hash of Python's."""
    assert draw_examples(bench, 3, 7).sha256.startswith("ba1ac0415f32f300")
    assert drawn(bench, 3, 7) != drawn(bench, 3, 8)


def test_what_is_drawn_for_a_case_does_not_depend_on_the_other_cases_judged(bench: Benchmark) -> None:
    without = ["c16", "c18"]
    cases, votes = (frame[~frame["case_id"].isin(without)] for frame in (bench.cases, bench.annotations))
    fewer = replace(bench, cases=cases.reset_index(drop=True), annotations=votes)
    assert drawn(fewer, 3)[14] == drawn(bench, 3)[14]


def test_the_digest_changes_with_gold_and_texts_of_training_cases(bench: Benchmark) -> None:
    def digest(**changed: pd.DataFrame) -> str:
        return draw_examples(replace(bench, **changed), 1, 0).sha256

    never_drawn = set(range(14)) - {number_of(one) for examples in drawn(bench, 1).values() for one in examples}
    gold = bench.annotations.pivot(index="case_id", columns="dimension", values="choice")
    row = next(i for i in sorted(never_drawn) if set(gold.loc[f"c{i}"]) == {"A"})
    others = [bench.annotations.copy(), bench.annotations.copy()]
    for table, case in zip(others, (f"c{row}", "c20"), strict=True):
        table.loc[table["case_id"] == case, "choice"] = "B"
    texts = bench.cases.copy()
    texts.loc[row, "response_b"] += " more"
    assert len({digest(), digest(annotations=others[0]), digest(cases=texts)}) == 3
    assert digest(annotations=others[1]) == digest()


def test_ratings_have_one_response_and_their_category(tmp_path: Path) -> None:
    bench = rating_benchmark(tmp_path)
    gold = bench.annotations.set_index(["case_id", "dimension"])["choice"].to_dict()
    for examples in drawn(bench, 4).values():
        for one in examples:
            assert set(one) == {"question", "response_a", "choices"}
            assert one["choices"] == {name: gold[f"c{number_of(one)}", name] for name in DIMENSIONS}


def test_undecided_cases_are_no_examples(bench: Benchmark) -> None:
    undecided = bench.annotations.copy()
    undecided.loc[(undecided["case_id"] == "c0") & (undecided["dimension"] == "overall"), "choice"] = "B"
    second = undecided[undecided["case_id"] == "c0"].assign(annotator="r9", choice="A")
    split = replace(bench, annotations=pd.concat([undecided, second], ignore_index=True))
    assert 0 not in {number_of(one) for examples in drawn(split, 5).values() for one in examples}
    ties = bench.annotations.copy()
    ties.loc[ties["case_id"].isin([f"c{i}" for i in range(12)]), "choice"] = "tie"
    with pytest.raises(InputError, match=r"examples 3: only [012] of 14 training cases are decided by annotators"):
        draw_examples(replace(bench, annotations=ties), 3, 0)
