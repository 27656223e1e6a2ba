from __future__ import annotations

import pytest

from mrb_lib.stats.subfields import columns_of, groups
from mrb_lib.tables.errors import InputError
from tests.stats.small_tables import cases_of


def test_groups_are_the_whole_then_each_subfield_by_name() -> None:
    cases = cases_of(5, organ=["lung", "brain", None, "lung", "brain"])
    whole, brain, lung = groups(cases, "organ")
    assert (whole.subfield, whole.n_unassigned, whole.cases.tolist()) == (None, 0, [0, 1, 2, 3, 4])
    assert (brain.subfield, brain.cases.tolist()) == ("brain", [1, 4])
    assert (lung.subfield, lung.cases.tolist()) == ("lung", [0, 3])
    assert (brain.n_unassigned, lung.n_unassigned) == (1, 1)


def test_a_column_is_named_once() -> None:
    assert (columns_of(None), columns_of("organ"), columns_of(("organ", "modality"))) == (
        [],
        ["organ"],
        ["organ", "modality"],
    )
    with pytest.raises(InputError, match="by 'organ': the column is named twice; name each column once"):
        groups(cases_of(2, organ=["eye", "lung"]), ("organ", "organ"))


def test_a_model_pair_has_no_order() -> None:
    cases = cases_of(3, model_a=["x", "y", "x"], model_b=["y", "x", None])
    _, pair = groups(cases, "model_pair")
    assert (pair.subfield, pair.cases.tolist(), pair.n_unassigned) == ("x vs y", [0, 1], 1)


def test_numbers_can_name_subfields() -> None:
    _, one, two = groups(cases_of(3, prompt=[2, 1, 2]), "prompt")
    assert (one.subfield, two.subfield) == ("1", "2")


@pytest.mark.parametrize(
    ("by", "columns", "message"),
    [
        ("organ", {}, "no such column"),
        ("images", {"images": [[], []]}, "no such column"),
        ("organ", {"organ": [None, None]}, "empty in every case"),
        ("model_pair", {}, "lack the column model_a or model_b"),
        ("model_pair", {"model_a": ["x", None], "model_b": [None, "y"]}, "empty in every case"),
    ],
)
def test_columns_that_cannot_be_subfields_are_refused(by: str, columns: dict[str, list[object]], message: str) -> None:
    with pytest.raises(InputError, match=message):
        groups(cases_of(2, **columns), by)
