"""Install the Debian packages that a make target needs, or stop with the one command that does.

    python3 tests/debian_packages.py report|tests|browser...

It runs before anything of the project is installed, so it imports the standard library only. It installs as root or
with passwordless sudo; otherwise it prints the command and exits with 2.
"""

import os
import shutil
import subprocess
import sys
from ctypes.util import find_library
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple


class Need(NamedTuple):
    """A program, the Debian package that brings it, and whether this machine has it."""

    group: str
    name: str
    package: str
    is_met: bool


def needs() -> list[Need]:
    """Return what each group of targets uses that pip does not bring."""
    postgresql = any(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    chromium = any(map(shutil.which, ("chromium-headless-shell", "chromium")))
    libatomic = sys.platform != "linux" or find_library("atomic") is not None  # for the Node.js inside playwright
    return [
        Need("report", "Python's venv", "python3-venv", find_spec("ensurepip") is not None),
        Need("tests", "PostgreSQL", "postgresql", postgresql),
        Need("tests", "pdflatex", "texlive-latex-recommended", shutil.which("pdflatex") is not None),
        Need("browser", "Chromium", "chromium-headless-shell", chromium),
        Need("browser", "libatomic", "libatomic1", libatomic),
    ]


def main(groups: list[str]) -> int:
    """Return 0 when every need of these groups is met, else 2 after printing how to meet it."""
    missing = [need for need in needs() if need.group in groups and not need.is_met]
    if not missing:
        return 0
    names = ", ".join(need.name for need in missing)
    install = ["apt-get", "install", "--yes", "--no-install-recommends", *(need.package for need in missing)]
    if shutil.which("apt-get") is None:
        print(f"{names}: needed here and not found; install with this system's package manager.", file=sys.stderr)
        return 2
    as_root = [] if os.geteuid() == 0 else ["sudo", "--non-interactive"]
    if as_root and not _succeeds([*as_root, "true"]):
        print(f"{names}: needed here and not found; install with:\n  sudo {' '.join(install)}", file=sys.stderr)
        return 2
    print(f"{names}: needed here and not found; running {' '.join(install)} ...", flush=True)
    quiet = [*as_root, "env", "DEBIAN_FRONTEND=noninteractive"]
    if _succeeds([*quiet, "apt-get", "update"]) and _succeeds([*quiet, *install]):
        return 0
    print(f"{names}: could not be installed; see why with:\n  sudo {' '.join(install)}", file=sys.stderr)
    return 2


def _succeeds(command: list[str]) -> bool:
    try:
        return subprocess.run(command, check=False, capture_output=True).returncode == 0
    except OSError:
        return False


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
