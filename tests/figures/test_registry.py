"""What every registered figure promises: its words, and a function that draws it from a table."""

from __future__ import annotations

import inspect
import re
from typing import get_args

import pytest

from mrb_lib.figures.registry import FIGURES, WORDS, figure
from mrb_lib.figures.style import canvas
from mrb_lib.report.notebook.absent import Need
from mrb_lib.tables.errors import InputError

SPECS = list(FIGURES.values())


def test_every_figure_says_what_it_shows_and_how_to_read_it() -> None:
    for spec in SPECS:
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", spec.id)
        assert spec.title[0].isupper(), spec.id
        assert not spec.title.endswith("."), spec.id
        assert "{" not in spec.title, f"{spec.id}: a title stands over a figure that is absent, too"
        for text in (spec.caption, spec.reading):
            assert text.strip() == text, spec.id
            assert text.endswith((".", ". {note}")), spec.id
            assert "  " not in text, spec.id
    assert len({spec.title for spec in SPECS}) == len(SPECS)


def test_the_words_of_all_texts_are_documented_and_all_documented_words_are_used() -> None:
    used = {spec.id: spec.words for spec in SPECS}
    assert set().union(*used.values()) == set(WORDS)


def test_words_are_filled_in_and_one_without_a_word_is_an_error() -> None:
    spec = FIGURES["adjudication-reasons"]
    assert spec.filled({"note": "So  simulated."}).caption.endswith("at most twelve. So simulated.")
    assert spec.filled({"note": "", "dimension": "overall"}).caption.endswith("at most twelve.")
    with pytest.raises(InputError, match="figure adjudication-reasons need words for note"):
        spec.filled({})


def test_every_need_is_one_that_a_notebook_can_look_for() -> None:
    known = set(get_args(Need))
    for spec in SPECS:
        assert set(spec.needs) <= known, spec.id


def test_every_figure_is_drawn_from_one_table_and_options_by_name() -> None:
    for spec in SPECS:
        table, *options = inspect.signature(spec.draw).parameters.values()
        assert table.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD, spec.id
        assert all(option.kind is inspect.Parameter.KEYWORD_ONLY for option in options), spec.id


def test_an_id_is_registered_once() -> None:
    with pytest.raises(ValueError, match="registered twice"):
        figure("leaderboard", title="T", caption="C.", reading="R.")(lambda frame: canvas(1, 1))
