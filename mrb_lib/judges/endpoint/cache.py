"""Replies that were paid for, kept beside the runs so that no request is paid for twice.

A reply is found by a hash of all that was asked for: the server, the model, the sampling, the text and the images.
Runs of the same folder share them: where one of sixty cases was edited, the new run asks about that case alone. What a
reply cost is stated by one verdict, the first that is made of it; and by the same verdict again where it is made again,
as after a kill before it was stored.

The file holds replies and hashes, no question, response or image; but a reply may quote the case that it is about,
as it may in a run, so the file is its owner's alone. It stays when a run is removed: remove it, too. The key of a
server is never in a reply.
"""

import hashlib
import json
import sqlite3
from dataclasses import asdict
from pathlib import Path
from threading import Lock
from typing import Any, Final

from mrb_lib.judges.endpoint.reply import ChatReply, Token

FILE_NAME: Final = ".replies.sqlite"
_PATIENCE_S: Final = 30.0


class ReplyCache:
    """Replies by what was asked, in an SQLite file that several threads and processes may use at a time.

    Where the file cannot be used, it is not: every request is sent, and the user is told.

    Parameters
    ----------
    path : created with the first use; None keeps nothing
    notices : grows with what the user should know
    """

    def __init__(self, path: Path | None, notices: dict[str, None]) -> None:
        self._path, self._notices, self._lock = path, notices, Lock()
        self._database: sqlite3.Connection | None = None

    def get(self, asked: bytes) -> ChatReply | None:
        """Return the reply to what was asked; None where there is none, or it is damaged."""
        rows = self._execute("SELECT reply, digest FROM paid WHERE asked = ?", (_hash(asked),))
        if not rows or _hash(rows[0][0].encode()) != rows[0][1]:
            return None
        return _read(rows[0][0])

    def put(self, asked: bytes, reply: ChatReply) -> None:
        """Keep a reply, in place of an earlier one; no verdict states yet what it cost."""
        written = _written(reply)
        self._execute(
            "INSERT OR REPLACE INTO paid VALUES (?, ?, ?, 0)", (_hash(asked), written, _hash(written.encode()))
        )

    def claim(self, asked: bytes, verdict: str) -> bool:
        """Return whether a verdict, by its name, states the cost of a kept reply: no other one did before."""
        claims = (
            "UPDATE paid SET is_stated = iif(is_stated = 0, ?2, is_stated) WHERE asked = ?1 RETURNING is_stated = ?2"
        )
        return self._execute(claims, (_hash(asked), _hash(verdict.encode()))) in ([(1,)], [])

    def __contains__(self, asked: bytes) -> bool:
        # To look is no reason to make the file.
        is_there = self._path is not None and self._path.is_file()
        return is_there and bool(self._execute("SELECT 1 FROM paid WHERE asked = ?", (_hash(asked),)))

    def close(self) -> None:
        """Let go of the file until it is used again."""
        with self._lock:
            if self._database is not None:
                self._database.close()
                self._database = None

    def _execute(self, statement: str, values: tuple[object, ...]) -> list[tuple[Any, ...]]:
        with self._lock:
            if self._path is None:
                return []
            try:
                if self._database is None:
                    self._database = _opened(self._path)
                return self._database.execute(statement, values).fetchall()
            except (sqlite3.Error, OSError) as error:
                # What is locked, full or read-only is as it was; only what is no database has to go.
                is_kept = isinstance(error, sqlite3.OperationalError | OSError)
                cure = "others may use it; it is left as it is" if is_kept else "remove the file"
                self._notices.setdefault(f"{self._path}: replies are neither kept nor found there ({error}); {cure}")
                self._path = None
                return []


def _opened(path: Path) -> sqlite3.Connection:
    path.touch(mode=0o600)  # a reply may quote a case
    # The lock of `ReplyCache` lets one thread at a time use it.
    database = sqlite3.connect(path, timeout=_PATIENCE_S, isolation_level=None, check_same_thread=False)
    columns = "asked BLOB PRIMARY KEY, reply TEXT NOT NULL, digest BLOB NOT NULL, is_stated INTEGER NOT NULL"
    database.execute(f"CREATE TABLE IF NOT EXISTS paid ({columns}) WITHOUT ROWID")
    return database


def _hash(asked: bytes) -> bytes:
    return hashlib.blake2b(asked, digest_size=32).digest()


def _written(reply: ChatReply) -> str:
    tokens = [[token.content.hex(), dict(token.alternatives), token.unlisted] for token in reply.tokens]
    return json.dumps(asdict(reply) | {"tokens": tokens})


def _read(text: str) -> ChatReply:
    values = json.loads(text)
    tokens = [Token(bytes.fromhex(content), *others) for content, *others in values.pop("tokens")]
    return ChatReply(**values, tokens=tuple(tokens))
