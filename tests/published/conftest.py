"""The published sets of labels, each read once."""

from pathlib import Path

import pytest

from mrb_lib.benchmarks.formats import Imported, read_source

from . import sets


@pytest.fixture(scope="session")
def pandalm(reference_data: Path) -> Imported:
    return read_source("pandalm", reference_data / "pandalm")


@pytest.fixture(scope="session")
def pandalm_as_tie(pandalm: Imported) -> Imported:
    """Verdicts that could not be parsed as ties, which is how the published accuracies were computed."""
    verdicts = pandalm.verdicts.fillna({"choice": "tie"})
    return pandalm._replace(verdicts=verdicts.assign(status=verdicts["status"].replace("unparsed", "repaired")))


@pytest.fixture(scope="session")
def llmfao(reference_data: Path) -> Imported:
    return sets.llmfao(reference_data / "llmfao")


@pytest.fixture(scope="session")
def kqa(reference_data: Path) -> Imported:
    return sets.kqa(reference_data / "kqa")
