"""Texts that image files hold beside their pixels, such as a patient's name in EXIF: removed, the pixels untouched."""

import io
import struct
import zlib
from typing import Final

from PIL import ExifTags, Image

from mrb_lib.tables.errors import InputError

_ORIENTATION: Final = 0x0112
_PNG: Final = b"\x89PNG\r\n\x1a\n"
_PNG_TEXTS: Final = (b"tEXt", b"zTXt", b"iTXt", b"eXIf")
_JPEG_KEPT: Final = {0xE0, 0xE2, 0xEE}
"""The application segments of a JPEG that show it: JFIF, colour profile, Adobe's transform."""
_TIFF_TEXT, _TIFF_BYTES, _TIFF_FOLDERS = 2, (1, 7), (34665, 34853, 330)
_TIFF_BLOCKS: Final = (700, 33723, 34377, *range(40091, 40096), 37500, 37510)
"""Tags whose bytes are texts: XMP, IPTC, Photoshop, Windows' own, the camera maker's note and the user's comment."""


def without_texts(content: bytes, name: str = "image") -> tuple[bytes, list[str]]:
    """Return an image file without the texts beside its pixels, and what they were called.

    Returns
    -------
    bytes
        The same pixels, orientation and colour profile; the very bytes where there is no text. A WebP is encoded
        again, without loss. DICOM files are
        returned as they are, see `mrb_lib.benchmarks.images.dicom.without_patient`.
    list of str
        "EXIF Artist", "PNG text Comment" and the like.

    Raises
    ------
    InputError
        The file is a GIF with a comment or a TIFF beyond 4 GB, whose texts cannot be removed.

    Notes
    -----
    Validated by tests/benchmarks/images/test_metadata.py.
    """
    try:
        if content.startswith(_PNG):
            return _png(content)
        if content.startswith(b"\xff\xd8\xff"):
            return _jpeg(content)
        if content.startswith((b"II*\0", b"MM\0*")):
            return _tiff(content)
        if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
            return _webp(content)
    except (struct.error, IndexError, OSError):
        return content, []  # a damaged file, which whoever decodes it reports
    except Image.DecompressionBombError as error:
        raise InputError(f"{name}: is too large to show safely ({error}); shrink it.") from error
    if content.startswith((b"II+\0", b"MM\0+")) or (content.startswith(b"GIF8") and b"\x21\xfe" in content):
        raise InputError(f"{name}: may hold texts that name a patient and cannot be removed; store it as PNG.")
    return content, []


def _png(content: bytes) -> tuple[bytes, list[str]]:
    kept, removed, place = [_PNG], list[str](), len(_PNG)
    while place < len(content):
        (length,) = struct.unpack_from(">I", content, place)
        kind, data = content[place + 4 : place + 8], content[place + 8 : place + 8 + length]
        chunk, place = content[place : place + 12 + length], place + 12 + length
        if kind == b"eXIf":
            data, names = _exif_without_texts(data)
            removed += names
            if names:
                chunk = struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
                chunk = chunk if data else b""
        elif kind in _PNG_TEXTS:
            removed.append(f"PNG text {data.partition(bytes(1))[0].decode('latin-1')}")
            continue
        kept.append(chunk)
    return (b"".join(kept), removed) if removed else (content, [])


def _jpeg(content: bytes) -> tuple[bytes, list[str]]:
    kept, removed, place = [content[:2]], list[str](), 2
    while content[place] == 0xFF and content[place + 1] != 0xDA:
        kind = content[place + 1]
        (length,) = struct.unpack_from(">H", content, place + 2)
        segment, place = content[place : place + 2 + length], place + 2 + length
        data = segment[4:]
        if kind == 0xE1 and data.startswith(b"Exif\0\0"):
            data, names = _exif_without_texts(data)
            removed += names
            if names:
                segment = b"\xff\xe1" + struct.pack(">H", len(data) + 8) + b"Exif\0\0" + data if data else b""
        elif kind == 0xFE or (0xE0 <= kind <= 0xEF and kind not in _JPEG_KEPT):
            title = data[:20].partition(bytes(1))[0].decode("latin-1")
            removed.append("JPEG comment" if kind == 0xFE else f"JPEG segment {title}")
            continue
        kept.append(segment)
    return (b"".join([*kept, content[place:]]), removed) if removed else (content, [])


def _webp(content: bytes) -> tuple[bytes, list[str]]:
    with Image.open(io.BytesIO(content), formats=["WEBP"]) as image:
        exif, removed = _exif_without_texts(image.info.get("exif", b""))
        removed += ["WebP XMP"] if "xmp" in image.info else []
        if not removed:
            return content, []
        stream, profile = io.BytesIO(), image.info.get("icc_profile")
        image.save(stream, "WEBP", lossless=True, exact=True, save_all=True, exif=exif, icc_profile=profile)
    return stream.getvalue(), removed


def _tiff(content: bytes) -> tuple[bytes, list[str]]:
    order, blanked, removed = "<" if content[:2] == b"II" else ">", bytearray(content), list[str]()
    folders, seen = list(struct.unpack_from(order + "I", content, 4)), set[int]()
    while folders:
        start = folders.pop()
        if not start or start in seen:
            continue
        seen.add(start)
        (entries,) = struct.unpack_from(order + "H", content, start)
        for place in range(start + 2, start + 2 + 12 * entries, 12):
            tag, kind, n = struct.unpack_from(order + "HHI", content, place)
            (value,) = struct.unpack_from(order + "I", content, place + 8)
            if tag in _TIFF_FOLDERS and n == 1:
                folders.append(value)
            elif kind == _TIFF_TEXT or (tag in _TIFF_BLOCKS and kind in _TIFF_BYTES):
                first = place + 8 if n <= 4 else value
                if content[first : first + n].strip(b"\0 "):
                    removed.append(f"TIFF {ExifTags.TAGS.get(tag, tag)}")
                    blanked[first : first + n] = bytes(len(content[first : first + n]))
        folders += struct.unpack_from(order + "I", content, start + 2 + 12 * entries)
    return (bytes(blanked), removed) if removed else (content, [])


def _exif_without_texts(data: bytes) -> tuple[bytes, list[str]]:
    """Return EXIF data of nothing but the orientation, empty where that is upright, and the names of the other tags."""
    exif, kept = Image.Exif(), Image.Exif()
    try:
        exif.load(data)
        names = [f"EXIF {ExifTags.TAGS.get(tag, tag)}" for tag in exif if tag != _ORIENTATION]
        kept[_ORIENTATION] = exif.get(_ORIENTATION, 1)
    except Exception:  # noqa: BLE001  # Pillow raises nearly anything on damaged EXIF, which is removed as a whole
        return b"", ["EXIF"]
    return kept.tobytes().removeprefix(b"Exif\0\0") if kept[_ORIENTATION] != 1 else b"", names
