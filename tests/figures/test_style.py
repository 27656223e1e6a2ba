"""What is drawn on a colour can be read."""

from __future__ import annotations

from mrb_lib.figures.style import ink_on


def test_ink_can_be_read() -> None:
    assert ink_on((1, 1, 1)) == "black"
    assert ink_on((0, 0, 0.3)) == "white"
