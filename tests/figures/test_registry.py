"""What every registered figure promises: texts of few sentences, and a function that draws it from one table."""

import inspect
import re
from string import Formatter

import pytest

from mrb_lib.figures.registry import FIGURES, figure
from mrb_lib.figures.style import canvas
from mrb_lib.report.links import LISTS
from mrb_lib.stats.columns import TABLES

SPECS = list(FIGURES.values())
OWN_WORDS = {
    "comparison": {"then", "now"},
    "construction-left": {"by"},
    "estimates": {"what"},
}
"""Words that a figure of no table is given by whoever draws it."""


def sentences(text: str) -> int:
    return len(re.findall(r"[.?](?=\s|$)", re.sub(r"\b(e\.g|i\.e|vs)\.", "", text)))


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.id)
def test_every_figure_says_in_a_few_sentences_what_it_shows_and_how_to_read_it(spec) -> None:
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", spec.id)
    assert spec.title[0].isupper() or spec.title[0] == "{"
    assert not spec.title.endswith(".")
    assert 1 <= sentences(spec.caption) <= 2
    assert 1 <= sentences(spec.reading) <= 3


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.id)
def test_every_word_in_braces_and_every_column_is_one_of_the_table(spec) -> None:
    used = {
        name for text in (spec.title, spec.caption, spec.reading) for _, name, *_ in Formatter().parse(text) if name
    }
    table = TABLES[spec.table] if spec.table else None
    known = {"dimension", "by", "correction"} | {*(table.options if table else ())} | OWN_WORDS.get(spec.id, set())
    assert used <= known
    assert not spec.cases or spec.cases in LISTS
    if table:
        assert not spec.shows or spec.shows in table.columns


def test_every_table_has_at_most_one_main_figure_per_kind() -> None:
    mains = [(spec.table, spec.by) for spec in SPECS if spec.is_main and spec.table]
    assert len(mains) == len(set(mains))


def test_every_figure_is_drawn_from_one_table_and_options_by_name() -> None:
    for spec in SPECS:
        table, *options = inspect.signature(spec.draw).parameters.values()
        assert table.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD, spec.id
        assert all(option.kind is inspect.Parameter.KEYWORD_ONLY for option in options), spec.id


def test_an_id_is_registered_once() -> None:
    with pytest.raises(ValueError, match="registered twice"):
        figure("leaderboard", title="T", caption="C.", reading="R.")(lambda frame: canvas(1, 1))
