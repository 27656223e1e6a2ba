"""The published sets of labels, each read once."""

from pathlib import Path

import pytest

from mrb_lib.benchmarks.formats import Imported, read_source


@pytest.fixture(scope="session")
def pandalm(reference_data: Path) -> Imported:
    return read_source("pandalm", reference_data / "pandalm")


@pytest.fixture(scope="session")
def pandalm_as_tie(reference_data: Path) -> Imported:
    return read_source("pandalm", reference_data / "pandalm", unparsed_as_tie=True)


@pytest.fixture(scope="session")
def llmfao(reference_data: Path) -> Imported:
    return read_source("llmfao", reference_data / "llmfao")


@pytest.fixture(scope="session")
def kqa(reference_data: Path) -> Imported:
    return read_source("kqa", reference_data / "kqa")
