"""Hand counts of reasons and verdicts, and planted rates that lie in their intervals."""

import json
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import cohen_kappa_score

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.benchmarks.meta import BenchmarkMeta
from mrb_lib.stats.analyze import TABLES, analyze
from mrb_lib.stats.tables.ratings import NO_KAPPA, NONE_RIGHT
from mrb_lib.tables.errors import InputError
from mrb_lib.verdicts.formats.rationales import CATEGORIES
from tests.stats.rated import benchmark, verdicts
from tests.stats.small_tables import ids

MARK = {"r": "right", "w": "wrong", "i": "irrelevant"}
ratings = partial(analyze, table="ratings", resamples=50)


def reasons(scores: dict[str, str], people: str, cluster: list[str] | None = None) -> Benchmark:
    """A reason a letter: of each judge, 1 is a right verdict, 0 a wrong one, ? neither; of people, "-" is no mark."""
    judges = [judge for judge, letters in scores.items() for _ in letters]
    score = [{"1": 1, "0": 0, "?": None}[letter] for letters in scores.values() for letter in letters]
    stated = [json.dumps({"overall": {"choice": "A", "gold": "A", "score": each}}) for each in score]
    return benchmark(
        {"r1": [MARK.get(mark) for mark in people]}, categories=CATEGORIES, acceptable=("right",), level="nominal",
        dimension="reason", cluster=cluster or ids(len(judges)), source_judge=judges, source_verdicts=stated,
        organ=["eye", "lung"] * (len(judges) // 2),
    )  # fmt: skip


def second(marks: str, repeat: int = 0, judge: str = "second") -> pd.DataFrame:
    return verdicts({(judge, repeat): [MARK.get(mark, mark) for mark in marks]}, "reason")


SMALL = reasons({"j1": "1111000?", "j2": "11"}, "rrwirw-iwi")


def row(table: pd.DataFrame, **values: str) -> pd.Series:
    kept = table[table["subfield"].isna()]
    for name, value in values.items():
        kept = kept[kept[name] == value]
    [index] = kept.index
    return kept.loc[index]


def test_shares_are_those_counted_by_hand() -> None:
    table = ratings(SMALL, None)
    j1 = row(table, judge="j1")
    assert (j1["marker"], j1["dimension"]) == ("annotators", "overall")
    assert (j1["n_reasons"], j1["n"], j1["n_excluded"], j1["n_right_verdicts"]) == (8, 7, 1, 4)
    assert j1[["share_right", "share_wrong", "share_irrelevant"]].tolist() == pytest.approx([3 / 7, 2 / 7, 2 / 7])
    assert j1["right_for_wrong_reason"] == 2 / 4
    assert j1["right_for_wrong_reason_low"] < 0.5 < j1["right_for_wrong_reason_high"]


def test_what_is_undefined_is_null_with_its_reason() -> None:
    table = ratings(SMALL, None)
    j2 = row(table, judge="j2")
    assert j2["right_for_wrong_reason"] == 1
    assert np.isnan(j2["cohen_kappa"])
    assert NO_KAPPA in j2["reason"]
    wrong = ratings(reasons({"j1": "00"}, "rw"), None).iloc[0]
    assert np.isnan(wrong["right_for_wrong_reason"])
    assert NONE_RIGHT in wrong["reason"]
    nobody = ratings(reasons({"j1": "10"}, "--"), None).iloc[0]
    assert (nobody["n_reasons"], nobody["n"]) == (2, 0)
    assert nobody.filter(regex="share_|right_for|kappa").isna().all()
    assert "none of these reasons" in nobody["reason"]


def test_a_second_judge_has_rows_of_its_own_and_a_kappa_with_people() -> None:
    marks = "rrwiwr-iwr"
    table = ratings(SMALL, pd.concat([second(marks), second("?" * 10, judge="mute")]))
    assert set(table["marker"]) == {"annotators", "second", "mute"}
    j1 = row(table, judge="j1", marker="second")
    assert j1["n_both"] == 7
    assert j1["cohen_kappa"] == pytest.approx(cohen_kappa_score(list("rrwirwi"), list("rrwiwri")))
    assert j1["right_for_wrong_reason"] == 0.5
    mute = row(table, judge="j1", marker="mute")
    assert (mute["n"], mute["n_both"]) == (0, 0)
    assert np.isnan(mute["cohen_kappa"])


def test_without_people_the_second_judge_stands_alone() -> None:
    bench = reasons({"j1": "10"}, "--")
    table = ratings(bench, second("rw"))
    assert table["marker"].tolist() == ["second"]
    assert NO_KAPPA in table["reason"].iloc[0]


def test_repeats_of_a_second_judge_share_a_mark_out() -> None:
    bench = reasons({"j1": "1100"}, "----")
    table = ratings(bench, pd.concat([second("rwrr"), second("wwr-", repeat=1)]))
    assert table["right_for_wrong_reason"].tolist() == [0.75]
    assert table["share_right"].tolist() == [(0.5 + 0 + 1 + 1) / 4]


def test_a_judge_that_marks_its_own_reasons_is_named() -> None:
    table = ratings(reasons({"j1": "10", "j2": "11"}, "rwrw"), second("rwrw", judge="j1"))
    own = (table["judge"] == "j1") & (table["marker"] == "j1")
    assert table["reason"].str.contains("marked its own reasons").tolist() == own.tolist()


def test_subfields_are_counted_apart() -> None:
    table = ratings(SMALL, None, by="organ")
    assert set(table["subfield"].dropna()) == {"eye", "lung"}
    parts = table[table["judge"] == "j1"].set_index("subfield")["n"]
    assert parts["eye"] + parts["lung"] == 7


def planted(seed: int, n: int = 240) -> tuple[Benchmark, pd.DataFrame]:
    """Sixty cases of four reasons each, of a judge right in 70%, then for a wrong reason in 20%; else right in 40%."""
    rng = np.random.default_rng(seed)
    right = rng.random(n) < 0.7
    good = rng.random(n) < np.where(right, 0.8, 0.4)
    marks = "".join(np.where(good, "r", np.where(rng.random(n) < 0.5, "w", "i")))
    seconds = "".join(np.where(rng.random(n) < 0.9, list(marks), rng.choice(list("rwi"), n)))
    scores = "".join(np.where(right, "1", "0"))
    return reasons({"j": scores}, marks, cluster=[f"s{i // 4}" for i in range(n)]), second(seconds)


def test_planted_rates_lie_in_their_intervals() -> None:
    """The second judge gives the same mark in 28 of 30 reasons, where chance alone gives it in .496."""
    truth = {"right_for_wrong_reason": 0.2, "share_right": 0.68, "cohen_kappa": (28 / 30 - 0.4955) / (1 - 0.4955)}
    runs, inside = 60, dict.fromkeys(truth, 0)
    for seed in range(runs):
        table = ratings(*planted(seed), resamples=200)
        people, other = row(table, marker="annotators"), row(table, marker="second")
        assert people["n_clusters"] == 60
        for name, value in truth.items():
            found = other if name == "cohen_kappa" else people
            inside[name] += bool(found[f"{name}_low"] <= value <= found[f"{name}_high"])
    assert all(0.87 * runs <= count <= runs for count in inside.values()), inside


def test_the_sentence_names_who_is_right_for_wrong_reasons() -> None:
    said = TABLES["ratings"].says
    table = ratings(SMALL, second("r" * 10), resamples=0)
    assert said(table) == (
        "Overall, 100% [34, 100] of 2 right verdicts of j2 rest on a reason that annotators marked wrong or "
        "irrelevant, the highest share of 2 judges; whether they differ is not tested."
    )
    unmarked = said(ratings(reasons({"j1": "10"}, "--"), None, resamples=0))
    assert unmarked == "There is nothing to show: the marker has marked none of these reasons."


@pytest.mark.parametrize("text", ["", "[]", "{", '{"overall": 1}', '{"overall": {"score": "x"}}', "[" * 100_000])
def test_verdicts_that_were_not_exported_are_refused(text: str) -> None:
    broken = replace(SMALL, cases=SMALL.cases.assign(source_verdicts=[text, *SMALL.cases["source_verdicts"][1:]]))
    with pytest.raises(InputError, match=r"case c0.*export again"):
        ratings(broken, None)


def test_other_benchmarks_are_refused_in_one_line() -> None:
    plain = replace(SMALL, cases=SMALL.cases.drop(columns="source_verdicts"))
    pairs = replace(SMALL, meta=BenchmarkMeta("pairs", "general", ("overall",)), annotations=SMALL.annotations.head(0))
    for bench, message in ((plain, "needs verdicts and there are none"), (pairs, "mrb export rationales")):
        with pytest.raises(InputError, match=message):
            ratings(bench, None)
