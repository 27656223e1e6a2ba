"""What a notebook publishes: files, sidecars, marks, and nothing where nothing is asked for."""

import csv
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from mrb_lib.figures.intervals import panels
from mrb_lib.figures.style import Paper, write_mark
from mrb_lib.report.publish import Publisher, blind_judges
from mrb_lib.report.tabular import spread, table_text
from mrb_lib.tables.errors import InputError
from mrb_lib.verdicts.manifest import Manifest

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


def test_no_folder_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    figure = publish_figure("")
    frame = pd.DataFrame({"a": [1]})
    publisher("").table(frame, table_text(frame), "t", title="T", caption="C.")
    assert list(tmp_path.iterdir()) == []
    data, size = figure._repr_mimebundle_()
    with Image.open(io.BytesIO(data["image/png"])) as image:
        assert image.width > size["image/png"]["width"] > 300


def test_simulated_is_said_on_the_face_the_caption_and_the_data(tmp_path: Path) -> None:
    figure = publish_figure(tmp_path, "simulated")
    assert "SIMULATED DATA" in [text.get_text() for text in figure.texts]
    sidecar = sidecar_of(tmp_path)
    assert sidecar["simulated"] is True
    assert sidecar["caption"].startswith(NOTE)
    assert set(pd.read_csv(tmp_path / "figures" / "leaderboard.csv")["data_kind"]) == {"SIMULATED"}
    assert "SIMULATED" not in [text.get_text() for text in publish_figure("").texts]


def test_publishing_twice_changes_no_byte(tmp_path: Path) -> None:
    publish_figure(tmp_path / "1", "simulated")
    publish_figure(tmp_path / "2", "simulated")
    for path in (tmp_path / "1" / "figures").iterdir():
        assert path.read_bytes() == (tmp_path / "2" / "figures" / path.name).read_bytes(), path.name


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


def test_spread_keeps_order_and_leaves_gaps_empty() -> None:
    frame = pd.DataFrame({"judge": ["b", "b", "a"], "dimension": ["y", "x", "x"], "accuracy": [1.0, 2.0, 3.0]})
    frame = frame.assign(low=frame["accuracy"] - 0.5, high=9.0)
    wide = spread(frame, ["judge"], columns="dimension", value="accuracy")
    assert list(wide.columns) == ["judge", "y", "y_low", "y_high", "x", "x_low", "x_high"]
    assert wide["judge"].tolist() == ["b", "a"]
    assert np.isnan(wide.loc[1, "y"])
    assert wide.loc[1, "x_low"] == 2.5


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


def test_a_mark_that_a_figure_has_already_is_kept(tmp_path: Path) -> None:
    figure, frame = drawing()
    write_mark(figure, "RANDOM WEIGHTS")
    replace(publisher(tmp_path), blind=frozenset({"b"})).figure(figure, "leaderboard", **WORDS, data=frame)
    assert figure.get_suptitle() == "RANDOM WEIGHTS; Judged without images: b"


def test_of_a_judge_with_two_runs_only_that_without_images_is_blind() -> None:
    def run(judge: str, run_id: str, **spec: object) -> Manifest:
        return Manifest(judge=judge, run_id=run_id, spec=spec)

    blind = {"without_images": True}
    runs = [run("a", "a-1"), run("a", "a-2", **blind), run("b", "b-1", **blind), run("c", "c-1")]
    assert blind_judges(runs) == {"a@a-2", "b", "b@b-1"}
