"""A forked process does as one that was started: its output, folder, environment, exit status and end are its own."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from mrb_lib.cli.preloaded import ADDRESS, command, preloaded

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are forked on Linux only")
SHOW = "import os, sys; print(sys.argv[-1], os.getcwd(), os.environ['OWN'], hash('a'), __name__, flush=True); "


@pytest.fixture(scope="module")
def environment() -> Iterator[dict[str, str]]:
    with preloaded({**os.environ, "PYTHONHASHSEED": "0"}, ["matplotlib", "nowhere.to.be.found"]) as environment:
        assert environment[ADDRESS]
        yield environment
    assert not Path(environment[ADDRESS]).exists()


def once(code: str, environment: Mapping[str, str]) -> list[str]:
    """A command that runs some code: the module `timeit` does, and nothing has loaded it."""
    return command("timeit", "-n", "1", "-r", "1", code, environment=environment)


AT_EXIT = "import atexit; atexit.register(lambda: print('at its end')); sys.stdout.write('not flushed'); "


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("pass", 0),
        ("os._exit(7)", 7),
        ("1 / 0", 1),
        (AT_EXIT, 0),
        (AT_EXIT + "1 / 0", 1),
    ],
)
def test_output_arguments_folder_environment_and_status_are_its_own(
    code: str, status: int, tmp_path: Path, environment: dict[str, str]
) -> None:
    own = {**environment, "OWN": "here"}
    forked, started = (
        subprocess.run(once(SHOW + code, each), cwd=tmp_path, env=own, capture_output=True, text=True, check=False)
        for each in (environment, {})
    )
    timed = "loop, best of"  # in the last words of `timeit`
    said = [[line for line in each.stdout.split("\n") if timed not in line] for each in (forked, started)]
    assert (forked.returncode, said[0]) == (started.returncode, said[1])
    assert forked.returncode == status
    assert str(tmp_path) in forked.stdout
    assert ("ZeroDivisionError" in forked.stderr) == (status == 1)


def test_what_one_process_changes_no_other_sees(tmp_path: Path, environment: dict[str, str]) -> None:
    change = "import matplotlib, os, random; print(matplotlib.rcParams['font.size'], os.environ.get('X'));"
    change += "matplotlib.rcParams['font.size'] = 99; os.environ['X'] = '1'"
    said = [
        subprocess.run(once(change, environment), env=environment, capture_output=True, text=True, check=True)
        for _ in range(2)
    ]
    assert [one.stdout.split("\n")[0] for one in said] == ["10.0 None", "10.0 None"]


def test_it_ends_when_the_one_that_stands_for_it_is_stopped(tmp_path: Path, environment: dict[str, str]) -> None:
    mark = tmp_path / "mark"
    code = f"import os, time, pathlib; pathlib.Path({str(mark)!r}).write_text(str(os.getpid())); time.sleep(60)"
    with subprocess.Popen(once(code, environment), env=environment) as client:
        deadline = time.monotonic() + 30
        while not (mark.is_file() and mark.read_text()):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        client.terminate()
    forked = Path(f"/proc/{mark.read_text()}")
    while forked.exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)
