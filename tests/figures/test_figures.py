"""Figures alike each time, in every format, and of what no table has; of tables see `test_every_figure`."""

import functools
import hashlib
import io
import os
import subprocess
import sys
from collections.abc import Callable
from itertools import combinations

import numpy as np
import pytest
from fontTools import subset
from fontTools.ttLib import TTFont
from matplotlib.figure import Figure
from PIL import Image
from pypdf import PdfReader

from mrb_lib.figures import gallery
from mrb_lib.figures.paper import every_dimension
from mrb_lib.figures.style import COLOURS, Paper, canvas, house_style, mark_simulated
from mrb_lib.tables.schema import ORGANS
from tests.figures.read import draw, shown
from tests.figures.test_gallery import cards_of
from tests.figures.test_paper import cells_of, judges_in
from tests.figures.test_selective import pairs_of


def picture(side: int = 64) -> bytes:
    noise = np.random.default_rng(0).integers(0, 255, (side, side)).astype("uint8")
    stream = io.BytesIO()
    Image.fromarray(noise).save(stream, format="PNG")
    return stream.getvalue()


def cards(count: int = 6) -> Paper:
    return gallery.cards(cards_of(count), images={"x.png": picture()})


def test_the_check_for_flaws_finds_them(flaws: Callable[[Figure], list[str]]) -> None:
    drawn = canvas(3, 2)
    drawn.text(0.5, 0.5, "over the top", fontsize=5)
    drawn.text(0.5, 0.5, "over the top", fontsize=7)
    drawn.text(0.99, 0.5, "cut off at the edge")
    found = " ".join(flaws(drawn))
    assert "5.0 points" in found
    assert "leaves the canvas" in found
    assert "'over the top' on 'over the top'" in found


def digests(figure: str) -> str:
    """Of a figure's bytes in every format."""
    drawn = cards(2) if figure == "gallery" else draw(figure, pairs_of("abc"), "abc")
    mark_simulated(drawn)
    return " ".join(hashlib.sha256(content).hexdigest() for content in (drawn.png(), drawn.svg(), drawn.pdf()))


def test_same_frame_same_bytes() -> None:
    """In two processes with different hash seeds, in every format."""
    figures = ("significance-differences", "gallery")
    program = f"from tests.figures.test_figures import digests\nfor name in {figures}: print(digests(name))"
    seed = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)}
    said = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert said.stdout.splitlines() == [digests(name) for name in figures]


@functools.cache
def large(figure: str) -> Paper:
    """A large figure, marked as simulated; two tests look at its pixels, which take a second."""
    cells = cells_of(32, ORGANS)
    drawn = cards() if figure == "gallery" else every_dimension(cells, judges=judges_in(cells))
    mark_simulated(drawn)
    return drawn


@pytest.mark.parametrize("figure", ["paper", "gallery"])
def test_files_stay_small_and_undated(figure: str) -> None:
    drawn = large(figure)
    assert len(drawn.png()) < 500_000
    with Image.open(io.BytesIO(drawn.png())) as image:
        assert set(image.info) <= {"dpi", "transparency"}
        assert 150 <= image.info["dpi"][0] <= 300
    assert b"<dc:date>" not in drawn.svg()


def test_letters_of_a_pdf_are_text_in_fonts_that_lay_nothing_out() -> None:
    """TrueType, as journals ask for, without tables of layout; other users of fontTools keep their own."""
    drawn = draw("leaderboard", shown("leaderboard"))
    load = subset.load_font
    assert b"CreationDate" not in drawn.pdf()
    page = PdfReader(io.BytesIO(drawn.pdf())).pages[0]
    assert subset.load_font is load
    assert drawn.axes[0].get_xlabel() in page.extract_text()
    fonts = [font.get_object() for font in page["/Resources"]["/Font"].values()]
    for font in fonts:
        whole = font["/DescendantFonts"][0].get_object() if "/DescendantFonts" in font else font
        embedded = TTFont(io.BytesIO(whole["/FontDescriptor"]["/FontFile2"].get_data()))
        assert "glyf" in embedded
        assert not {"GDEF", "GPOS", "GSUB", "kern"} & set(embedded.keys())
    assert fonts


@pytest.mark.parametrize("figure", ["paper", "gallery"])
def test_few_colours_keep_what_a_colour_says(figure: str) -> None:
    """Of at most 256 colours: none is far from the one that was drawn, and paper stays white."""
    drawn = large(figure)
    with Image.open(io.BytesIO(drawn.png())) as image:
        few = np.asarray(image.convert("RGB")).astype(int)
    full = io.BytesIO()
    with house_style():
        drawn.savefig(full, format="png", dpi=drawn.resolution)
    with Image.open(full) as image:
        every = np.asarray(image.convert("RGB")).astype(int)
    assert np.abs(few - every).max() <= 16
    assert (few[0, 0] == 255).all()


def test_simulated_is_marked_once_and_only_where_asked() -> None:
    drawn = draw("leaderboard", shown("leaderboard"))
    assert "SIMULATED" not in " ".join(text.get_text() for text in drawn.texts)
    height = drawn.get_figheight()
    mark_simulated(drawn)
    mark_simulated(drawn)
    assert [text.get_text() for text in drawn.texts].count("SIMULATED DATA") == 1
    assert drawn.get_figheight() > height
    late = canvas(2, 1)
    late.text(0.5, 0.5, "accuracy of judge & annotator")
    assert "accuracy of judge &amp; annotator" in late.svg().decode("utf-8"), "letters are text"
    with pytest.raises(ValueError, match="mark it first"):
        mark_simulated(late)


def test_hostile_text_is_drawn_as_text() -> None:
    hostile = cards_of(1).assign(question="<script>alert(1)</script>$x_1^2$", case_id="x" * 300, images=[["../../etc"]])
    assert gallery.cards(hostile, images={}).png()
    plain = draw("leaderboard", shown("leaderboard").replace({"judge": {"j1": "$x$"}}), ["$x$"])
    plain.draw_without_rendering()
    [tick] = [tick for tick in plain.axes[0].get_yticklabels() if "x" in tick.get_text() and "$" in tick.get_text()]
    assert tick._preprocess_math(tick.get_text()) == ("$x$", False)


def test_colours_keep_their_meaning_apart() -> None:
    """The colours of A, B, gold, the human level and a tie can be told apart by the colour-blind, every two of them."""
    # Viénot, Brettel and Mollon (1999), deuteranopia, on linear RGB.
    deuteranopia = np.array([[0.29275, 0.70725, 0.0], [0.29275, 0.70725, 0.0], [-0.02234, 0.02234, 1.0]])
    linear = {
        name: (np.array([int(COLOURS[name][i : i + 2], 16) for i in (1, 3, 5)]) / 255) ** 2.2
        for name in ("A", "B", "gold", "human", "tie")
    }
    seen = {name: deuteranopia @ value for name, value in linear.items()}
    for (first, one), (second, other) in combinations(seen.items(), 2):
        assert np.linalg.norm(one - other) > 0.05, (first, second)
