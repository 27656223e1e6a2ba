"""Rubric decisions as judges write them: y for met, n for not met, and a dot for none."""

from hypothesis import given
from hypothesis import strategies as st

from mrb_lib.replies.criteria import parse_criteria

from .grouped import grouped

READ = grouped({
    "yn": [
        '{"1": "yes", "2": "no"}', "1. Met\n2. Not met", "| 1 | yes |\n| 2 | no |",
        "| # | Criterion | Met? |\n|---|---|---|\n| 1 | Mentions aspirin | yes |\n| 2 | Gives the dose | no |",
        "C1=1, C2=0", "Criterion 1: ✓\nCriterion 2: ✗", "{'criterion_1': 'met', 'criterion_2': 'unmet',}",
        '[{"criterion": 1, "met": true}, {"criterion": 2, "met": false}]',
        '{"1": {"met": true, "reason": "x"}, "2": {"met": false}}',
        "**1.** Mentions aspirin: **Met**\n**2.** Gives the dose: **Not met**",
        "1. Mentions aspirin\n   Met\n2. Dose\n   Not met", "Criterion 1 is met. Criterion 2 is not met.",
        'The first is there.\n```json\n{"1": "yes", "2": "no"}\n```', "[met, not met]",
        "Criterion 1 (aspirin): yes\nCriterion 2 (dose): no",
        "1. Yes, the response names it.\n2. No, the dose is missing.",
        "### Criterion 1\nThe drug is named.\nVerdict: met\n### Criterion 2\nVerdict: not met",
        "<think>1. no 2. yes</think>1. yes 2. no", '{"C1": 1, "C2": 0}',
        '{"results": [{"id": 1, "verdict": "yes"}, {"id": 2, "verdict": "no"}]}',
    ],
    "yny": ["[true, false, true]", "✓ ✗ ✓", "Y/N/Y", "yes, no, yes"],
    "y.": ["Criterion 1: satisfied", "1) yes - because it says so"],
    "ynyy": ["Criteria 1, 3 and 4 are met. Criterion 2 is not met."],
    "yyy": ["All criteria are met."],
    "nn": ["None of the criteria are met."],
    "yn.": ["1: yes; 2: no"],
    "..": [
        "1: yes\n2: no\n\nCorrection: 1: no, 2: yes",
        "1. Partially met 2. Mostly", "yes/no", "Met or not met", "yes, no, yes", "[true]",
        "I cannot evaluate this image.", "yes", "1. N/A 2. unclear", "The score is 1: fine", "1. yes - not met",
        "Criterion 1: not fully met", "1. Probably met", "criteria 1 and 2 may be met", "met / not met",
    ],
    ".n": [
        "1: partially met; 2: no", "Criterion 1: met\nCriterion 1: not met\nCriterion 2: no",
        '{"1": "partially", "2": "no"}',
    ],
    ".y": ['{"1": 2, "2": 1}'],
})  # fmt: skip


def test_decisions_are_read_as_a_person_reads_them() -> None:
    letters = {"met": "y", "not met": "n", None: "."}
    for reply, expected in READ:
        choices = parse_criteria(reply, len(expected)).choices
        assert "".join(letters[choice] for choice in choices.values()) == expected, reply


@given(st.text(), st.integers(1, 5))
def test_no_text_raises(reply: str, n: int) -> None:
    assert list(parse_criteria(reply, n).choices) == [str(number) for number in range(1, n + 1)]
