"""Rankings in replies are read as a person reads them, and what is none is not guessed."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mrb_lib.replies.rankings import parse_rankings

BAC, TIED = (1, 0, 2), (1, 0, 1)
ONE = ("overall",)
TWO = ("accuracy", "relevance")

PLAIN = [
    "B > A > C", '{"overall": ["B", "A", "C"]}', '```json\n{"overall": ["B", "A", "C"]}\n```',
    'A is vague and C wrong.\n{"overall": ["B", "A", "C"]}', "<think>A > B > C</think>B > A > C",
]  # fmt: skip
FORMS = [
    '["B", "A", "C"]', "B>A>C", "Ranking: B, A, C", "Ranking: BAC", "BAC", "B, A, C",
    "My final ranking is: Response B, Response A, Response C", "I would rank the responses B, A, C.",
    "Best to worst: B, A and C.", "From best to worst: (B), (A), (C)", "worst to best: C, A, B", "1. B\n2. A\n3. C",
    "1) B\n2) A\n3) C", "1. B 2. A 3. C", "(1) B (2) A (3) C",
    "1. **Response B** - clear and complete\n2. **Response A** - vague, unlike B\n3. **Response C** - wrong",
    "1st: B\n2nd: A\n3rd: C", "Rank 1: B\nRank 2: A\nRank 3: C",
    "First: Response B\nSecond: Response A\nThird: Response C", "Best: B\nSecond: A\nWorst: C",
    "[[B]] > [[A]] > [[C]]", "[[B > A > C]]", "\\boxed{B > A > C}", "$B \\succ A \\succ C$", "B \u2192 A \u2192 C",
    "B -> A -> C", "B \u227b A \u227b C", "\uff22\uff1e\uff21\uff1e\uff23", "B >> A > C",
    "The ranking is **B** > **A** > **C**.", "B is the best, followed by A, then C.", "B is better than A, then C",
    "Draft: A > B > C. On reflection, the final ranking: B > A > C",
    "| Rank | Response |\n|---|---|\n| 1 | B |\n| 2 | A |\n| 3 | C |",
    "| | A | B | C |\n|---|---|---|---|\n| Rank | 2 | 1 | 3 |", "Overall ranking:\n1) B\n2) A\n3) C",
    'overall: ["B", "A", "C"', '{"A": 2, "B": 1, "C": 3}', '{"1": "B", "2": "A", "3": "C"}',
    '{"ranking": ["Response B", "Response A", "Response C"]}',
    '[{"rank": 2, "response": "A"}, {"rank": 1, "response": "B"}, {"rank": 3, "response": "C"}]',
    '{"overall": {"ranking": ["B", "A", "C"], "reason": "A misses the nodule"}}', "{'overall': ['B', 'A', 'C'],}",
]  # fmt: skip
TIES = [
    "B > A = C", '["B", ["A", "C"]]', "B, [A, C]", "Ranking: B, (A, C)", "1. B\n2. A, C", "1. B\n2. A\n2. C",
    "1st: B\n2nd: A and C", "B > A ~ C", "B > A, tied with C", '{"A": 2, "B": 1, "C": 2}',
]  # fmt: skip
NONE = [
    "", "I like all of them.", "The best is B.", "B > A > C > A", '["B", "A"]', '["B", "A", "C", "B"]',
    '{"overall": ["A", "B", "D"]}', '{"overall": {"A": 2, "B": 1}}', "[2, 1, 3]", "B > A < C", "A, B or C?",
    "Draft: B > A > C. Final ranking: B > A", "worst to best: C > A > B",
    "1. A lesion is seen\n2. B is vague\n3. C is right",
    "1. Response A: brief\n2. Response B: long\n3. Response C: wrong", "Score A: 2, B: 1, C: 3",
    "relevance: B > A > C",
]  # fmt: skip
SEVERAL = [
    '{"accuracy": ["B", "A", "C"], "relevance": ["C", "B", "A"]}',
    '{"rankings": {"accuracy": ["B", "A", "C"], "relevance": ["C", "B", "A"]}}',
    '[{"dimension": "accuracy", "ranking": ["B", "A", "C"]}, {"dimension": "relevance", "ranking": ["C", "B", "A"]}]',
    '{"accuracy": "B>A>C", "relevance": "C>B>A"}',
    "{accuracy: [B, A, C], relevance: [C, B, A]}",
    '{"accuracy": ["B", "A", "C"], "relevance": ["C", "B", "A"',
    "accuracy: B > A > C\nrelevance: C > B > A",
    "accuracy: B > A > C; relevance: C > B > A",
    "- accuracy: B, A, C\n- relevance: C, B, A",
    "### Accuracy: BAC\n### Relevance: CBA",
    "**Accuracy**\n1. B\n2. A\n3. C\n\n**Relevance**\n1. C\n2. B\n3. A",
    "| dimension | ranking |\n|---|---|\n| accuracy | B > A > C |\n| relevance | C > B > A |",
    "| | 1st | 2nd | 3rd |\n|---|---|---|---|\n| accuracy | B | A | C |\n| relevance | C | B | A |",
    "| | A | B | C |\n|-|-|-|-|\n| accuracy | 2 | 1 | 3 |\n| relevance | 3 | 2 | 1 |",
]


@pytest.mark.parametrize("reply", PLAIN)
def test_a_clean_ranking_is_ok(reply: str) -> None:
    reading = parse_rankings(reply, ONE, 3)
    assert (reading.places["overall"], reading.status) == (BAC, "ok")


def test_other_forms_are_read_as_a_person_reads_them_and_what_is_no_ranking_of_all_is_not_guessed() -> None:
    wanted = dict.fromkeys(FORMS, BAC) | dict.fromkeys(TIES, TIED) | dict.fromkeys(NONE)
    readings = {reply: parse_rankings(reply, ONE, 3) for reply in wanted}
    assert {reply: reading.places["overall"] for reply, reading in readings.items()} == wanted
    assert {readings[reply].status_of("overall") for reply in NONE} == {"unparsed"}


@pytest.mark.parametrize("reply", SEVERAL)
def test_each_dimension_has_its_own(reply: str) -> None:
    assert parse_rankings(reply, TWO, 3).places == {"accuracy": BAC, "relevance": (2, 1, 0)}


def test_a_refusal_is_one_and_a_dimension_without_a_ranking_is_unparsed() -> None:
    assert parse_rankings("I'm sorry, I cannot compare medical images.", ONE, 3).status == "refused"
    assert parse_rankings("I cannot rank A, B, C.", ONE, 3).status == "refused"
    reading = parse_rankings('{"accuracy": ["B", "A", "C"], "relevance": ["C", "B"]}', TWO, 3)
    assert [reading.status_of(name) for name in TWO] == ["repaired", "unparsed"]
    twice = parse_rankings('{"accuracy": ["B", "A", "C"], "accuracy": ["A", "B", "C"]}', TWO, 3)
    assert twice.places["accuracy"] is None
    assert parse_rankings("B > A > C", TWO, 3).places == dict.fromkeys(TWO)


@given(st.permutations(range(7)), st.lists(st.booleans(), min_size=6, max_size=6))
def test_any_order_with_any_ties_comes_back(order: list[int], tied: list[bool]) -> None:
    """Written as a chain and as nested lists, of seven responses."""
    groups = [[order[0]]]
    for number, joins in zip(order[1:], tied, strict=True):
        groups[-1:] = [[*groups[-1], number]] if joins else [groups[-1], [number]]
    letters = [["ABCDEFG"[number] for number in group] for group in groups]
    expected = [0] * 7
    for i, group in enumerate(groups):
        for number in group:
            expected[number] = sum(map(len, groups[:i]))
    chain = " > ".join(" = ".join(group) for group in letters)
    nested = json.dumps({"overall": [group[0] if len(group) == 1 else group for group in letters]})
    for reply in (chain, nested):
        reading = parse_rankings(reply, ONE, 7)
        assert (reading.places["overall"], reading.status) == (tuple(expected), "ok")


@given(st.text(alphabet=" \n,;:.>=<[](){}|\"'12ABCDrankoverall*-", max_size=60))
def test_no_text_raises_and_what_is_read_is_a_ranking(text: str) -> None:
    for dimensions in (ONE, TWO):
        for places in parse_rankings(text, dimensions, 3).places.values():
            assert places is None or all(sum(q < p for q in places) == p for p in places)
