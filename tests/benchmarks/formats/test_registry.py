"""Every registered format can be used, and says what it is and what its options do."""

from pathlib import Path

import pytest

from mrb_lib.benchmarks.formats import READERS, WRITERS
from mrb_lib.benchmarks.formats.base import declared_options
from mrb_lib.tables.errors import InputError


@pytest.mark.parametrize("name", sorted(READERS))
def test_a_folder_that_does_not_exist_is_one_message(name: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="absent"):
        READERS[name].convert(tmp_path / "absent")


def test_unknown_names_list_the_registered_ones() -> None:
    with pytest.raises(InputError, match=r"'word' is unknown; use one of .*official.*table"):
        READERS["word"]
    named = "dpo, official, rationales, reward, sft, table"
    with pytest.raises(InputError, match=f"'pandalm' is unknown; use one of {named}"):
        WRITERS["pandalm"]


def test_every_format_says_what_it_is_and_what_its_options_do() -> None:
    named = "judgebench, kqa, labelstudio, llmbar, llmfao, official, pandalm, table"
    assert ", ".join(READERS) == named
    assert all(feature.about for feature in (*READERS.values(), *WRITERS.values()))
    functions = [entry.convert for entry in (*READERS.values(), *WRITERS.values())]
    options = [option for function in functions for option in declared_options(function).values()]
    assert {option.name for option in options} == {
        "kind", "name", "unparsed_as_tie", "file_format", "split", "dimension", "prompt", "no_swap", "reference",
        "ties", "seed", "limit", "labels", "categories", "images", "verdicts",
        "normalize_names",
    }  # fmt: skip
    assert all(option.annotation.__metadata__[0] for option in options)
