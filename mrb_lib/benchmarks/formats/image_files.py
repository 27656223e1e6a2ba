"""The image files that names in a table stand for."""

from __future__ import annotations

import unicodedata
from collections import Counter
from pathlib import Path

from mrb_lib.tables.files import inside, is_safe_name


class ImageFiles:
    """The files that image names of a table stand for.

    Names match files however their characters are composed (NFC or NFD) and whatever their case; a name without its
    folder or without its suffix is enough where one file has it.
    """

    def __init__(self, folder: Path, *, recursive: bool) -> None:
        self._folder, self._files = folder, dict[str, str]()
        pattern = folder.rglob("*") if recursive else folder.glob("*")
        files = [path.relative_to(folder) for path in sorted(pattern) if path.is_file() or path.is_symlink()]
        shorter = [[f.as_posix() for f in files], [f.name for f in files], [f.stem for f in files]]
        for names in shorter:  # a full name goes before a shorter one that another file has as well
            keys = [_file_key(name) for name in names]
            counts = Counter(keys)
            for key, file in zip(keys, files, strict=True):
                if counts[key] == 1:
                    self._files.setdefault(key, file.as_posix())

    def find(self, name: str) -> Path | None:
        """Return the file that a name stands for; None where there is none or several.

        Raises
        ------
        InputError
            The file is a link that leads out of the folder.
        """
        plain = name.replace("\\", "/")
        if ".." in plain.split("/"):
            return None
        if is_safe_name(plain) and (self._folder / plain).is_file():
            return inside(self._folder, plain)
        file = self._files.get(_file_key(plain)) or self._files.get(_file_key(plain.rpartition("/")[2]))
        return None if file is None else inside(self._folder, file)


def _file_key(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()
