"""A kernel that starts at once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from .forked_kernels import NAME, forked_kernels


@pytest.fixture(scope="session")
def forked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The name of a kernel that starts at once; that notebooks run in a fresh one is shown on the full benchmark."""
    with forked_kernels(tmp_path_factory.mktemp("forked")) as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("JUPYTER_PATH", str(folder))
        yield NAME
