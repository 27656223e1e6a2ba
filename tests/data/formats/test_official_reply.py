"""Only what a reply states as JSON is a choice; none of the published parser's guesses."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mrb_lib.data.formats.official_reply import choices_in_reply
from mrb_lib.schema import CHOICES, DIMENSIONS

ALL_B = dict.fromkeys(DIMENSIONS, "B")


@pytest.mark.parametrize(
    "reply",
    [
        json.dumps(ALL_B),
        json.dumps(ALL_B | {"reason": "A is a worse answer"}, indent=2),
        "```json\n" + json.dumps(ALL_B) + "\n```",
        "\n```\n" + json.dumps(ALL_B) + "\n``` ",
        json.dumps({name.upper(): " b " for name in DIMENSIONS}),
    ],
)
def test_what_is_read(reply: str) -> None:
    assert choices_in_reply(reply) == ALL_B


@pytest.mark.parametrize(
    "reply",
    [
        "I could not find a difference between the answers.",
        "The second assistant gives a better answer.",
        "consistent with hepatitis B.",
        "B",
        "[[B]]",
        '"B"',
        '["B"]',
        "",
        '{"accuracy": "A|B"}',
        '{"accuracy": "Assistant B"}',
        '{"accuracy": {"winner": "B"}}',
        "{'accuracy': 'B'}",
        '{"overall": "A", "overall": "B"}',
        '{"overall": "A", "Overall": "B"}',
        json.dumps(ALL_B) + json.dumps(ALL_B),
        "<think>" + json.dumps(ALL_B) + "</think>" + json.dumps(ALL_B),
        json.dumps(ALL_B)[:-1],
        "[" * 100_000,
    ],
)
def test_what_is_not(reply: str) -> None:
    assert choices_in_reply(reply) == {}


def test_five_valid_dimensions_are_not_lost() -> None:
    """Defect 8 of the published parser: one unreadable dimension loses all six."""
    assert choices_in_reply(json.dumps(ALL_B | {"overall": "neither"})) == {
        d: "B" for d in DIMENSIONS if d != "overall"
    }
    assert choices_in_reply(json.dumps(ALL_B | {"overall": "tie"})) == ALL_B | {"overall": "tie"}


@given(st.dictionaries(st.sampled_from(DIMENSIONS), st.sampled_from(CHOICES)), st.text())
def test_any_subset_of_choices_is_read_back(choices: dict[str, str], reason: str) -> None:
    assert choices_in_reply(json.dumps(choices | {"reason": reason})) == choices


@given(st.text())
def test_no_text_raises(reply: str) -> None:
    assert set(choices_in_reply(reply)) <= set(DIMENSIONS)
