"""Clinicians' ratings keep items by a rule that stands in the record, can be edited, and never loses a rating."""

from pathlib import Path

import pandas as pd
import pytest

from mrb_lib.build.construct.screen import (
    CRITERIA,
    NOT_RATED,
    SCALE,
    SKIPPED,
    ScreeningForm,
    close_screening,
    open_screening,
    rated,
    screening_benchmark,
    screening_form,
)
from mrb_lib.build.construct.work import RECORD, Work, begin, create_work
from mrb_lib.tables.errors import InputError

ITEMS = ["i1", "i2", "i3", "i4", "i5"]


@pytest.fixture
def work(tmp_path: Path) -> Work:
    made = create_work(tmp_path / "work", "mine", "clinical")
    items = pd.DataFrame({"item_id": ITEMS, "reference": ["yes", "A nodule.", None, "x", "y"]}).assign(
        question="What is it?", dataset="secret-source", source="secret", organ="lung", images=[[] for _ in ITEMS],
        choices=[["yes", "no"], None, None, None, None],
    )  # fmt: skip
    with begin(made, "start", {}, seed=0) as step:
        step.write("items", items)
    return made


def _answers(*rows: tuple[str, str, str, str | None]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["case_id", "annotator", "dimension", "choice"])


def _all(item: str, annotator: str, rating: str | None, **other: str) -> list[tuple[str, str, str, str | None]]:
    return [(item, annotator, name, other.get(name, rating)) for name in CRITERIA]


RATINGS = _answers(
    *_all("i1", "x", "4"), *_all("i1", "y", "3"),
    *_all("i2", "x", "4", accuracy="1"), *_all("i2", "y", "4", accuracy="4"),
    *_all("i3", "x", "5", complexity="2"),
    *_all("i4", "x", None), *_all("i4", "y", None),
)  # fmt: skip


def test_the_rule_keeps_by_means_and_every_other_item_has_a_reason(work: Work) -> None:
    form = screening_form(work)
    assert (tuple(form.criteria), form.scale) == (tuple(CRITERIA), SCALE)
    open_screening(work, form)
    assert work.state("screen") == "begun"
    done = close_screening(work, form, RATINGS).set_index("item_id")
    assert done["kept"].tolist() == [True, False, False, False, False]
    assert done["reason"].tolist()[1:] == ["not accuracy >= 3", "not complexity >= 3", SKIPPED, NOT_RATED]
    assert done.loc["i2", ["accuracy", "accuracy_min", "n_clinicians"]].tolist() == [2.5, 1, 2]
    assert work.state("screen") == "finished"
    assert work.entering("respond")["item_id"].tolist() == ["i1"]
    assert (work.choices("screen") or {})["criteria"] == dict(CRITERIA)


def test_the_form_is_edited_in_the_record_and_later_ratings_count(work: Work) -> None:
    open_screening(work, screening_form(work))
    record = work.path / RECORD
    text = record.read_text()
    record.write_text(text.replace("accuracy >= 3", "accuracy_min >= 1").replace("complexity >= 3", "n_images == 0"))
    form = screening_form(work)
    assert "accuracy_min >= 1" in form.keep
    assert close_screening(work, form, RATINGS)["kept"].tolist() == [True, True, True, False, False]
    more = pd.concat([RATINGS, _answers(*_all("i5", "x", "5"))], ignore_index=True)
    assert close_screening(work, form, more)["kept"].tolist() == [True, True, True, False, True]
    assert work.funnel().set_index(["step", "reason"])["n"]["screen", "kept"] == 4
    before = record.read_text()
    close_screening(work, screening_form(work), more)
    assert record.read_text() == before, "nothing has changed"
    with pytest.raises(InputError, match="closed; --again"):
        open_screening(work, form)
    with pytest.raises(InputError, match="another form"):
        open_screening(work, screening_form(work, scale=("bad", "good")))
    open_screening(work, form, again=True)
    assert work.state("screen") == "begun"


def test_labels_in_words_count_by_their_places() -> None:
    form = ScreeningForm({"fit": ""}, ("poor", "fair", "good"), "fit > 1")
    answers = _answers(("i1", "x", "fit", "good"), ("i1", "y", "fit", "poor"), ("i1", "z", "other", "good"))
    table = rated(answers, form, ["i1", "i2"])
    assert table["fit"].tolist()[0] == 2
    assert table["fit_min"].isna().tolist() == [False, True]
    assert table["n_clinicians"].tolist() == [2, 0]
    assert ScreeningForm({"fit": ""}, ("0", "0.5"), "fit > 0").values == {"0": 0, "0.5": 0.5}


def test_nothing_that_could_sway_is_in_the_cases(work: Work) -> None:
    made = screening_benchmark(work, screening_form(work))
    assert "secret" not in made.cases.to_json()
    assert made.cases["question"][0] == "What is it?\n\nA. yes\nB. no"
    assert made.cases["response_a"].tolist()[:3] == ["yes", "A nodule.", ""]
    assert made.meta.name == "mine (screening)", "its answers are never those of the annotation"


def test_forms_that_cannot_be_used_are_one_line(work: Work) -> None:
    for criteria, scale, keep, words in (
        ({"image quality": ""}, SCALE, "n_clinicians > 0", "write a name"),
        ({"fit": ""}, ("1", "1"), "fit > 0", "different"),
        ({"fit": ""}, SCALE, "relevance > 2", "'relevance' is unknown"),
    ):
        with pytest.raises(InputError, match=words):
            ScreeningForm(criteria, scale, keep)
    strict = screening_form(work, keep="relevance > 4.5 and n_clinicians > 1")
    open_screening(work, strict)
    with pytest.raises(InputError, match="keeps none of 5 items"):
        close_screening(work, strict, RATINGS)
    assert work.state("screen") == "begun"
