"""The table `criteria` against its definitions written with numpy."""

import json

import numpy as np
import pandas as pd
import pytest

from mrb_lib.benchmarks.meta import BenchmarkMeta
from mrb_lib.stats.analyze import TABLES
from mrb_lib.stats.columns import ALIKE
from mrb_lib.stats.tables.criteria import NO_RUBRIC
from mrb_lib.tables.errors import InputError
from tests.stats.small_tables import Tables, table_of, tables_of

NAMES, WEIGHTS = ["side", "size", "rude"], np.array([5.0, 2.0, -3.0])
RUBRIC = [{"criterion": name, "weight": weight} for name, weight in zip(NAMES, WEIGHTS, strict=True)]
RUBRIC.append({"criterion": "polite", "weight": 4, "dimension": "tone"})

criteria = table_of("criteria")
overall = table_of("criteria", dimensions=["overall"])


def choices(met: np.ndarray, weights: np.ndarray = WEIGHTS) -> np.ndarray:
    """What decisions of shape (cases, 2 responses, criteria) make the judge choose."""
    lead = (met[:, 0, : len(weights)] - met[:, 1, : len(weights)]) @ weights
    return np.select([lead > 1e-9, lead < -1e-9], ["A", "B"], "T")


def decided(met: np.ndarray, gold: str, rubric: list[dict[str, object]], weights: np.ndarray = WEIGHTS) -> Tables:
    """Verdicts of a judge in both orders with its decisions, gold, and cases of one rubric."""
    stated = [json.dumps({"a": a, "b": b}) for a, b in met.tolist()]
    verdicts, *tables = tables_of({"j": "".join(choices(met, weights))}, gold, rubric=[json.dumps(rubric)] * len(met))
    return verdicts.assign(criteria=stated * 2), *tables


def drawn(n: int, *, soft: bool = False, seed: int = 0) -> tuple[np.ndarray, str]:
    """Decisions, or probabilities, on the four criteria of the rubric; and gold."""
    rng = np.random.default_rng(seed)
    met = rng.random((n, 2, 4)) if soft else rng.integers(0, 2, (n, 2, 4)).astype(float)
    return met, "".join(rng.choice(list("ABT?"), n))


def example(n: int, **options: int) -> Tables:
    return decided(*drawn(n, **options), RUBRIC)


def worth(said: np.ndarray, label: np.ndarray) -> np.ndarray:
    return np.where(said == label, 1.0, np.where((said == "T") | (label == "T"), 0.5, 0.0))


def by_definition(met: np.ndarray, label: np.ndarray, k: int) -> dict[str, float]:
    """What criterion k does, by turning its decisions round and by leaving it out."""
    said, decisive = choices(met), np.isin(label, ["A", "B"])
    pull = (WEIGHTS[k] * (met[:, 0, k] - met[:, 1, k]) * np.where(label == "A", 1, -1))[decisive]
    righted = np.zeros(len(met), dtype=bool)
    for sides in ([0], [1], [0, 1]):
        turned = met.copy()
        turned[:, sides, k] = 1 - turned[:, sides, k]
        righted |= choices(turned) == label
    without = worth(choices(np.where(np.arange(4) == k, 0, met)), label)
    return {
        "met_share": met[..., k].mean(),
        "agreement": np.maximum(pull, 0).sum() / np.abs(pull).sum(),
        "decisive_share": righted[decisive & (said != label)].mean(),
        "difference": (without - worth(said, label))[label != "?"].mean(),
    }


@pytest.mark.parametrize("soft", [False, True])
def test_every_value_is_that_of_its_definition(soft: bool) -> None:
    met, gold = drawn(60, soft=soft)
    table = overall(*decided(met, gold, RUBRIC)).set_index("criterion")
    assert list(table.index) == NAMES, "polite counts for another dimension"
    for k, name in enumerate(NAMES):
        for column, value in by_definition(met, np.array(list(gold)), k).items():
            assert table.loc[name, column] == pytest.approx(value, abs=1e-12), (name, column)
    assert table["n"].eq(60).all()


def test_a_criterion_that_is_not_decided_is_counted_and_its_verdict_comes_back_without_it() -> None:
    verdicts, gold, cases = example(40)
    sides, holes = verdicts["criteria"].map(json.loads), verdicts["case_id"].isin(cases["case_id"].head(10))
    without = sides.map(lambda each: {**each, "b": [each["b"][0], None, *each["b"][2:]]}).where(holes, sides)
    verdicts = verdicts.assign(criteria=without.map(json.dumps), choice=verdicts["choice"].mask(holes))
    table = overall(verdicts, gold, cases).set_index("criterion")
    assert table["coverage"].to_dict() == {"side": 1.0, "size": 0.75, "rude": 1.0}
    assert table.loc["size", "difference"] > table.loc[["side", "rude"], "difference"].max()


def test_rare_criteria_share_a_row_and_none_is_lost() -> None:
    verdicts, gold, cases = example(30)
    own = [json.dumps([{**RUBRIC[0], "criterion": f"only {i}"}, *RUBRIC[1:]]) for i in range(30)]
    table = overall(verdicts, gold, cases.assign(rubric=own))
    assert table["n"].tolist() == [30, 30, 30]
    [rare] = table[table["criterion"].isna()].to_dict("records")
    shared = overall(verdicts, gold, cases).set_index("criterion").loc["side"]
    for name in ("met_share", "agreement", "decisive_share", "difference"):
        assert rare[name] == pytest.approx(shared[name]), name


def test_without_a_tie_equal_points_are_no_verdict() -> None:
    met, gold = drawn(60)
    tables = decided(met, gold.replace("T", "A"), RUBRIC)
    with_tie, without = (
        overall(*tables, meta=BenchmarkMeta("m", "general", ("overall",), each))["difference"]
        for each in (("A", "B", "tie"), ("A", "B"))
    )
    assert (without <= with_tie).all()
    assert (without < with_tie).any()


def test_what_is_undefined_is_null_with_a_reason() -> None:
    met = np.tile([[1, 1, 0, 0], [0, 1, 0, 0]], (30, 1, 1))
    verdicts, gold, cases = decided(met, "A" * 30, RUBRIC)
    table = overall(verdicts, gold, cases).set_index("criterion")
    assert table.loc["side", "difference"] == -0.5
    assert f"no interval of difference: {ALIKE}" in table.loc["size", "reason"]
    unlabelled = overall(verdicts, gold.assign(choice=None), cases)
    assert "cannot tell that a criterion does harm: none of 0 tests" in TABLES["criteria"].says(unlabelled)
    two = pd.concat([verdicts, verdicts.assign(judge="k")]).drop(columns="criteria")
    plain = overall(two, gold, cases)
    assert plain["reason"].tolist() == [NO_RUBRIC], "one line, not one for each judge"
    assert "no verdict contains decisions on a rubric" in TABLES["criteria"].says(plain)


@pytest.mark.parametrize(
    ("rubric", "stated", "message"),
    [(RUBRIC[:2], None, "has 2 criteria, and decisions on it do not fit"),
     (RUBRIC, "[" * 100_000, "has 4 criteria, and decisions on it do not fit")],
    ids=["a shorter rubric", "decisions that are no JSON"],
)  # fmt: skip
def test_a_rubric_that_was_changed_since_is_refused(rubric: list[object], stated: str | None, message: str) -> None:
    verdicts, gold, cases = example(12)
    with pytest.raises(InputError, match=f"rubric of case c0 {message}"):
        overall(verdicts.assign(criteria=stated or verdicts["criteria"]), gold, cases.assign(rubric=json.dumps(rubric)))


def test_harm_is_said_of_what_stays_after_correction_alone() -> None:
    """Forty criteria that are noise: some intervals lie above 0 by chance, and nothing is said to do harm."""
    rng = np.random.default_rng(3)
    met, gold = rng.integers(0, 2, (60, 2, 40)), "".join(rng.choice(list("AB"), 60))
    tables = decided(met, gold, [{"criterion": f"noise {i}", "weight": 1} for i in range(40)], np.ones(40))
    table = criteria(*tables)
    assert (table["low"] > 0).any()
    assert (table["family"] == 40).all()
    assert "cannot tell that a criterion does harm: none of 40 tests" in TABLES["criteria"].says(table)
    plain = criteria(*tables, correction="none")
    assert "does most harm: without it the accuracy of j changes by +" in TABLES["criteria"].says(plain)
