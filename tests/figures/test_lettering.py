"""Text of unknown origin can be drawn and told apart."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mrb_lib.figures.lettering import label, labels, paragraph, percent, signed_percent


@given(st.text(), st.integers(8, 40))
def test_a_label_is_one_short_line(text: str, width: int) -> None:
    shown = label(text, width)
    assert 0 < len(shown.replace(r"\$", "$")) <= width
    assert "\n" not in shown
    assert "\0" not in shown
    assert shown.count("$") == shown.count(r"\$")


@given(st.lists(st.text(), max_size=12, unique=True))
def test_labels_tell_names_apart(names: list[str]) -> None:
    shown = labels(names, 12)
    assert len(set(shown)) == len(names)


def test_long_names_keep_both_ends_and_are_cut_between_words() -> None:
    assert label("Qwen2.5-VL-72B-Instruct-sft", 16) == "Qwen2.5-VL\u2026-sft"
    assert label("an-owner/Qwen2.5-VL-72B", 16) == "Qwen2.5-VL-72B"
    alike = [f"Invented-Vision-{i}-235B-Instruct-preview" for i in range(2)]
    assert labels(alike, 24) == ["Invented-Vision-0-235B-\u2026", "Invented-Vision-1-235B-\u2026"]


def test_letters_the_font_lacks_become_boxes() -> None:
    assert label("模x") == "\u25a1x"


@given(st.text(), st.integers(8, 60), st.integers(1, 5))
def test_a_paragraph_keeps_to_its_room(text: str, width: int, lines: int) -> None:
    shown = paragraph(text, width, lines).replace(r"\$", "$").split("\n")
    assert len(shown) <= lines
    assert all(len(line) <= width for line in shown)


@pytest.mark.parametrize(
    ("value", "plain", "signed"),
    [(0.123, "12", "+12"), (-0.004, "0", "0"), (0.0, "0", "0"), (-0.2, "\u221220", "\u221220"), (1.0, "100", "+100")],
)
def test_percentages(value: float, plain: str, signed: str) -> None:
    assert percent(value) == plain
    assert signed_percent(value) == signed
