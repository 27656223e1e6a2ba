"""A plan's tables hold what a dataclass's fields may be, whatever these are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, get_type_hints

import pytest

from mrb_lib.judges.plan_file import checked, read_plan
from mrb_lib.tables.errors import InputError


@dataclass
class Anything:
    text: str = ""
    share: float | None = None
    whole: int = 0
    flag: bool = False
    bits: Literal["4bit", "8bit"] | None = None
    orders: tuple[str, ...] = ()
    map: Mapping[str, int] = field(default_factory=dict)


TYPES = get_type_hints(Anything)


def test_values_of_every_kind_are_taken() -> None:
    values = {"text": "a", "share": 1, "whole": 2, "flag": True, "bits": "4bit", "orders": "AB, BA", "map": {"x": 1}}
    fitting, wrong = checked(values, TYPES, "here")
    assert wrong == []
    assert fitting == {**values, "orders": ("AB", "BA")}
    assert checked({"orders": ["BA"]}, TYPES, "here") == ({"orders": ("BA",)}, [])


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("text", 1, "text"),
        ("text", True, "text"),
        ("share", "much", "a number"),
        ("share", True, "a number"),
        ("whole", 1.5, "a whole number"),
        ("whole", True, "a whole number"),
        ("flag", 1, "true or false"),
        ("bits", "2bit", '"4bit" or "8bit"'),
        ("orders", [1], "a list"),
        ("map", {"x": "y"}, "a table"),
    ],
)
def test_a_value_of_another_type_is_named_with_its_place_and_what_fits(key: str, value: object, said: str) -> None:
    fitting, [line] = checked(
        {key: value, "text" if key != "text" else "whole": "" if key != "text" else 0}, TYPES, "f, x"
    )
    assert key not in fitting and len(fitting) == 1, "what is right is kept"
    assert line == f"f, x, key {key!r}: {value!r} is not of its type ({said}); correct it."


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[judge", "cannot be read as a plan"),
        ("", r"it has no \[\[judge\]\]"),
        ("judge = 3", r"it has no \[\[judge\]\]"),
        ("judge = []", r"it has no \[\[judge\]\]"),
        ("common = 3\n[[judge]]\nname = 'x'", r"it has no \[\[judge\]\]"),
        ("[other]\n[[judge]]\nname = 'x'", "the key 'other' is unknown"),
    ],
)
def test_what_is_no_plan_is_refused_in_one_line(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "plan.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=said) as error:
        read_plan(file, "judge")
    assert "\n" not in str(error.value)
    with pytest.raises(InputError, match=r"nowhere\.toml: cannot be read"):
        read_plan(tmp_path / "nowhere.toml", "judge")
