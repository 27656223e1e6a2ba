"""What the docstrings and notebooks point to is there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
_TEST = re.compile(r"tests/[\w/]*\w\.py")
_SOURCES = sorted([*(ROOT / "mrb_lib").rglob("*.py"), *(ROOT / "notebooks").glob("*.ipynb")])
_NAMED = sorted({name for path in _SOURCES for name in _TEST.findall(path.read_text(encoding="utf-8"))})


def test_validations_are_named() -> None:
    assert len(_NAMED) > 10


@pytest.mark.parametrize("name", _NAMED)
def test_a_validation_that_is_named_exists(name: str) -> None:
    assert (ROOT / name).is_file()
