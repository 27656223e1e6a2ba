"""The words that the search of the index compares."""

import pytest
from nbformat import v4

from mrb_lib.report.html.site import MOST_LETTERS, prose_words, words


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Cohen's  KAPPA\n[0.4]", "cohen's kappa [0.4]"),
        ("ﬁgure", "figure"),
        ("a\0b\u202ec\ud800d", "abcd"),
        ("Straße", "strasse"),
    ],
)
def test_words_are_small_and_plain(text: str, found: str) -> None:
    assert words(text, None) == found


def test_words_of_a_huge_text_are_its_first() -> None:
    assert len(words("x" * 10**6)) == MOST_LETTERS


def test_the_prose_of_a_notebook_is_found_and_its_code_is_not() -> None:
    notebook = v4.new_notebook(
        cells=[
            v4.new_markdown_cell("# A *title*\n\nWhy [kappa](x.md) falls; `net`."),
            v4.new_code_cell("secret = 1"),
        ]
    )
    assert prose_words(notebook) == "a title why kappa falls; net."
