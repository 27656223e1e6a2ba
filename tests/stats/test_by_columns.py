"""Subfields by one column, and a table by several at once."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.stats.analyze import GivenVerdicts as Verdicts
from mrb_lib.stats.analyze import analyze, read_panels
from mrb_lib.stats.columns import TABLES
from mrb_lib.stats.multiplicity import adjust
from mrb_lib.stats.subfields import groups
from mrb_lib.tables.errors import InputError
from tests.stats.every_table import KNOWN, full_benchmark
from tests.stats.small_tables import OF_PREFERENCES, cases_of

COLUMNS = ("organ", "department", "model_pair")


BROKEN_DOWN = [name for name in OF_PREFERENCES if "by" in TABLES[name].parameters and name != "criteria"]


ALL_HAVE_A_COLUMN = ("models", "dif", "transfer")


OF_FIRST = {"accuracy": ["macro_accuracy", "macro_accuracy_low", "macro_accuracy_high", "reason"]}


Given = tuple[Benchmark, Verdicts]


@pytest.fixture(scope="module")
def given() -> Given:
    """The full benchmark: "lung" is a value of two columns, and either column is empty in some cases."""
    made, verdicts = full_benchmark()
    rng = np.random.default_rng(7)
    cases = made.cases.assign(
        organ=rng.choice(np.array(["eye", "lung", "heart", None]), len(made.cases), p=[0.3, 0.3, 0.3, 0.1]),
        department=rng.choice(np.array(["lung", "other", None]), len(made.cases), p=[0.45, 0.45, 0.1]),
    )
    benchmark = replace(made, cases=cases)
    return benchmark, read_panels(benchmark, [verdicts])


def _without(rows: pd.DataFrame, columns: list[str]) -> pd.DataFrame:
    """The rows with these columns null in overall rows."""
    out = rows.astype(dict.fromkeys(columns, object))
    out.loc[out["by"].isna(), columns] = None
    return out


@pytest.mark.parametrize("table", BROKEN_DOWN)
def test_the_rows_of_each_column_are_those_by_it_alone(given: Given, table: str) -> None:
    """A column alone is named by itself or in a list of one."""
    options = {"resamples": 60, "seed": 3, "cluster": "item", **KNOWN}
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


@pytest.mark.parametrize(("table", "correction"), [("significance", "holm"), ("dif", "bh")])
def test_the_family_of_all_holds_the_tests_of_all_columns(given: Given, table: str, correction: str) -> None:
    rows = analyze(*given, table, by=("organ", "model_pair"), family="all", correction=correction, resamples=40)
    tested = rows if table == "dif" else rows[rows["part"] == "pair"]
    assert set(tested["by"].dropna()) == {"organ", "model_pair"}
    known = tested[tested["p_value"].notna()]
    np.testing.assert_allclose(known["p_adjusted"], adjust(known["p_value"].to_numpy(), correction), rtol=1e-12)
    if table == "significance":
        assert set(tested["family"]) == {len(known)}


@pytest.mark.parametrize(
    ("by", "columns", "expected"),
    [
        ("organ", {"organ": ["lung", "brain", None, "lung"]}, [("brain", [1]), ("lung", [0, 3])]),
        ("model_pair", {"model_a": [*"xyxx"], "model_b": [*"yx", None, "y"]}, [("x vs y", [0, 1, 3])]),
        ("prompt", {"prompt": pd.array([2, 1, 2, None], dtype="Int64")}, [("1", [1]), ("2", [0, 2])]),
    ],
    ids=["by name", "a pair has no order", "numbers are names"],
)
def test_groups_are_the_whole_then_each_subfield(
    by: str, columns: dict[str, list[object]], expected: list[tuple[str, list[int]]]
) -> None:
    whole, *parts = groups(cases_of(4, **columns), by)
    assert (whole.subfield, whole.n_unassigned, whole.cases.tolist()) == (None, 0, [0, 1, 2, 3])
    assert [(each.subfield, each.cases.tolist()) for each in parts] == expected
    assert {each.n_unassigned for each in parts} == {1}


@pytest.mark.parametrize(
    ("by", "columns", "message"),
    [
        (
            ("organ", "organ"),
            {"organ": ["eye", "lung"]},
            "by 'organ': the column is named twice; name each column once",
        ),
        ("images", {"images": [[], []]}, "no such column"),
        ("model_pair", {}, "lack the column model_a or model_b"),
        ("model_pair", {"model_a": ["x", None], "model_b": [None, "y"]}, "empty in every case"),
    ],
)
def test_columns_that_cannot_be_subfields_are_refused(
    by: str | tuple[str, ...], columns: dict[str, list[object]], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        groups(cases_of(2, **columns), by)
