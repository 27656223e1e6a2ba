"""What the tests of the reviewer's app share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.several_parts import several_parts


@pytest.fixture(scope="module", autouse=True)
def _runs_of_several_parts() -> Iterator[None]:
    with several_parts():
        yield
