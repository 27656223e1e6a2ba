"""The image files that names in a table stand for."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping
from pathlib import Path

from mrb_lib.tables.files import inside, is_safe_name


class FoundImages(Mapping[str, bytes]):
    """The files that image names of a table stand for, read when asked for.

    Names match files however their characters are composed (NFC or NFD) and whatever their case; a name without its
    folder or without its suffix is enough where one file has it.
    """

    def __init__(self, folder: Path, *, recursive: bool) -> None:
        self._folder, self._files = folder, dict[str, str]()
        pattern = folder.rglob("*") if recursive else folder.glob("*")
        files = [path.relative_to(folder) for path in sorted(pattern) if path.is_file() or path.is_symlink()]
        for keys in (lambda f: [f.as_posix()], lambda f: [f.name], lambda f: [f.with_suffix("").as_posix(), f.stem]):
            found: dict[str, set[str]] = {}
            for file in files:
                for key in keys(file):
                    found.setdefault(_file_key(key), set()).add(file.as_posix())
            for key, same in found.items():
                if len(same) == 1:
                    self._files.setdefault(key, *same)

    def file(self, name: str) -> str | None:
        """Return the file that a name stands for, relative to the folder; None where there is none or several."""
        plain = name.replace("\\", "/")
        if ".." in plain.split("/"):
            return None
        if (self._folder / plain).is_file() and is_safe_name(plain):
            return plain
        return self._files.get(_file_key(plain)) or self._files.get(_file_key(plain.rpartition("/")[2]))

    def __getitem__(self, name: str) -> bytes:
        file = self.file(name)
        if file is None:
            raise KeyError(name)
        return inside(self._folder, file).read_bytes()

    def __contains__(self, name: object) -> bool:
        file = self.file(name) if isinstance(name, str) else None
        return file is not None and inside(self._folder, file).is_file()

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys(self._files.values()))

    def __len__(self) -> int:
        return len(set(self._files.values()))


def _file_key(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()
