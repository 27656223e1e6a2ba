"""Failures of ratings: how far off, on which side of what is acceptable, and nothing about orders."""

import numpy as np
import pandas as pd
import pytest

from mrb_lib.review.failures.kinds import KINDS, Kinds, Scale, failure_kinds
from mrb_lib.review.failures.query import Query, select
from mrb_lib.stats.panel import ABSENT
from mrb_lib.stats.where import MIXED_CODE
from mrb_lib.tables.errors import InputError

RISK = Scale(("none", "low", "high", "fatal"), is_ordered=True, acceptable=("none", "low"))
# c0 right, c1 one off on the safe side, c2 called safe three off, c3 called unsafe, c4 unread, c5 without gold
GOLD = ("low", "none", "fatal", "low", "high", None, "none")
SAID = ("low", "low", "none", "high", None, "none", "none")
IDS = pd.Series([f"c{i}" for i in range(7)], name="case_id", dtype="str")


def _gold(votes: dict[int, tuple[str, ...]] | None = None) -> pd.DataFrame:
    frame = pd.DataFrame({"case_id": IDS, "dimension": "overall", "choice": pd.Series(GOLD, dtype="str")})
    given = votes or {}
    for name in RISK.categories:
        frame[f"votes_{name}"] = [given.get(i, ()).count(name) for i in range(7)]
    return frame


def _verdicts(**by_repeat: tuple[str | None, ...]) -> pd.DataFrame:
    rows = [
        ("j", case, "overall", "AB", number, "none", choice, "ok" if choice else "unparsed")
        for number, said in enumerate(by_repeat.values())
        for case, choice in zip(IDS, said, strict=True)
    ]
    names = ["judge", "case_id", "dimension", "order", "repeat", "probe", "choice", "status"]
    return pd.DataFrame(rows, columns=names)


def _kinds(scale: Scale = RISK, verdicts: pd.DataFrame | None = None, gold: pd.DataFrame | None = None) -> Kinds:
    given = _verdicts(first=SAID) if verdicts is None else verdicts
    return failure_kinds(given, _gold() if gold is None else gold, IDS.to_frame(), scale=scale)


def _where(kinds: Kinds, kind: str) -> list[int]:
    return np.flatnonzero(kinds.grid(kind)[0, 0]).tolist()


def test_how_far_off_and_on_which_side() -> None:
    kinds = _kinds()
    assert _where(kinds, "wrong") == [1, 2, 3, 4]
    assert _where(kinds, "off_by_one") == [1, 3]
    assert _where(kinds, "off_by_more") == [2]
    assert _where(kinds, "unsafe_called_safe") == [2], "fatal called none; one unread is called nothing"
    assert _where(kinds, "safe_called_unsafe") == [3]
    np.testing.assert_array_equal(kinds.grid("distance")[0, 0], [0, 1, 3, 1, np.nan, np.nan, 0])


def test_the_furthest_of_several_repeats_counts_for_how_far_and_the_most_frequent_for_what_is_said() -> None:
    again = ("low", "none", "fatal", "fatal", "high", "none", "none")
    kinds = _kinds(verdicts=_verdicts(first=SAID, second=again))
    np.testing.assert_array_equal(kinds.grid("distance")[0, 0], [0, 1, 3, 2, 0, np.nan, 0])
    assert kinds.grid("said")[0, 0, 1] == MIXED_CODE and kinds.choice_name(MIXED_CODE) == "mixed"
    assert kinds.choice_name(int(kinds.grid("said")[0, 0, 4])) == "high"
    assert kinds.choice_name(ABSENT) == ""


def test_clinicians_two_categories_apart() -> None:
    votes = {0: ("none", "high", "high", "high", "high"), 1: ("none", "low"), 2: ("fatal",)}
    kinds = _kinds(gold=_gold(votes))
    assert _where(kinds, "apart") == [0], "though four of five agree"
    assert _where(kinds, "split") == [1]


def test_what_makes_no_sense_is_not_there() -> None:
    nominal = Scale(RISK.categories)
    assert "inconsistent" not in _kinds().names, "ratings have one order"
    assert set(_kinds().names) == set(KINDS) - {"inconsistent"}
    assert not {"off_by_one", "off_by_more", "apart", "unsafe_called_safe", "safe_called_unsafe"} & set(
        _kinds(nominal).names
    )
    with pytest.raises(InputError, match="'off_by_one' is unknown"):
        select(_kinds(nominal), IDS.to_frame(), Query(kind=("off_by_one",)))
    with pytest.raises(InputError, match="'distance' is unknown"):
        select(_kinds(nominal), IDS.to_frame(), Query(sort="distance"))


def test_a_sure_rating_that_is_wrong_is_found_by_the_probability_of_its_category() -> None:
    shares = ["[0, 1, 0, 0]", "[0.2, 0.8, 0, 0]", "[0.95, 0.05, 0, 0]", "[0, 0, 1, 0]", None, None, "[1, 0, 0, 0]"]
    kinds = _kinds(verdicts=_verdicts(first=SAID).assign(p_categories=shares))
    assert _where(kinds, "confidently_wrong") == [2, 3]
    np.testing.assert_allclose(kinds.grid("confidence")[0, 0], [1, 0.8, 0.95, 1, np.nan, np.nan, 1])
