"""Text of unknown origin can be drawn and told apart."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from fontTools.fontBuilder import FontBuilder
from fontTools.pens.ttGlyphPen import TTGlyphPen
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


DRAWN = """
from mrb_lib.figures.style import canvas, name_rows, styled

@styled
def rows():
    paper = canvas(2, 1)
    name_rows(paper.subplots(), ["\u809d\u81d3", "\u0915\u093e\u0928", "\u0631\u0626\u0629", "skin"], 12)
    return paper

paper = rows()
print(paper.svg().decode(), paper.letters.legend)
"""


@pytest.mark.parametrize("letters", ["", "\u809d\u81d3"])
def test_a_label_is_drawn_in_an_installed_font_or_as_a_number_with_a_legend(letters: str, tmp_path: Path) -> None:
    if letters:
        (tmp_path / "fonts").mkdir()
        font = FontBuilder(1000, isTTF=True)
        font.setupGlyphOrder([".notdef", "organ"])
        font.setupCharacterMap({ord(letter): "organ" for letter in letters})
        font.setupGlyf(dict.fromkeys([".notdef", "organ"], TTGlyphPen(None).glyph()))
        font.setupHorizontalMetrics(dict.fromkeys([".notdef", "organ"], (500, 0)))
        font.setupHorizontalHeader(ascent=800, descent=-200)
        font.setupNameTable({"familyName": "Invented Han", "styleName": "Regular"})
        font.setupOS2()
        font.setupPost()
        font.save(tmp_path / "fonts" / "invented.ttf")
    # matplotlib's list of fonts is older than the font.
    done = subprocess.run(
        [sys.executable, "-c", DRAWN], env={**os.environ, "XDG_DATA_HOME": str(tmp_path)}, capture_output=True,
        text=True, encoding="utf-8", check=False,
    )  # fmt: skip
    assert (done.returncode, "Glyph" in done.stderr) == (0, False), done.stderr
    assert "\u0631\u0626\u0629" in done.stdout and "skin" in done.stdout, "the usual font has Arabic letters"
    drawn, legend = done.stdout.split("</svg>")
    assert ("Invented Han" in drawn, ">\u809d\u81d3<" in drawn) == (bool(letters), bool(letters))
    numbered = ["\u0915\u093e\u0928"] if letters else ["\u809d\u81d3", "\u0915\u093e\u0928"]
    assert all(f">[{n}]<" in drawn and f"[{n}] {name}" in legend for n, name in enumerate(numbered, 1))
    assert ">[3]<" not in drawn and "Install" in legend


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
