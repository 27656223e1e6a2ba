"""A store in a file, and one in PostgreSQL, whose server the tests start themselves."""

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


def _programs() -> Path:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    assert found, "PostgreSQL is not installed: `make setup` installs it"
    return found[-1].parent


@pytest.fixture(scope="session")
def postgresql() -> Iterator[str]:
    """The URL of an empty database, reached by a socket alone."""
    programs = _programs()
    folder = Path(tempfile.mkdtemp(prefix="mrb-pg-", dir="/tmp"))  # the path of a socket is 107 bytes at most
    user = "postgres" if os.geteuid() == 0 else pwd.getpwuid(os.geteuid()).pw_name
    as_user = ["runuser", "-u", user, "--"] if os.geteuid() == 0 else []

    def run(*command: str) -> None:
        done = subprocess.run([*as_user, *command], cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr or done.stdout

    shutil.chown(folder, user)
    data = str(folder / "data")
    run(str(programs / "initdb"), "-D", data, "-U", "mrb", "--auth=trust", "--encoding=UTF8", "--no-sync")
    options = f"-c listen_addresses='' -k {folder} -c fsync=off"
    run(str(programs / "pg_ctl"), "-D", data, "-w", "-l", str(folder / "log"), "-o", options, "start")
    try:
        yield f"postgresql:///postgres?host={folder}&user=mrb"
    finally:
        run(str(programs / "pg_ctl"), "-D", data, "-w", "-m", "immediate", "stop")
        shutil.rmtree(folder)
