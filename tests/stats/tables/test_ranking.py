"""Rankings of responders from small tables, and orders of the responses to an item against loops."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from mrb_lib.stats.columns import NO_CASES, ONE_CLUSTER
from mrb_lib.stats.methods.comparisons import from_verdicts
from mrb_lib.stats.methods.item_orders import item_responses
from mrb_lib.stats.panel import as_panel
from mrb_lib.stats.tables.ranking import NO_AGREEMENT, NO_ERRORS, NO_STRENGTHS, sentence
from mrb_lib.stats.verdicts import Verdicts
from tests.judges.item_cases import item_cases
from tests.stats.small_tables import annotations_of, cases_of, gold_of, ids, part_of, table_of, tables_of, verdicts_of

ranking = table_of("ranking")
item_ranking = table_of("ranking", part="items", resamples=40)


def small(a: str, b: str, letters: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Gold labels, and cases between responders of one letter each."""
    return gold_of(letters), cases_of(len(a), model_a=list(a), model_b=list(b))


def strengths(frame: pd.DataFrame, source: str = "gold", judge: str | None = None) -> pd.DataFrame:
    rows = frame[(frame["part"] == "strength") & (frame["source"] == source)]
    rows = rows[rows["judge"].isna()] if judge is None else rows[rows["judge"] == judge]
    return rows.set_index("responder")


CIRCLE = ("xyzxyzxy", "yzxyzxxx", "AAAABATB")


def test_a_small_table_by_hand() -> None:
    """Against y: x won 2 and lost 1 of 4."""
    gold, cases = small("xxxx", "yyyy", "AABT")
    rows = strengths(ranking(None, gold, cases, resamples=100))
    assert rows[["n", "n_excluded"]].to_numpy().tolist() == [[4, 0], [4, 0]]
    assert rows["win_rate"].tolist() == [0.625, 0.375]
    np.testing.assert_allclose(rows["strength"], [0.625, 0.375])
    assert rows.loc["x", "log_strength"] == pytest.approx(np.log(0.625 / 0.375) / 2)
    assert rows["rank"].tolist() == [1, 2]


def test_every_annotation_is_a_comparison() -> None:
    gold, cases = small("xxxx", "yyyy", "AABB")
    annotations = annotations_of({"p": "AAAA", "q": "ABT-", "consensus": "BBBB"})
    rows = strengths(ranking(None, gold, cases, annotations=annotations, resamples=0), "annotations")
    assert rows.loc["x", ["n", "n_excluded", "win_rate"]].tolist() == pytest.approx([7, 0, 5.5 / 7])


@pytest.mark.parametrize(
    ("policy", "comparisons"),
    [
        ("balanced", [[1, 0, 0], [0, 1, 0], [0.5, 0.5, 0], [0, 0, 1], [0, 0, 0]]),
        ("answered", [[1, 0, 0], [0, 1, 0], [0.5, 0.5, 0], [0, 0, 1], [0, 0, 0]]),
        ("official", [[1, 0, 0], [0, 1, 0], [1, 0, 0], [0, 0, 1], [0, 0, 0]]),
        ("strict", [[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 0], [0, 0, 0]]),
        ("net", [[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 0], [0, 0, 0]]),
    ],
)
def test_policies_make_one_comparison_of_the_verdicts_on_a_case(policy: str, comparisons: list[list[float]]) -> None:
    """Cases: A in both orders; B in both; A then B; a tie, once; nothing readable; A once, the other order missing."""
    gold, cases = small("xxxxx", "yyyyy", "AABBA")
    verdicts = verdicts_of({("j", "AB"): "ABAT?", ("j", "BA"): "ABB-?"})
    assert from_verdicts(Verdicts.of(as_panel(verdicts, cases["case_id"])), policy)[0].tolist() == comparisons
    rows = strengths(ranking(verdicts, gold, cases, policy=policy, resamples=0), "judge", "j")
    decided = int(np.sum(comparisons))
    assert rows.loc["x", ["n", "n_excluded"]].tolist() == [decided, 5 - decided]


def test_one_who_won_everything_leaves_no_strength() -> None:
    gold, cases = small("xyzwww", "yzxxyz", "AAAAAA")
    frame = ranking(verdicts_of({("j", "AB"): "AAABBB"}), gold, cases, resamples=50)
    rows = strengths(frame)
    assert rows[["strength", "low", "rank", "rank_low", "log_strength"]].isna().all(axis=None)
    assert set(rows["reason"]) == {NO_STRENGTHS}
    assert rows["win_rate"].tolist() == [1.0, 1 / 3, 1 / 3, 1 / 3]
    row = frame[(frame["part"] == "agreement") & (frame["source"] == "gold")].iloc[0]
    assert np.isnan(row["kendall"])
    assert row["reason"] == NO_AGREEMENT


def test_a_responder_without_a_label_is_named_and_the_others_are_ranked() -> None:
    gold, cases = small(CIRCLE[0] + "ww", CIRCLE[1] + "xy", CIRCLE[2] + "?-")
    rows = strengths(ranking(None, gold, cases, resamples=50))
    assert (rows.loc["w", "n"], rows.loc["w", "n_excluded"]) == (0, 2)
    assert rows.loc["w", "reason"] == NO_CASES
    assert np.isnan(rows.loc["w", "strength"])
    assert rows.drop("w")["strength"].sum() == pytest.approx(1)


def test_cases_with_one_responder_twice_or_unknown_compare_nothing() -> None:
    gold, cases = small(*CIRCLE)
    more = pd.concat([cases, cases.assign(case_id=[f"d{i}" for i in range(8)], model_b=cases["model_a"])])
    more = pd.concat([more, cases.assign(case_id=[f"e{i}" for i in range(8)], model_a=None)], ignore_index=True)
    labels = pd.concat([gold, *(gold.assign(case_id=[f"{c}{i}" for i in range(8)]) for c in "de")])
    first, second = ranking(None, gold, cases, resamples=0), ranking(None, labels, more, resamples=0)
    pd.testing.assert_frame_equal(first.drop(columns="n_unpaired"), second.drop(columns="n_unpaired"))
    assert first["n_unpaired"].eq(1).all()
    assert second["n_unpaired"].eq(17).all()


def test_cases_that_do_not_name_their_responders_are_said_to() -> None:
    table = ranking(*tables_of({("j", "AB"): "AB"}, "AB"))
    frame = part_of(table, "strength")
    assert table["part"].tolist() == ["strength", "items"]
    assert frame["reason"].str.contains("model_a and model_b").all()
    assert frame["strength"].isna().all()


def test_clusters_that_all_say_the_same_leave_ranks_open() -> None:
    """Four clusters, each with two wins of x and one of y: the robust variance is 0, and nothing is certain."""
    gold, cases = small("x" * 12, "y" * 12, "AAB" * 4)
    verdicts = verdicts_of({("j", "AB"): "AAB" * 4})
    frame = ranking(verdicts, gold, cases.assign(cluster=np.arange(12) // 3), resamples=200)
    rows = strengths(frame)
    assert rows["strength"].tolist() == pytest.approx([2 / 3, 1 / 3])
    assert rows[["low", "high"]].isna().all(axis=None)
    assert (rows["rank_low"].tolist(), rows["rank_high"].tolist()) == ([1, 1], [2, 2])
    assert rows["reason"].str.contains("no interval of strength").all()
    row = frame[frame["part"] == "agreement"].iloc[0]
    assert row["kendall"] == 1
    assert row[["kendall_low", "kendall_high"]].isna().all()
    assert NO_ERRORS in row["reason"]


def items_of(n_items: int, k: int, *, named: bool = True) -> pd.DataFrame:
    cases = item_cases(n_items, k, named=named)
    return cases.assign(case_id=ids(len(cases)))


def order_row(letters: str, gold: str, cases: pd.DataFrame, **options: object) -> pd.Series:
    """The row about items of a judge that says this in order AB."""
    return item_ranking(verdicts_of({("j", "AB"): letters}), gold_of(gold), cases, **options).iloc[0]


def loop(cases: pd.DataFrame, gold: str, judge: dict[str, str]) -> list[float]:
    """Kendall's tau-b of each item, as one reads the docstring."""
    out = []
    for _, own in cases.groupby("item", sort=False):
        wins = [dict[str, list[float]](), dict[str, list[float]]()]
        for position, row in own.iterrows():
            said = [letters[position] for letters in judge.values() if letters[position] in "ABT"]
            if gold[position] not in "ABT" or not said:
                continue
            for side, letters in enumerate(([gold[position]], said)):
                value = np.mean([{"A": 1.0, "B": 0.0, "T": 0.5}[letter] for letter in letters])
                wins[side].setdefault(row["response_a"], []).append(float(value))
                wins[side].setdefault(row["response_b"], []).append(float(1 - value))
        responses = sorted({*own["response_a"], *own["response_b"]})
        if any(text not in wins[0] for text in responses):
            continue
        x, y = ([float(np.mean(side[text])) for text in responses] for side in wins)
        if len(set(x)) == 1 or len(set(y)) == 1:
            continue
        out.append(stats.kendalltau(x, y).statistic)
    return out


@pytest.mark.parametrize("seed", range(4))
def test_it_equals_a_loop_with_ties_missing_labels_and_missing_verdicts(seed: int) -> None:
    generator = np.random.default_rng(seed)
    cases = items_of(30, 4)
    gold = "".join(generator.choice(list("AAABBBT?"), len(cases)))
    said = {order: "".join(generator.choice(list("AABBT?-"), len(cases))) for order in ("AB", "BA")}
    verdicts = verdicts_of({("j", order): letters for order, letters in said.items()})
    row, expected = item_ranking(verdicts, gold_of(gold), cases).iloc[0], np.array(loop(cases, gold, said))
    assert row["n_items"] == len(expected)
    assert row["n_items"] + row["n_excluded"] == 30
    assert row["kendall"] == pytest.approx(expected.mean())


def test_items_are_those_of_the_column_or_of_question_and_images() -> None:
    named, plain = items_of(3, 3), items_of(3, 3, named=False)
    assert (item_responses(named).item == item_responses(plain).item).all()
    assert item_responses(named).size.tolist() == [3, 3, 3]
    pictured = plain.assign(images=[["x.png"]] * 5 + [["y.png"]] + [["z.png"]] * 3)
    assert item_responses(pictured).size.tolist() == [3, 3, 2, 3]


def test_where_responders_have_no_names_the_sentence_is_about_items() -> None:
    frame = item_ranking(verdicts_of({("j", "AB"): "AAABAA"}), gold_of("AAAAAA"), items_of(2, 3))
    assert "cannot be ranked. j ranks the responses to an item with a Kendall's tau of 0.67" in sentence(frame)


def test_clusters_that_share_an_item_are_one() -> None:
    cases, gold, said = items_of(8, 3), "AABABBAAABBB" * 2, "AABABBBAABBA" * 2
    apart, linked = (
        order_row(said, gold, cases.assign(site=sites), cluster="site", resamples=100)
        for sites in ([f"s{i // 6}" for i in range(24)], [f"s{(i + 1) // 3}" for i in range(24)])
    )
    assert apart["n_clusters"] == 4
    assert apart[["kendall_low", "kendall_high"]].notna().all()
    assert linked["n_clusters"] == 1
    assert linked[["kendall_low", "kendall_high"]].isna().all()
    assert linked["reason"].endswith(ONE_CLUSTER)
    assert linked["kendall"] == apart["kendall"]
