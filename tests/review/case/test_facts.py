"""What only one of two answers states is found; what both state, however they put it, is not."""

import re
from itertools import pairwise
from pathlib import Path

import pytest

from mrb_lib.review.case.facts import LONGEST, FactMark, marks, word_differences
from mrb_lib.review.case.markdown import marked_html


def found(a: str, b: str) -> tuple[list[str], list[str]]:
    of_a, of_b = marks(a, b)
    return [a[mark.start : mark.end] for mark in of_a], [b[mark.start : mark.end] for mark in of_b]


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("A nodule in the left lung.", "A nodule in the right lung.", (["left"], ["right"])),
        ("It measures 5 mm.", "It measures 7 mm.", (["5 mm"], ["7 mm"])),
        ("It measures 5 mm.", "It measures 0.5 cm.", ([], [])),
        ("It measures 1,5 cm.", "It measures 15mm.", ([], [])),
        ("5 mm", "5 cm", (["5 mm"], ["5 cm"])),
        ("No fracture.", "There is a fracture.", (["No fracture"], [])),
        ("No acute fracture.", "Without any fracture.", ([], [])),
        ("no pleural effusion", "no evidence of effusion", ([], [])),
        ("The liver is large.", "The spleen is large.", (["liver"], ["spleen"])),
        ("both kidneys", "the kidney", ([], [])),
        ("the ventricle and the aorta", "ventricular and aortic", ([], [])),
        ("Bilaterally.", "bilateral", ([], [])),
        ("a leftover, 3.2.1, x12 and knowledge", "", ([], [])),
        ("", "", ([], [])),
    ],
)
def test_known_pairs(a: str, b: str, expected: tuple[list[str], list[str]]) -> None:
    assert found(a, b) == expected
    assert found(b, a) == expected[::-1]


def test_marks_are_in_order_apart_and_within_what_is_looked_at() -> None:
    text = "left lung 5 mm, no mass; " * 8000
    of_a, _ = marks(text, "")
    assert len(text) > LONGEST
    assert all(one.end <= other.start for one, other in pairwise(of_a))
    assert LONGEST - 100 < of_a[-1].end <= LONGEST


def marked_by_hand() -> list[tuple[list[str], list[list[tuple[int, int]]]]]:
    """The pairs of marked_pairs.txt: both texts, and of each the stretches in brackets."""
    pairs = []
    for line in Path(__file__).with_name("marked_pairs.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            continue
        texts, wanted = ["", ""], [[], []]
        for which, side in enumerate(line.split(" || ")):
            for place, piece in enumerate(re.split(r"[\[\]]", side)):
                if place % 2:
                    wanted[which].append((len(texts[which]), len(texts[which]) + len(piece)))
                texts[which] += piece
        pairs.append((texts, wanted))
    return pairs


def test_pairs_that_were_marked_by_hand() -> None:
    """A mark is right where it touches one made by hand; the rules were written with these pairs in sight."""
    right = made = found_again = wanted_all = 0
    for texts, wanted in marked_by_hand():
        for marked, stretches in zip(marks(*texts), wanted, strict=True):
            touches = [[mark.start < end and start < mark.end for start, end in stretches] for mark in marked]
            right += sum(map(any, touches))
            made += len(marked)
            found_again += sum(map(any, zip(*touches, strict=True)))
            wanted_all += len(stretches)
    print(f"precision {right / made:.3f} of {made} marks, recall {found_again / wanted_all:.3f} of {wanted_all}")
    assert len(marked_by_hand()) == 150
    assert right / made >= 0.95
    assert found_again / wanted_all >= 0.95


def test_every_word_that_differs_is_underlined_once_and_escaped() -> None:
    a, b = "The <b>left</b> lung is clear.", "the right lung is <i>Clear</i>"
    of_a, of_b = word_differences(a, b)
    assert [a[start:end] for start, end in of_a] == ["<b>left</b>", "."]
    assert [b[start:end] for start, end in of_b] == ["right", "<i>", "</i>"]
    shown = marked_html(a, [FactMark(0, 7, "side")], of_a)
    assert shown == (
        '<mark class="mrb-side">The <span class="mrb-differs">&lt;b&gt;</span></mark><span class="mrb-differs">left&lt;'
        '/b&gt;</span> lung is clear<span class="mrb-differs">.</span>'
    )
    long = "a " * 100_000
    assert word_differences(long, f"{long}b") == ([], [(len(long), len(long) + 1)])
