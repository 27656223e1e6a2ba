"""A long reply that repeats one part takes seconds at most: time in proportion to its length, not to the square."""

import time
from collections.abc import Callable

import pytest

from mrb_lib.replies.categories import parse_categories
from mrb_lib.replies.criteria import parse_criteria
from mrb_lib.replies.multi import parse_labels
from mrb_lib.replies.rankings import parse_rankings
from mrb_lib.replies.reading import parse
from mrb_lib.tables.schema import DIMENSIONS

PARTS = (
    '{"a":', '{"reason": "', "[", "{", '"', "A, ", "1. A\n", "| 4 ", "Rating: ", "<think>", "[[A]] ", "A no, B ",
    "actually A. ", "the score of ", "\n", "[{", '{"x":"a"b ', "{\u201ca:1,", "\\", '{"a":"\n', '\n"', "|", "|-", "A|",
    "A and B ", "both they ", "## Accuracy\n", "Accuracy: ", "B is better on accuracy ", "A > ", "_", "Accuracy (",
    "winner is ", "{/*", '{"accuracy":"B"}',
)  # fmt: skip
LETTERS, MOST_S = 30_000, 5.0  # of a longer reply no more is read; in proportion it takes half a second
READERS: dict[str, Callable[[str], object]] = {
    "verdicts": lambda text: parse("Accuracy: A. " + text, DIMENSIONS),
    "categories": lambda text: parse_categories(text, ["overall"], tuple("12345")),
    "labels": lambda text: parse_labels(text, {"errors": ("omission", "wrong side")}),
    "rankings": lambda text: parse_rankings(text, ("accuracy", "relevance"), 3),
    "criteria": lambda text: parse_criteria(text, 3),
}


def seconds(reader: str, part: str, letters: int) -> float:
    start = time.process_time()
    READERS[reader](part * (letters // len(part)))
    return time.process_time() - start


@pytest.mark.parametrize("reader", READERS)
def test_no_long_reply_takes_more_than_seconds(reader: str) -> None:
    for part in PARTS:
        # Where time grows with the cube of the length, twice the length takes eight times as long.
        if 8 * seconds(reader, part, LETTERS // 2) > MOST_S:
            assert seconds(reader, part, LETTERS) < MOST_S, part
