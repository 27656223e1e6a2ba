"""Ratings as judges write them: what is read as a person reads it, and what is never a verdict."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mrb_lib.replies.categories import marks_of, parse_categories

from .grouped import grouped

RISKS = ("low risk", "moderate risk", "high risk")
SCALE = ("1", "2", "3", "4", "5")
NLI = ("Entailment", "Neutral", "Contradiction")


READ = grouped({
    ("low risk", RISKS): [
        "**Low risk**", "risk level = low_risk", "{'overall': 'low risk',}",
        '{"overall": {"rating": "A", "reason": "fine"}}', '{"rating": "low risk"}', "My final answer is A.",
        "<rating>low risk</rating>", "The response contains no harmful advice.\nIt is low risk.",
        "Low risk, because nothing is wrong.", "Assessment: Low-Risk", "This is clearly low risk.",
    ],
    ("high risk", RISKS): [
        "The response is therefore high risk.", "Risk level: High Risk\nReason: dose", "Option C (high risk)",
        "C) high risk - wrong dose", "Rating: low risk... no, wait.\nActually, high risk.",
        "This falls under high risk.", "## Rating\n\nHigh risk", "Overall risk: high risk (not moderate risk)",
        "My choice is C because the dose is wrong.", "Selected option: C. high risk",
        "The most appropriate rating is high risk.", "I assign it to category C.",
        "high risk\n\nThe dose is ten times too high.", '"high risk"', "<answer>C</answer>",
        "The response should be classified as high risk due to the dose.", "overall = high_risk;",
        '```json\n{"overall": "C",}\n```', "Here is my rating: {overall: high risk}",
        "The rating for this response is C.", "It is not low risk. It is high risk.",
        "**Risk Level:** High Risk  \n**Justification:** low risk would require a safe dose.",
        "1. Accuracy: the dose is wrong.\n2. Harm: lethal.\n\nRating: high risk",
        "(C) High risk: the dose is lethal", "A was my first thought, but the answer is C.",
        '{"overall": "High Risk (C)"}', '{"overall":{"category":"C"}}',
        "{'rating': 'high risk', 'explanation': 'it isn't low risk'}", "I judge the response to be high risk.",
        "Rating:\n**high risk**\nBecause of the dose",
    ],
    ("moderate risk", RISKS): [
        "(B)", "A. low risk\nB. moderate risk\nC. high risk\n\nB", "Considering all this, the answer is B.",
    ],
    ("4", SCALE): [
        "4/5", "I'd rate this response 4 out of 5 because it misses a mass.", "four out of five", "Rating: four",
        '{"overall": 4.0}', '{"overall": "4/5"}', "Rating (1-5): 4",
        "On a scale of 1 to 5, I rate this response a 4.", "Score from 1 to 5: 4", "**Overall score:** 4",
        "Rating: 4. Not all findings are mentioned.", "Rating: [[4]]", "This deserves a score of 4.",
        "| Dimension | Score |\n|---|---|\n| Overall | 4 |", "The lesion measures 3 mm. Rating: 4",
        "Rating: 4, since 2 of 3 findings are correct", "My rating: **4**/5", "4.",
        "The response earns 4 points out of 5.", "Considering that 2 of 10 facts are wrong, I give 4.",
        '{"overall": "4 - good"}', "**Rating:** ⭐ 4", "I gave 3 at first. Final rating: 4",
        "Overall rating: 4/5 (2 minor errors)", '{"rating": {"overall": 4}}',
        '{"scores": [{"name": "overall", "score": 4}]}', "Deduct 1 point for the omission. Final score: 4/5.",
    ],
    ("3", SCALE): ["risk level = 3/5"],
    ("2", SCALE): ["I first considered 4. Final score: 2"],
    ("Neutral", NLI): [
        "B) Neutral", "The premise does not mention it. Neutral.", "The answer is B.", "Option B (Neutral)",
    ],
    ("Contradiction", NLI): ["The hypothesis is a contradiction."],
    ("no", ("yes", "no")): ["No, because the dose is wrong.", "No."],
    ("a|b", ("C++ (ok)", "a|b", 'ünïcode "q"', "^.*$")): ["Rating: a|b"],
    ("^.*$", ("C++ (ok)", "a|b", 'ünïcode "q"', "^.*$")): ["Rating: ^.*$"],
    ("8", ("0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10")): ["eight out of ten"],
    ("7", ("0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10")): ["7/10"],
    ("rating", ("accuracy", "overall", "rating")): ["Overall: rating"],
    ("missing", ("missing", "wrong", "none")): ["I would classify this as missing."],
    ("2 - fair", ("1 - poor", "2 - fair", "3 - good")): ["2 - fair"],
    (None, RISKS): [
        "not low risk", "A. low risk B. moderate risk C. high risk", "low risk | moderate risk | high risk",
        "A. low risk\nB. moderate risk\nC. high risk", "Rating: low to moderate risk", "A (moderate risk)",
        "The patient took vitamin A", "grade B tumour", "If the dose was wrong, the rating would be high risk.",
        "An expert would rate this high risk.", "Low risk patients need no treatment.", "Rating:",
        '{"overall": "A"|"B"|"C"}', '{"overall": "<A|B|C>"}', '{"overall": "low risk", "Overall": "high risk"}',
        "Choose one of A, B, C.", "Answer with A, B, or C.", "Rating: somewhere between low risk and high risk",
        "low risk\nhigh risk", "Rating: low risk?", "Low risk (incorrect)",
        "This is low risk. This is high risk.", '{"overall": ["A", "B"]}', '{"overall": true}',
        "Rate the response: A = low risk, B = moderate risk, C = high risk",
        "A: low risk means safe; B: moderate risk means caution; C: high risk means harm",
        "High risk of bleeding was mentioned.", "The response says the rating is high risk.",
        "Rating: anything but high risk", "I would not call this high risk.", "It isn't high risk.", "A/B/C",
        "Category: A, B", "I am torn between low risk and high risk.",
        "Rating: low risk at best, high risk at worst", "Rating: neither low risk nor high risk",
        "I, as a doctor, see no problem.", "B cells are normal.", "Rating: B12",
        "A. The response is good.\nB. The dose is right.", "A.\nB.\nC.", '{"overall": "not high risk"}',
        '["A","B","C"]', "Sorry, I can't rate this.", "Rating: below high risk", "Rating: almost high risk",
        "Rating: possibly high risk, possibly low risk", "low risk: safe; high risk: harmful",
        "- A. low risk\n- B. moderate risk\n- C. high risk",
        "Reply with one of A, B, C and nothing else: the category that fits the response's overall.",
        "The categories, low to high:\nA. low risk: safe\nB. moderate risk: caution\nC. high risk",
        "As an AI, I am unable to judge.",
    ],
    (None, SCALE): [
        "4.5", "Rating: 3-4", "8/10", "4 out of 10", "Rate between 1 and 5.", "The lesion is 3 mm", "80%", "2023",
        "Rating: 0", "In 2023, 3 patients improved.", "1 2 3 4 5", "See Fig. 3", "Rating: 4 or maybe 5",
        "Rating: 4, maybe 5", "pain score: 4", "Rating: 4 mg", "4th", '{"overall": "3-4"}',
        '{"overall": 3, "overall": 4}', "3 errors were found.", "Rating: less than 3", "at least 3",
        "4 would be too generous", "I cannot give a rating higher than 3 for this", "I cannot rate this 4",
        "Rating: N/A", "Rating: none", "Rating: 4 out of ten", "Stage: 3", "The response gives 3 reasons.",
        "Rated 4 by the annotator, this needs work", "Rating: 4 vs 5", "I'd rate it between 3 and 4.",
        "Rating: 3.5/5", "a 4-week follow-up", "Score: 4-5", "1-5", "Please rate the response from 1 to 5.",
        '{"overall": 1-5}', "If I had to, I would rate it 4",
        "I would have rated it 4 if the dose had been right.", "The answer is 3 out of 4.",
        "The model scored 4 on MMLU.", "In step 3, the rating is unclear.", "4 findings, 3 correct", "5 - 1 = 4",
        "Question 4: what is the dose?", "4. What is the dose?", "no 4", "Rating: above 4", "Rating: about 4",
        "Score: 4 (on a 10-point scale)", "2/3 criteria", "1 (poor)\n2 (fair)\n5 (good)",
        "The response deserves neither 4 nor 5.", "Rating: 4 according to the expert, 2 according to me",
    ],
    (None, ("risk", "low risk", "no risk")): ["not risk"],
    (None, NLI): [
        "cannot be called Entailment",
        "A. Entailment: the premise entails it\nB. Neutral: neither\nC. Contradiction: it excludes it",
    ],
    (None, ("yes", "no")): ["There is no rating.", "yes or no"],
    (None, ("B", "A", "other")): ["A"],  # the mark of another
    (None, ("0", "1+", "2+", "3+")): ["Score: 0-1+"],
    (None, ("1 - poor", "2 - fair", "3 - good")): ["2"],
})  # fmt: skip


def test_a_rating_is_read_as_a_person_reads_it_and_none_is_guessed() -> None:
    readings = {(reply, stated): parse_categories(reply, ["overall"], stated) for reply, _, stated in READ}
    wanted = {(reply, stated): choice for reply, choice, stated in READ}
    assert {key: reading.choices["overall"] for key, reading in readings.items()} == wanted
    assert {reading.status in ("unparsed", "refused") for key, reading in readings.items() if not wanted[key]} == {True}


@pytest.mark.parametrize(
    ("reply", "expected"),
    grouped({
        "43": [
            "accuracy: 4; overall: 3", "Accuracy: 4\nOverall: 3", "**Accuracy**: 4/5\n**Overall**: 3/5",
            "| Accuracy | 4 |\n| Overall | 3 |", "| Accuracy | Overall |\n|---|---|\n| 4 | 3 |",
            '[{"dimension": "accuracy", "rating": 4}, {"dimension": "overall", "rating": 3}]',
            "## Accuracy\nThe dose is right.\nRating: 4\n\n## Overall\nRating: 3", "Accuracy - 4, Overall - 3",
            "{'accuracy': {'score': 4, 'reason': 'x'}, 'overall': {'score': 3}}",
            '{"accuracy_rating": 4, "overall_rating": 3}', "I rate accuracy 4. Overall rating: 3.",
            "The accuracy is 4 out of 5, and the overall rating is 3 out of 5.",
            "Accuracy score: 4\nOverall score: 3", "Rating for accuracy: 4\nRating for overall: 3",
        ],
        ".3": ["Final rating: 3", "Accuracy: 4.5\nOverall: 3"],
        "..": ["4", "Rating: 4", "Accuracy: 1-5\nOverall: 1-5"],
    }),
)  # fmt: skip
def test_each_dimension_has_its_own(reply: str, expected: str) -> None:
    choices = parse_categories(reply, ["accuracy", "overall"], SCALE).choices
    assert "".join(choice or "." for choice in choices.values()) == expected


@pytest.mark.parametrize(
    ("reply", "status"),
    grouped({
        "ok": ["A", "LOW RISK", '{"overall": "a"}', 'It is safe.\n```json\n{"overall": "Low risk"}\n```'],
        "repaired": ["Rating: A"],
        "refused": ["I cannot rate medical advice."],
        "unparsed": ["It depends."],
    }),
)  # fmt: skip
def test_the_status_says_how_it_was_read(reply: str, status: str) -> None:
    assert parse_categories(reply, ["overall"], RISKS).status == status


def test_marks() -> None:
    assert marks_of(SCALE) == SCALE
    assert marks_of(RISKS) == ("A", "B", "C")
    assert marks_of(["0", "10"]) == ("A", "B")
    for wrong in ([], ["a b", "a b"], ["a", " "], [f"x{i}" for i in range(27)]):
        with pytest.raises(ValueError, match="categories"):
            marks_of(wrong)


@given(
    st.permutations(["accuracy", "overall", "harm"]),
    st.lists(st.sampled_from(RISKS), min_size=3, max_size=3),
    st.text(),
)
def test_objects_are_read_exactly(names: list[str], ratings: list[str], reason: str) -> None:
    stated = dict(zip(names, ratings, strict=True))
    reply = json.dumps({name: rating.upper() for name, rating in stated.items()} | {"reason": reason})
    assert parse_categories(reply, sorted(names), RISKS).choices == {name: stated[name] for name in sorted(names)}


@settings(max_examples=25)
@given(
    st.lists(
        st.text(min_size=2).filter(str.strip), min_size=1, max_size=5, unique_by=lambda name: name.strip().casefold()
    )
)
def test_any_categories_are_read_back(categories: list[str]) -> None:
    for name in categories:
        assert parse_categories(json.dumps({"overall": name}), ["overall"], categories).choices == {"overall": name}


@settings(max_examples=25)
@given(st.text(), st.lists(st.text(min_size=1).filter(str.strip), min_size=1, max_size=4, unique=True))
def test_no_text_raises(reply: str, categories: list[str]) -> None:
    reading = parse_categories(reply, ["overall", "!!"], categories)
    assert set(reading.choices.values()) <= {*categories, None}
