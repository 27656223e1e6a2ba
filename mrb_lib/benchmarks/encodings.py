"""Texts of files in the encodings that desks use."""

import codecs
import re
from contextlib import suppress
from pathlib import Path

from mrb_lib.tables.errors import InputError
from mrb_lib.tables.files import readable


def decoded(content: bytes) -> tuple[str, str]:
    """Return the text of a file and its encoding.

    A byte order mark decides between UTF-8 and UTF-16 and is left out. A text without one that is not UTF-8 is taken
    for Japanese if a fifth of its characters beyond ASCII are kana; for Chinese if its bytes beyond ASCII are words of
    two bytes per character and most of those are common ones; else for Windows-1252, which nearly all other files of
    Western Europe and America are.
    """
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return content.decode("utf-16"), "UTF-16"
    if b"\0" in content.partition(b"\n")[0]:
        reason = "it has null bytes, as UTF-16 without a byte order mark"
        raise UnicodeDecodeError("UTF-8", content, 0, 1, reason)
    with suppress(UnicodeDecodeError):
        return content.decode("utf-8-sig"), "UTF-8"
    with suppress(UnicodeDecodeError):
        japanese = content.decode("cp932")
        if len(re.findall(r"[\u3040-\u30ff]", japanese)) > 0.2 * len(re.findall(r"[^\x00-\x7f]", japanese)):
            return japanese, "Shift-JIS"
    words = re.findall(rb"[\x80-\xff]+", content[:1_000_000])
    firsts = re.findall(rb"([\x80-\xff])(?!\1)[\x80-\xff]", content[:1_000_000])
    is_common = sum(b"\xb0" <= first <= b"\xd7" for first in firsts) > 0.6 * len(firsts)  # the 3,755 of GB 2312
    is_long = sum(map(len, words)) >= 4 * len(words)
    if is_common and is_long and sum(len(word) % 2 for word in words) <= len(words) / 10:
        with suppress(UnicodeDecodeError):
            return content.decode("gb18030"), "GB 18030"
    return content.decode("cp1252", errors="replace"), "Windows-1252"


def read_text(path: Path) -> str:
    """Return the text of a file in UTF-8, or in UTF-16 with a byte order mark, without that mark.

    Raises
    ------
    InputError
        The file is missing, cannot be read, or has another encoding; names the line.
    """
    with readable(path):
        content = path.read_bytes()
        text, encoding = decoded(content)
    if encoding.startswith("UTF"):
        return text
    line = next(i for i, each in enumerate(content.split(b"\n"), start=1) if decoded(each)[1] != "UTF-8")
    raise InputError(f"{path}, line {line}: is not UTF-8 text but probably {encoding}; convert the file to UTF-8.")
