"""Thoughts, cut-off replies, refusals and letters of options are no verdicts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mrb_lib.replies.answers import read_answer
from mrb_lib.replies.criteria import parse_criteria
from mrb_lib.replies.labels import lists_options
from mrb_lib.replies.multi import parse_ratings
from mrb_lib.replies.rankings import parse_rankings
from mrb_lib.replies.reading import parse
from mrb_lib.tables.schema import DIMENSIONS

from .grouped import grouped

THOUGHT, FINAL = '{"overall": "A"}', '{"overall": "B"}'
OPTIONS = "What is the cause?\nA. Embolism\nB. Pneumonia\nC. Oedema"


@pytest.mark.parametrize(
    ("opens", "closes"),
    [
        ("<|channel>thought\n", "<channel|>"),
        ("<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>"),
        ("<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final <|constrain|>json<|message|>"),
        ("analysisWe compare both.", "assistantfinal"),
        ("<|START_THINKING|>", "<|END_THINKING|><|START_RESPONSE|>"),
        ("<think effort='low'>", "</think>"),
        ("<seed:think>", "</seed:think>"),
        ("<longcat_think>", "</longcat_think>"),
        ("<|think|>", "<|/think|>"),
        ("[THINK]", "[/THINK]"),
        ("<unused94>thought\n", "<unused95>"),
        ('<details type="reasoning" done="true">', "</details>"),
        ("## Thinking\n\n", "\n\n## Final Response\n\n"),
        ("Here are my reasoning steps:\n", "\n[BEGIN FINAL RESPONSE]\n"),
    ],
)
def test_a_thought_is_no_verdict_and_an_unfinished_one_reaches_to_the_end(opens: str, closes: str) -> None:
    assert parse(f"{opens}{THOUGHT}{closes}{FINAL}", ["overall"]).choices == {"overall": "B"}
    assert parse(f"{opens}It may be {THOUGHT}, but", ["overall"]).choices == {"overall": None}
    assert parse(f"{THOUGHT}{closes}{FINAL}", ["overall"]).choices == {"overall": "B"}


@pytest.mark.parametrize(
    ("reply", "choice"),
    grouped({
        "B": [
            '{"overall": "B", "reason": "it names the', 'Both are long.\n```json\n{"overall": "B", "reason": "it',
            '{"overall": "B"}',
        ],
        None: [
            '{"overall": "B"} Wait, the dose', '{"overall": "A"}\nCorrected: {"over', '{"overall": "B', "B",
            "B, because", "Overall: B\nReason: it", "Response B is better. However, response",
            "Antwort B ist besser. Aber",
        ],
    }),
)  # fmt: skip
def test_of_a_reply_that_was_cut_off_only_the_object_at_its_end_counts(reply: str, choice: str | None) -> None:
    assert parse(reply, ["overall"], is_cut_off=True).choices == {"overall": choice}


def test_ratings_rankings_and_criteria_that_were_cut_off() -> None:
    assert parse_ratings("Rating: 4. But", ["overall"], "12345", {}, is_cut_off=True).choices == {"overall": None}
    assert parse_ratings('["rude"] But', ["tone"], (), {"tone": ["rude"]}, is_cut_off=True).choices == {"tone": None}
    assert parse_rankings("B > A > C\nWait", ["overall"], 3, is_cut_off=True).places == {"overall": None}
    assert set(parse_criteria("1. Met\n2. Not met\nOn", 2, is_cut_off=True).choices.values()) == {None}
    assert parse_criteria('{"1": "yes", "2": "n', 2, is_cut_off=True).choices == {"1": "met", "2": None}


def test_a_cut_off_object_gives_way_to_the_one_that_corrects_it() -> None:
    draft = "".join(f'"{name}": "tie", ' for name in DIMENSIONS)
    final = "".join(f'"{name}": "A", ' for name in DIMENSIONS)
    choices = parse(f"{{{draft}\nNo, better:\n{{{final}}}", DIMENSIONS).choices
    assert set(choices.values()) == {"A"}


@pytest.mark.parametrize(
    ("reply", "choice"),
    grouped({
        None: [  # a letter that may answer the question
            "B. Pneumonia", "**B**. Pneumonia", "The answer is B.", "Answer: B", "**Answer:** B", "So: B", "I choose B",
            '{"answer": "B"}', "\\boxed{B}", "B because of the consolidation", "B\n\nPneumonia", "Antwort: B",
            "答案: B",
        ],
        "B": [  # one that names a response
            "B", "[[B]]", "Overall: B", FINAL, "Winner: B", "**Verdict**: B", "Response B is better.",
            "B is better than A", "B > A", "Response B names option A, which is wrong. Still, response B is better.",
        ],
    }),
)  # fmt: skip
def test_beside_lettered_options_a_letter_is_a_verdict_only_where_it_names_a_response(
    reply: str, choice: str | None
) -> None:
    assert parse(reply, ["overall"], question=OPTIONS).choices == {"overall": choice}


def test_questions_that_list_options() -> None:
    for question in (OPTIONS, "Which? (A) left (B) right", "Which? a) left b) right", "A: yes, B: no"):
        assert lists_options(question)
    for question in ("", "Is hepatitis B likely?", "Compare image A with image B.", "Is vitamin A. low?"):
        assert not lists_options(question)


def test_what_is_denied_or_counted_is_no_ranking_and_no_decision() -> None:
    for reply in ("Not B > A > C", "I would not rank them B > A > C.", "B > A > C?", "It isn't B > A > C"):
        assert parse_rankings(reply, ["overall"], 3).places == {"overall": None}
    assert set(parse_criteria("Met: 2\nNot met: 1", 2).choices.values()) == {None}


FINDINGS = "The lungs are clear and the heart is of normal size. " * 12


def test_what_was_thought_aloud_is_not_the_answer() -> None:
    assert read_answer("<think>\nB? no\n</think>\n\nC") == ("C", "ok")
    assert read_answer("<think>\nstill thinking") == ("", "unparsed")
    assert read_answer(" \n") == ("", "unparsed")


def test_a_refusal_is_short_and_begins_as_one() -> None:
    for text in ("I'm sorry, but I can't help with that.", "As an AI, I can not diagnose from images.", "抱歉"):
        assert read_answer(text).status == "refused"
    caveat = f"As an AI I cannot replace a physician, but: {FINDINGS}"
    assert read_answer(caveat) == (caveat.strip(), "ok")
    assert read_answer(f"{FINDINGS[:200]} I am unable to provide more.").status == "ok"
    assert read_answer("Sorry state of the bone: osteopenia").status == "ok"


@given(st.text())
def test_no_text_is_too_strange(reply: str) -> None:
    text, status = read_answer(reply)
    assert (status == "unparsed") == (not text)
