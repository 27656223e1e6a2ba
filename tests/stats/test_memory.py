"""Memory that is freed is used again; on Linux with glibc, where it is not as things come."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

from mrb_lib.stats import memory

_FAULTS = """
import resource, sys
import numpy as np
from mrb_lib.stats.memory import keep_freed

def faults(rounds):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(rounds):
        arrays = [np.ones(2**17) for _ in range(30)]
        del arrays
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

as_it_comes = faults(20)
told = keep_freed()
faults(1)
print(as_it_comes, told, faults(20))
"""


def test_arrays_reuse_the_memory_of_those_before() -> None:
    done = subprocess.run([sys.executable, "-c", _FAULTS], capture_output=True, text=True, check=True)
    as_it_comes, told, kept = done.stdout.split()
    assert told == "True"
    assert int(as_it_comes) > 20 * 1000  # 30 MB a round are 7,680 pages of 4 KiB
    assert int(kept) < 1000


def test_other_c_libraries_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "libc_ver", lambda: ("", ""))
    assert memory.keep_freed() is False
