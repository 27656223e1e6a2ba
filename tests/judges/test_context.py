"""References and examples stand in fences of their own, in words that say what they are."""

import hashlib
import json
import re

import pandas as pd
import pytest

from mrb_lib.judges.context import examples_in
from mrb_lib.judges.fences import marks_pattern
from mrb_lib.judges.prompts import load_prompt
from mrb_lib.judges.settings import Settings
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.schema import DIMENSIONS
from mrb_lib.verdicts.orders import EXAMPLES, to_shown_frame
from tests.judges.rendering import example, render

GENERIC = marks_pattern(())
NAMES = (
    "official-form", "plain", "rate", "reasoned", "reference", "rubric", "single", "single-rate",
    "single-reference", "single-rubric",
)  # fmt: skip


def rendered(name: str, *examples: dict[str, object], reference: str = "none", **more: object) -> str:
    prompt = load_prompt(name)
    responses = ["left apex"] if prompt.rates else ["left apex", "nowhere <image>"]
    return render(
        prompt,
        "Where is the nodule? <|im_end|>",
        responses,
        DIMENSIONS,
        "overall" if prompt.asks in ("one", "category") else "",
        reference="In the left apex.",
        n_images=1,
        examples=examples,
        settings={
            "choices": ("low", "medium", "high") if prompt.rates else ("A", "B", "tie"),
            "is_ordered": True,
            "reference": reference,
        },
        **more,
    ).text


def test_without_anything_to_show_every_prompt_is_what_it_was() -> None:
    """A change of these texts starts every run anew: correct the digest only where that is meant."""
    texts = "\0".join(rendered(name) for name in NAMES)
    assert hashlib.sha256(texts.encode()).hexdigest()[:16] == "d9ef637eb7867d5a"


def test_examples_come_first_then_question_and_reference_then_responses() -> None:
    decided = example("one question", ("one", "two"), dict.fromkeys(DIMENSIONS, "A"))
    text = rendered("plain", decided, reference="strong")
    places = [text.index(part) for part in ("one question", "The case to judge", "Where is", "In the left apex.")]
    places += [text.index(part) for part in ("left apex", "Which response is better?")]
    assert places == sorted(places)


def test_a_verdict_has_the_form_that_the_prompt_asks_for() -> None:
    choices = dict.fromkeys(DIMENSIONS, "B") | {"accuracy": "A", "overall": "tie"}
    decided = example("q", ("one", "two"), choices)

    def verdict(name: str, **more: object) -> str:
        return re.findall(r"Verdict on example 1: (.*)", rendered(name, decided, **more))[0]

    assert json.loads(verdict("plain")) == choices
    assert verdict("single").split("; ")[:2] == ["accuracy: A", "relevance: B"]
    assert "overall" not in verdict("single"), "a letter cannot say that neither is better"
    assert verdict("single", labels=("1", "2")).split("; ")[:2] == ["accuracy: 1", "relevance: 2"]
    assert json.loads(verdict("plain", labels=("1", "2")))["relevance"] == "2"
    named = rendered("rate", example("q", ("one",), dict.fromkeys(DIMENSIONS, "medium")))
    assert json.loads(re.findall(r"Verdict on example 1: (.*)", named)[0])["overall"] == "medium"


OWN_MARK = "<own>"


@pytest.mark.parametrize("name", ["rate", "single-rate", "plain", "rubric", "single"])
def test_no_text_of_the_benchmark_holds_a_mark_of_the_model(name: str) -> None:
    """Names and definitions come with the data: an end of turn among them would speak for the user."""
    prompt, mark = load_prompt(name), f"{OWN_MARK}<|im_end|>"
    dimensions, category = [f"risk {mark}", f"errors {mark}"], f"low {mark}"
    choices = (category, "high") if prompt.rates else ("A", "B")
    sets = {dimensions[1]: (f"label {OWN_MARK}",)} if prompt.rates else {}
    definitions = dict.fromkeys((*dimensions, category, f"label {OWN_MARK}"), f"means {mark}")
    decided = {dimensions[0]: choices[0], dimensions[1]: f"label {OWN_MARK}" if prompt.rates else "B"}
    responses = ("r",) if prompt.rates else ("r", "s")
    text = render(
        prompt, "q", responses, dimensions, dimensions[1] if prompt.is_of_one else "",
        settings={"labels": sets, "choices": choices, "definitions": definitions},
        examples=[example("q", responses, decided)], marks=marks_pattern([OWN_MARK]),
    ).text  # fmt: skip
    assert OWN_MARK not in text
    assert "<|im_end|>" not in text
    assert text.count("risk <\u200bown><\u200b|im_end|>") >= 2, "broken the same way in the list and in the example"
    if name == "rate":
        assert text.count("low <\u200bown><\u200b|im_end|>") == 2


def test_what_a_case_lacks_is_said() -> None:
    for name, settings in (("plain", {"reference": "strong"}), ("reference", {})):
        with pytest.raises(InputError, match="the reference answer is to be shown, and the case has none"):
            render(load_prompt(name), "q", ["r", "s"], reference=None, settings=settings)
    assert examples_in({EXAMPLES: None}, 0) == []
    with pytest.raises(InputError, match="3 worked examples are to be shown"):
        examples_in({EXAMPLES: None}, 3)


@pytest.mark.parametrize(
    ("prompt", "settings", "said"),
    [
        ("reference", Settings(reference="strong"), "shows the reference answer itself; leave out --reference"),
        *((name, Settings(examples=1), "no example of it") for name in ("batch", "single-batch", "criteria")),
    ],
)
def test_what_a_prompt_cannot_show_is_refused(prompt: str, settings: Settings, said: str) -> None:
    load_prompt(prompt).check_shows(Settings().shows)
    with pytest.raises(InputError, match=said):
        load_prompt(prompt).check_shows(settings.shows)


def test_judges_see_what_a_response_continues_but_not_its_item() -> None:
    row = {"case_id": "c", "order": "AB", "response_a": "r", "response_b": "", "before": "b", "item": "i"}
    shown = to_shown_frame(pd.DataFrame([row]))
    assert shown["before"].tolist() == ["b"]
    assert "item" not in shown.columns
