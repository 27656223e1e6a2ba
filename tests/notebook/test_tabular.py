"""Tables for readers: rounding, intervals, the best, escaping."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mrb_lib.notebook.tabular import MOST_ROWS, latex_text, table_text, to_html, to_latex


def test_undefined_is_not_a_number() -> None:
    shown = table_text(pd.DataFrame({"judge": ["a", None], "accuracy": [np.nan, 0.5]}))
    assert shown.rows == (("a", "n/a"), ("\u2013", "0.500"))


def test_whole_numbers_stay_whole_and_zero_has_no_sign() -> None:
    shown = table_text(pd.DataFrame({"n": [1026.0, np.nan], "difference": [-0.00001, 0.25]}))
    assert shown.rows == (("1026", "0.000"), ("n/a", "0.250"))


def test_small_probabilities_are_bounded() -> None:
    shown = table_text(pd.DataFrame({"p_value": [1e-9, 0.0123]}))
    assert shown.rows == (("<0.001",), ("0.012",))


def test_low_and_high_belong_to_the_column_before_them() -> None:
    shown = table_text(pd.DataFrame({"judge": ["a"], "accuracy": [0.5], "low": [0.4], "high": [0.6]}))
    assert shown.columns == ("judge", "accuracy")
    assert shown.rows == (("a", "0.500 [0.400, 0.600]"),)


@pytest.mark.parametrize(("rule", "expected"), [("max", {(1, 1), (2, 1)}), ("min", {(0, 1)})])
def test_equal_bests_are_all_marked(rule: str, expected: set[tuple[int, int]]) -> None:
    frame = pd.DataFrame({"judge": list("abcd"), "x": [0.1, 0.1 + 0.2, 0.3, np.nan]})
    assert table_text(frame, best={"x": rule}).best == expected


def test_nothing_is_best_where_nothing_is_known() -> None:
    frame = pd.DataFrame({"judge": ["a"], "x": [np.nan]})
    assert table_text(frame, best={"x": "max"}).best == frozenset()


def test_latex_escapes_all_it_must() -> None:
    assert latex_text("\\ { } $ & % # _ ~ ^") == (
        r"\textbackslash{} \{ \} \$ \& \% \# \_ \textasciitilde{} \textasciicircum{}"
    )
    assert latex_text("a\n\nb\0c") == "a bc"


def test_a_row_cannot_be_taken_for_an_option_of_the_row_above() -> None:
    lines = to_latex(table_text(pd.DataFrame({"judge": ["a", "[2cm]", "*"], "n": [1, 2, 3]})), "C", "t").splitlines()
    assert [line for line in lines if line.endswith("& 2 \\\\")] == ["{}[2cm] & 2 \\\\"]
    assert not [line for line in lines if line.startswith(("[", "*"))]


def test_a_latex_table_that_is_longer_than_a_page_may_be_broken() -> None:
    short, long = (to_latex(table_text(pd.DataFrame({"judge": "a", "n": range(rows)})), "C", "t") for rows in (40, 41))
    assert "longtable" not in short
    assert long.count(r"\begin{longtable}{lr}") == long.count(r"\end{longtable}") == 1
    assert r"\begin{table}" not in long
    assert long.count("judge & n") == 2  # on the first page and on the others
    assert sum(line.startswith("a & ") for line in long.splitlines()) == 41


def test_an_empty_table_is_a_table() -> None:
    shown = table_text(
        pd.DataFrame({"judge": pd.Series(dtype="str"), "x": pd.Series(dtype="float")}), best={"x": "max"}
    )
    assert "<tbody></tbody>" in to_html(shown, "none")
    assert r"\midrule" in to_latex(shown, "none", "t")


def test_long_tables_are_cut_on_screen_and_say_so() -> None:
    shown = table_text(pd.DataFrame({"i": range(MOST_ROWS + 5)}))
    page = to_html(shown, "C")
    assert page.count("<tr>") == MOST_ROWS + 1
    assert "5 more rows" in page
