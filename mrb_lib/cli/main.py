"""The entry point: runs a command, and turns errors and Ctrl-C into one plain message and an exit code."""

import io
import re
import sys
from collections import Counter

from mrb_lib.tables.errors import MrbError

_PROJECT = "mrb-workbench"
_INTERRUPTED = 130  # what Typer makes of Ctrl-C
_ON_WINDOWS = "mrb: runs on Linux and macOS; on Windows, install it inside WSL (`wsl --install`)."
_STOPPED = "mrb: interrupted; nothing is half-written, so run the same command again."


def main() -> None:
    """Run the command line; exits with 0 done, 1 failed, 2 bad input or usage."""
    if sys.platform == "win32":
        _exit(_ON_WINDOWS, 2)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # letters that a terminal lacks are escaped: \u80ba
            stream.reconfigure(errors="backslashreplace")
    try:
        # Here, so that Ctrl-C is as quiet while the commands are imported and put together as it is later.
        from mrb_lib.cli.app import app

        app()
    except KeyboardInterrupt:
        _exit(_STOPPED)
    except SystemExit as stop:
        if stop.code != _INTERRUPTED:
            raise
        _exit(_STOPPED)
    except MrbError as error:
        from mrb_lib.cli.listing import line

        _exit("\n".join(map(line, f"mrb: {error}".split("\n"))), error.exit_code)
    except ModuleNotFoundError as error:
        if not (cure := _installs(error.name or "")):
            raise
        _exit(f"mrb: this needs {error.name}; install it with `pip install {cure}`.", 2)
    except OSError as error:
        where = f"{error.filename}: " if error.filename is not None else ""
        _exit(f"mrb: {where}cannot be read or written ({error.strerror}); check the disk and its permissions.")


def _installs(module: str) -> str:
    """Return what pip installs to bring a module: the smallest extra with its package; empty if none lists it."""
    from importlib.metadata import PackageNotFoundError, requires

    try:
        lines = requires(_PROJECT) or ()
    except PackageNotFoundError:
        return ""
    listed = [re.fullmatch(r"([\w.-]+).*?(?:extra == ['\"]([\w-]+)['\"])?", line) for line in lines]
    pairs = [(found[1].replace("_", "-").lower(), found[2] or "") for found in listed if found]
    sizes = Counter(extra for _, extra in pairs)
    package = module.split(".")[0].replace("_", "-").lower()
    extras = sorted((extra for name, extra in pairs if name == package), key=sizes.__getitem__)
    return "" if not extras else f"'{_PROJECT}[{extras[0]}]'" if extras[0] else package


def _exit(text: str, code: int = 1) -> None:
    print(text, file=sys.stderr)
    sys.exit(code)


if __name__ == "__main__":
    main()
