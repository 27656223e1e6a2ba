"""Text of the data stays text, can be seen, and turns nothing around it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mrb_lib.review.pages import visible

LRI, RLI, FSI, PDI, RLO = "\u2066", "\u2067", "\u2068", "\u2069", "\u202e"


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        (f"{RLO}{LRI}never closed", f"{RLO}{LRI}never closed{PDI}"),
        (f"{RLI}{LRI}{FSI}x{PDI}", f"{RLI}{LRI}{FSI}x{PDI}{PDI}{PDI}"),
        (f"closed{PDI}{RLO}evil", f"closed{RLO}evil"),
        (f"{LRI}a{PDI} b {RLI}c{PDI}", f"{LRI}a{PDI} b {RLI}c{PDI}"),
        (f"{LRI}first\n{PDI}second", f"{LRI}first{PDI}\nsecond"),
    ],
)
def test_marks_that_isolate_a_direction_end_where_their_paragraph_does(said: str, shown: str) -> None:
    assert visible(said) == shown


@given(st.text(alphabet=f"ab\n\u2029{LRI}{RLI}{FSI}{PDI}{RLO}", max_size=40))
def test_no_text_closes_or_outlives_the_element_around_it(text: str) -> None:
    for paragraph in visible(text).replace("\u2029", "\n").split("\n"):
        depth = 0
        for letter in paragraph:
            depth += (letter in (LRI, RLI, FSI)) - (letter == PDI)
            assert depth >= 0
        assert depth == 0
    assert [letter for letter in visible(text) if letter not in (LRI, RLI, FSI, PDI)] == [
        letter for letter in text if letter not in (LRI, RLI, FSI, PDI)
    ]


@given(st.text(max_size=60))
def test_text_without_controls_is_shown_word_for_word(text: str) -> None:
    kept = "".join(letter for letter in text if letter.isprintable() or letter in "\n\t")
    kept = "".join(letter for letter in kept if letter not in (LRI, RLI, FSI, PDI))
    assert visible(kept) == kept


def test_what_no_page_can_hold_is_replaced_and_other_controls_get_their_pictures() -> None:
    assert visible("a\0b\ud800c\x1b[31m\x7f") == "a\ufffdb\ufffdc\u241b[31m\u2421"
