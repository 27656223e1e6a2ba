"""What several tests share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def reference_data() -> Path:
    """The folder of real public data that tests read; see CONTRIBUTING.md."""
    folder = os.environ.get("MRB_REFERENCE_DATA")
    if not folder:
        pytest.skip("MRB_REFERENCE_DATA is not set: the public reference data is not at hand")
    return Path(folder)
