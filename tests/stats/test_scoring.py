import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mrb_lib.stats.scoring import correctness
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.schema import POLICIES
from tests.stats.small_tables import gold_of, ids, verdicts_of

NAN = float("nan")


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
    *shown, gold = ("".join(column) for column in zip(*table, strict=True))
    found = correctness(verdicts_of(dict(zip(keys, shown, strict=True))), gold_of(gold), policy)
    scores = found.set_index("case_id")["score"].to_dict()
    for case, row in zip(ids(len(table)), table, strict=True):
        given_rows = [(key[1], key[2], choice) for key, choice in zip(keys, row[:4], strict=True) if choice != "-"]
        assert (case in scores) == bool(given_rows)
        if given_rows:
            assert scores[case] == pytest.approx(plain_score(given_rows, row[4], policy), nan_ok=True)


def test_rows_are_one_a_judge_case_and_dimension_with_the_share_of_answers() -> None:
    others = verdicts_of({("j2", "AB"): "AB", ("j1", "AB"): "-?"})
    frame = correctness(pd.concat([others, verdicts_of({("j1", "BA"): "AB"}, "accuracy")]), gold_of("AB"), "answered")
    assert frame[["judge", "dimension", "case_id"]].to_numpy().tolist() == [
        ["j1", "accuracy", "c0"], ["j1", "accuracy", "c1"], ["j1", "overall", "c1"],
        ["j2", "overall", "c0"], ["j2", "overall", "c1"],
    ]  # fmt: skip
    assert frame["score"].isna().tolist() == [True, True, True, False, False]
    assert frame["answered"].tolist() == pytest.approx([NAN, NAN, 0, 1, 1], nan_ok=True)


def test_bad_input_is_refused() -> None:
    verdicts = verdicts_of({("j", "AB"): "AB"})
    with pytest.raises(InputError, match="policy 'fair' is unknown"):
        correctness(verdicts, gold_of("AB"), "fair")
    with pytest.raises(InputError, match="'C' is not one of A, B, tie"):
        correctness(verdicts.assign(choice="C"), gold_of("AB"))
    probed = pd.concat([verdicts, verdicts.assign(probe="blank-image")])
    with pytest.raises(InputError, match="several probes are mixed"):
        correctness(probed, gold_of("AB"))
