"""A plan's tables hold what the options of a dataclass may be, whatever these are."""

from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Annotated, Literal

import pytest
from pydantic import Field

from mrb_lib.judges.plan_file import changed_by_table
from mrb_lib.tables.options import Names, Option, OptionError, Paths, changed, checked_dataclass, options_of


@checked_dataclass
class Inner:
    whole: Annotated[int, Field(ge=0, le=9), Option("Take N of them.", "N")] = 0
    unread: str = "by the code"


@checked_dataclass
class Anything:
    text: Annotated[str, Option("Write this.")] = ""
    share: Annotated[float | None, Field(gt=0), Option("Take this share.")] = None
    flag: Annotated[bool, Option("Do it.")] = False
    bits: Annotated[Literal["4bit", "8bit"] | None, Option("Round to it.")] = None
    orders: Annotated[Names, Option("Show these.")] = ()
    files: Annotated[Paths, Option("Read these.", is_file=True)] = ()
    map: Annotated[Mapping[str, int], Option("Map these.")] = field(default_factory=dict)
    inner: Inner = field(default_factory=Inner)


def test_values_of_every_kind_are_taken_those_of_parts_too(tmp_path: Path) -> None:
    (tmp_path / "a,b.csv").write_text("x")
    values = {"text": "a", "share": 1, "flag": True, "bits": "4bit", "orders": "AB, BA", "map": {"x": 1}, "whole": 2}
    made, wrong = changed_by_table(Anything(), {**values, "files": ["a,b.csv", "else"]}, "here", tmp_path)
    assert wrong == []
    files = (tmp_path / "a,b.csv", Path("else"))
    assert made == Anything("a", 1.0, True, "4bit", ("AB", "BA"), files, {"x": 1}, Inner(2))
    again, _ = changed_by_table(made, {"orders": ["BA"], "files": "x,y"}, "here", tmp_path)
    assert (again.orders, again.files, again.inner) == (("BA",), (Path("x,y"),), Inner(2))


@pytest.mark.parametrize(
    ("key", "value", "wanted"),
    [
        ("text", 1, "text"),
        ("text", True, "text"),
        ("share", "much", "a number"),
        ("share", True, "a number"),
        ("share", 0, "more than 0"),
        ("whole", 1.5, "a whole number"),
        ("whole", True, "a whole number"),
        ("whole", -1, "at least 0"),
        ("whole", 10, "at most 9"),
        ("flag", 1, "true or false"),
        ("bits", "2bit", "'4bit' or '8bit'"),
        ("orders", 1, "a list"),
    ],
)
def test_a_wrong_value_is_one_line_that_names_its_place_and_what_fits(key: str, value: object, wanted: str) -> None:
    _, [line] = changed_by_table(Anything(), {"text": "", key: value}, "f, x", Path())
    assert line == f"f, x, {key} {value!r}: must be {wanted}."
    with pytest.raises(OptionError, match=f"^{key} {value!r}: must be"):
        changed(Anything(), {key: value})


def test_unknown_keys_are_told_with_a_wrong_value_and_what_code_decides_is_no_key() -> None:
    table = {"whole": -1, "share": 0, "texxt": "a", "unread": "by me"}
    _, wrong = changed_by_table(Anything(), table, "f", Path(), without=("map",))
    assert wrong == [
        "f, key 'texxt': is unknown. Did you mean text?",
        "f, key 'unread': is unknown. A key is an option, see --help-all.",
        "f, whole -1: must be at least 0.",
    ]
    settable = ["text", "share", "flag", "bits", "orders", "files", "whole"]
    assert list(options_of(Anything(), without=("map",))) == settable
