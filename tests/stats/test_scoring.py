import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mrb_lib.stats.scoring import correctness
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.schema import POLICIES
from tests.stats.small_tables import gold_of, verdicts_of


def scores(ab: str, ba: str, gold: str, policy: str) -> list[float]:
    """The score of each case of one judge; NaN where excluded, also where there is no verdict at all."""
    frame = correctness(verdicts_of({("j", "AB"): ab, ("j", "BA"): ba}), gold_of(gold), policy)
    found = frame.set_index("case_id")["score"]
    return [float(found.get(f"c{i}", np.nan)) for i in range(len(gold))]


NAN = float("nan")
#        AB, BA, gold: official, balanced, strict, net, answered
WORKED = [
    ("A", "A", "A", 1, 1, 1, 1, 1),
    ("A", "B", "A", 1, 0.5, 0, 0, 0.5),
    ("A", "T", "A", 1, 0.75, 0, 1, 0.75),
    ("A", "?", "A", 1, 0.5, 0, 1, 1),
    ("B", "A", "A", 0, 0.5, 0, 0, 0.5),
    ("B", "T", "A", 0, 0.25, 0, 0, 0.25),
    ("T", "T", "A", 0, 0.5, 0, 0, 0.5),
    ("T", "T", "T", 1, 1, 1, 1, 1),
    ("T", "A", "T", 1, 0.75, 0, 0, 0.75),
    ("A", "B", "T", 0, 0.5, 0, 0, 0.5),
    ("T", "?", "T", 1, 0.5, 0, 1, 1),
    ("?", "?", "A", 0, 0, 0, 0, NAN),
    ("A", "-", "A", 1, 1, NAN, NAN, 1),
    ("-", "A", "A", NAN, 1, NAN, NAN, 1),
    ("A", "A", "?", NAN, NAN, NAN, NAN, NAN),
    ("A", "A", "-", NAN, NAN, NAN, NAN, NAN),
]


@pytest.mark.parametrize("position", range(5))
def test_worked_cases(position: int) -> None:
    policy = ("official", "balanced", "strict", "net", "answered")[position]
    ab, ba, gold = ("".join(column) for column in zip(*(row[:3] for row in WORKED), strict=True))
    assert scores(ab, ba, gold, policy) == pytest.approx([row[3 + position] for row in WORKED], nan_ok=True)


def plain_score(rows: list[tuple[str, int, str]], gold: str, policy: str) -> float:
    """The definitions of the plan, one case at a time: rows are (order, repeat, choice)."""
    if gold in "?-":
        return NAN
    if policy == "official":
        rows = [row for row in rows if row[0] == "AB" and row[1] == 0]
    if not rows or (policy in ("strict", "net") and len({row[0] for row in rows}) < 2):
        return NAN
    choices = [row[2] for row in rows]
    if policy in ("official", "strict"):
        return float(all(choice == gold for choice in choices))
    if policy == "net":
        other = {"A": "B", "B": "A"}.get(gold)
        against = [c for c in choices if c == other] if other else [c for c in choices if c in "AB"]
        return float(choices.count(gold) - len(against) > 0)
    if policy == "answered":
        choices = [choice for choice in choices if choice != "?"]
        if not choices:
            return NAN
    worth = [1.0 if c == gold else 0.5 if c != "?" and "T" in (c, gold) else 0.0 for c in choices]
    return sum(worth) / len(worth)


letters = st.sampled_from("ABT?-")


@given(
    st.lists(st.tuples(letters, letters, letters, letters, letters), min_size=1, max_size=6),
    st.sampled_from(POLICIES),
)
@settings(max_examples=80, deadline=None)
def test_every_policy_equals_its_definition(table: list[tuple[str, ...]], policy: str) -> None:
    keys = [("j", "AB", 0), ("j", "BA", 0), ("j", "AB", 1), ("j", "BA", 1)]
    columns = ["".join(column) for column in zip(*table, strict=True)]
    verdicts = verdicts_of(dict(zip(keys, columns[:4], strict=True)))
    found = correctness(verdicts, gold_of(columns[4]), policy).set_index("case_id")["score"]
    for i, row in enumerate(table):
        rows = [(key[1], key[2], choice) for key, choice in zip(keys, row[:4], strict=True) if choice != "-"]
        assert (f"c{i}" in found.index) == bool(rows)
        if rows:
            assert found[f"c{i}"] == pytest.approx(plain_score(rows, row[4], policy), nan_ok=True)


def test_scores_are_missing_where_a_policy_excludes_a_case_and_answers_are_counted() -> None:
    verdicts = verdicts_of({("j", "AB"): "AAA??", ("j", "BA"): "A-A??"})
    frame = correctness(verdicts, gold_of("AA?AB"), "strict")
    assert frame["score"].isna().tolist() == [False, True, True, False, False]
    answered = correctness(verdicts, gold_of("AA?AB"), "answered")
    assert answered["score"].isna().tolist() == [False, False, True, True, True]
    assert answered["answered"].tolist() == pytest.approx([1, 1, NAN, 0, 0], nan_ok=True)


def test_rows_are_one_a_judge_case_and_dimension() -> None:
    verdicts = pd.concat(
        [
            verdicts_of({("j2", "AB"): "AB", ("j1", "AB"): "-A"}, "overall"),
            verdicts_of({("j1", "BA"): "AB"}, "accuracy"),
        ]
    )
    frame = correctness(verdicts, gold_of("AB"))
    assert list(zip(frame["judge"], frame["dimension"], frame["case_id"], strict=True)) == [
        ("j1", "accuracy", "c0"),
        ("j1", "accuracy", "c1"),
        ("j1", "overall", "c1"),
        ("j2", "overall", "c0"),
        ("j2", "overall", "c1"),
    ]
    assert frame["score"].isna().tolist() == [True, True, False, False, False]


def test_bad_input_is_refused() -> None:
    verdicts = verdicts_of({("j", "AB"): "AB"})
    with pytest.raises(InputError, match="policy 'fair' is unknown"):
        correctness(verdicts, gold_of("AB"), "fair")
    with pytest.raises(InputError, match="'C' is not one of A, B, tie"):
        correctness(verdicts.assign(choice="C"), gold_of("AB"))
    probed = pd.concat([verdicts, verdicts.assign(probe="blank-image")])
    with pytest.raises(InputError, match="several probes are mixed"):
        correctness(probed, gold_of("AB"))
