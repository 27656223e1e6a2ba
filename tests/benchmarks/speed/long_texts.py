"""Whether what reads texts takes time in proportion to them, whatever they say. MADE UP texts of one repeated part.

Run as `python tests/benchmarks/speed/long_texts.py [READER ...]`; prints, of every reader, the part whose time grows
the most where its text grows 8 times (8 is in proportion, 64 the square), and exits with 1 where one grows over 24.
"""

import sys
import time
from collections.abc import Callable
from dataclasses import replace

import pandas as pd

from mrb_lib.probes import PROBES, Case, ProbeId
from mrb_lib.probes.apply import Probing, generator
from mrb_lib.probes.marking import changed_words
from mrb_lib.replies.categories import parse_categories
from mrb_lib.replies.multi import parse_labels
from mrb_lib.replies.rankings import parse_rankings
from mrb_lib.replies.reading import parse
from mrb_lib.review.case.facts import marks
from mrb_lib.tables.rubrics import rubric_fault
from mrb_lib.tables.schema import DIMENSIONS

SIZE, GROWTH, MOST = 12_500, 8, 24
LEAST_S = 0.01  # what takes less is not compared
OTHERS = Probing(pd.DataFrame({"case_id": []}))._others
CASE = Case("c1", "A 48-year-old man. What is seen?", "A nodule.", "None.", ("x.png",), "CT", "lung")
PARTS = (
    '{"a":', '{"errors": [', '{"reason": "', '{"a": 1} ', '["omission"] ', "reason: '", "[", "{", "[[[]", "\\", '"',
    "```", "(A", "A, ", "A = ", "= ", "> ", "B > A > C", "1. A\n", "| 4 ", "| A ", "Rating: ", "accuracy: ",
    "ranking: ", "first ", "worst ", "<think>", "<rating>", "[[A]] ", "[[", "A no, B ", "actually A. ", "A\nB\n",
    "Overall, A but ", "A says ", "the score of ", "4\n", " ", "\n", "_", "#", "- ", "* ", "**", "a_", "x.", ". \n",
    "no, ", "no any ", "no a, ", "left ", "left the ", "left (", "1,", "1,000", "5 x ", "hyper", "not able ", "lung ",
    "no shows ", "overall B", "9",
    "it is important to note that ", "A left lung. ", "?\n", "her ", "What is ", "48-year-old man. ", "e.g.",
)  # fmt: skip


def _probed(name: str, text: str) -> None:
    long = replace(CASE, question=f"{text} {CASE.question}", response_a=text, response_b=text)
    step = PROBES[name].severities
    found = PROBES[name].applied(long, step, generator(0, ProbeId(name, step), "c1"), OTHERS, both=False)
    if isinstance(found, Case):
        changed_words(text, found.response_a)


READERS: dict[str, Callable[[str], object]] = {
    "verdicts": lambda text: parse("Accuracy: A. " + text, DIMENSIONS),
    "categories": lambda text: parse_categories(text, ["overall"], tuple("12345")),
    "labels": lambda text: parse_labels(text, {"errors": ("omission", "wrong side")}),
    "rankings": lambda text: parse_rankings(text, ("accuracy", "relevance"), 3),
    "rubrics": rubric_fault,
    "facts": lambda text: marks(text, ""),
} | {
    name: lambda text, name=name: _probed(name, text)
    for name, probe in PROBES.items()
    if probe.response is not None or name.startswith(("question/", "prompt/"))
}


def seconds(read: Callable[[str], object], text: str) -> float:
    start = time.process_time()
    read(text)
    return max(time.process_time() - start, LEAST_S)


def growth(read: Callable[[str], object], part: str) -> float:
    short = part * (SIZE // len(part))
    return seconds(read, GROWTH * short) / seconds(read, short)


def main() -> int:
    worst = 0.0
    for name in sys.argv[1:] or READERS:
        times, part = max((growth(READERS[name], part), part) for part in PARTS)
        worst = max(worst, times)
        print(f"{name:28} {times:6.1f} times the time, of {part!r}", flush=True)
    return int(worst > MOST)


if __name__ == "__main__":
    sys.exit(main())
