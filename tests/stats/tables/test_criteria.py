"""The table `criteria` against plain loops over verdicts."""

import json
import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests

from mrb_lib.benchmarks.meta import BenchmarkMeta
from mrb_lib.stats.analyze import TABLES
from mrb_lib.stats.columns import ALIKE, NO_CASES
from mrb_lib.stats.tables.criteria import NO_RUBRIC
from mrb_lib.tables.errors import InputError
from tests.stats.small_tables import cases_of, gold_of, table_of, verdicts_of

WEIGHTS = {"side": 5.0, "size": 2.0, "rude": -3.0, "polite": 4.0}
RUBRIC = [
    {"criterion": "side", "weight": 5}, {"criterion": "size", "weight": 2}, {"criterion": "rude", "weight": -3},
    {"criterion": "polite", "weight": 4, "dimension": "tone"},
]  # fmt: skip


criteria = table_of("criteria")


def drawn(n: int, *, soft: bool, seed: int = 0) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Cases, gold on `overall`, and verdicts in two orders, by decisions or by probabilities."""
    rng = np.random.default_rng(seed)
    cases = cases_of(n, rubric=[json.dumps(RUBRIC)] * n)
    rows = []
    for case in cases["case_id"]:
        met = rng.random((2, 4)) if soft else rng.integers(0, 2, (2, 4)).astype(float)
        stated = json.dumps({"a": met[0].tolist(), "b": met[1].tolist()})
        for order in ("AB", "BA"):
            difference = sum(w * (met[0, i] - met[1, i]) for i, w in enumerate((5, 2, -3)))
            choice = "A" if difference > 1e-9 else "B" if difference < -1e-9 else "tie"
            rows.append(("j", case, "overall", order, 0, "none", choice, stated))
    columns = ["judge", "case_id", "dimension", "order", "repeat", "probe", "choice", "criteria"]
    return cases, gold_of("".join(rng.choice(list("ABT?"), n))), pd.DataFrame(rows, columns=columns)


def by_hand(gold: pd.DataFrame, verdicts: pd.DataFrame, name: str) -> dict[str, float]:
    """The same, a verdict at a time; both orders are alike here, so one counts."""
    label = gold.set_index("case_id")["choice"].to_dict()
    names = ("side", "size", "rude")
    k = names.index(name)
    met, pull, kept, wrong, righted, before, after = [], 0.0, 0.0, 0, 0, [], []
    for row in verdicts[verdicts["order"] == "AB"].itertuples():
        sides = json.loads(row.criteria)
        a, b = sides["a"], sides["b"]
        met += [a[k], b[k]]
        want = label[row.case_id]

        def choose(a: list[float], b: list[float], without: int | None = None) -> str:
            left = sum(WEIGHTS[other] * (a[i] - b[i]) for i, other in enumerate(names) if i != without)
            return "A" if left > 1e-9 else "B" if left < -1e-9 else "tie"

        if want in ("A", "B"):
            own = WEIGHTS[name] * (a[k] - b[k])
            pull += abs(own)
            kept += max(own if want == "A" else -own, 0)
            if row.choice != want:
                wrong += 1
                flipped = [([*a[:k], 1 - a[k], *a[k + 1 :]], b), (a, [*b[:k], 1 - b[k], *b[k + 1 :]])]
                flipped.append((flipped[0][0], flipped[1][1]))
                righted += any(choose(*each) == want for each in flipped)
        if isinstance(want, str):
            without = choose(a, b, k)
            for choice, to in ((row.choice, before), (without, after)):
                to.append(1.0 if choice == want else 0.5 if "tie" in (choice, want) else 0.0)
    return {
        "met_share": np.mean(met), "agreement": kept / pull, "decisive_share": righted / wrong,
        "difference": np.mean(after) - np.mean(before),
    }  # fmt: skip


@pytest.mark.parametrize("soft", [False, True])
def test_equals_a_loop(soft: bool) -> None:
    cases, gold, verdicts = drawn(60, soft=soft)
    table = criteria(verdicts, gold, cases, dimensions=["overall"]).set_index("criterion")
    assert list(table.index) == ["side", "size", "rude"]  # "polite" counts for another dimension
    for name in table.index:
        for column, value in by_hand(gold, verdicts, name).items():
            assert table.loc[name, column] == pytest.approx(value, abs=1e-12), (name, column)
    assert table["n"].eq(60).all()
    assert (table["low"] <= table["difference"]).all()
    assert (table["agreement_low"] < table["agreement"]).all()


def test_a_criterion_that_is_not_decided_is_counted_and_its_verdict_comes_back_without_it() -> None:
    cases, gold, verdicts = drawn(40, soft=False)
    sides = verdicts["criteria"].map(json.loads)
    holes = verdicts["case_id"].isin(cases["case_id"].head(10))
    stated = [
        json.dumps({**each, "b": [each["b"][0], None, *each["b"][2:]]}) if hole else json.dumps(each)
        for each, hole in zip(sides, holes, strict=True)
    ]
    verdicts = verdicts.assign(criteria=stated, choice=verdicts["choice"].mask(holes))
    table = criteria(verdicts, gold, cases, dimensions=["overall"]).set_index("criterion")
    assert table["coverage"].to_dict() == {"side": 1.0, "size": 0.75, "rude": 1.0}
    assert table.loc["size", "difference"] > table.loc[["side", "rude"], "difference"].max()


def test_rare_criteria_share_a_row_and_none_is_lost() -> None:
    cases, gold, verdicts = drawn(30, soft=False)
    own = [json.dumps([{**RUBRIC[0], "criterion": f"only {i}"}, *RUBRIC[1:]]) for i in range(30)]
    table = criteria(verdicts, gold, cases.assign(rubric=own), dimensions=["overall"])
    assert table["criterion"].isna().sum() == 1
    assert table["n"].tolist() == [30, 30, 30]
    shared = criteria(verdicts, gold, cases, dimensions=["overall"]).set_index("criterion").loc["side"]
    rare = table[table["criterion"].isna()].iloc[0]
    for name in ("met_share", "agreement", "decisive_share", "difference"):
        assert rare[name] == pytest.approx(shared[name]), name


def test_without_a_tie_equal_points_are_no_verdict() -> None:
    cases, gold, verdicts = drawn(60, soft=False)
    gold = gold.replace({"choice": {"tie": "A"}})
    with_tie, without = (
        criteria(verdicts, gold, cases, dimensions=["overall"], meta=meta)["difference"]
        for meta in (BenchmarkMeta("m", "general", ("overall",), each) for each in (("A", "B", "tie"), ("A", "B")))
    )
    assert (without <= with_tie).all()
    assert (without < with_tie).any()


def test_what_is_undefined_is_null_with_a_reason() -> None:
    cases, gold, verdicts = drawn(30, soft=False)
    alike = verdicts.assign(criteria=json.dumps({"a": [1, 1, 0, 0], "b": [0, 1, 0, 0]}), choice="A")
    table = criteria(alike, gold_of("A" * 30), cases, dimensions=["overall"]).set_index("criterion")
    assert math.isnan(table.loc["size", "agreement"])
    assert "it never separates responses" in table.loc["size", "reason"]
    assert table["decisive_share"].isna().all()
    assert table["reason"].str.contains("no verdict is wrong").all()
    assert table.loc["side", "difference"] == -0.5
    assert f"no interval of difference: {ALIKE}" in table.loc["size", "reason"]
    unlabelled = criteria(verdicts, gold.assign(choice=None), cases, dimensions=["overall"])
    assert unlabelled["difference"].isna().all()
    assert unlabelled["reason"].str.contains(NO_CASES).all()
    assert "cannot tell that a criterion does harm: none of 0 tests" in TABLES["criteria"].says(unlabelled)
    two = pd.concat([verdicts, verdicts.assign(judge="k")]).drop(columns="criteria")
    plain = criteria(two, gold, cases, dimensions=["overall"])
    assert plain["reason"].tolist() == [NO_RUBRIC]  # one line, not one for each judge
    assert "no verdict contains decisions on a rubric" in TABLES["criteria"].says(plain)


def test_intervals_are_by_effective_degrees_of_freedom() -> None:
    """Of nine unequal clusters, clusters - 1 degrees of freedom and equal weights make intervals too short."""
    cases, gold, verdicts = drawn(120, soft=False, seed=5)
    cluster = np.repeat(np.arange(9), [45, 25, 15, 10, 8, 6, 5, 4, 2])
    cases = cases.assign(place=[f"p{i}" for i in cluster], own=cases["case_id"])
    gold = gold_of("".join(np.random.default_rng(1).choice(list("AB"), 120)))
    table = criteria(verdicts, gold, cases, dimensions=["overall"], cluster="place").set_index("criterion")
    single = criteria(verdicts, gold, cases, dimensions=["overall"], by="own").set_index(["subfield", "criterion"])
    for name, row in table.iterrows():
        gain = single["difference"].xs(name, level="criterion").reindex(cases["case_id"]).to_numpy()
        sums = np.bincount(cluster, gain - gain.mean())
        plain = stats.t.ppf(0.975, 8) * np.sqrt(9 / 8 * (sums**2).sum()) / 120
        assert row["difference"] == pytest.approx(gain.mean())
        assert (row["high"] - row["low"]) / 2 > 1.1 * plain


def test_a_rubric_that_was_changed_since_is_refused() -> None:
    cases, gold, verdicts = drawn(12, soft=False)
    with pytest.raises(InputError, match=r"rubric of case c0 has 2 criteria, and decisions on it do not fit"):
        criteria(verdicts, gold, cases.assign(rubric=json.dumps(RUBRIC[:2])), dimensions=["overall"])
    with pytest.raises(InputError, match="rubric of case c0 has 4 criteria, and decisions on it do not fit"):
        criteria(verdicts.assign(criteria="[" * 100_000), gold, cases, dimensions=["overall"])


def test_harm_is_said_of_what_stays_after_correction_alone() -> None:
    """Forty criteria that are noise: some intervals lie above 0 by chance, and nothing is said to do harm."""
    rng = np.random.default_rng(3)
    texts = [f"noise {i}" for i in range(40)]
    cases = cases_of(60, rubric=[json.dumps([{"criterion": text, "weight": 1} for text in texts])] * 60)
    met = rng.integers(0, 2, (60, 2, 40))
    lead = (met[:, 0] - met[:, 1]).sum(axis=1)
    verdicts = verdicts_of({("j", "AB"): "".join(np.select([lead > 0, lead < 0], ["A", "B"], "T"))})
    verdicts["criteria"] = [json.dumps({"a": a.tolist(), "b": b.tolist()}) for a, b in met]
    gold = gold_of("".join(rng.choice(list("AB"), 60)))
    table = criteria(verdicts, gold, cases)
    assert (table["low"] > 0).any()
    assert "cannot tell that a criterion does harm: none of 40 tests" in TABLES["criteria"].says(table)
    expected = multipletests(table["p_value"], method="holm")[1]
    np.testing.assert_allclose(table["p_adjusted"], expected)
    assert table[["correction", "family", "family_scope"]].drop_duplicates().to_numpy().tolist() == [
        ["holm", 40, "dimension"]
    ]
    plain = criteria(verdicts, gold, cases, correction="none")
    assert "does most harm: without it the accuracy of j changes by +" in TABLES["criteria"].says(plain)
