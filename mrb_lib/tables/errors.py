"""The errors a user can meet.

Every message says what is wrong, where (file, row, column, case) and what to do
next. The command line prints the message alone, without a traceback, and exits
with `exit_code`.
"""


class MrbError(Exception):
    """Base of all errors raised on purpose; the command line exits with 1."""

    exit_code = 1


class InputError(MrbError):
    """The input or the usage is wrong; nothing was written. Exit code 2."""

    exit_code = 2


class RunError(MrbError):
    """Work that was well specified could not be carried out. Exit code 1."""
