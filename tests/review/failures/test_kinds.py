import numpy as np
import pandas as pd
import pytest

from mrb_lib.review.failures.kinds import KINDS, Kinds, Scale, changed_by_probe, failure_kinds
from mrb_lib.review.failures.query import Query, select
from mrb_lib.stats.panel import ABSENT, Panel, panels
from mrb_lib.stats.scoring import correctness
from mrb_lib.stats.where import MIXED_CODE, OUTCOMES
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.schema import POLICIES
from tests.stats.small_tables import cases_of, gold_of, random_verdicts, verdicts_of

# c0 right, c1 right in one order, c2 wrong, c3 unparsed in AB, c4 without gold, c5 not judged, c6 a tie under gold A
VERDICTS = verdicts_of({("a", "AB"): "AAB?A-T", ("a", "BA"): "ABBBA-T", ("b", "AB"): "BBBBB-B", ("b", "BA"): "-------"})
GOLD = gold_of("AAAA?AA")


def _kinds(policy: str = "balanced", **more: pd.DataFrame) -> Kinds:
    return failure_kinds(more.get("verdicts", VERDICTS), more.get("gold", GOLD), cases_of(7), policy=policy)


def _names(kinds: Kinds, judge: int) -> list[str]:
    return [OUTCOMES[code] for code in kinds.grid("outcome")[judge, 0]]


def test_each_verdict_has_the_outcome_that_its_score_says() -> None:
    kinds = _kinds()
    rest = ["no gold label", "not judged", "half right"]
    assert _names(kinds, 0) == ["right", "half right", "wrong", "wrong", *rest]
    assert _names(_kinds("strict"), 0)[:2] == ["right", "wrong"]
    assert _names(_kinds("strict"), 1)[0] == "not scored"
    assert _names(_kinds("official"), 0)[6] == "wrong"


def test_kinds_of_a_judge() -> None:
    kinds = _kinds()
    assert np.flatnonzero(kinds.grid("wrong")[0, 0]).tolist() == [2, 3]
    assert np.flatnonzero(kinds.grid("inconsistent")[0, 0]).tolist() == [1]
    assert np.flatnonzero(kinds.grid("unparsed")[0, 0]).tolist() == [3]
    assert not kinds.grid("inconsistent")[1].any()
    assert kinds.grid("said")[0, 0].tolist() == [0, MIXED_CODE, 1, 1, 0, ABSENT, 2]


def test_disagreement_is_the_share_of_verdicts_against_the_most_frequent_choice() -> None:
    found = _kinds().grid("disagreement")[-1, 0]
    assert found.tolist() == pytest.approx([1 / 3, 1 / 3, 0, 0, 1 / 3, np.nan, 1 / 3], nan_ok=True)


@pytest.mark.parametrize(
    ("votes", "split"),
    [
        ((3, 0, 0), False),
        ((2, 1, 0), True),
        ((1, 1, 1), True),
        ((3, 1, 0), False),
        ((1, 1, 0), True),
        ((1, 0, 0), False),
    ],
)
def test_clinicians_are_split_below_three_quarters(votes: tuple[int, int, int], split: bool) -> None:
    columns = dict(zip(("votes_a", "votes_b", "votes_tie"), votes, strict=True))
    gold = gold_of("A").assign(**columns, n_annotators=sum(votes))
    kinds = failure_kinds(verdicts_of({("a", "AB"): "A"}), gold, cases_of(1))
    assert bool(kinds.grid("split")[0, 0]) is split


def _sure(p_ab: float, p_ba: float, letters: str = "B", gold: str = "A", policy: str = "balanced") -> Kinds:
    verdicts = verdicts_of({("a", "AB"): letters, ("a", "BA"): letters}).assign(p_a=[p_ab, p_ba])
    return failure_kinds(verdicts, gold_of(gold), cases_of(1), policy=policy)


def test_confidently_wrong_needs_a_sure_mean_that_leans_away_from_gold() -> None:
    assert _sure(0.05, 0.15).grid("confidently_wrong")[0, 0, 0]
    assert _sure(0.05, 0.15).grid("confidence")[0, 0, 0] == pytest.approx(0.9)
    assert not _sure(0.05, 0.25).grid("confidently_wrong")[0, 0, 0]
    assert not _sure(0.05, 0.05, gold="B").grid("confidently_wrong")[0, 0, 0]
    assert not _sure(0.95, 0.95, letters="B").grid("confidently_wrong")[0, 0, 0]
    assert _sure(0.05, 0.05, gold="T", policy="official").grid("confidently_wrong")[0, 0, 0]
    assert _sure(0.02, 0.98).grid("confidence")[0, 0, 0] == pytest.approx(0.5)
    assert np.isnan(_kinds().grid("confidence")).all()


@pytest.mark.parametrize("policy", POLICIES)
def test_outcomes_add_up_and_agree_with_the_scores(policy: str) -> None:
    verdicts = random_verdicts(np.random.default_rng(3), 60, 4, repeats=2)
    gold, cases = gold_of("AB?T-" * 12), cases_of(60)
    kinds = failure_kinds(verdicts, gold, cases, policy=policy)
    counts = np.stack([(kinds.grid("outcome")[:-1] == code).sum(axis=2) for code in range(len(OUTCOMES))])
    assert (counts.sum(axis=0) == 60).all()
    scored = correctness(verdicts, gold, policy).dropna(subset="score")
    assert counts[:3].sum() == len(scored)
    assert kinds.grid("wrong").sum() == (scored["score"] < 0.5 - 1e-9).sum()
    for kind in kinds.names:
        assert kinds.grid(kind).shape == (5, 1, 60)
    assert not (kinds.grid("confidently_wrong") & ~kinds.grid("wrong")).any()


def test_swapping_the_answers_changes_no_kind() -> None:
    swap = {"A": "B", "B": "A"}
    verdicts = random_verdicts(np.random.default_rng(4), 40, 3)
    verdicts["p_a"] = np.random.default_rng(5).uniform(size=len(verdicts)).round(3)
    gold, cases = gold_of("ABT?" * 10), cases_of(40)
    turned = verdicts.assign(choice=verdicts["choice"].replace(swap), p_a=1 - verdicts["p_a"])
    one = failure_kinds(verdicts, gold, cases)
    two = failure_kinds(turned, gold.assign(choice=gold["choice"].replace(swap)), cases)
    for kind in one.names:
        np.testing.assert_array_equal(one.grid(kind), two.grid(kind))
    np.testing.assert_array_equal(one.grid("outcome"), two.grid("outcome"))
    np.testing.assert_allclose(one.grid("confidence"), two.grid("confidence"))


def _panels(*tables: pd.DataFrame, n: int) -> dict[str, Panel]:
    return panels([pd.concat(tables)], cases_of(n)["case_id"], ["overall"])


def test_only_answers_in_the_same_order_and_repeat_are_compared() -> None:
    plain = verdicts_of({("a", "AB"): "AAAA?", ("a", "BA"): "AB-AA", ("b", "AB"): "AAAAA"})
    probed = verdicts_of({("a", "AB"): "ABBBB", ("a", "BA"): "BBA--", ("late", "AB"): "BBBBB"}).assign(probe="p/x")
    again = verdicts_of({("a", "AB", 1): "BBBBB"}).assign(probe="p/y")
    found = _panels(plain, probed, again, n=5)
    names, share = changed_by_probe(found["none"], found)
    assert names == ["p/x", "p/y"]
    assert share.shape == (2, 2, 1, 5)
    np.testing.assert_array_equal(share[0, 0, 0], [0.5, 0.5, 1, 1, np.nan])
    assert np.isnan(share[0, 1]).all()  # without verdicts under the probe, nothing is known
    assert np.isnan(share[1]).all()  # another repeat is no pair


RISK = Scale(("none", "low", "high", "fatal"), is_ordered=True, acceptable=("none", "low"))
# c0 right, c1 one off on the safe side, c2 called safe three off, c3 called unsafe, c4 unread, c5 without gold
RATED_GOLD = ("low", "none", "fatal", "low", "high", None, "none")
SAID = ("low", "low", "none", "high", None, "none", "none")
IDS = pd.Series([f"c{i}" for i in range(7)], name="case_id", dtype="str")


def _rated_gold(votes: dict[int, tuple[str, ...]] | None = None) -> pd.DataFrame:
    frame = pd.DataFrame({"case_id": IDS, "dimension": "overall", "choice": pd.Series(RATED_GOLD, dtype="str")})
    given = votes or {}
    for name in RISK.categories:
        frame[f"votes_{name}"] = [given.get(i, ()).count(name) for i in range(7)]
    return frame


def _ratings(**by_repeat: tuple[str | None, ...]) -> pd.DataFrame:
    rows = [
        ("j", case, "overall", "AB", number, "none", choice, "ok" if choice else "unparsed")
        for number, said in enumerate(by_repeat.values())
        for case, choice in zip(IDS, said, strict=True)
    ]
    names = ["judge", "case_id", "dimension", "order", "repeat", "probe", "choice", "status"]
    return pd.DataFrame(rows, columns=names)


def _rated(scale: Scale = RISK, verdicts: pd.DataFrame | None = None, gold: pd.DataFrame | None = None) -> Kinds:
    given = _ratings(first=SAID) if verdicts is None else verdicts
    return failure_kinds(given, _rated_gold() if gold is None else gold, IDS.to_frame(), scale=scale)


def _where(kinds: Kinds, kind: str) -> list[int]:
    return np.flatnonzero(kinds.grid(kind)[0, 0]).tolist()


def test_how_far_off_and_on_which_side() -> None:
    kinds = _rated()
    assert _where(kinds, "wrong") == [1, 2, 3, 4]
    assert _where(kinds, "off_by_one") == [1, 3]
    assert _where(kinds, "off_by_more") == [2]
    assert _where(kinds, "unsafe_called_safe") == [2], "fatal called none; one unread is called nothing"
    assert _where(kinds, "safe_called_unsafe") == [3]
    np.testing.assert_array_equal(kinds.grid("distance")[0, 0], [0, 1, 3, 1, np.nan, np.nan, 0])


def test_the_furthest_of_several_repeats_counts_for_how_far_and_the_most_frequent_for_what_is_said() -> None:
    again = ("low", "none", "fatal", "fatal", "high", "none", "none")
    kinds = _rated(verdicts=_ratings(first=SAID, second=again))
    np.testing.assert_array_equal(kinds.grid("distance")[0, 0], [0, 1, 3, 2, 0, np.nan, 0])
    assert kinds.grid("said")[0, 0, 1] == MIXED_CODE and kinds.choice_name(MIXED_CODE) == "mixed"
    assert kinds.choice_name(int(kinds.grid("said")[0, 0, 4])) == "high"
    assert kinds.choice_name(ABSENT) == ""


def test_clinicians_two_categories_apart() -> None:
    votes = {0: ("none", "high", "high", "high", "high"), 1: ("none", "low"), 2: ("fatal",)}
    kinds = _rated(gold=_rated_gold(votes))
    assert _where(kinds, "apart") == [0], "though four of five agree"
    assert _where(kinds, "split") == [1]


def test_what_makes_no_sense_is_not_there() -> None:
    nominal = Scale(RISK.categories)
    assert "inconsistent" not in _rated().names, "ratings have one order"
    assert set(_rated().names) == set(KINDS) - {"inconsistent"}
    assert not {"off_by_one", "off_by_more", "apart", "unsafe_called_safe", "safe_called_unsafe"} & set(
        _rated(nominal).names
    )
    with pytest.raises(InputError, match="'off_by_one' is unknown"):
        select(_rated(nominal), IDS.to_frame(), Query(kind=("off_by_one",)))
    with pytest.raises(InputError, match="'distance' is unknown"):
        select(_rated(nominal), IDS.to_frame(), Query(sort="distance"))


def test_a_sure_rating_that_is_wrong_is_found_by_the_probability_of_its_category() -> None:
    shares = ["[0, 1, 0, 0]", "[0.2, 0.8, 0, 0]", "[0.95, 0.05, 0, 0]", "[0, 0, 1, 0]", None, None, "[1, 0, 0, 0]"]
    kinds = _rated(verdicts=_ratings(first=SAID).assign(p_categories=shares))
    assert _where(kinds, "confidently_wrong") == [2, 3]
    np.testing.assert_allclose(kinds.grid("confidence")[0, 0], [1, 0.8, 0.95, 1, np.nan, np.nan, 1])
