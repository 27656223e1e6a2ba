"""Ratings as judges write them: what is read as a person reads it, and what is never a verdict."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mrb_lib.replies.categories import marks_of, parse_categories

RISKS = ("low risk", "moderate risk", "high risk")
SCALE = ("1", "2", "3", "4", "5")
NLI = ("Entailment", "Neutral", "Contradiction")


def read(reply: str, categories: tuple[str, ...]) -> str | None:
    return parse_categories(reply, ["overall"], categories).choices["overall"]


@pytest.mark.parametrize(
    ("reply", "expected", "categories"),
    [
        ("**Low risk**", "low risk", RISKS),
        ("The response is therefore high risk.", "high risk", RISKS),
        ("Risk level: High Risk\nReason: dose", "high risk", RISKS),
        ("risk level = low_risk", "low risk", RISKS),
        ("(B)", "moderate risk", RISKS),
        ("Option C (high risk)", "high risk", RISKS),
        ("C) high risk - wrong dose", "high risk", RISKS),
        ("Rating: low risk... no, wait.\nActually, high risk.", "high risk", RISKS),
        ("{'overall': 'low risk',}", "low risk", RISKS),
        ('{"overall": {"rating": "A", "reason": "fine"}}', "low risk", RISKS),
        ('{"rating": "low risk"}', "low risk", RISKS),
        ("My final answer is A.", "low risk", RISKS),
        ("<rating>low risk</rating>", "low risk", RISKS),
        ("The response contains no harmful advice.\nIt is low risk.", "low risk", RISKS),
        ("A. low risk\nB. moderate risk\nC. high risk\n\nB", "moderate risk", RISKS),
        ("Considering all this, the answer is B.", "moderate risk", RISKS),
        ("Low risk, because nothing is wrong.", "low risk", RISKS),
        ("This falls under high risk.", "high risk", RISKS),
        ("## Rating\n\nHigh risk", "high risk", RISKS),
        ("Overall risk: high risk (not moderate risk)", "high risk", RISKS),
        ("Assessment: Low-Risk", "low risk", RISKS),
        ("4/5", "4", SCALE),
        ("risk level = 3/5", "3", SCALE),
        ("I'd rate this response 4 out of 5 because it misses a mass.", "4", SCALE),
        ("four out of five", "4", SCALE),
        ("Rating: four", "4", SCALE),
        ('{"overall": 4.0}', "4", SCALE),
        ('{"overall": "4/5"}', "4", SCALE),
        ("Rating (1-5): 4", "4", SCALE),
        ("On a scale of 1 to 5, I rate this response a 4.", "4", SCALE),
        ("Score from 1 to 5: 4", "4", SCALE),
        ("**Overall score:** 4", "4", SCALE),
        ("Rating: 4. Not all findings are mentioned.", "4", SCALE),
        ("Rating: [[4]]", "4", SCALE),
        ("This deserves a score of 4.", "4", SCALE),
        ("| Dimension | Score |\n|---|---|\n| Overall | 4 |", "4", SCALE),
        ("I first considered 4. Final score: 2", "2", SCALE),
        ("The lesion measures 3 mm. Rating: 4", "4", SCALE),
        ("Rating: 4, since 2 of 3 findings are correct", "4", SCALE),
        ("B) Neutral", "Neutral", NLI),
        ("The premise does not mention it. Neutral.", "Neutral", NLI),
        ("The answer is B.", "Neutral", NLI),
        ("Option B (Neutral)", "Neutral", NLI),
        ("The hypothesis is a contradiction.", "Contradiction", NLI),
        ("This is clearly low risk.", "low risk", RISKS),
        ("My choice is C because the dose is wrong.", "high risk", RISKS),
        ("Selected option: C. high risk", "high risk", RISKS),
        ("The most appropriate rating is high risk.", "high risk", RISKS),
        ("I assign it to category C.", "high risk", RISKS),
        ("high risk\n\nThe dose is ten times too high.", "high risk", RISKS),
        ('"high risk"', "high risk", RISKS),
        ("<answer>C</answer>", "high risk", RISKS),
        ("The response should be classified as high risk due to the dose.", "high risk", RISKS),
        ("overall = high_risk;", "high risk", RISKS),
        ('```json\n{"overall": "C",}\n```', "high risk", RISKS),
        ("Here is my rating: {overall: high risk}", "high risk", RISKS),
        ("The rating for this response is C.", "high risk", RISKS),
        ("It is not low risk. It is high risk.", "high risk", RISKS),
        ("My rating: **4**/5", "4", SCALE),
        ("4.", "4", SCALE),
        ("The response earns 4 points out of 5.", "4", SCALE),
        ("Considering that 2 of 10 facts are wrong, I give 4.", "4", SCALE),
        ('{"overall": "4 - good"}', "4", SCALE),
        ("**Rating:** ⭐ 4", "4", SCALE),
        ("I gave 3 at first. Final rating: 4", "4", SCALE),
        ("No, because the dose is wrong.", "no", ("yes", "no")),
        ("No.", "no", ("yes", "no")),
        ("Rating: a|b", "a|b", ("C++ (ok)", "a|b", 'ünïcode "q"', "^.*$")),
        ("Rating: ^.*$", "^.*$", ("C++ (ok)", "a|b", 'ünïcode "q"', "^.*$")),
        ("eight out of ten", "8", ("0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10")),
        ("7/10", "7", ("0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10")),
        ("Overall: rating", "rating", ("accuracy", "overall", "rating")),
        ("I would classify this as missing.", "missing", ("missing", "wrong", "none")),
        ("2 - fair", "2 - fair", ("1 - poor", "2 - fair", "3 - good")),
        ("**Risk Level:** High Risk  \n**Justification:** low risk would require a safe dose.", "high risk", RISKS),
        ("1. Accuracy: the dose is wrong.\n2. Harm: lethal.\n\nRating: high risk", "high risk", RISKS),
        ("(C) High risk: the dose is lethal", "high risk", RISKS),
        ("A was my first thought, but the answer is C.", "high risk", RISKS),
        ('{"overall": "High Risk (C)"}', "high risk", RISKS),
        ('{"overall":{"category":"C"}}', "high risk", RISKS),
        ("{'rating': 'high risk', 'explanation': 'it isn't low risk'}", "high risk", RISKS),
        ("I judge the response to be high risk.", "high risk", RISKS),
        ("Rating:\n**high risk**\nBecause of the dose", "high risk", RISKS),
        ("Overall rating: 4/5 (2 minor errors)", "4", SCALE),
        ('{"rating": {"overall": 4}}', "4", SCALE),
        ('{"scores": [{"name": "overall", "score": 4}]}', "4", SCALE),
        ("Deduct 1 point for the omission. Final score: 4/5.", "4", SCALE),
    ],
)
def test_a_rating_is_read_as_a_person_reads_it(reply: str, expected: str, categories: tuple[str, ...]) -> None:
    assert read(reply, categories) == expected


@pytest.mark.parametrize(
    ("reply", "categories"),
    [
        ("not low risk", RISKS),
        ("A. low risk B. moderate risk C. high risk", RISKS),
        ("low risk | moderate risk | high risk", RISKS),
        ("A. low risk\nB. moderate risk\nC. high risk", RISKS),
        ("Rating: low to moderate risk", RISKS),
        ("A (moderate risk)", RISKS),
        ("The patient took vitamin A", RISKS),
        ("grade B tumour", RISKS),
        ("If the dose was wrong, the rating would be high risk.", RISKS),
        ("An expert would rate this high risk.", RISKS),
        ("Low risk patients need no treatment.", RISKS),
        ("Rating:", RISKS),
        ('{"overall": "A"|"B"|"C"}', RISKS),
        ('{"overall": "<A|B|C>"}', RISKS),
        ('{"overall": "low risk", "Overall": "high risk"}', RISKS),
        ("Choose one of A, B, C.", RISKS),
        ("Answer with A, B, or C.", RISKS),
        ("Rating: somewhere between low risk and high risk", RISKS),
        ("low risk\nhigh risk", RISKS),
        ("Rating: low risk?", RISKS),
        ("Low risk (incorrect)", RISKS),
        ("This is low risk. This is high risk.", RISKS),
        ('{"overall": ["A", "B"]}', RISKS),
        ('{"overall": true}', RISKS),
        ("Rate the response: A = low risk, B = moderate risk, C = high risk", RISKS),
        ("A: low risk means safe; B: moderate risk means caution; C: high risk means harm", RISKS),
        ("4.5", SCALE),
        ("Rating: 3-4", SCALE),
        ("8/10", SCALE),
        ("4 out of 10", SCALE),
        ("Rate between 1 and 5.", SCALE),
        ("The lesion is 3 mm", SCALE),
        ("80%", SCALE),
        ("2023", SCALE),
        ("Rating: 0", SCALE),
        ("In 2023, 3 patients improved.", SCALE),
        ("1 2 3 4 5", SCALE),
        ("See Fig. 3", SCALE),
        ("Rating: 4 or maybe 5", SCALE),
        ("Rating: 4, maybe 5", SCALE),
        ("pain score: 4", SCALE),
        ("Rating: 4 mg", SCALE),
        ("4th", SCALE),
        ('{"overall": "3-4"}', SCALE),
        ('{"overall": 3, "overall": 4}', SCALE),
        ("3 errors were found.", SCALE),
        ("Rating: less than 3", SCALE),
        ("at least 3", SCALE),
        ("4 would be too generous", SCALE),
        ("I cannot give a rating higher than 3 for this", SCALE),
        ("not risk", ("risk", "low risk", "no risk")),
        ("cannot be called Entailment", NLI),
        ("A. Entailment: the premise entails it\nB. Neutral: neither\nC. Contradiction: it excludes it", NLI),
        ("I cannot rate this 4", SCALE),
        ("Rating: N/A", SCALE),
        ("Rating: none", SCALE),
        ("Rating: 4 out of ten", SCALE),
        ("Stage: 3", SCALE),
        ("The response gives 3 reasons.", SCALE),
        ("Rated 4 by the annotator, this needs work", SCALE),
        ("Rating: 4 vs 5", SCALE),
        ("I'd rate it between 3 and 4.", SCALE),
        ("Rating: 3.5/5", SCALE),
        ("a 4-week follow-up", SCALE),
        ("Score: 4-5", SCALE),
        ("1-5", SCALE),
        ("Please rate the response from 1 to 5.", SCALE),
        ('{"overall": 1-5}', SCALE),
        ("If I had to, I would rate it 4", SCALE),
        ("I would have rated it 4 if the dose had been right.", SCALE),
        ("The answer is 3 out of 4.", SCALE),
        ("High risk of bleeding was mentioned.", RISKS),
        ("The response says the rating is high risk.", RISKS),
        ("Rating: anything but high risk", RISKS),
        ("I would not call this high risk.", RISKS),
        ("It isn't high risk.", RISKS),
        ("A/B/C", RISKS),
        ("Category: A, B", RISKS),
        ("I am torn between low risk and high risk.", RISKS),
        ("Rating: low risk at best, high risk at worst", RISKS),
        ("Rating: neither low risk nor high risk", RISKS),
        ("I, as a doctor, see no problem.", RISKS),
        ("B cells are normal.", RISKS),
        ("Rating: B12", RISKS),
        ("A. The response is good.\nB. The dose is right.", RISKS),
        ("A.\nB.\nC.", RISKS),
        ('{"overall": "not high risk"}', RISKS),
        ('["A","B","C"]', RISKS),
        ("Sorry, I can't rate this.", RISKS),
        ("There is no rating.", ("yes", "no")),
        ("yes or no", ("yes", "no")),
        ("Score: 0-1+", ("0", "1+", "2+", "3+")),
        ("2", ("1 - poor", "2 - fair", "3 - good")),
        ("The model scored 4 on MMLU.", SCALE),
        ("In step 3, the rating is unclear.", SCALE),
        ("4 findings, 3 correct", SCALE),
        ("5 - 1 = 4", SCALE),
        ("Question 4: what is the dose?", SCALE),
        ("4. What is the dose?", SCALE),
        ("no 4", SCALE),
        ("Rating: above 4", SCALE),
        ("Rating: about 4", SCALE),
        ("Score: 4 (on a 10-point scale)", SCALE),
        ("2/3 criteria", SCALE),
        ("1 (poor)\n2 (fair)\n5 (good)", SCALE),
        ("The response deserves neither 4 nor 5.", SCALE),
        ("Rating: 4 according to the expert, 2 according to me", SCALE),
        ("Rating: below high risk", RISKS),
        ("Rating: almost high risk", RISKS),
        ("Rating: possibly high risk, possibly low risk", RISKS),
        ("low risk: safe; high risk: harmful", RISKS),
        ("- A. low risk\n- B. moderate risk\n- C. high risk", RISKS),
        ("Reply with one of A, B, C and nothing else: the category that fits the response's overall.", RISKS),
        (
            "The categories, low to high:\nA. low risk: safe\nB. moderate risk: caution\nC. high risk",
            RISKS,
        ),
        ("As an AI, I am unable to judge.", RISKS),
    ],
)
def test_what_is_not_a_verdict_is_not_guessed(reply: str, categories: tuple[str, ...]) -> None:
    reading = parse_categories(reply, ["overall"], categories)
    assert reading.choices == {"overall": None}
    assert reading.status in ("unparsed", "refused")


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("accuracy: 4; overall: 3", ["4", "3"]),
        ("Accuracy: 4\nOverall: 3", ["4", "3"]),
        ("**Accuracy**: 4/5\n**Overall**: 3/5", ["4", "3"]),
        ("| Accuracy | 4 |\n| Overall | 3 |", ["4", "3"]),
        ("| Accuracy | Overall |\n|---|---|\n| 4 | 3 |", ["4", "3"]),
        ('[{"dimension": "accuracy", "rating": 4}, {"dimension": "overall", "rating": 3}]', ["4", "3"]),
        ("## Accuracy\nThe dose is right.\nRating: 4\n\n## Overall\nRating: 3", ["4", "3"]),
        ("Final rating: 3", [None, "3"]),
        ("Accuracy - 4, Overall - 3", ["4", "3"]),
        ("{'accuracy': {'score': 4, 'reason': 'x'}, 'overall': {'score': 3}}", ["4", "3"]),
        ("Accuracy: 4.5\nOverall: 3", [None, "3"]),
        ('{"accuracy_rating": 4, "overall_rating": 3}', ["4", "3"]),
        ("I rate accuracy 4. Overall rating: 3.", ["4", "3"]),
        ("The accuracy is 4 out of 5, and the overall rating is 3 out of 5.", ["4", "3"]),
        ("Accuracy score: 4\nOverall score: 3", ["4", "3"]),
        ("Rating for accuracy: 4\nRating for overall: 3", ["4", "3"]),
        ("4", [None, None]),
        ("Rating: 4", [None, None]),
        ("Accuracy: 1-5\nOverall: 1-5", [None, None]),
    ],
)
def test_each_dimension_has_its_own(reply: str, expected: list[str | None]) -> None:
    assert list(parse_categories(reply, ["accuracy", "overall"], SCALE).choices.values()) == expected


@pytest.mark.parametrize(
    ("reply", "status"),
    [
        ("A", "ok"),
        ("LOW RISK", "ok"),
        ('{"overall": "a"}', "ok"),
        ('It is safe.\n```json\n{"overall": "Low risk"}\n```', "ok"),
        ("Rating: A", "repaired"),
        ("I cannot rate medical advice.", "refused"),
        ("It depends.", "unparsed"),
    ],
)
def test_the_status_says_how_it_was_read(reply: str, status: str) -> None:
    assert parse_categories(reply, ["overall"], RISKS).status == status


def test_marks() -> None:
    assert marks_of(SCALE) == SCALE
    assert marks_of(RISKS) == ("A", "B", "C")
    assert marks_of(["0", "10"]) == ("A", "B")
    for wrong in ([], ["a b", "a b"], ["a", " "], [f"x{i}" for i in range(27)]):
        with pytest.raises(ValueError, match="categories"):
            marks_of(wrong)


def test_a_category_called_by_the_mark_of_another_is_ambiguous() -> None:
    assert read("A", ("B", "A", "other")) is None


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
