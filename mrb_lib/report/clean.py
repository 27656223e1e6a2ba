"""What is published names no folder of the machine that made it."""

import re
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

import mrb_lib

_ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_ABSOLUTE = re.compile(r"(?<![\w.:/~-])(?:/[\w.@+-]+)+/([\w.@+-]+)")
_SURROGATE = re.compile("[\ud800-\udfff]")

Json = dict[str, object]


def without_colours(text: str) -> str:
    """The text without terminal colours."""
    return _ANSI.sub("", text)


class FolderNames:
    """Replaces the folders of this machine by plain names.

    Parameters
    ----------
    folders : the name to show for each folder; the interpreter's, the library's, the
        home and the temporary folder are added
    """

    def __init__(self, folders: Mapping[Path, str]) -> None:
        prefix, package = Path(sys.prefix), Path(mrb_lib.__file__).parent
        added = {prefix: prefix.name, package: "mrb_lib", Path(tempfile.gettempdir()): "tmp", Path.home(): "~"}
        names = {path: name for folder, name in {**folders, **added}.items() for path in _spellings(folder)}
        self._names = {path: name for path, name in names.items() if len(path) > 1}
        self._pattern = _any_of(self._names)
        self._own = _any_of(path for folder in folders for path in _spellings(folder))

    def contains_private_path(self, text: str) -> bool:
        """Return whether the text names one of the report's own folders."""
        return self._own.search(text) is not None

    def text(self, text: str) -> str:
        """The text with the known folders replaced, and half letters, which no file can hold, shown by a sign."""
        return self._pattern.sub(lambda match: self._names[match[1]], _SURROGATE.sub("\ufffd", text))

    def message(self, text: str) -> str:
        """An error message: terminal colours removed, and any other absolute path cut to its last name."""
        return _ABSOLUTE.sub(r"\1", self.text(without_colours(text)))

    def value(self, value: object, *, message: bool = False) -> object:
        """A JSON value with every text in it cleaned; of an executed notebook, errors and stderr as messages."""
        if isinstance(value, str):
            return self.message(value) if message else self.text(value)
        if isinstance(value, list):
            return [self.value(item, message=message) for item in value]
        if isinstance(value, dict):
            message = message or value.get("output_type") == "error" or value.get("name") == "stderr"
            return {key: self.value(item, message=message) for key, item in value.items()}
        return value


def _spellings(folder: Path) -> tuple[str, str]:
    return str(folder.absolute()), str(folder.resolve())


def _any_of(paths: Iterable[str]) -> re.Pattern[str]:
    longest_first = sorted(set(paths), key=len, reverse=True)
    return re.compile(rf"(?<![\w.-])({'|'.join(map(re.escape, longest_first))})(?![\w.-])")
