"""A reply about responses under other labels is read as the same reply about A and B."""

import pytest

from mrb_lib.replies.labels import in_letters, labels_of, relabelled
from mrb_lib.replies.reading import parse

LABELS = [("1", "2"), ("X", "Y"), ("Alex", "Sam"), ("B", "A")]
REPLIES = [
    '{"accuracy": "A", "overall": "B"}',
    "Response A names the nodule; response B does not. [[A]]",
    "**Accuracy**: B\n**Overall**: A",
    "The chest X-ray at 1.5 cm shows 2 nodules.\n\nFinal verdict: B",
    "I cannot judge this.",
    '{"accuracy": "tie", "overall": "A"}',
]


@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize("reply", REPLIES)
def test_the_reading_is_that_of_the_reply_in_letters(reply: str, labels: tuple[str, str]) -> None:
    dimensions = ("accuracy", "overall")
    renamed = relabelled(reply, labels)
    assert parse(renamed, dimensions, labels=labels).choices == parse(reply, dimensions).choices
    if "A" in reply:
        assert renamed != reply


@pytest.mark.parametrize("labels", LABELS[:3])
def test_an_a_or_a_b_is_no_verdict_where_the_responses_are_called_otherwise(labels: tuple[str, str]) -> None:
    assert parse('{"overall": "A"}', ("overall",)).status == "ok"
    assert parse('{"overall": "A"}', ("overall",), labels=labels).choices == {"overall": None}


@pytest.mark.parametrize(
    ("reply", "choices"),
    [
        ("2", {"overall": "B"}),
        ('{"overall": 1}', {"overall": "A"}),
        ("1. Both are long.\n2. Neither is wrong.", {"overall": None}),
        ("A lesion of 1.2 cm.", {"overall": None}),
        ("Response 2 is better.", {"overall": "B"}),
    ],
)
def test_numbers_that_are_no_label_are_no_verdict(reply: str, choices: dict[str, str | None]) -> None:
    assert parse(reply, ("overall",), labels=("1", "2")).choices == choices


def test_the_labels_of_a_row() -> None:
    assert labels_of({"probe_labels": "Alex/Sam"}) == ("Alex", "Sam")
    assert labels_of({}) == labels_of({"probe_labels": ""}) == labels_of({"probe_labels": None}) == ("A", "B")


def test_a_megabyte_is_read_at_once() -> None:
    assert in_letters("1 x 2 " * 200_000, ("1", "2")).startswith("A x B")
