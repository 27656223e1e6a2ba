"""The token and the port of each app of a benchmark, kept in its folder so that a restart changes no link."""

from __future__ import annotations

import json
import os
import re
import secrets
from pathlib import Path
from typing import Final

from mrb_lib.review.server import Address, check_address
from mrb_lib.tables.errors import InputError

FILE: Final = ".mrb-access.json"
_TOKEN = re.compile(r"[\w-]{43}")


def address_of(
    folder: Path, app: str, *, host: str, port: int | None, allow_remote: bool, base_url: str = "", renew: bool = False
) -> Address:
    """Return where an app listens, with the token and the port of last time.

    Parameters
    ----------
    folder : of the benchmark; where it cannot be written, nothing is kept
    app : its name: those of annotators and coordinators have tokens of their own
    port : None takes that of last time, or else a free one
    renew : make another token; links with the old one open nothing any more

    Raises
    ------
    InputError
        As `mrb_lib.review.server.check_address`.
    """
    kept = _read(folder / FILE)
    before = kept.get(app, {})
    token = str(before.get("token", ""))
    if renew or not _TOKEN.fullmatch(token):
        token = secrets.token_urlsafe(32)
    usual = before.get("port")
    try:
        chosen = check_address(host, port or (usual if isinstance(usual, int) else None), allow_remote)
    except InputError:
        if port or usual is None:
            raise
        chosen = check_address(host, None, allow_remote)
    _write(folder / FILE, {**kept, app: {"token": token, "port": chosen}})
    return Address(host, chosen, token, base_url)


def _read(path: Path) -> dict[str, dict[str, object]]:
    """What was kept; nothing where the file is missing, damaged, or may be read by others, who would know the token."""
    try:
        if path.stat().st_mode & 0o077:
            return {}
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return {name: each for name, each in content.items() if isinstance(each, dict)} if isinstance(content, dict) else {}


def _write(path: Path, content: dict[str, dict[str, object]]) -> None:
    """Keep it for its owner alone; a folder that cannot be written keeps nothing."""
    beside = path.with_name(f"{FILE}.{os.getpid()}")
    try:
        with open(beside, "w", encoding="utf-8", opener=lambda name, flags: os.open(name, flags, 0o600)) as stream:
            json.dump(content, stream)
        beside.replace(path)
    except OSError:
        beside.unlink(missing_ok=True)
