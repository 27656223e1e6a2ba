"""Replies that name the labels of a dimension: read as a person does, and nothing guessed."""

import json

from hypothesis import given
from hypothesis import strategies as st

from mrb_lib.replies.multi import parse_labels, parse_ratings
from mrb_lib.tables.schema import joined_labels

from .grouped import grouped

LABELS = {"errors": ("fabricated finding", "omission", "wrong side")}
TWO = {**LABELS, "tone": ("rude",)}
BOTH = "fabricated finding; omission"

READ = grouped({
    (BOTH, "ok"): ['["omission", "fabricated finding"]'],
    ("none", "ok"): ["[]", '{"errors": []}', '<think>{"errors": ["omission"]}</think>{"errors": []}'],
    ("omission", "ok"): ['```json\n["omission"]\n```', '{"errors": ["omission", "omission"]}'],
    ("wrong side", "ok"): ['```json\n{"errors": ["wrong side"]}\n```'],
    ("omission", "repaired"): [
        'The answer: ["Omission"].', '{"errors": "omission"}', 'It leaves out the nodule [1] [sic].\n["omission"]',
        '{"severity": "low", "errors": ["omission"]}\nOther findings: []',
    ],
    (BOTH, "repaired"): [
        '{"Errors": ["OMISSION", " fabricated  finding"]}', '{"errors": "omission; fabricated finding"}',
        '{"errors": {"fabricated finding": true, "omission": true, "wrong side": false}}',
    ],
    ("none", "repaired"): [
        'First {"errors": ["omission"]}, but on reflection {"errors": []}', '{"errors": "none"}',
        '{"errors": ["none"]}', "errors: []",
    ],
    ("wrong side", "repaired"): ['{"reason": "x", "errors": ["wrong side"]} Hope that helps!'],
    (None, "unparsed"): [
        '["omission", "made up"]', '{"errors": ["omission", "none"]}', '{"errors": ["omission"], "errors": []}',
        '{"errors": ["omission"], "Errors": []}', '{"errors": {"omission": true}}',
        '{"errors": {"fabricated finding": "yes", "omission": true, "wrong side": false}}', '{"errors": [1, 2]}',
        '{"errors": null}', '{"errors": ""}', "There is an omission.", '{"errors": ["made up"]}\n[]',
        "{'severity': 'low', 'errors': ['omission'], 'notes': []}", '{"errors": ["omission"], "notes": []',
        'errors: ["omission"]\nlimits: []', "It leaves out the nodule.\nlimits: []", '["omission"]\n[]',
        '["omission"] is what the student said, and it is not so.', '["omission", ["wrong side"]', "", '["omission"',
    ],
    (None, "refused"): ["I'm sorry, but I can't help with rating medical answers."],
})  # fmt: skip


def test_a_reply_is_read_as_a_person_reads_it() -> None:
    readings = {reply: parse_labels(reply, LABELS) for reply, *_ in READ}
    assert [(reply, one.choices["errors"], one.status) for reply, one in readings.items()] == READ


def test_with_two_dimensions_a_list_alone_is_of_neither() -> None:
    assert set(parse_labels('["omission"]', TWO).choices.values()) == {None}
    one = parse_labels('{"errors": ["omission"]}', TWO)
    assert (dict(one.choices), one.status) == ({"errors": "omission", "tone": None}, "repaired")


def test_labels_and_categories_are_read_from_one_object() -> None:
    asked, categories = ("risk", "errors"), ("low risk", "high risk")
    read = parse_ratings('{"risk": "high risk", "errors": ["omission"]}', asked, categories, LABELS)
    assert (dict(read.choices), read.status) == ({"risk": "high risk", "errors": "omission"}, "ok")
    read = parse_ratings('{"risk": "high risk", "errors": ["x"]}', asked, categories, LABELS)
    assert (dict(read.choices), read.status) == ({"risk": "high risk", "errors": None}, "repaired")
    assert read.status_of("errors") == "unparsed"
    for reply in ("[]", '["omission"]', "high risk\n[]", "errors: []"):
        assert parse_ratings(reply, asked, categories, LABELS).choices["errors"] is None, "of which, it does not say"
    assert parse_ratings("[]", ("errors",), categories, LABELS).status == "ok"
    read = parse_ratings("none", asked, categories, LABELS)
    assert set(read.choices.values()) == {None}


@given(st.lists(st.text(min_size=1, max_size=20).filter(lambda t: ";" not in t and t.strip() == t and t != "none"),
                min_size=1, max_size=6, unique=True), st.data())  # fmt: skip
def test_any_labels_come_back(labels: list[str], data: st.DataObject) -> None:
    chosen = data.draw(st.lists(st.sampled_from(labels), unique=True))
    reading = parse_labels(json.dumps({"errors": chosen}), {"errors": labels})
    assert (reading.choices["errors"], reading.status) == (joined_labels(chosen, labels), "ok")


@given(st.text(alphabet='[]{}",: omisner\\', max_size=80))
def test_no_text_raises(reply: str) -> None:
    choice = parse_labels(reply, TWO).choices["errors"]
    assert choice is None or all(name in ("none", *LABELS["errors"]) for name in choice.split("; "))
