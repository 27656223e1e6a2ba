"""Where an app listens and who may use it: token and port are kept in the benchmark's folder, so that links stay."""

import hashlib
import ipaddress
import json
import os
import re
import secrets
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from mrb_lib.tables.errors import InputError

FILE: Final = ".mrb-access.json"
_TOKEN = re.compile(r"[\w-]{43}")


@dataclass(frozen=True)
class Address:
    """Where an app listens, and how others reach it.

    Attributes
    ----------
    host, port : as `check_address` found them usable
    token : who has it may use the app
    base_url : the address by which a proxy leads here, such as https://hub.example/user/me/proxy/8000/, or its path
        alone; empty without a proxy
    """

    host: str
    port: int
    token: str
    base_url: str = ""

    @property
    def url(self) -> str:
        """The address to open, without the token; a host that stands for every address is this machine's name."""
        public = urlsplit(self.base_url)
        host = socket.gethostname() if self.host in ("", "0.0.0.0", "::") else self.host  # noqa: S104  not bound to
        own = f"http://{f'[{host}]' if ':' in host else host}:{self.port}"
        return f"{f'{public.scheme}://{public.netloc}' if public.netloc else own}{self.path}/"

    @property
    def path(self) -> str:
        """The path of the base URL, without a slash at its end."""
        return urlsplit(self.base_url).path.rstrip("/")

    @property
    def cookie(self) -> str:
        """The name of the cookie: apps on other ports of this machine have others."""
        return f"mrb-{hashlib.sha256(self.token.encode()).hexdigest()[:12]}"

    def knows(self, host: str) -> bool:
        """Whether requests may name this host; any other may be a page of somebody else that found the way here."""
        named = host.lower().rstrip(".")
        own = {self.host, "localhost", socket.gethostname(), socket.getfqdn(), urlsplit(self.base_url).hostname}
        return named in {each.lower() for each in own if each} or _is_number(named)


def check_address(host: str, port: int | None, allow_remote: bool) -> int:
    """Return a port to listen on.

    Raises
    ------
    InputError
        The host is not this machine and `allow_remote` is false, or nothing can listen there.
    """
    if not (host == "localhost" or (_is_number(host) and ipaddress.ip_address(host).is_loopback) or allow_remote):
        raise InputError(
            f"--host {host}: other machines could reach it, and the traffic with its token is not encrypted; "
            "add --allow-remote if the network is trusted, or leave --host out and use an SSH tunnel."
        )
    try:
        family, kind, protocol, _, socket_address = socket.getaddrinfo(host, port or 0, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as trial:
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            trial.bind(socket_address)
            return int(trial.getsockname()[1])
    except (OSError, OverflowError) as error:
        raise InputError(f"{host}, port {port or 'any'}: cannot be used ({error}); choose another.") from error


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
        As `check_address`.
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


def _is_number(host: str) -> bool:
    """Return whether a host is an IP address, which no other site can take as its name."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
