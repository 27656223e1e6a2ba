"""What the tests of the reviewer's app share."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from mrb_lib.review.records.store import Store, open_store
from tests.several_parts import several_parts


@pytest.fixture(scope="module", autouse=True)
def _runs_of_several_parts() -> Iterator[None]:
    with several_parts():
        yield


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(tmp_path / "reviews.sqlite") as opened:
        yield opened
