"""What is nearly the same is found, and what only looks alike is not chained together."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.benchmarks.formats import read_source
from mrb_lib.benchmarks.near_duplicates import (
    SAME_IMAGE,
    SIMILAR_IMAGE,
    SIMILAR_TEXT,
    components,
    near_duplicates,
)

from .near_copies import bench, drawing, sentence, stored, stored_again


def pairs(benchmark: Benchmark) -> list[tuple[int, int, str]]:
    return [tuple(row) for row in near_duplicates(benchmark).itertuples(index=False)]


def test_cases_about_one_image_are_paired_whatever_it_is_called() -> None:
    content = stored(drawing(0))
    images = {"a.png": content, "copy.png": content, "b.png": stored(drawing(1))}
    rows = [{"images": ["a.png"]}, {"images": ["b.png"]}, {"images": ["b.png", "copy.png"]}, {"images": ["a.png"]}]
    assert pairs(bench(rows, images)) == [(0, 2, SAME_IMAGE), (1, 2, SAME_IMAGE), (0, 3, SAME_IMAGE)]


def test_a_missing_or_empty_image_counts_by_its_name() -> None:
    rows = [{"images": ["gone.png"]}, {"images": ["lost.png"]}, {"images": ["gone.png"]}, {"images": ["empty.png"]}]
    assert pairs(bench(rows, {"empty.png": b"", "lost.png": b""})) == [(0, 2, SAME_IMAGE)]


def test_an_image_stored_again_is_recognised() -> None:
    images = {f"{i}.png": stored(drawing(i)) for i in range(20)}
    copies = {f"copy-{i}.png": stored_again(drawing(i)) for i in range(20)}
    rows = [{"images": [name]} for name in (*images, *copies)]
    assert pairs(bench(rows, images | copies)) == [(i, 20 + i, SIMILAR_IMAGE) for i in range(20)]


def test_images_of_one_grey_or_unreadable_ones_resemble_nothing() -> None:
    images = {"black.png": stored(drawing(0).point(lambda _: 0)), "grey.png": stored(drawing(0).point(lambda _: 90)),
              "x.png": b"no image", "y.png": b"none either"}  # fmt: skip
    assert pairs(bench([{"images": [name]} for name in images], images)) == []


def test_texts_are_compared_whatever_their_order_case_and_spaces() -> None:
    one = {"question": sentence(90), "response_a": sentence(91), "response_b": sentence(92)}
    flipped = {**one, "response_a": one["response_b"].upper(), "response_b": one["response_a"].replace(" ", "\n  ")}
    edited = {**one, "response_b": sentence(92).rsplit(" ", 4)[0] + " with another end"}
    assert pairs(bench([{}, one, flipped, {}, edited])) == [(1, 2, SIMILAR_TEXT), (1, 4, SIMILAR_TEXT)]


def test_one_question_on_many_images_chains_nothing() -> None:
    images = {f"{i}.png": stored(drawing(i)) for i in range(30)}
    asked = "Is there a fracture in this radiograph of the forearm, and if so, of which bone and where exactly?"
    long = [{"question": asked, "images": [f"{i}.png"]} for i in range(15)]
    short = [{"question": "Fracture?", "response_a": "Yes", "response_b": "No", "images": [f"{i}.png"]}
             for i in range(15, 30)]  # fmt: skip
    assert pairs(bench(long + short, images)) == []


def test_short_texts_without_an_image_are_copies_where_they_are_the_same() -> None:
    short = {"question": "Capital of France?", "response_a": "Paris", "response_b": "Lyon"}
    other = {"question": "Capital of Italy?", "response_a": "Rome", "response_b": "Milan"}
    assert pairs(bench([short, other, short, {"question": "", "response_a": "", "response_b": ""}])) == [
        (0, 2, SIMILAR_TEXT)
    ]


def test_texts_in_scripts_without_spaces_are_compared_by_character() -> None:
    text = "图像显示左肺上叶有一个结节边缘不规则建议进一步检查以排除恶性肿瘤的可能"
    cases = [{"question": text, "response_a": text[::-1], "response_b": text[5:] + end} for end in ("", "。再见")]
    assert pairs(bench(cases)) == [(0, 1, SIMILAR_TEXT)]


def test_the_embedded_benchmark_has_no_near_duplicates(pictured: Benchmark) -> None:
    assert pairs(pictured) == []
    doubled = replace(pictured, cases=pictured.cases.assign(question="Please describe this image."))
    assert pairs(doubled) == []


@pytest.mark.slow
def test_public_data_has_small_groups(reference_data: Path) -> None:
    benchmark = read_source("pandalm", reference_data / "pandalm").benchmark
    near = near_duplicates(benchmark)
    groups = components(len(benchmark.cases), near["row_1"].to_numpy(), near["row_2"].to_numpy())
    assert (groups.max() + 1, np.bincount(groups).max()) == (364, 10)
