"""Parquet files that carry a digest of themselves in their own metadata, by which a flipped bit is noticed.

So the two cannot come apart, whoever copies or renames the file. The digest is of the whole file, its own place taken
as zeros: checksums of pages leave the footer and the headers of pages uncovered.
"""

import hashlib
import io
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

DIGEST_KEY: Final = b"mrb_blake2b"
_SIZE: Final = 16
_GAP: Final = 2
"""Bytes between a key and its value in the metadata of parquet: the kind of the value, and its length."""
_BLANK: Final = b"0" * (2 * _SIZE)


def with_digest(table: pa.Table) -> bytes:
    """Return a table as a parquet file with its digest."""
    stream = io.BytesIO()
    stated = {key: text for key, text in (table.schema.metadata or {}).items() if key != DIGEST_KEY}
    table = table.replace_schema_metadata(stated)  # without the digest of the file that it was read from
    with pq.ParquetWriter(stream, table.schema, compression="zstd") as writer:
        writer.write_table(table)
        writer.add_key_value_metadata({DIGEST_KEY: _BLANK})
    content = stream.getvalue()
    start = content.rindex(DIGEST_KEY) + len(DIGEST_KEY) + _GAP
    return content[:start] + _digest(content, start) + content[start + len(_BLANK) :]


def has_digest(content: bytes) -> bool:
    """Return True for a file that states a digest, which is its own; False where another program wrote it.

    It is looked for in the bytes: damage can hide it from a reader of parquet, which stops where it sees an end.

    Raises
    ------
    ValueError
        The digest is not that of the file.
    """
    start = content.rfind(DIGEST_KEY) + len(DIGEST_KEY) + _GAP
    if DIGEST_KEY in content and content[start : start + len(_BLANK)] != _digest(content, start):
        raise ValueError(f"its checksum differs; a program that edits it must drop the metadata {DIGEST_KEY.decode()}")
    return DIGEST_KEY in content


def _digest(content: bytes, start: int) -> bytes:
    """Return the digest in hexadecimal of a file in which the digest itself, at `start`, counts as zeros."""
    blanked = content[:start] + _BLANK + content[start + len(_BLANK) :]
    return hashlib.blake2b(blanked, digest_size=_SIZE).hexdigest().encode("ascii")
