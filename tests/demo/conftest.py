"""Simulated benchmarks shared by the tests of the demo."""

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from mrb_lib.benchmarks.benchmark import Benchmark, load
from mrb_lib.demo import build, write_demo

SMALL = 130
SEED = 7


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of 130 cases with their pictures."""
    folder = tmp_path_factory.mktemp("small")
    write_demo(folder, cases=SMALL, seed=SEED)
    return folder


@pytest.fixture(scope="session")
def published(tmp_path_factory: pytest.TempPathFactory) -> Benchmark:
    """The default benchmark of 1,026 cases, written without its pictures, which take most of the time."""
    folder = tmp_path_factory.mktemp("published")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build, "draw_picture", lambda scene, rng: b"")
        write_demo(folder)
    return load(folder)


@pytest.fixture(scope="session")
def truth(published: Benchmark) -> pd.DataFrame:
    """What is behind the default benchmark."""
    assert published.path is not None
    return pd.read_parquet(published.path / "truth.parquet")


@pytest.fixture
def written(tmp_path: Path) -> Callable[..., Path]:
    """Writes a benchmark into a new folder."""

    def write(name: str, **options: int) -> Path:
        folder = tmp_path / name
        folder.mkdir()
        write_demo(folder, **options)
        return folder

    return write
