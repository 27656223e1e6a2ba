"""Tables for readers: rounding, intervals, the best, escaping."""

import re
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mrb_lib.report.tabular import MOST_ROWS, latex_text, table_text, to_html, to_latex


@pytest.mark.parametrize(
    ("columns", "shown"),
    [
        ({"judge": ["a", None], "accuracy": [np.nan, 0.5]}, (("a", "n/a"), ("\u2013", "0.500"))),
        ({"n": [1026.0, np.nan], "difference": [-0.00001, 0.25]}, (("1026", "0.000"), ("n/a", "0.250"))),
        ({"p_value": [1e-9, 0.0123]}, (("<0.001",), ("0.012",))),
        ({"judge": ["a"], "accuracy": [0.5], "low": [0.4], "high": [0.6]}, (("a", "0.500 [0.400, 0.600]"),)),
    ],
)
def test_numbers_are_rounded_and_what_is_undefined_is_said(columns: dict[str, list[object]], shown: object) -> None:
    assert table_text(pd.DataFrame(columns)).rows == shown


def test_readers_see_words_and_programs_names() -> None:
    frame = pd.DataFrame(
        {"judge": ["a_b"], "subfield": ["pelvic_cavity"], "test": ["permutation_f"], "p_adjusted": [0.5]}
    )
    shown, raw = table_text(frame), table_text(frame, raw=True)
    assert shown.columns == ("judge", "subfield", "test", "adjusted p")
    assert shown.rows == (("a_b", "pelvic cavity", "permutation F", "0.500"),)
    assert (raw.columns, raw.rows[0][1:3]) == (tuple(frame), ("pelvic_cavity", "permutation_f"))


def test_a_case_id_is_told_from_other_text() -> None:
    [row] = table_text(pd.DataFrame({"case_id": ["c_1"], "judge": ["c_1"]})).grid()["rows"]
    assert [cell["case"] for cell in row["cells"]] == ["c_1", ""]


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
    assert re.search(r"<tbody>\s*</tbody>", to_html(shown, "none"))
    assert r"\midrule" in to_latex(shown, "none", "t")


def test_long_tables_are_cut_on_screen_and_say_so() -> None:
    shown = table_text(pd.DataFrame({"i": range(MOST_ROWS + 5)}))
    page = to_html(shown, "C")
    assert page.count("<tr>") == MOST_ROWS + 1
    assert "5 more rows" in page


class TestBestAndSecond:
    FRAME = pd.DataFrame(
        {
            "judge": list("abcdz"),
            "group": ["x", "x", "y", "y", "r"],
            "v": [0.5, 0.9, 0.9, 0.7, 1.0],
            "w": [0.1, np.nan, 0.3, 0.1, 0],
        }
    )

    def test_ties_share_the_first_place_and_the_next_value_is_second(self) -> None:
        best = {"v": "max", "w": "max"}
        shown = table_text(self.FRAME, best=best, underline=True, reference_rows=["z"], parts="group")
        assert shown.best == {(1, 2), (2, 2), (2, 3)}
        assert shown.second == {(3, 2), (0, 3), (3, 3)}
        assert (shown.starts, shown.references) == ({2}, {4})
        assert not table_text(self.FRAME, best=best).second

    def test_are_bold_and_underlined_with_a_line_between_parts(self) -> None:
        shown = table_text(self.FRAME, best={"v": "max"}, underline=True, reference_rows=["z"], parts="group")
        latex, page = to_latex(shown, "caption", "id"), to_html(shown, "caption")
        assert r"b & x & \textbf{0.900}" in latex
        assert r"d & y & \underline{0.700}" in latex
        assert latex.count(r"\midrule") == 3
        assert "<strong>0.900</strong>" in page
        assert "<u>0.700</u>" in page
        assert page.count("border-top") == 2

    def test_one_value_alone_has_no_second(self) -> None:
        shown = table_text(pd.DataFrame({"judge": ["a", "b"], "v": [0.5, np.nan]}), best={"v": "max"}, underline=True)
        assert (shown.best, shown.second) == ({(0, 1)}, frozenset())


HOSTILE = pd.DataFrame({"judge": ["a_b%c#&~\\frac{", "[x]", "*"], "v": [0.5, np.nan, 1.0]})
WIDE = pd.DataFrame({f"dimension number {i}": [0.123456, 0.5] for i in range(9)})
TABLES = {
    "narrow": HOSTILE, "empty": HOSTILE.head(0), "long": pd.concat([HOSTILE] * 20), "wide": WIDE,
    "long and wide": pd.concat([WIDE] * 30),
}  # fmt: skip


@pytest.mark.parametrize("kind", TABLES)
def test_latex_compiles(kind: str, tmp_path: Path) -> None:
    frame = TABLES[kind].reset_index(drop=True)
    number = {str(name): "max" for name in frame.columns if name != "judge"}
    latex = to_latex(table_text(frame, best=number, underline=True), "A caption of 50% & more", "some-id")
    needs = latex.partition("\n")[0]
    packages = re.findall(r"\\usepackage(?:\[\w+\])?\{[\w,]+\}", needs)
    assert needs == "% needs " + " and ".join(packages)
    assert r"\usepackage[T1]{fontenc}" in packages
    assert compiled({kind: latex}, tmp_path) == ""
    assert (tmp_path / "all.pdf").stat().st_size > 1000
    assert cells_per_row(latex) == {columns_of(latex)} == {len(frame.columns)}


def compiled(tables: dict[str, str], folder: Path) -> str:
    """The first error of pdflatex; empty where all compile."""
    needed = {name for table in tables.values() for name in re.findall(r"\\usepackage\S+", table.partition("\n")[0])}
    packages = "\n".join(sorted(needed))
    body = "\n\\clearpage\n".join(tables.values())
    text = f"\\documentclass{{article}}\n{packages}\n\\begin{{document}}\n{body}\n\\end{{document}}\n"
    (folder / "all.tex").write_text(text, encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "all.tex"]
    done = subprocess.run(command, cwd=folder, check=False, capture_output=True, timeout=300)
    printed = done.stdout.decode("utf-8", "replace")
    return "" if done.returncode == 0 else printed[printed.find("\n!") :][:500]


def cells_per_row(latex: str) -> set[int]:
    """How many cells the rows of a table have."""
    rows = [line for line in latex.splitlines() if line.endswith(r" \\")]
    return {len(re.findall(r"(?<!\\)&", line)) + 1 for line in rows}


def columns_of(latex: str) -> int:
    found = re.search(r"\\begin\{(?:tabular|longtable)\}\{([rl]*)\}", latex)
    assert found
    return len(found[1])
