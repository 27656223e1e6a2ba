"""The Hub, for everything that downloads from it: where it is, whether it may be asked, and what its errors mean."""

from __future__ import annotations

import errno
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

from mrb_lib.errors import InputError, MrbError, RunError

TIMEOUT_S = 10.0


@dataclass(frozen=True)
class Wanted:
    """What is asked of the Hub.

    Attributes
    ----------
    name : `owner/name`
    revision : a commit, branch or tag; None is the newest
    endpoint : see `hub_endpoint`
    elsewhere : what else the user can do, as the end of a sentence that begins with "or"
    """

    kind: Literal["dataset", "model"]
    name: str
    revision: str | None
    endpoint: str | None
    elsewhere: str

    @property
    def page(self) -> str:
        """Where a person can read about it."""
        return f"{shown(self.endpoint)}/{'datasets/' if self.kind == 'dataset' else ''}{self.name}"


def hub_endpoint() -> str | None:
    """The address in HF_ENDPOINT, checked; None for the public Hub."""
    endpoint = os.environ.get("HF_ENDPOINT", "").rstrip("/")
    if not endpoint:
        return None
    try:
        parts = urlsplit(endpoint)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        valid = False
    if not valid:
        raise InputError("HF_ENDPOINT: is not a web address; write it as https://host or unset it.")
    return endpoint


def shown(endpoint: str | None) -> str:
    """The endpoint as messages and records show it: without a user name or password."""
    parts = urlsplit(endpoint or "https://huggingface.co")
    port = f":{parts.port}" if parts.port else ""
    return f"{parts.scheme}://{parts.hostname}{port}{parts.path}"


def is_offline() -> bool:
    """Whether the environment forbids asking the Hub."""
    from huggingface_hub import constants

    asked = os.environ.get("HF_HUB_OFFLINE", "").strip().upper() in ("1", "ON", "YES", "TRUE")
    return asked or bool(constants.HF_HUB_OFFLINE)


@contextmanager
def quiet_log() -> Iterator[None]:
    """Keep the library's warnings off the terminal: they quote addresses, which may hold a password."""
    logger = logging.getLogger("huggingface_hub")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(before)


@contextmanager
def plain_errors(wanted: Wanted) -> Iterator[None]:
    """Turn whatever a download can raise into one message that says what to do next.

    The library's own texts are not passed on: they may quote headers and addresses with secrets in them.

    Raises
    ------
    InputError
        There is no such repository or revision.
    RunError
        It was not granted, not reached, or did not arrive.
    """
    from huggingface_hub.errors import (  # type: ignore[attr-defined]  # HTTPError, of the HTTP library below it
        CachedRepoTreeNotFoundError,
        HfHubHTTPError,
        HTTPError,
        LocalEntryNotFoundError,
        OfflineModeIsEnabled,
    )

    name, at, elsewhere = wanted.name, shown(wanted.endpoint), wanted.elsewhere
    try:
        yield
    except MrbError:
        raise
    except HfHubHTTPError as error:
        raise _refused(error, wanted) from None
    except (CachedRepoTreeNotFoundError, OfflineModeIsEnabled, LocalEntryNotFoundError, HTTPError) as error:
        if is_offline():
            at_revision = f" at {wanted.revision}" if wanted.revision else ""
            raise RunError(
                f"{name}{at_revision}: HF_HUB_OFFLINE is set and the Hub's cache holds no complete copy; "
                f"unset it and run the command once with a network, or {elsewhere}."
            ) from None
        reason = type(error.__cause__ or error).__name__
        raise RunError(
            f"{name}: {at} cannot be reached, or the connection broke ({reason}); check the connection and run the "
            f"command again (complete files are kept), set HF_ENDPOINT to a mirror, set HF_HUB_OFFLINE=1 to use an "
            f"earlier download, or {elsewhere}."
        ) from None
    except KeyboardInterrupt:
        raise RunError(f"{name}: interrupted; run the command again, complete files are kept.") from None
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise RunError(
                f"{name}: there is no space left for the Hub's cache; make room, or set HF_HOME to a larger disk, "
                "and run the command again."
            ) from None
        reason = error.strerror or "a file arrived with the wrong size"
        raise RunError(f"{name}: the download failed ({reason}); run the command again, or {elsewhere}.") from None
    except (ValueError, KeyError, TypeError, AssertionError) as error:
        raise RunError(
            f"{name}: {at} does not answer like a Hub ({type(error).__name__}); check HF_ENDPOINT, or {elsewhere}."
        ) from None


def _refused(error: Exception, wanted: Wanted) -> MrbError:
    """What an answer other than success means to the user."""
    from huggingface_hub.errors import GatedRepoError, HfHubHTTPError, RevisionNotFoundError

    name, at = wanted.name, shown(wanted.endpoint)
    status = error.response.status_code if isinstance(error, HfHubHTTPError) else 0
    if isinstance(error, RevisionNotFoundError):
        return InputError(
            f"{name}: has no revision {wanted.revision!r}; name a commit, branch or tag listed at {wanted.page}."
        )
    if isinstance(error, GatedRepoError) or status == 403:
        return RunError(
            f"{name}: access is not granted (status {status}); accept its terms at {wanted.page} and set HF_TOKEN to "
            "a token of that account."
        )
    if status == 401:
        return RunError(
            f"{name}: the Hub asks who you are (status 401): it is private, does not exist, or HF_TOKEN is not valid; "
            "check the name and set HF_TOKEN to a valid token."
        )
    if status == 404:
        return InputError(f"{name}: there is no such {wanted.kind} at {at}; check the name and HF_ENDPOINT.")
    return RunError(
        f"{name}: {at} answered with status {status}; run the command again later, or set HF_ENDPOINT to a mirror."
    )


def progress_class(*, shown: bool) -> type[object] | None:
    """What `huggingface_hub` is to draw progress bars with: None for its own, or a class that draws none."""
    if shown:
        return None
    from huggingface_hub.utils.tqdm import tqdm  # this library reads its environment when it is imported

    class Silent(tqdm):
        """Progress bars that are not shown."""

        def __init__(self, *args: object, **kwargs: object) -> None:
            super().__init__(*args, **{**kwargs, "disable": True})  # type: ignore[no-untyped-call]  # as the library has it

    return Silent
