"""The errors a user can meet.

Every message says what is wrong, where (file, row, column, case) and what to do
next. The command line prints the message alone, without a traceback, and exits
with `exit_code`; so do notebooks.
"""

from collections.abc import Iterable
from difflib import get_close_matches
from urllib.parse import urlsplit, urlunsplit


class MrbError(Exception):
    """Base of all errors raised on purpose; the command line exits with 1."""

    exit_code = 1

    def _render_traceback_(self) -> list[str]:
        """Return the lines that IPython shows: the message alone."""
        return [f"{type(self).__name__}: {self}"]


class InputError(MrbError):
    """The input or the usage is wrong; nothing was written. Exit code 2."""

    exit_code = 2


class NotApplicable(InputError):  # noqa: N818  # the data are to blame, not the user
    """The data lack what was asked for, such as verdicts or a second annotator; `mrb report` shows it and goes on."""

    def _render_traceback_(self) -> list[str]:
        return [f"Not applicable: {self}"]


class RunError(MrbError):
    """Work that was well specified could not be carried out. Exit code 1."""


def nearest(name: str, names: Iterable[object]) -> str:
    """Return the question whether a mistyped name was meant to be one of `names`; empty where none is close."""
    by_lower = {str(each).lower(): str(each) for each in names}
    near = get_close_matches(name.lower(), by_lower, 1, 0.6)
    return f" Did you mean {by_lower[near[0]]}?" if near else ""


def without_secrets(url: str) -> str:
    """Return an address without the user, the password and the query, any of which may be a key."""
    try:
        parts = urlsplit(url)
        return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))
    except ValueError:
        return ""
