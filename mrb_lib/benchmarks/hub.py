"""The Hub: downloading the published dataset, and what every download needs to know of the Hub.

Where it is, whether it may be asked, and what its errors mean.
"""

import logging
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Literal

from mrb_lib.benchmarks.formats.base import Imported
from mrb_lib.benchmarks.formats.official import read
from mrb_lib.tables.errors import InputError, MrbError, RunError, without_secrets

TIMEOUT_S = 10.0
REPO = "Nandzy/Med-RewardBench"
GROUND_TRUTH = "pair_gt_all"
# Data and its description only: nothing that a program would run, and no pickles.
PATTERNS = ("*.jsonl", "*.parquet", "*.json", "README*", "LICENSE*")
_SHOWN_FILES = 20
_REPO_NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+")
_ADDRESS = re.compile(r"https?://([^@/\s]*@)?([\w.-]+|\[[\da-f:.]+\])(:\d+)?(/\S*)?", re.IGNORECASE)


def download_dataset(*, repo: str = REPO, revision: str | None = None) -> Imported:
    """Download a dataset in the official layout into the Hub's cache, and read it from there.

    A connection that breaks within a file is taken up again where it broke; after a
    failure, the next call fetches only the files that are not complete.

    Parameters
    ----------
    repo : the dataset on the Hub, `owner/name`
    revision : a commit, branch or tag; None is the newest on the main branch

    Returns
    -------
    Imported
        What the official reader makes of it; the metadata name the source and, as
        `revision`, the exact commit. Images are read from the cache when asked for.

    Raises
    ------
    InputError
        There is no such dataset or revision, or its layout is not the official one.
    RunError
        The download did not succeed: no network, no permission, no space, interrupted.

    Notes
    -----
    Honours HF_ENDPOINT, HF_TOKEN, HF_HOME and HF_HUB_OFFLINE. Talks to the endpoint
    only: telemetry is off, and so is the Xet transfer where a custom endpoint is set.
    Tested by tests/benchmarks/hub/test_hub.py.
    """
    if not _REPO_NAME.fullmatch(repo):
        raise InputError(f"repo {repo!r}: is not the name of a dataset on the Hub; write owner/name, such as {REPO}.")
    snapshot = fetch(
        repo,
        revision,
        kind="dataset",
        check=lambda names: _data_root(names, repo),
        allow=PATTERNS,
        alternative="download it on another machine and run `mrb import official FOLDER OUT`",
    )
    names = [path.relative_to(snapshot).as_posix() for path in snapshot.rglob("*") if path.is_file()]
    imported = read(snapshot / _data_root(names, repo))
    source = f"{without_credentials(hub_endpoint())}/datasets/{repo}"
    meta = replace(imported.benchmark.meta, source=source, revision=snapshot.name)
    return imported._replace(benchmark=replace(imported.benchmark, meta=meta))


def fetch(
    repo: str,
    revision: str | None,
    *,
    kind: Literal["dataset", "model"],
    check: Callable[[Sequence[str]], object],
    allow: Sequence[str],
    ignore: Sequence[str] = (),
    alternative: str,
) -> Path:
    """Return the folder of a revision in the Hub's cache, with what was missing fetched; its name is the commit.

    Parameters
    ----------
    check : refuses the names of the repository's files, before anything is fetched
    allow, ignore : patterns of the files to fetch, and of those among them to leave out
    alternative : see `hub_errors`, whose errors are raised
    """
    # Imported here, because this library reads its environment when it is imported.
    from huggingface_hub import HfApi, constants, get_cached_repo_tree, snapshot_download

    endpoint, offline = hub_endpoint(), is_offline()
    constants.HF_HUB_DISABLE_TELEMETRY = True
    if endpoint is not None:
        constants.HF_HUB_DISABLE_XET = True
    with hub_errors(repo, revision, endpoint, alternative, kind=kind), quiet_hub():
        if offline:
            get_cached_repo_tree(repo, repo_type=kind, revision=revision)
        else:
            api = HfApi(endpoint=endpoint)
            ask = api.dataset_info if kind == "dataset" else api.model_info
            info = ask(repo, revision=revision, timeout=TIMEOUT_S)
            check([file.rfilename for file in info.siblings or []])
        path = snapshot_download(
            repo,
            repo_type=kind,
            revision=revision,
            endpoint=endpoint,
            local_files_only=offline,
            allow_patterns=list(allow),
            ignore_patterns=list(ignore),
        )
        # When the connection breaks after the first answer, the library falls back to what an older call left.
        if not offline and Path(path).name != info.sha:
            raise RunError(f"{repo}: changed, or was cut off, while it was downloaded; run the command again.")
    return Path(path)


def _data_root(names: Sequence[str], repo: str) -> PurePosixPath:
    """Return the folder, within the dataset, that contains the ground truth."""
    parents = [PurePosixPath(name).parents for name in names]
    roots = {folder.parent for folders in parents for folder in folders if folder.name == GROUND_TRUTH}
    if len(roots) == 1:
        return roots.pop()
    shown = ", ".join(sorted(names)[:_SHOWN_FILES]) + (", ..." if len(names) > _SHOWN_FILES else "")
    raise InputError(
        f"{repo}: has {len(roots)} folders {GROUND_TRUTH}, so it is not in the official layout; its {len(names)} "
        f"files: {shown}; download it with `hf download --repo-type dataset {repo} --local-dir FOLDER`, and use "
        "`mrb import table FOLDER OUT` on tables of cases and annotations."
    )


def hub_endpoint() -> str | None:
    """Return the address in HF_ENDPOINT, checked; None for the public Hub."""
    endpoint = os.environ.get("HF_ENDPOINT", "").rstrip("/")
    if endpoint and not _ADDRESS.fullmatch(endpoint):
        raise InputError("HF_ENDPOINT: is not a web address; write it as https://host or unset it.")
    return endpoint or None


def without_credentials(endpoint: str | None) -> str:
    """The endpoint as messages and records show it: without a user name or password."""
    return without_secrets(endpoint or "https://huggingface.co")


def is_offline() -> bool:
    """Whether the environment forbids asking the Hub."""
    from huggingface_hub import constants

    set_offline = os.environ.get("HF_HUB_OFFLINE", "").strip().upper() in ("1", "ON", "YES", "TRUE")
    return set_offline or bool(constants.HF_HUB_OFFLINE)


@contextmanager
def quiet_hub() -> Iterator[None]:
    """Keep the library's warnings off the terminal, since they may quote passwords, and its bars out of files."""
    from huggingface_hub.utils.tqdm import disable_progress_bars, enable_progress_bars

    logger = logging.getLogger("huggingface_hub")
    before, is_terminal = logger.level, sys.stderr.isatty()
    logger.setLevel(logging.ERROR)
    if not is_terminal:
        disable_progress_bars()
    try:
        yield
    finally:
        logger.setLevel(before)
        if not is_terminal:
            enable_progress_bars()


@contextmanager
def hub_errors(
    name: str, revision: str | None, endpoint: str | None, alternative: str, *, kind: Literal["dataset", "model"]
) -> Iterator[None]:
    """Turn whatever a download can raise into one message that says what to do next.

    The library's own texts are not passed on: they may quote headers and addresses with secrets in them.

    Parameters
    ----------
    name : of the repository, `owner/name`
    revision : a commit, branch or tag; None is the newest
    endpoint : see `hub_endpoint`
    alternative : another way to get the files, as the end of a sentence that starts with "or"

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
        RevisionNotFoundError,
    )

    at = without_credentials(endpoint)
    page = f"{at}/{'datasets/' if kind == 'dataset' else ''}{name}"
    try:
        yield
    except MrbError:
        raise
    except KeyboardInterrupt:
        raise RunError(f"{name}: interrupted; run the command again, complete files are kept.") from None
    except RevisionNotFoundError:
        raise InputError(
            f"{name}: has no revision {revision!r}; name a commit, branch or tag listed at {page}."
        ) from None
    except HfHubHTTPError as error:
        status = error.response.status_code
        if status == 404:
            raise InputError(f"{name}: there is no such {kind} at {at}; check the name and HF_ENDPOINT.") from None
        why = f"{at} answered with status {status}; run the command again later, or set HF_ENDPOINT to a mirror"
        if status in (401, 403):
            why = (
                f"access is not granted (status {status}); check the name, accept its terms at {page}, and set "
                "HF_TOKEN to a valid token"
            )
        raise RunError(f"{name}: {why}.") from None
    except (CachedRepoTreeNotFoundError, OfflineModeIsEnabled, LocalEntryNotFoundError, HTTPError) as error:
        reason = type(error.__cause__ or error).__name__
        why = (
            f"{at} cannot be reached, or the connection broke ({reason}); run the command again, set HF_ENDPOINT to a "
            f"mirror, set HF_HUB_OFFLINE=1 to use an old download, or {alternative}"
        )
        if is_offline():
            why = (
                "HF_HUB_OFFLINE is set and the Hub's cache holds no complete copy; unset it and run the command once "
                f"with a network, or {alternative}"
            )
        raise RunError(f"{name}: {why}.") from None
    except OSError as error:
        reason = error.strerror or "a file arrived with the wrong size"
        raise RunError(
            f"{name}: the download failed ({reason}); make room or set HF_HOME to a larger disk if it is full, run the "
            f"command again, or {alternative}."
        ) from None
    except (ValueError, KeyError, TypeError, AssertionError) as error:
        reason = type(error).__name__
        raise RunError(
            f"{name}: {at} does not answer like a Hub ({reason}); check HF_ENDPOINT, or {alternative}."
        ) from None
