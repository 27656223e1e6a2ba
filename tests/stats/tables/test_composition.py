import pytest

from mrb_lib.stats.columns import TABLES
from mrb_lib.stats.tables.composition import lengths
from tests.stats.small_tables import cases_of, rows_of


def test_every_case_is_in_one_row() -> None:
    cases = cases_of(5, organ=["lung", "eye", None, "lung", "lung"], modality=["CT", "OCT", "CT", "CT", None])
    rows = rows_of("composition", cases)
    assert rows["n_cases"].sum() == 5
    assert rows["share"].sum() == pytest.approx(1)
    assert rows["department"].isna().all()
    assert rows.loc[(rows["organ"] == "lung") & (rows["modality"] == "CT"), "n_cases"].tolist() == [2]
    assert rows["organ"].isna().sum() == 1


def test_cases_of_one_kind_are_one_row_with_a_sentence() -> None:
    assert TABLES["composition"].says(rows_of("composition", cases_of(3))) == (
        "The benchmark has 3 cases, whose organ, department and modality are not stated."
    )


def test_shares_are_within_the_subfield() -> None:
    cases = cases_of(5, organ=["lung", "eye", "eye", "lung", None], dataset=["x", "x", "x", None, "y"])
    rows = rows_of("composition", cases, by="dataset")
    assert rows.groupby("subfield", dropna=False)["share"].sum().tolist() == pytest.approx([1, 1, 1])
    assert (rows.loc[rows["subfield"].notna(), "n_unassigned"] == 1).all()


def test_lengths_count_words() -> None:
    rows = lengths(cases_of(2))
    assert rows[["case_id", "side", "words"]].to_numpy().tolist() == [
        ["c0", "A", 2],
        ["c1", "A", 2],
        ["c0", "B", 1],
        ["c1", "B", 1],
    ]
