"""What only one of two answers states is found; what both state, however they put it, is not."""

from __future__ import annotations

from itertools import pairwise

import pytest

from mrb_lib.widgets.case.facts import LONGEST, FactMark, marks
from mrb_lib.widgets.case.view import marked_html


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


def test_a_text_differs_in_nothing_from_itself() -> None:
    text = "No 3 cm mass in the left upper lobe; the aorta is 40 mm, 12 % less than in 2019, not bilateral."
    assert found(text, text) == ([], [])
    assert len(found(text, "")[0]) >= 6


def test_marks_are_in_order_apart_and_within_what_is_looked_at() -> None:
    text = "left lung 5 mm, no mass; " * 8000
    of_a, _ = marks(text, "")
    assert len(text) > LONGEST
    assert all(one.end <= other.start for one, other in pairwise(of_a))
    assert LONGEST - 100 < of_a[-1].end <= LONGEST


def test_marked_text_is_escaped_inside_and_around_the_marks() -> None:
    assert marked_html("<a> 5&6 <b>", [FactMark(4, 7, "number")]) == (
        '&lt;a&gt; <mark class="mrb-number">5&amp;6</mark> &lt;b&gt;'
    )
