"""The earlier steps of an item in a prompt: shown where there are some, and only text."""

from __future__ import annotations

from functools import lru_cache

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mrb_lib.judges.prompt_files import builtin_ids, load_prompt
from mrb_lib.verdicts.orders import to_shown_frame

RATED = {"choices": ("wrong", "right"), "ordered": True}


prompt = lru_cache(load_prompt)


def text_of(name: str, before: str | None) -> str:
    dimension = "" if prompt(name).asks == "categories" else "overall"
    return prompt(name).render("Where?", ["In the lung."], ["overall"], dimension, before=before, **RATED).text


@pytest.mark.parametrize("name", builtin_ids("ratings"))
def test_a_case_without_earlier_steps_is_asked_as_it_was(name: str) -> None:
    assert text_of(name, None) == text_of(name, "")
    assert "earlier" not in text_of(name, None)


@pytest.mark.parametrize("name", builtin_ids("ratings"))
@given(before=st.text(min_size=1))
def test_earlier_steps_stand_in_a_fence_of_their_own_before_the_response(name: str, before: str) -> None:
    text = text_of(name, before)
    opened = text.index("<<<earlier steps ")
    key = text[opened + len("<<<earlier steps ") :].split(">>>")[0]
    assert key not in before
    assert text.count(f"<<<end of earlier steps {key}>>>") == 1
    assert opened < text.index(f"<<<end of earlier steps {key}>>>") < text.index(f"<<<response {key}>>>")


def test_judges_see_the_earlier_steps_but_not_the_number_of_the_step() -> None:
    row = {"case_id": "c", "order": "AB", "response_a": "r", "response_b": "", "before": "b", "step": 2, "item": "i"}
    shown = to_shown_frame(pd.DataFrame([row]))
    assert shown["before"].tolist() == ["b"]
    assert not {"step", "item"} & set(shown.columns)
