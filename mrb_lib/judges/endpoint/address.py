"""The address of a server, the permission to send cases there, and the key it asks for."""

import ipaddress
import os
import re
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import SplitResult, urlsplit

from mrb_lib.judges.roster.entry import Entry
from mrb_lib.judges.settings import Settings
from mrb_lib.tables.errors import InputError

KEY_ENV: Final = "MRB_ENDPOINT_KEY"
_PORTS: Final = {"http": 80, "https": 443}
# Shorter ones ("EMPTY", "none") are what servers that check no key are given: no secret, and common words of replies.
_SHORTEST_SECRET: Final = 8


@dataclass(frozen=True)
class Address:
    """A server.

    Attributes
    ----------
    url : base URL with its port and without a slash at its end; nothing secret
    host : host and port, for people
    is_local : whether it is this machine, by its literal name or number
    is_encrypted : whether it is spoken to through TLS
    key_env : the environment variable that holds the key
    key : empty where none is sent; never shown, by `repr` either
    proxy : that a server elsewhere is spoken to through; None for none
    ca_file : certificates in PEM form that are trusted too; None for none
    """

    url: str
    host: str
    is_local: bool
    is_encrypted: bool
    key_env: str
    key: str = field(repr=False)
    proxy: str | None = field(default=None, repr=False)
    ca_file: str | None = None

    def without_key(self, text: str) -> str:
        """A text that the server sent, with the key blotted out should the server echo it."""
        return text.replace(self.key, "[key]") if len(self.key) >= _SHORTEST_SECRET else text


def address(entry: Entry, settings: Settings) -> Address:
    """Return the server of a judge, once everything about it is in order.

    The key is that of the variable `entry.key_env`; where the user names a server
    other than the entry's own, it is `MRB_ENDPOINT_KEY`, because a provider's key must
    not go to anyone else.

    Raises
    ------
    InputError
        There is no URL, or it is malformed or holds credentials; the server is not this
        machine and that was not allowed; the key is missing or cannot be sent.
    """
    base_url = settings.url or entry.base_url
    if not base_url:
        raise InputError(f"judge {entry.name}: no server is named; pass --url, as in --url http://127.0.0.1:8000/v1.")
    parts, port = _split(base_url)
    name = parts.hostname or ""
    host = f"[{name}]:{port}" if ":" in name else f"{name}:{port}"
    is_local = _is_loopback(name)
    if not is_local and not settings.allow_remote:
        raise InputError(
            f"judge {entry.name}: {host} is not this machine, and questions, responses and images would be sent there; "
            "pass --allow-remote if they may leave."
        )
    key_env = entry.key_env if entry.key_env and _is_own(parts, port, entry) else KEY_ENV
    key = _key(entry.name, key_env, required=not is_local and key_env != KEY_ENV)
    url = f"{parts.scheme}://{host}{parts.path.rstrip('/')}"
    proxy = None if is_local else settings.proxy
    if proxy is not None and not re.fullmatch(r"https?://[^/?#\s]+/?", proxy):  # it may hold a password
        raise InputError("the proxy's URL is malformed; write it as http://proxy.example.org:3128.")
    return Address(url, host, is_local, parts.scheme == "https", key_env, key, proxy, settings.ca_file)


def _split(url: str) -> tuple[SplitResult, int]:
    """Return the parts of a URL. Its text is in no message: it may hold a password."""
    parts, port = SplitResult("", "", "", "", ""), 0
    with suppress(ValueError):
        parts = urlsplit(url)
        port = parts.port or _PORTS.get(parts.scheme, 0)
    is_known = parts.scheme in _PORTS and port and parts.hostname
    if not is_known or not url.isascii() or not url.isprintable() or " " in url:
        raise InputError("the server's URL is malformed; write it as http://127.0.0.1:8000/v1.")
    if "@" in parts.netloc or "?" in url or "#" in url:
        raise InputError(
            f"the URL of the server at {parts.hostname} holds a user or password, a query or a fragment, which would "
            f"stand in the manifest; give the base URL alone, and put a key into the environment variable {KEY_ENV}."
        )
    return parts, port


def _is_loopback(host: str) -> bool:
    """Return whether a host is this machine by its literal name or number; any other name may resolve to anywhere."""
    try:
        number = ipaddress.ip_address(host)
    except ValueError:
        return host == "localhost"
    return number.is_loopback if number.version == 4 else number == ipaddress.IPv6Address("::1")


def _is_own(parts: SplitResult, port: int, entry: Entry) -> bool:
    """Return whether a URL leads to the server of the entry's key; an entry without a URL leaves it to the user."""
    if entry.base_url is None:
        return True
    own, own_port = _split(entry.base_url)
    return (parts.scheme, parts.hostname, port) == (own.scheme, own.hostname, own_port)


def _key(name: str, variable: str, *, required: bool) -> str:
    key = os.environ.get(variable, "").strip()
    if not key and required:
        raise InputError(f"judge {name}: its server asks for a key; put it into the environment variable {variable}.")
    if not key.isascii() or not key.isprintable() or " " in key:
        raise InputError(f"judge {name}: the key in {variable} holds characters no key has; set the variable again.")
    return key
