"""A case is shown whole, and nothing it says can act."""

import base64
import io
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pydicom
import pytest
from bs4 import BeautifulSoup
from PIL import Image

from mrb_lib.review.case import SCRIPTS, case_html
from mrb_lib.review.case.view import image_html, whole
from mrb_lib.review.pages import script
from mrb_lib.tables.errors import InputError
from tests.pictures import png


def strings(page: str) -> list[str]:
    """The texts that a browser would show."""
    return [text.strip() for text in BeautifulSoup(page, "html.parser").strings]


CASE = {
    "case_id": "c1", "question": "Which side?", "response_a": "Left.", "response_b": "Right.", "images": ["a.png"],
    "organ": "lung", "model_a": "responder-1", "model_b": None,
}  # fmt: skip


def votes(*rows: tuple[str, str, str]) -> pd.DataFrame:
    """Who chose what on a case, on `overall`."""
    return pd.DataFrame(
        [(case, who, "overall", said) for case, who, said in rows],
        columns=["case_id", "annotator", "dimension", "choice"],
    )


def judged(*rows: dict[str, object]) -> pd.DataFrame:
    """Verdicts about the case, a row each, where nothing else is said by judge j, with A first, on `overall`."""
    usual = {"judge": "j", "case_id": "c1", "dimension": "overall", "order": "AB", "repeat": 0, "probe": "none"}
    found = {"choice": None, "p_a": np.nan, "status": "ok", "reply": None, "error": None}
    return pd.DataFrame([{**usual, **found, **row} for row in rows]).astype({"p_a": "float64"})


SHOWN = {
    "case": pd.Series(CASE),
    "images": {"a.png": png(np.arange(64, dtype="uint8").reshape(8, 8))},
    "annotations": votes(("c1", "r1", "A"), ("c1", "r2", "B"), ("c2", "r3", "tie")),
    "gold": pd.DataFrame({"case_id": ["c1"], "dimension": ["overall"], "choice": ["A"]}),
    "verdicts": judged(
        {"choice": "A"}, {"order": "BA", "status": "refused"}, {"judge": "k", "case_id": "c2", "choice": "A"}
    ),
}


def page(**more: Any) -> str:
    """The case with what is said of it, some of that in place of the usual."""
    values: dict[str, Any] = {**SHOWN, **more}
    return case_html(values.pop("case"), **values)


def test_everything_about_the_case_and_nothing_about_others() -> None:
    said = strings(page())
    assert {"c1", "Which side?", "responder-1", "r1", "r2", "j"} <= set(said)
    assert "Left." in "".join(said)
    assert "Right." in "".join(said)
    assert {"A first", "B first", "(refused)"} <= set(said)
    assert not {"r3", "k", "c2"} & set(said)


def test_the_gold_choice_is_shaded_and_each_verdict_says_whether_it_agrees() -> None:
    frame = judged({"choice": "A"}, {"choice": "B", "order": "BA"}, {"choice": "A", "dimension": "no gold"})
    text = page(verdicts=frame)
    assert bare(re.findall(r'<td class="mrb-gold">(.*?)</td>', text)) == ["A"]
    assert bare(re.findall(r'<td class="mrb-right">(.*?)</td>', text)) == ["A ✓"]
    assert bare(re.findall(r'<td class="mrb-wrong">(.*?)</td>', text)) == ["B ✗"]
    assert bare(re.findall(r'<td class="mrb-sum">(.*?)</td>', text)) == ["1 of 2 1 turned"]


def bare(found: list[str]) -> list[str]:
    return [" ".join(re.sub(r"<[^>]*>", " ", cell).replace("( ", "(").replace(" )", ")").split()) for cell in found]


def cells(text: str) -> list[str]:
    """The cells of the table of verdicts, without their marks, and without whether they agree with gold."""
    table = text.partition("<h4>Judges</h4>")[2].partition("</table>")[0].partition("<tbody>")[2]
    found = bare(re.findall(r"<t[dh].*?</t[dh]>", table))
    return [re.sub(" [✓✗]", "", cell) for cell in found]


@pytest.mark.parametrize(
    ("choice", "p_a", "expected"),
    [("A", 0.714, "A 0.71"), ("B", 0.2, "B 0.80"), ("tie", 0.5, "tie"), ("A", np.nan, "A"), (None, 0.3, "(unparsed)")],
)
def test_a_verdict_shows_the_probability_of_the_side_it_chose(choice: str | None, p_a: float, expected: str) -> None:
    status = "ok" if choice else "unparsed"
    verdicts = judged({"choice": choice, "p_a": p_a, "status": status})
    assert cells(page(verdicts=verdicts))[2] == expected


def test_a_failure_says_why() -> None:
    verdicts = judged({"status": "error", "error": "the server answered 500"})
    text = page(verdicts=verdicts)
    assert "(error)" in text
    assert bare(re.findall(r'<p class="mrb-text mrb-status">(.*?)</p>', text)) == ["error: the server answered 500"]
    assert "no reply" in text


def test_what_takes_the_focus_keeps_the_shortcuts_of_jupyterlab_off() -> None:
    html = page(verdicts=judged({"order": "AB", "choice": "A", "reply": "because"}))
    tags = re.findall(r"<(?:summary|input)\b[^>]*>|<[a-z]+ [^>]*tabindex=[^>]*>", html)
    assert {re.match(r"<(\w+)", tag)[1] for tag in tags} == {"summary", "input", "div", "section"}
    assert [tag for tag in tags if 'data-lm-suppress-shortcuts="true"' not in tag] == []


def test_a_case_without_anything_but_text() -> None:
    empty = {name: SHOWN[name].iloc[:0] for name in ("annotations", "gold", "verdicts")}
    case = pd.Series({**CASE, "images": [], "organ": None})
    assert strings(page(case=case, images={}, **empty)).count("none") == 2


def test_every_repeat_and_probe_keeps_its_own_reply() -> None:
    rows = [{"reply": "one"}, {"repeat": 1, "reply": "two"}, {"probe": "swap", "reply": "three"}]
    said = set(strings(page(verdicts=judged(*rows))))
    assert {"one", "two", "three", "A first", "A first, repeat 1", "A first, probe swap"} <= set(said)


def test_without_gold_no_verdict_is_right_or_wrong() -> None:
    text = page(gold=SHOWN["gold"].iloc[:0], verdicts=judged({"choice": "A"}))
    table = text.partition('<table class="mrb-verdicts">')[2]
    assert "no gold" in table
    assert "✓" not in table
    assert "✗" not in table


def drawn(page: str, attribute: str) -> np.ndarray:
    match = re.search(rf'{attribute}="data:image/png;base64,([^"]+)"', page)
    assert match
    with Image.open(io.BytesIO(base64.b64decode(match[1]))) as image:
        return np.asarray(image)


def number(page: str, name: str) -> float:
    match = re.search(rf'data-{name}="([^"]+)"', page)
    assert match
    return float(match[1])


def test_a_deep_picture_carries_every_value_and_its_window() -> None:
    values = np.linspace(100, 4195, 4096).astype("uint16").reshape(64, 64)
    page = image_html("x.png", {"x.png": png(values)})
    packed = drawn(page, "data-packed").astype(int)
    real = number(page, "offset") + number(page, "step") * (packed[..., 0] * 256 + packed[..., 1])
    np.testing.assert_array_equal(real, values)
    assert (number(page, "centre"), number(page, "width")) == (2147.5, 4095)
    assert drawn(page, "src")[0, 0] == 0
    assert drawn(page, "src")[-1, -1] == 255


def test_an_8_bit_picture_is_not_carried_twice_and_colour_has_no_window() -> None:
    grey = image_html("x", {"x": png(np.zeros((4, 5), "uint8"))})
    colour = image_html("x", {"x": png(np.zeros((4, 5, 3), "uint8"))})
    assert "data-packed" not in grey
    assert (number(grey, "centre"), number(grey, "width")) == (127.5, 255)
    assert "data-centre" not in colour
    assert "5 × 4 · colour" in colour  # noqa: RUF001 - a size is written so


def test_a_file_with_frames_says_so_and_gives_each_with_what_its_values_stand_for() -> None:
    content = (Path(pydicom.__file__).parent / "data" / "test_files" / "rtdose.dcm").read_bytes()
    page = image_html("dose", {"dose": content})
    assert 'data-frames="15"' in page
    assert 'frame <span class="mrb-frame">1</span> of 15, of which judges see the first' in page
    every = pydicom.dcmread(io.BytesIO(content)).pixel_array
    for frame in (1, 15):
        picture = whole("dose", {"dose": content}, frame)
        with Image.open(io.BytesIO(picture.content)) as image:
            packed = np.asarray(image).astype(int)
        offset, step = (float(picture.facts["shades"][name]) for name in ("offset", "step"))
        np.testing.assert_allclose(offset + step * (packed[..., 0] * 256 + packed[..., 1]), every[frame - 1], atol=step)
        assert picture.kind == "image/png"
    with pytest.raises(InputError, match="dose: has no frame 16"):
        whole("dose", {"dose": content}, 16)


@pytest.mark.parametrize("images", [{}, {'"><svg onload=x>': b"\0" * 128 + b"DICM" + b"<script>"}])
def test_a_hostile_name_and_a_damaged_file_are_only_text(images: dict[str, bytes]) -> None:
    page = image_html('"><svg onload=x>', images)
    assert page.startswith('<p class="mrb-missing">')
    assert "<svg" not in page
    assert "<script" not in page


def test_the_script_makes_no_markup_and_can_stand_in_a_page() -> None:
    text = script(*SCRIPTS)
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|</script", text)
    assert not re.search(r"(?:document|window)\.addEventListener", text)
