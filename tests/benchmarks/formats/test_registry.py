"""Every registered format can be used, and says what it is and what its options do."""

from pathlib import Path

import pytest

from mrb_lib.benchmarks.formats import READERS, WRITERS
from mrb_lib.cli.formats import declared_options
from mrb_lib.tables.errors import InputError


@pytest.mark.parametrize("name", sorted(READERS))
def test_a_folder_that_does_not_exist_is_one_message(name: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="absent"):
        READERS[name].convert(tmp_path / "absent")


def test_every_format_says_what_it_is_and_what_its_options_do() -> None:
    entries = (*READERS.values(), *WRITERS.values())
    options = [option for entry in entries for option in declared_options(entry.convert).values()]
    assert len(options) > 10
    assert all(entry.about for entry in entries)
    assert all(option.annotation.__metadata__[0] for option in options)
