"""Which words of a reply are its reason, and which replies state none."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mrb_lib.replies.reasons import stated_reason

ASKED = ("accuracy", "overall")
FRACTURE = "A names the fracture, which B misses."

STATED = {
    "a key of the object": (f'{{"reason": "{FRACTURE}", "accuracy": "A", "overall": "A"}}', FRACTURE),
    "in a fence": (f'```json\n{{"Reasoning": "{FRACTURE}", "overall": "A"}}\n```', FRACTURE),
    "before the object": (f'{FRACTURE}\n\n{{"accuracy": "A", "overall": "A"}}', FRACTURE),
    "before a fence": (f'{FRACTURE}\n```json\n{{"accuracy": "A", "overall": "A"}}\n```', FRACTURE),
    "after the object": (f'{{"overall": "A"}}\nExplanation: {FRACTURE}', f"Explanation: {FRACTURE}"),
    "a lead-in is none": (f'Here is my verdict:\n{{"overall": "A", "reason": "{FRACTURE}"}}', FRACTURE),
    "chat around it is none": (
        f'Here is how I judge the two answers:\n{{"overall": "A", "reason": "{FRACTURE}"}}\nI hope this helps.',
        FRACTURE,
    ),
    "by dimension": (
        '{"accuracy": {"choice": "A", "reason": "names it"}, "overall": {"choice": "B", "reason": "short"}}',
        "accuracy: names it\n\noverall: short",
    ),
    "a list": ('{"reasons": ["names it", "is short"], "overall": "A"}', "names it\n\nis short"),
    "thinking is left out": (f'<think>the fracture is an artefact</think>{FRACTURE}\n{{"overall": "A"}}', FRACTURE),
    "an object that is not quite JSON": ("{'overall': 'A', 'reason': 'B doesn't see it',}", "B doesn't see it"),
    "cut off": ('{"overall": "A", "reason": "A names the fracture, wh', "A names the fracture, wh"),
    "prose alone": (f"{FRACTURE} [[A]]", f"{FRACTURE} [[A]]"),
    "another script": ('回答A正确地指出了左肺的结节。\n{"overall": "A"}', "回答A正确地指出了左肺的结节。"),
    "escapes": ('{"overall": "A", "reason": "\\"B\\" is wrong\\nA is not"}', '"B" is wrong\nA is not'),
    "markup stays text": ('{"overall": "A", "reason": "<img src=x onerror=alert(1)>"}', "<img src=x onerror=alert(1)>"),
    "whatever stands under the key": ('{"overall": "A", "reason": "n/a"}', "n/a"),
}


@pytest.mark.parametrize("what", STATED)
def test_the_reason_is_what_a_person_would_copy(what: str) -> None:
    reply, reason = STATED[what]
    assert stated_reason(reply, ASKED) == reason


@pytest.mark.parametrize(
    "reply",
    [
        "", "A", "[[B]]", '{"accuracy": "A", "overall": "tie"}', '```json\n{"overall": "A"}\n```',
        "Response A is better.", "My final verdict is: tie", 'Sure! Here is the JSON object:\n{"overall": "B"}',
        '{"overall": "A", "reason": ""}', '{"overall": "A", "reason": null}', '{"overall": "A", "reason": 7}',
        "<think>A names the fracture and B does not</think>A", "<think>never closed: A names the fracture",
        "Accuracy: A\nOverall: B", "high risk", '{"overall": "high risk"}',
    ],
)  # fmt: skip
def test_a_verdict_alone_is_no_reason(reply: str) -> None:
    assert stated_reason(reply, ASKED, ("no risk", "high risk")) is None


def test_a_long_reason_before_the_object_is_whole() -> None:
    reason = f"{FRACTURE} " * 20_000
    assert stated_reason(f'{reason}\n{{"overall": "A"}}', ASKED) == reason.strip()


@given(
    st.text()
    | st.lists(st.sampled_from(['{"', "reason", '":', '"', "'", "}", "[", "```", "\\", "A", "\n"])).map("".join)
)
def test_any_text_has_a_reason_or_none(reply: str) -> None:
    found = stated_reason(reply, ASKED)
    assert found is None or found == found.strip() != ""
