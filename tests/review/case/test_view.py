"""A case is shown whole, and nothing it says can act."""

import re

import numpy as np
import pandas as pd
import pytest
from bs4 import BeautifulSoup

from mrb_lib.review.case import case_html
from tests.pictures import png


def read(page: str) -> BeautifulSoup:
    """The elements that a browser would see."""
    return BeautifulSoup(page, "html.parser")


@pytest.fixture
def shown() -> dict[str, object]:
    case = pd.Series(
        {
            "case_id": "c1",
            "question": "Which side?",
            "response_a": "Left.",
            "response_b": "Right.",
            "images": ["a.png"],
            "organ": "lung",
            "model_a": "responder-1",
            "model_b": None,
        }
    )
    votes = [("c1", "r1", "overall", "A"), ("c1", "r2", "overall", "B"), ("c2", "r3", "overall", "tie")]
    said = [
        ("j", "c1", "overall", "AB", 0, "none", "A", "ok"),
        ("j", "c1", "overall", "BA", 0, "none", None, "refused"),
        ("k", "c2", "overall", "AB", 0, "none", "A", "ok"),
    ]
    return {
        "case": case,
        "images": {"a.png": png(np.arange(64, dtype="uint8").reshape(8, 8))},
        "annotations": pd.DataFrame(votes, columns=["case_id", "annotator", "dimension", "choice"]),
        "gold": pd.DataFrame({"case_id": ["c1"], "dimension": ["overall"], "choice": ["A"]}),
        "verdicts": pd.DataFrame(
            said, columns=["judge", "case_id", "dimension", "order", "repeat", "probe", "choice", "status"]
        ),
    }


def page(shown: dict[str, object], **more: object) -> str:
    values = {**shown, **more}
    return case_html(values.pop("case"), **values)


def test_everything_about_the_case_and_nothing_about_others(shown: dict[str, object]) -> None:
    said = [text.strip() for text in read(page(shown)).strings]
    assert {"c1", "Which side?", "responder-1", "r1", "r2", "j"} <= set(said)
    assert "Left." in "".join(said)
    assert "Right." in "".join(said)
    assert {"A first", "B first", "(refused)"} <= set(said)
    assert not {"r3", "k", "c2"} & set(said)


def test_the_gold_choice_is_shaded_and_each_verdict_says_whether_it_agrees(shown: dict[str, object]) -> None:
    frame = judged({"choice": "A"}, {"choice": "B", "order": "BA"}, {"choice": "A", "dimension": "no gold"})
    text = page(shown, verdicts=frame)
    assert bare(re.findall(r'<td class="mrb-gold">(.*?)</td>', text)) == ["A"]
    assert bare(re.findall(r'<td class="mrb-right">(.*?)</td>', text)) == ["A ✓"]
    assert bare(re.findall(r'<td class="mrb-wrong">(.*?)</td>', text)) == ["B ✗"]
    assert bare(re.findall(r'<td class="mrb-sum">(.*?)</td>', text)) == ["1 of 2 1 turned"]


def judged(*rows: dict[str, object]) -> pd.DataFrame:
    """Verdicts about the case, a row each, where nothing else is said by judge j, with A first, on `overall`."""
    usual = {"judge": "j", "case_id": "c1", "dimension": "overall", "order": "AB", "repeat": 0, "probe": "none"}
    found = {"choice": None, "p_a": np.nan, "status": "ok", "reply": None, "error": None}
    return pd.DataFrame([{**usual, **found, **row} for row in rows]).astype({"p_a": "float64"})


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
def test_a_verdict_shows_the_probability_of_the_side_it_chose(
    shown: dict[str, object], choice: str | None, p_a: float, expected: str
) -> None:
    status = "ok" if choice else "unparsed"
    verdicts = judged({"choice": choice, "p_a": p_a, "status": status})
    assert cells(page(shown, verdicts=verdicts))[2] == expected


def test_replies_of_single_questions_say_which_they_answer(shown: dict[str, object]) -> None:
    rows = [{"dimension": name, "reply": reply} for name, reply in (("accuracy", "A"), ("overall", "B"), ("x", "A"))]
    text = page(shown, verdicts=judged(*rows))
    replies = text.partition("<h4>Replies</h4>")[2]
    assert bare(re.findall(r'<p class="mrb-answers-to">(.*?)</p>', replies)) == ["accuracy, x", "overall"]
    assert "2 replies, 2 characters" in replies


def test_a_failure_says_why(shown: dict[str, object]) -> None:
    verdicts = judged({"status": "error", "error": "the server answered 500"})
    text = page(shown, verdicts=verdicts)
    assert "(error)" in text
    assert bare(re.findall(r'<p class="mrb-text mrb-status">(.*?)</p>', text)) == ["error: the server answered 500"]
    assert "no reply" in text


def test_what_takes_the_focus_keeps_the_shortcuts_of_jupyterlab_off(shown: dict[str, object]) -> None:
    html = page(shown, verdicts=judged({"order": "AB", "choice": "A", "reply": "because"}))
    tags = re.findall(r"<(?:summary|input)\b[^>]*>|<[a-z]+ [^>]*tabindex=[^>]*>", html)
    assert {re.match(r"<(\w+)", tag)[1] for tag in tags} == {"summary", "input", "div", "section"}
    assert [tag for tag in tags if 'data-lm-suppress-shortcuts="true"' not in tag] == []


def test_the_votes_of_each_dimension_are_counted(shown: dict[str, object]) -> None:
    votes = pd.DataFrame(
        [("c1", who, "overall", said) for who, said in zip("pqrs", ("B", "A", "B", "tie"), strict=True)],
        columns=["case_id", "annotator", "dimension", "choice"],
    )
    text = page(shown, annotations=votes)
    assert bare(re.findall(r'<td class="mrb-counts">(.*?)</td>', text)) == ["1 A · 2 B · 1 tie"]


def test_what_a_reply_cost_stands_above_it(shown: dict[str, object]) -> None:
    cost = {"latency_s": 0.5, "prompt_tokens": 1200.0, "completion_tokens": 80.0, "prompt_id": "ru<b>ric"}
    rows = [{"dimension": name, "reply": "one for both", **cost} for name in ("accuracy", "overall")]
    text = page(shown, verdicts=judged(*rows))
    assert "1.00 s &middot; 2,400 tokens asked &middot; 160 tokens replied" in text
    assert "ru&lt;b&gt;ric" in text
    assert "tokens asked" not in page(shown, verdicts=judged({"reply": "free"}))


def test_a_case_without_anything_but_text(shown: dict[str, object]) -> None:
    empty = {name: shown[name].iloc[:0] for name in ("annotations", "gold", "verdicts")}
    case = pd.Series({**shown["case"], "images": [], "organ": None})
    assert [text.strip() for text in read(page(shown, case=case, images={}, **empty)).strings].count("none") == 2


def test_a_missing_error_is_nothing_whatever_stands_for_it(shown: dict[str, object]) -> None:
    rows = [{"dimension": name, "choice": "A", "reply": "one for all"} for name in ("accuracy", "relevance", "overall")]
    missing = pd.Series([float("nan"), None, pd.NA], dtype=object)
    text = page(shown, verdicts=judged(*rows).assign(error=missing))
    assert text.count("one for all") == 1
    assert "1 reply, 11 characters" in text


def test_every_repeat_and_probe_keeps_its_own_reply(shown: dict[str, object]) -> None:
    rows = [{"reply": "one"}, {"repeat": 1, "reply": "two"}, {"probe": "swap", "reply": "three"}]
    said = {text.strip() for text in read(page(shown, verdicts=judged(*rows))).strings}
    assert {"one", "two", "three", "A first", "A first, repeat 1", "A first, probe swap"} <= set(said)


def test_where_the_case_is_from(shown: dict[str, object]) -> None:
    place = {"organ": "upper_limb", "department": "Pulmonology", "modality": "CT", "dataset": "teaching_files"}
    text = page(shown, case=pd.Series({**shown["case"], **place}))
    found = re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", text)
    assert [(label, *bare([value])) for label, value in found] == [
        ("Organ", "upper limb"), ("Department", "Pulmonology"), ("Modality", "CT"), ("Source", "teaching_files"),
    ]  # fmt: skip


def test_without_gold_no_verdict_is_right_or_wrong(shown: dict[str, object]) -> None:
    text = page(shown, gold=shown["gold"].iloc[:0], verdicts=judged({"choice": "A"}))
    table = text.partition('<table class="mrb-verdicts">')[2]
    assert "no gold" in table
    assert "✓" not in table
    assert "✗" not in table
