"""Every format the command line names can be loaded."""

from __future__ import annotations

from pathlib import Path

import pytest

from mrb_lib.data.benchmark import load, save
from mrb_lib.data.formats import READERS, WRITERS, reader, writer
from mrb_lib.errors import InputError
from mrb_lib.verdicts.store import load_verdicts, save_imported

FOLDERS = {
    "official": "official_sample",
    "pandalm": "pandalm",
    "judgebench": "judgebench_pairs",
    "llmbar": "llmbar_casestudy",
    "llmfao": "llmfao",
    "kqa": "kqa",
}


@pytest.mark.parametrize("name", sorted(FOLDERS))
def test_what_is_imported_can_be_stored_and_loaded(name: str, reference_data: Path, tmp_path: Path) -> None:
    imported = reader(name)(reference_data / FOLDERS[name])
    save(imported.benchmark, tmp_path)
    loaded = load(tmp_path)
    assert len(loaded.cases) == len(imported.benchmark.cases)
    assert loaded.meta == imported.benchmark.meta
    if len(imported.verdicts):
        save_imported(imported.verdicts, tmp_path / "runs", benchmark=name, kind=loaded.meta.kind, source=name)
        assert len(load_verdicts(tmp_path / "runs", loaded.cases)) == len(imported.verdicts)


@pytest.mark.parametrize("name", sorted(READERS))
def test_a_folder_that_does_not_exist_is_one_message(name: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="absent"):
        reader(name)(tmp_path / "absent")


def test_unknown_names_list_the_known_ones() -> None:
    with pytest.raises(InputError, match="official, table, pandalm"):
        reader("word")
    with pytest.raises(InputError, match="use one of official, table"):
        writer("pandalm")
    assert all(callable(writer(name)) for name in WRITERS)
