"""What is drawn on a colour can be read, and ticks are written as they stand."""

import pytest

from mrb_lib.figures.style import canvas, ink_on, percent_axis


def test_ink_can_be_read() -> None:
    assert ink_on((1, 1, 1)) == "black"
    assert ink_on((0, 0, 0.3)) == "white"


@pytest.mark.parametrize(
    ("limits", "signed", "texts"),
    [((0.78, 0.93), False, ["80", "85", "90"]),
     ((-0.012, 0.011), True, ["\u22121", "\u22120.5", "0", "+0.5", "+1"]),
     ((0.0, 1.0), False, ["0", "20", "40", "60", "80", "100"])],
)  # fmt: skip
def test_ticks_of_percentages_are_written_as_they_stand(
    limits: tuple[float, float], signed: bool, texts: list[str]
) -> None:
    figure = canvas(3, 2)
    axes = figure.subplots()
    axes.set_xlim(*limits)
    percent_axis(axes.xaxis, 7, signed=signed)
    low, high = limits
    ticks = [tick for tick in axes.get_xticks() if low <= tick <= high]
    assert [axes.xaxis.get_major_formatter()(tick) for tick in ticks] == texts


def test_the_letters_of_an_svg_are_text() -> None:
    drawn = canvas(2, 1)
    drawn.text(0.5, 0.5, "accuracy of judge & annotator")
    assert "accuracy of judge &amp; annotator" in drawn.svg().decode("utf-8")
