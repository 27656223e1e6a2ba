"""What several tests share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

# The same examples every time, and no limit on how long one takes: speed is measured in tests/benchmarks.
settings.register_profile("workbench", derandomize=True, deadline=None)
settings.load_profile("workbench")


@pytest.fixture(scope="session")
def reference_data() -> Path:
    """The folder of real public data that tests read; see CONTRIBUTING.md."""
    folder = os.environ.get("MRB_REFERENCE_DATA")
    if not folder:
        pytest.skip("MRB_REFERENCE_DATA is not set: the public reference data is not at hand")
    return Path(folder)
