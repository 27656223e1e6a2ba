"""Annotators are told nothing that could sway them, and what they pick comes out in the case's own frame."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pandas as pd
import pytest

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.judges.prompts import DEFINITIONS
from mrb_lib.review.annotate.answers import Annotation, annotate, hints
from mrb_lib.review.annotate.coordination import coordinate
from mrb_lib.review.annotate.forms import PREFERENCE, sheet_html
from mrb_lib.review.records.marks import Comment
from mrb_lib.review.records.store import Store
from mrb_lib.tables.errors import InputError
from tests.review.annotate.paging import ME, ask, sight

DIMENSIONS = ("accuracy", "overall")
TELLING = {
    "model_a": "secret-model-1", "model_b": "secret-model-2", "dataset": "secret-source", "reference": "secret-gold",
}  # fmt: skip


@pytest.fixture
def benchmark(pictured: Benchmark) -> Benchmark:
    """Three cases on two dimensions, with all that an annotator must not see."""
    cases = pictured.cases.head(3).assign(**TELLING, case_id=["secret-1", "secret-2", "secret-3"])
    annotations = pd.DataFrame(
        [(case, "secret-annotator", name, "A") for case in cases["case_id"] for name in DIMENSIONS],
        columns=["case_id", "annotator", "dimension", "choice"],
    )
    return replace(pictured, meta=replace(pictured.meta, dimensions=DIMENSIONS), cases=cases, annotations=annotations)


@pytest.fixture
def page(benchmark: Benchmark, store: Store) -> Annotation:
    """Three cases for one annotator: the first and the last as they are, the second turned round."""
    rows = [(f"secret-{i + 1}", ME, i, order) for i, order in enumerate(("AB", "BA", "AB"))]
    store.assign(benchmark.meta.name, pd.DataFrame(rows, columns=["case_id", "annotator", "position", "order"]))
    return Annotation(benchmark, store)


def _blinded(case: pd.Series, order: str, images: Mapping[str, bytes]) -> str:
    return sheet_html(case, PREFERENCE.boxes(case, order), images=images, number=1, total=3)


def _choices(store: Store, benchmark: Benchmark) -> dict[tuple[str, str], str]:
    found = store.annotations(benchmark.meta.name)
    return {(row["case_id"], row["dimension"]): row["choice"] for row in found.to_dict("records")}


def _choose(page: Annotation, number: int, dimension: str, pick: str) -> dict[str, Any]:
    return ask(page, "choose", number, dimension=dimension, pick=pick)


def test_what_is_first_cannot_be_told(benchmark: Benchmark) -> None:
    case = benchmark.cases.iloc[0]
    turned = case.copy()
    turned["response_a"], turned["response_b"] = case["response_b"], case["response_a"]
    shown = {order: _blinded(case, order, benchmark.images) for order in ("AB", "BA")}
    assert shown["AB"] != shown["BA"]
    assert shown["BA"] == _blinded(turned, "AB", benchmark.images)
    assert "Response" not in shown["AB"]


def test_images_are_called_by_number_since_a_file_name_may_hold_the_diagnosis(benchmark: Benchmark) -> None:
    case = benchmark.cases.iloc[0].copy()
    picture = benchmark.images[case["images"][0]]
    case["images"] = ["empyema_x_1.png", "empyema_x_2.png", "empyema_x_3.png", "empyema_x_4.png"]
    images = {"empyema_x_1.png": picture, "empyema_x_2.png": picture, "empyema_x_3.png": b"no picture"}
    page = _blinded(case, "AB", images)
    assert "empyema" not in page
    assert 'alt="Image 1 of 4"' in page
    assert re.search(r"Image 2 of 4\S* · \d+ × \d+", page), "the size is said"  # noqa: RUF001 - so it is written
    assert re.search(r"mrb-missing\">\[[^]]*Image 3 of 4", page)
    assert "[Image 4 of 4 is missing]" in page
    case["images"] = ["empyema_x_1.png"]
    assert 'alt="Image"' in _blinded(case, "AB", images)


def test_the_next_case_is_the_next_open_one(page: Annotation) -> None:
    def numbered(after: int) -> int:
        return int(page.open({"annotator": ME, "after": after})["number"])

    assert (numbered(0), numbered(1), numbered(3)) == (1, 2, 1)
    for name in DIMENSIONS:
        _choose(page, 1, name, "tie")
    assert (numbered(0), numbered(3)) == (2, 2)
    ask(page, "skip", 2, reason="outside my field")
    found = page.open({"annotator": ME, "after": 2})
    assert found["cases"] == ["done", "skipped", "open"]
    for name in DIMENSIONS:
        _choose(page, 3, name, "tie")
    assert page.open({"annotator": ME, "after": 3})["finished"] is True
    assert page.open({"annotator": ME, "number": 99})["number"] == 3


def test_skipping_needs_a_reason_and_spares_what_is_answered(
    page: Annotation, store: Store, benchmark: Benchmark
) -> None:
    _choose(page, 1, "accuracy", "first")
    answers = ask(page, "skip", 1, reason="the question is unclear")["answers"]
    assert answers == [{"pick": "first"}, {"skipped": "the question is unclear"}]
    assert _choices(store, benchmark) == {("secret-1", "accuracy"): "A"}
    assert _choose(page, 1, "overall", "tie")["answers"][1] == {"pick": "tie"}
    with pytest.raises(InputError, match="nothing to skip"):
        ask(page, "skip", 1, reason="late")


REFUSED = {
    "a case beyond the last": ("choose", {"number": 4}, "load"),
    "a number as a text": ("choose", {"number": "1"}, "load"),
    "a number that is true": ("choose", {"number": True}, "load"),
    "another dimension": ("choose", {"dimension": "creativity"}, "load"),
    "an answer by its letter": ("choose", {"pick": "A"}, "load"),
    "nobody": ("choose", {"annotator": None}, "load"),
    **{
        f"{what} by somebody without cases": (what, {"annotator": "Dr B"}, "nothing is assigned under this name")
        for what in ("choose", "skip", "comment", "image")
    },
    **{
        f"{what} on a case that is {words}": (what, {"shown": seen}, "not the one that is stored here now")
        for what in ("choose", "skip", "comment")
        for words, seen in (("not in sight", None), ("another version", "x" * 64))
    },
    **{
        f"{name} that is too long": (what, {name: "x" * (longest + 1)}, f"use at most {longest}")
        for what, name, longest in (
            ("skip", "reason", 2000), ("comment", "text", 10_000), ("comment", "comment_id", 255),
            ("choose", "annotator", 255), ("choose", "dimension", 255), ("choose", "pick", 20_000),
            ("choose", "answer_id", 255), ("open", "annotator", 255),
        )
    },
    "to skip without a reason": ("skip", {"reason": "  "}, "Say why"),
    "seconds below 0": ("choose", {"seconds": -1}, "not a length of time"),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_what_a_page_cannot_mean_is_refused(page: Annotation, benchmark: Benchmark, store: Store, what: str) -> None:
    act, change, words = REFUSED[what]
    said = {**sight(page, 1), "dimension": "accuracy", "pick": "first", "reason": "blurred", "text": "blurred",
            "comment_id": "one", "image": 0}  # fmt: skip
    answer = annotate(benchmark, store).answer(act, {**said, **change})
    assert isinstance(answer, dict)
    assert answer["ok"] is False
    assert words in answer["error"]
    assert store.answers(benchmark.meta.name).empty and store.comments(benchmark.meta.name).empty


def test_an_answer_may_be_changed_and_one_sent_again_late_takes_nothing_back(
    page: Annotation, store: Store, benchmark: Benchmark
) -> None:
    said = {**sight(page, 2), "dimension": "accuracy"}
    for number, pick in enumerate(("first", "first", "second")):
        page.choose({**said, "pick": pick, "answer_id": f"answer {number}"})
    page.choose({**said, "pick": "first", "answer_id": "answer 0"})  # its answer was lost on the way
    assert _choices(store, benchmark) == {("secret-2", "accuracy"): "A"}
    history = store.answers(benchmark.meta.name, history=True)
    assert history["choice"].tolist() == ["B", "A"], "the same pick again is no new answer"


def test_ties_are_offered_where_the_benchmark_has_them(page: Annotation, benchmark: Benchmark, store: Store) -> None:
    offered = page.initial_state({})["picks"]
    assert [one["pick"] for one in offered] == ["first", "second", "tie"]
    strict = replace(benchmark, meta=replace(benchmark.meta, categories=("A", "B")))
    page = Annotation(strict, store)
    assert [one["pick"] for one in page.initial_state({})["picks"]] == ["first", "second"]
    with pytest.raises(InputError, match="not a choice of this benchmark"):
        _choose(page, 1, "accuracy", "tie")


def test_hints_are_the_benchmark_s_own_where_it_has_them(benchmark: Benchmark) -> None:
    assert hints(benchmark) == {name: DEFINITIONS[name] for name in DIMENSIONS}
    own = replace(benchmark, meta=replace(benchmark.meta, definitions={"overall": "as a patient", "x": "1"}))
    assert hints(own) == {"accuracy": DEFINITIONS["accuracy"], "overall": "as a patient"}


def test_a_case_is_commented_whatever_its_state_and_only_one_s_own_comments_are_seen(
    page: Annotation, store: Store, benchmark: Benchmark
) -> None:
    store.add(Comment(benchmark.meta.name, "secret-1", "Dr B", "secret opinion"))
    assert page.open({"annotator": ME, "number": 1})["comments"] == []
    ask(page, "skip", 2, reason="outside my field")
    for name in DIMENSIONS:
        _choose(page, 3, name, "tie")
    for number in (1, 2, 3):
        told = ask(page, "comment", number, text=f"remark {number}", comment_id=f"id {number}")["comments"]
        assert [one["text"] for one in told] == [f"remark {number}"]
        assert page.open({"annotator": ME, "number": number})["comments"] == told
    assert ask(page, "comment", 3, text="remark 3", comment_id="id 3")["comments"] == told, "sent twice it counts once"
    assert page.open({"annotator": ME, "number": 1})["cases"] == ["open", "skipped", "done"]
    assert store.comments(benchmark.meta.name, annotator=ME)["case_id"].tolist() == ["secret-1", "secret-2", "secret-3"]


def test_without_a_kernel_the_widget_says_what_it_needs_and_the_coordinator_sees_all(
    page: Annotation, benchmark: Benchmark, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MRB_STATIC", "1")
    shown = annotate(benchmark, store)._repr_mimebundle_()
    assert "running kernel" in shown["text/html"]
    assert "application/vnd.jupyter.widget-view+json" not in shown
    assert "Agreement so far" in coordinate(benchmark, store)._repr_mimebundle_()["text/html"]


def test_each_answer_carries_its_seconds_and_a_skip_carries_them_once(
    page: Annotation, store: Store, benchmark: Benchmark
) -> None:
    ask(page, "choose", 1, pick="first", dimension="accuracy", seconds=12.5)
    ask(page, "choose", 1, pick="first", dimension="overall", seconds=None)
    ask(page, "skip", 2, reason="outside my field", seconds=30)
    assert store.answers(benchmark.meta.name)["seconds"].fillna(-1).tolist() == [12.5, -1.0, 30.0, 0.0]
