"""A table by several columns at once is the tables by each of them, with the overall rows once."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.benchmarks.meta import BenchmarkMeta
from mrb_lib.stats.analyze import GivenVerdicts as Verdicts
from mrb_lib.stats.analyze import analyze, read_panels
from mrb_lib.stats.columns import TABLES
from mrb_lib.stats.multiplicity import adjust
from mrb_lib.tables.errors import InputError
from tests.stats.small_tables import OF_PREFERENCES, annotations_of, cases_of, groups_of, prompts_of, verdicts_of

COLUMNS = ("organ", "department", "model_pair")
BROKEN_DOWN = [name for name in OF_PREFERENCES if "by" in TABLES[name].parameters and name != "criteria"]
ALL_HAVE_A_COLUMN = ("models", "dif", "transfer")
OF_FIRST = {"accuracy": ["macro_accuracy", "macro_accuracy_low", "macro_accuracy_high", "reason"]}
GROUPS = groups_of({"j1": "medical", "j2": "open", "j3": "open", "j4": "medical"}, {"j1": "j2"}).assign(
    cutoff=["2023-01", "2026-01", "2023-01", "2023-01"], cutoff_of="roster"
)
PROMPTS = prompts_of({"j1": "j", "j2": "j", "j3": "j", "j4": "k"})
Given = tuple[Benchmark, Verdicts]


@pytest.fixture(scope="module")
def given() -> Given:
    """Ninety cases of 50 patients: "lung" is a value of two columns, and either column is empty in some cases."""
    rng = np.random.default_rng(7)
    n = 90
    latent = rng.normal(size=n)
    pairs = [rng.permutation(["m1", "m2", "m3"])[:2] for _ in range(n)]
    cases = cases_of(
        n,
        organ=list(rng.choice(np.array(["eye", "lung", "heart", None]), n, p=[0.3, 0.3, 0.3, 0.1])),
        department=list(rng.choice(np.array(["lung", "other", None]), n, p=[0.45, 0.45, 0.1])),
        patient=list(rng.integers(0, 50, n)),
        date=["2020", "2024"] * (n // 2),
        model_a=[pair[0] for pair in pairs],
        model_b=[pair[1] for pair in pairs],
    ).assign(response_a=["word " * k for k in rng.integers(2, 30, n)])
    people = {name: "".join(_letters(latent + rng.normal(size=n))) for name in ("a", "b", "c")}
    shown, p_a = {}, []
    for judge, noise in (("j1", 0.4), ("j2", 0.8), ("j3", 1.5), ("j4", 2.5)):
        for order, repeat in itertools.product(("AB", "BA"), range(2)):
            felt = latent + noise * rng.normal(size=n)
            shown[judge, order, repeat] = "".join(_letters(felt))
            p_a.extend(1 / (1 + np.exp(-felt)))
    meta = BenchmarkMeta("given", "general", ("overall",))
    benchmark = Benchmark(meta, cases, annotations_of(people))
    return benchmark, read_panels(benchmark, [verdicts_of(shown).assign(p_a=p_a)])


def _letters(felt: np.ndarray) -> np.ndarray:
    return np.where(np.abs(felt) < 0.2, "T", np.where(felt > 0, "A", "B"))


def _without(rows: pd.DataFrame, columns: list[str]) -> pd.DataFrame:
    """The rows with these columns null in overall rows."""
    out = rows.astype(dict.fromkeys(columns, object))
    out.loc[out["by"].isna(), columns] = None
    return out


@pytest.mark.parametrize("table", BROKEN_DOWN)
def test_the_rows_of_each_column_are_those_by_it_alone(given: Given, table: str) -> None:
    """A column alone is named by itself or in a list of one."""
    options = {"resamples": 60, "seed": 3, "cluster": "patient", "groups": GROUPS, "prompts": PROMPTS}
    together = analyze(*given, table, by=COLUMNS, **options)
    subfields = 0
    for place, column in enumerate(COLUMNS):
        alone = analyze(*given, table, by=[column] if place else column, **options)
        subfields += alone["by"].notna().sum()
        of_it = together[together["by"].isna() | together["by"].eq(column)].reset_index(drop=True)
        if place:
            alone, of_it = (_without(rows, OF_FIRST.get(table, [])) for rows in (alone, of_it))
        pd.testing.assert_frame_equal(of_it, alone, check_exact=True)
    assert together["by"].notna().sum() == subfields > 0
    assert together["by"].isna().any() == (table not in ALL_HAVE_A_COLUMN)


def test_the_mean_over_subfields_is_that_of_the_first_column(given: Given) -> None:
    macro = OF_FIRST["accuracy"]
    for columns in (("organ", "department"), ("department", "organ")):
        whole = analyze(*given, "accuracy", by=columns, resamples=60)[macro].iloc[:4]
        first, second = (analyze(*given, "accuracy", by=column, resamples=60)[macro].iloc[:4] for column in columns)
        pd.testing.assert_frame_equal(whole, first, check_exact=True)
        assert not whole["macro_accuracy"].equals(second["macro_accuracy"])


@pytest.mark.parametrize(
    ("table", "p_value", "correction"), [("significance", "p_value", "holm"), ("dif", "p_value", "bh")]
)
def test_the_family_of_all_holds_the_tests_of_all_columns(
    given: Given, table: str, p_value: str, correction: str
) -> None:
    rows = analyze(*given, table, by=("organ", "model_pair"), family="all", correction=correction, resamples=40)
    tested = rows if table == "dif" else rows[rows["part"] == "pair"]
    assert set(tested["by"].dropna()) == {"organ", "model_pair"}
    known = tested[tested[p_value].notna()]
    expected = adjust(known[p_value].to_numpy(), correction)
    np.testing.assert_allclose(known["p_adjusted"], expected, rtol=1e-12)
    if table == "significance":
        assert set(tested["family"]) == {len(known)}


@pytest.mark.parametrize("table", BROKEN_DOWN)
def test_a_list_of_no_column_is_none(given: Given, table: str) -> None:
    found, expected = (analyze(*given, table, by=by, resamples=40) for by in ((), None))
    pd.testing.assert_frame_equal(found, expected, check_exact=True)


@pytest.mark.parametrize("table", OF_PREFERENCES)
@pytest.mark.parametrize(
    ("by", "message"),
    [
        (("organ", "department", "organ"), "by 'organ': the column is named twice"),
        (("organ", "planet"), "by 'planet': the cases have no such column"),
        (("organ,department",), "by 'organ,department': the cases have no such column"),
    ],
)
def test_columns_that_cannot_be_used_are_refused_by_every_table(
    given: Given, table: str, by: tuple[str, ...], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        analyze(*given, table, by=by)
