"""Tables for readers: rounding, intervals, the best, escaping; what a notebook publishes: files, sidecars, marks."""

import csv
import json
import re
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from mrb_lib.figures.intervals import panels
from mrb_lib.figures.style import Paper
from mrb_lib.report.publish import Publisher
from mrb_lib.report.tabular import MOST_ROWS, latex_text, table_text, to_html, to_latex
from mrb_lib.tables.errors import InputError


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


NAMES = [
    "a_b%c#&~\\frac{", "under_score & 100% #1", "~tilde^caret\\back{slash}$5", "<script>alert('x')</script>",
    "M\u00fcller \u0151\u015d\u1ea1 \u2265 0.5 \u03b1\u03b2\u03a9", "[2cm] -- ,,quoted`` | \u201cq\u201d \u2013 \u2026",
    "* \u6a21\u578b \U0001f600 \u05e7\u05e8", "\\end{tabular}\\input{secret}", "%%comment %", "{{{ unbalanced",
    "}}} \\\\ &&", "\u2212\u00b1\u00d7\u2192\u221e\u20ac\u00b0\u00b5 \u0166\u01e5",
]  # fmt: skip
HOSTILE = pd.DataFrame({"judge": NAMES, "v": [np.nan, *range(len(NAMES) - 1)]})
WIDE = pd.DataFrame({f"dimension number {i} & {NAMES[i]}": [0.123456, 0.5] for i in range(9)})
TABLES = {
    "narrow": HOSTILE, "empty": HOSTILE.head(0), "long": pd.concat([HOSTILE] * 5), "wide": WIDE,
    "long and wide": pd.concat([WIDE] * 30),
}  # fmt: skip


def test_latex_compiles_with_hostile_names_letters_of_all_scripts_and_without_rows(tmp_path: Path) -> None:
    made = {}
    for kind, rows in TABLES.items():
        frame = rows.reset_index(drop=True)
        number = {str(name): "max" for name in frame.columns if name != "judge"}
        text = table_text(frame, best=number, underline=True)
        made[kind] = latex = to_latex(text, f"A caption of 50% & {' '.join(NAMES)}", kind.replace(" ", "-"))
        needs = latex.partition("\n")[0]
        packages = re.findall(r"\\usepackage(?:\[\w+\])?\{[\w,]+\}", needs)
        assert needs == "% needs " + " and ".join(packages)
        assert cells_per_row(latex) == {columns_of(latex)} == {len(frame.columns)}
        assert (re.search(r"<tbody>\s*</tbody>", to_html(text, "none")) is not None) == frame.empty
    assert r"under\_score \& 100\% \#1" in made["narrow"]
    assert r"\textbackslash{}end\{tabular\}\textbackslash{}input\{secret\}" in made["narrow"]
    # Each letter up to U+2FFF, with a letter after it that an accent could take hold of.
    letters = (latex_text(chr(code) + "x") for code in range(0x20, 0x3000))
    assert latex_text("a\n\nb\0c") == "a bc"
    made["letters"] = "% needs \\usepackage[T1]{fontenc}\n" + "\n\n".join(letters)
    assert compiled(made, tmp_path) == ""
    assert (tmp_path / "all.pdf").stat().st_size > 1000


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


NOTE = "SIMULATED data: made up."


def publisher(out: Path | str, kind: str = "clinical") -> Publisher:
    return Publisher(str(out), "bench", kind, NOTE if kind == "simulated" else "")


WORDS = {"title": "T", "caption": "C.", "reading": "R."}


def drawing() -> tuple[Paper, pd.DataFrame]:
    frame = pd.DataFrame({"judge": ["$x_1$", "b"], "dimension": "overall", "accuracy": [1 / 3, 2 / 3]})
    frame = frame.assign(low=[0.2, 0.6], high=[0.4, 0.7])
    return panels(frame, value="accuracy", axis_label="accuracy (%)"), frame


def publish_figure(out: Path | str, kind: str = "clinical") -> Paper:
    figure, frame = drawing()
    return publisher(out, kind).figure(figure, "leaderboard", **WORDS, data=frame, policy="balanced", n=1026)


def caption_of(**more: object) -> str:
    frame = pd.DataFrame({"a": [1]})
    return publisher("").table(frame, table_text(frame), "t", title="T", caption="C.", **more).caption


def sidecar_of(out: Path) -> dict[str, Any]:
    return json.loads((out / "figures" / "leaderboard.json").read_text("utf-8"))


def test_a_figure_becomes_five_files_that_name_each_other(tmp_path: Path) -> None:
    publish_figure(tmp_path)
    sidecar = sidecar_of(tmp_path)
    assert sidecar["files"] == {kind: f"leaderboard.{kind}" for kind in ("png", "svg", "pdf", "csv")}
    assert {path.name for path in (tmp_path / "figures").iterdir()} == {*sidecar["files"].values(), "leaderboard.json"}
    assert sidecar["caption"] == "C. Benchmark: bench; policy: balanced; n = 1,026 cases."
    stated = [sidecar[name] for name in ("reading", "policy", "n", "simulated")]
    assert stated == ["R.", "balanced", 1026, False]


def test_labels_that_no_font_has_are_in_the_caption(tmp_path: Path) -> None:
    figure, frame = drawing()
    figure.letters.numbered["\u13a3\u13a8"] = 1
    publisher(tmp_path).figure(figure, "leaderboard", **WORDS, data=frame)
    assert "[1] \u13a3\u13a8" in sidecar_of(tmp_path)["caption"]


def test_a_caption_names_several_n_and_gold_labels_of_another_rule() -> None:
    assert caption_of(n=pd.Series([9, 1026, 50])) == "C. Benchmark: bench; n = 9 to 1,026 cases."
    said = caption_of(policy="strict", gold="unanimous")
    assert said == "C. Benchmark: bench; policy: strict; gold labels: unanimous."


def test_the_csv_holds_every_number_in_full(tmp_path: Path) -> None:
    publish_figure(tmp_path)
    back = pd.read_csv(tmp_path / "figures" / "leaderboard.csv")
    _, frame = drawing()
    pd.testing.assert_frame_equal(back.drop(columns="data_kind"), frame, check_dtype=False)
    assert set(back["data_kind"]) == {"clinical"}


def test_simulated_rows_of_clinical_data_keep_their_mark(tmp_path: Path) -> None:
    rows = pd.DataFrame({"n": [1, 2], "data_kind": pd.Series([None, "SIMULATED"], dtype="str")})
    publisher(tmp_path).table(rows, table_text(rows), "t", title="T", caption="C.")
    assert pd.read_csv(tmp_path / "tables" / "t.csv")["data_kind"].tolist() == ["clinical", "SIMULATED"]


def test_simulated_is_said_on_the_face_the_caption_and_the_data(tmp_path: Path) -> None:
    figure = publish_figure(tmp_path, "simulated")
    assert "SIMULATED DATA" in [text.get_text() for text in figure.texts]
    sidecar = sidecar_of(tmp_path)
    assert sidecar["simulated"] is True
    assert sidecar["caption"].startswith(NOTE)
    assert set(pd.read_csv(tmp_path / "figures" / "leaderboard.csv")["data_kind"]) == {"SIMULATED"}
    assert "SIMULATED" not in [text.get_text() for text in publish_figure("").texts]


@pytest.mark.parametrize("name", ["../up", "Upper", "a_b", "", "a--b", "a/b", "a.png"])
def test_an_id_is_a_plain_name(tmp_path: Path, name: str) -> None:
    figure, frame = drawing()
    with pytest.raises(InputError, match="is not plain"):
        publisher(tmp_path).figure(figure, name, title="", caption="", reading="", data=frame)
    assert list(tmp_path.iterdir()) == []


def test_a_table_is_full_in_csv_and_bold_in_latex(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {"judge": ["a_1", "$b$", "human"], "overall": [1 / 3, 2 / 3, 0.9], "overall_low": [0.2, 0.6, 0.8],
         "overall_high": [0.4, 0.7, np.nan]}
    )  # fmt: skip
    text = table_text(frame, best={"overall": "max"}, reference_rows=["human"])
    table = publisher(tmp_path, "simulated").table(frame, text, "board", title="Board & co", caption="C.")
    latex = (tmp_path / "tables" / "board.tex").read_text()
    assert r"\textbf{0.667 [0.600, 0.700]}" in latex
    assert latex.count(r"\textbf") == 1
    assert r"a\_1 & 0.333 [0.200, 0.400] \\" in latex
    assert r"\$b\$" in latex
    assert r"human & 0.900 \\" in latex
    assert r"\caption{Board \& co. SIMULATED data" in latex
    with (tmp_path / "tables" / "board.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert float(rows[0]["overall"]) == 1 / 3
    assert {row["data_kind"] for row in rows} == {"SIMULATED"}
    sidecar = json.loads((tmp_path / "tables" / "board.json").read_text())
    first, second = ([cell["text"] for cell in row["cells"]] for row in sidecar["shown"]["rows"])
    assert (first[0], second) == ("a_1", ["$b$", "0.667"])
    marked = sidecar["shown"]["rows"][1]["cells"][1]
    assert (marked["best"], marked["interval"]) == (True, "[0.600, 0.700]")
    assert [row["cells"][0]["text"] for row in sidecar["shown"]["references"]] == ["human"]
    assert sidecar["n_rows"] == 2, "of a reference no page says that it is left out"
    assert sidecar["files"] == {"csv": "board.csv", "tex": "board.tex"}
    assert "SIMULATED" in table._repr_html_()


def test_a_table_cannot_act() -> None:
    frame = pd.DataFrame({"<b>": ["<script>alert(1)</script>", "x\0y"]})
    shown = publisher("").table(frame, table_text(frame), "t", title="<i>", caption="&")
    page = shown._repr_html_()
    assert not [text for text in ("<script", "<i>", "<b>", "\0") if text in page]
    assert "&lt;script&gt;" in page


@pytest.mark.parametrize("kind", ["clinical", "simulated"])
def test_a_figure_with_a_judge_that_was_shown_no_image_says_so_on_its_face(tmp_path: Path, kind: str) -> None:
    figure, frame = drawing()
    made = replace(publisher(tmp_path, kind), blind=frozenset({"b", "elsewhere"}))
    made.figure(figure, "leaderboard", **WORDS, data=frame)
    shown = [text.get_text() for text in figure.texts]
    assert "Judged without images: b" in shown and ("SIMULATED DATA" in shown) == (kind == "simulated")
    sidecar = sidecar_of(tmp_path)
    assert "C. Judged without images: b. Benchmark" in sidecar["caption"]
    seeing, frame = drawing()
    replace(made, blind=frozenset({"elsewhere"})).figure(seeing, "seeing", **WORDS, data=frame)
    assert not any("without images" in text.get_text() for text in seeing.texts)
